"""The explorer's module in a real browser: what it shows of each item, with which keys, and what a step costs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from browser import Tab, browser_tab
from chat_chunks import call, closing, event
from explorer_tab import expect_item, explorer_page, slider
from playwright.sync_api import Browser, expect

from penstock import ChunkResponse
from penstock.operators import argument_progress, holdback, stage
from penstock.studio import trace
from penstock.studio.explorer.explored_runs import RunChoice, runs_of_stream, runs_of_trace
from penstock.studio.explorer.explored_stream import ExploredStream

pytestmark = pytest.mark.slow

ANSWER = [
    event({"role": "assistant", "content": "Here it "}),
    event({"content": "is."}),
    call(0, "", "call_file", "write_file"),
    call(0, '{"path": "a.py", "con'),
    call(0, 'tent": "x = 1\\n'),
    call(0, "y = 2\\"),
    call(0, 'n"}'),
    *closing(),
]
CONTENT_BEGINS, HALF_AN_ESCAPE = 4, 5


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    with browser_tab(chromium) as opened:
        yield opened
        assert opened.complaints == []


def data_of(items: Sequence[bytes], times: Sequence[int] | None = None) -> bytes:
    runs = runs_of_stream(ExploredStream("a stream", "wire", items, times, "openai-chat"))
    return runs.data(RunChoice(), runs.first)


def test_each_item_shows_what_came_what_each_stage_did_and_what_is_there_by_then(tab: Tab):
    page = explorer_page(tab, {"one": data_of(ANSWER)})
    came = page.get_by_role("region", name="What came, as it is")
    expect(came).to_contain_text('"content": "Here it "')
    page.get_by_role("button", name="Next item").click()
    expect(came).to_contain_text('"content": "is."')
    expect(page.get_by_role("region", name="to_segments()", exact=True)).to_contain_text("is.")
    answer = page.get_by_role("region", name="text chatcmpl-1:text_0")
    expect(answer.locator("pre")).to_have_text("Here it is.")
    expect(answer.locator("ins")).to_have_text("is.")
    expect(page.get_by_role("list", name="Changed by this item")).to_contain_text("grows by 3 characters")
    page.evaluate("item => explorers.one.go(item)", CONTENT_BEGINS)
    value = page.locator("[data-path='[\"content\"]']")
    expect(value).to_contain_text("still open")
    expect(value).to_contain_text('"x = 1')
    expect(page.locator("[data-path='[\"path\"]']")).to_have_text('path: "a.py"')
    page.evaluate("item => explorers.one.go(item)", HALF_AN_ESCAPE)
    expect(value.locator("ins")).to_have_text("y = 2")
    page.evaluate("item => explorers.one.go(item)", HALF_AN_ESCAPE + 1)
    expect(value).not_to_contain_text("still open")
    expect(page.get_by_role("list", name="Changed by this item")).to_contain_text("argument content is whole")


def test_text_that_is_held_back_is_shown_with_its_reason_and_with_what_it_may_become(tab: Tab):
    runs = runs_of_trace(trace(holdback("<tool>")).run(["a<to", "p", "<tool>"]))
    page = explorer_page(tab, {"one": runs.data(RunChoice(), runs.first)})
    held = page.locator(".pe-held")
    (withheld,) = runs.first[0].stages[0].withheld
    expect(held.locator("code").first).to_have_text("<to")
    expect(held).to_contain_text(withheld.reason)
    expect(page.get_by_role("list", name="Changed by this item")).to_contain_text("“<to” is held back")
    page.get_by_role("button", name="Next item").click()
    expect(held).to_have_count(0)
    expect(page.get_by_role("list", name="Changed by this item")).to_contain_text("nothing is held back any more")


def test_it_is_used_by_keyboard_alone_and_says_where_it_is(tab: Tab):
    tab.page.clock.install()
    page = explorer_page(tab, {"one": data_of(ANSWER)})
    last = len(ANSWER)
    for name in ("Strategy", "Bytes a chunk", "Run", "Play", "Item before", "Next item", "Item of the stream", "Pace"):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "document.activeElement.getAttribute('aria-label') ?? document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent"
        )
        assert name in focused
    slider(page).focus()
    for key, item in [
        ("ArrowRight", 1),
        ("ArrowUp", 2),
        ("ArrowLeft", 1),
        ("ArrowDown", 0),
        ("ArrowLeft", 0),
        ("Shift+ArrowRight", min(10, last)),
        ("End", last),
        ("ArrowRight", last),
        ("Home", 0),
        ("PageDown", 0),
        ("PageUp", min(10, last)),
    ]:
        page.keyboard.press(key)
        expect_item(page, item)
        expect(slider(page)).to_have_value(str(item))
    expect(slider(page)).to_have_attribute(
        "aria-valuetext", f"item {last + 1} of {last + 1}, the end of the input: 1 event"
    )
    # Elsewhere in the explorer the same keys work, and in fields they write.
    page.get_by_role("button", name="Next item").focus()
    page.keyboard.press("Home")
    expect_item(page, 0)
    page.get_by_label("Bytes a chunk").fill("12")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect_item(page, 0)
    page.get_by_role("region", name="What came, as it is").focus()
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("Playing")
    page.keyboard.press(" ")
    expect(page.get_by_role("status")).to_contain_text("Paused. item ")


def test_it_plays_at_the_recorded_times_and_stops_at_the_end(tab: Tab):
    tab.page.clock.install()
    times = [number * 1_000_000_000 for number in range(len(ANSWER))]
    page = explorer_page(tab, {"one": data_of(ANSWER, times)})
    expect(page.locator(".pe-place")).to_contain_text("0.0 ms")
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(2_500)
    expect_item(page, 2)
    page.get_by_label("Pace").select_option(value="2")
    page.clock.run_for(1_000)
    expect_item(page, 4)
    page.clock.run_for(20_000)
    expect_item(page, len(ANSWER))
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert page.evaluate("[stores.one.values.item, stores.one.values.playing, stores.one.values.speed]") == [
        len(ANSWER),
        False,
        2,
    ]


def test_its_state_is_kept_where_it_was_given_and_may_be_set_from_there(tab: Tab):
    page = explorer_page(tab, {"one": data_of(ANSWER)})
    slider(page).focus()
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate("stores.one.values.item") == min(10, len(ANSWER))
    page.evaluate("stores.one.set('item', 3)")
    expect_item(page, 3)
    page.evaluate("stores.one.set('playing', true)")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.evaluate("stores.one.set('playing', false)")
    page.evaluate("stores.one.set('problem', 'it <b>cannot</b>')")
    expect(page.get_by_role("alert")).to_have_text("it <b>cannot</b>")
    page.get_by_label("Strategy").select_option("hermes")
    page.get_by_label("Bytes a chunk").fill("7")
    page.get_by_role("button", name="Run").click()
    assert page.evaluate("[stores.one.values.strategy, stores.one.values.chunk_size, stores.one.values.problem]") == [
        "hermes",
        7,
        "",
    ]
    assert page.evaluate("stores.one.saved") > 0


HOSTILE = "<img src=x onerror='window.pwned=1'><script>window.pwned=1</script>\u202e\x1b[31m\u200b\ud800</pre>"


def test_hostile_content_is_text_everywhere(tab: Tab):
    chunks = [
        ChunkResponse(content=HOSTILE),
        ChunkResponse(content="<tool_call>" + json.dumps({"name": HOSTILE, "arguments": {HOSTILE: HOSTILE}})),
        ChunkResponse(content="</tool_call>", finish_reason="stop", is_complete=True, model=HOSTILE),
    ]
    strategy = ExploredStream(HOSTILE, "chunks", chunks)
    runs = runs_of_stream(strategy)
    given = runs.data(RunChoice(), runs.first)
    changed = runs.data(RunChoice("hermes"), runs.traced(RunChoice("hermes")))
    held = runs_of_trace(
        trace(holdback("<img src=x onerror='window.pwned=1'>")).run(["a<img src=x onerror='wind"]), HOSTILE
    )
    page = explorer_page(tab, {"given": given, "changed": changed, "held": held.data(RunChoice(), held.first)})
    for name, items in (("given", 4), ("changed", 4), ("held", 2)):
        for item in range(items):
            page.evaluate("([name, item]) => explorers[name].go(item)", [name, item])
            for each in page.locator(f"#{name} summary").all():
                each.click()
    assert page.evaluate("window.pwned") is None
    assert page.locator(".penstock-explorer :is(script, img, iframe, object, style, link, svg)").count() == 0
    shown = page.locator("#given").inner_text() + page.locator("#changed").inner_text()
    assert "<script>window.pwned=1</script>" in shown
    assert "\\u202e\\x1b[31m\\u200b" in shown
    assert not set(shown) & {"\u202e", "\x1b", "\u200b"}
    assert page.locator("#changed .pe-divergence").inner_text().startswith("First difference")


def long_stream(items: int) -> bytes:
    """Return a call whose content grows with each item, between texts, with something held back now and then."""
    pieces = [
        event({"role": "assistant", "content": "Begin. "}),
        call(0, '{"path": "a.py", "content": "', "call_file", "write_file"),
    ]
    pieces += [
        call(0, f"line {number} = {number}\\n" if number % 5 else "\\") if number % 5 != 1 else call(0, "n and on ")
        for number in range(items - 4)
    ]
    return data_of([*pieces, call(0, ' "}'), *closing()])


def test_a_step_of_the_slider_costs_at_most_three_times_as_much_at_ten_thousand_chunks_as_at_a_hundred(tab: Tab):
    page = explorer_page(tab, {"small": long_stream(100), "large": long_stream(10_000)})
    sizes = page.evaluate("[explorers.small.story.items, explorers.large.story.items]")
    assert sizes[0] <= 110
    assert sizes[1] >= 10_000
    small, large = page.evaluate(_STEPS)
    assert large <= 3 * small, (small, large)
    assert page.locator("#large .penstock-explorer *").count() < 400


_STEPS = """async () => {
    const steps = 200;
    const spent = { small: [], large: [] };
    for (let step = 0; step < steps; step += 1) {
        for (const [name, explorer] of Object.entries(explorers)) {
            const item = Math.floor(((step * 79) % steps) / steps * explorer.story.items);
            const before = performance.now();
            explorer.go(item);
            document.body.getBoundingClientRect(); // with the layout
            spent[name].push(performance.now() - before);
        }
        if (step % 20 === 0) await new Promise(requestAnimationFrame);
    }
    const median = (values) => values.sort((left, right) => left - right)[steps >> 1];
    return [median(spent.small), median(spent.large)];
}"""


def test_what_its_indexes_find_is_what_replaying_everything_finds(tab: Tab):
    interleaved = [
        event({"role": "assistant", "reasoning_content": "First "}),
        event({"content": "both "}),
        call(0, '{"a": [1, {"b"', "call_0", "one"),
        call(1, '{"x": "', "call_1", "two"),
        *(call(number % 2, ': "q' if number == 0 else f"{number} ") for number in range(150)),
        call(0, '"}]}'),
        call(1, '"}'),
        *closing(),
    ]
    stream = ExploredStream("a stream", "wire", interleaved, None, "openai-chat")
    runs = runs_of_stream(stream)
    page = explorer_page(tab, {"one": runs.data(RunChoice(), runs.first)})
    found = page.evaluate(
        """() => Array.from({ length: explorers.one.story.items }, (_, item) => {
            const { story } = explorers.one;
            const text = (grown) => grown.text.slice(0, grown.lengthAt(item));
            return {
                open: story.openAt(item).map((place) => story.segments[place].id).sort(),
                segments: story.segments.slice(0, story.begunAt(item)).map((each) => [each.id, text(each.grown)]),
                arguments: [...story.calls.keys()]
                    .map((id) => story.argumentsAt(id, item).map((leaf) => [leaf.path, text(leaf.grown), leaf.end <= item]))
                    .filter((leaves) => leaves.length),
            };
        })"""
    )
    assert found == [*replayed(runs.first)]


def replayed(traced: Any) -> Iterator[dict[str, Any]]:
    """Yield what is there after each item, by following the events of the last stage from the first."""
    segments: dict[str, list[str]] = {}
    is_open: set[str] = set()
    calls: dict[str, dict[str, list[Any]]] = {}
    follower = stage(argument_progress())
    for item in traced:
        for output in item.stages[-1].outputs:
            match output.type if hasattr(output, "segment_id") else "":
                case "SEGMENT_START":
                    segments[output.segment_id] = []
                    is_open.add(output.segment_id)
                case "SEGMENT_CONTENT":
                    segments[output.segment_id].append(output.delta)
                case "SEGMENT_END":
                    is_open.discard(output.segment_id)
                case _:
                    continue
            for piece in follower.feed(output):
                if not hasattr(piece, "fragment"):
                    continue
                leaves = calls.setdefault(piece.tool_call_id, {})
                leaf = leaves.setdefault(repr(piece.fragment.path), [[*piece.fragment.path], "", False])
                if piece.fragment.kind == "TEXT":
                    leaf[1] += piece.fragment.value
                elif piece.fragment.kind == "SCALAR":
                    leaf[1] += json.dumps(piece.fragment.value)
                elif piece.fragment.kind == "DONE":
                    leaf[2] = True
        yield {
            "open": sorted(is_open),
            "segments": [[name, "".join(pieces)] for name, pieces in segments.items()],
            "arguments": [[[*leaf] for leaf in leaves.values()] for leaves in calls.values()],
        }
