"""What a notebook shows of an event: harmless, short, and the same on any page."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from harmless_html import EVIL, Page, assert_harmless
from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    Output,
    OutputFailed,
    ProviderEvent,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolCallStatus,
    ToolInvocation,
    ToolResult,
)
from penstock.events.chunk_response import TokenUsage
from penstock.events.showing import CHARACTERS, beginning, ending, shown, value_text, without_codes
from penstock.operators import drive
from penstock.pipeline.strategies import api_tool_call
from penstock.sinks.card import CARDS, COLOURS, ROWS, mime_bundle
from penstock.sinks.collect import Collected, Segment, collect
from penstock.sinks.event_cards import brief_card, card_of, event_bundle, segment_card
from penstock.sinks.parts.event_words import event_line

ROOT = Path(__file__).parents[2]
EVENTS: list[Any] = [
    SegmentStart("s", "write_file", {"tool_name": "write_file", "path": "a.py"}, turn_id="t"),
    SegmentContent("s", "write_file", "x = 1\n", turn_id="t"),
    SegmentEnd("s", "write_file", "truncated", "length", turn_id="t"),
    Segment("s", "write_file", {"path": "a.py"}, "def f():\n    return 'x', 1  # one\n" * 20, status="complete"),
    ToolInvocation("call_1", "t", "write_file", {"path": "a.py", "content": "x = 1\ny = 2\n"}),
    ToolInvocation("call_1", "t", "now"),
    InvocationFailed("call_1", "t", "write_file", '{"path": "a', "truncated", ({"at": 11, "expected": "a string"},)),
    Notice("late_text", "something came after the end"),
    AnswerEnd("t", status="truncated", finish_reason="length", usage=TokenUsage(1, 2, 3), model="m", response_id="r"),
    AnswerEnd("t", 1, "failed", error={"detail": "overloaded"}),
    ProviderEvent("citation", {"url": "https://a", "quotes": ["b"]}, "anthropic", segment_id="t:text_0"),
    ToolCallStatus("call_1", "t", "deploy", "requested"),
    ToolCallStatus("call_1", "t", "deploy", "denied", "00", "not on Sundays"),
    ToolResult("call_1", turn_id="t", value={"celsius": 21}),
    ToolResult("call_1", turn_id="t", error="no such city"),
    ToolResult("call_1", turn_id="t", denied="not on Sundays"),
    ChunkResponse(content="Hi", tool_calls=(ToolCallDelta(3, "c", "f", "{"),), usage=TokenUsage(1, 2, 3)),
    Segment("s", "text", content="Hello", status="complete"),
    Collected(),
    Output("s", "t", {"a": 1}, {"a": 1}, '{"a": 1}'),
    Output("s", "t", [1], [1], "[1]"),
    OutputFailed("s", "t", '{"a', "truncated", ({"at": 3, "expected": "a value"},)),
]


CALL = next(event for event in EVENTS if isinstance(event, ToolInvocation))
CODE_STYLES = {f"color:var(--{letter})" for letter in "ksnfd"}


def bundle_of(event: Any) -> dict[str, str]:
    bundle: dict[str, str] = event._repr_mimebundle_(include=None, exclude=None)
    return bundle


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from strings_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings_in(each)


@looped("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_has_a_text_and_a_page_of_a_few_plain_elements(event: Any):
    bundle = bundle_of(event)
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"].strip()
    assert_harmless(bundle["text/html"])


def test_an_invocation_says_its_name_and_its_arguments():
    bundle = bundle_of(CALL)
    assert bundle["text/plain"].splitlines() == [
        "→ write_file · ready to run · call_1",
        "    path: a.py",
        "    content: x = 1",
        "        y = 2",
    ]
    page = Page(bundle["text/html"])
    for said in ("write_file", "ready to run", "call_1", "path", "a.py", "x = 1\ny = 2"):
        assert said in page.text


def test_a_failure_says_its_reason_its_errors_and_the_end_of_its_text():
    raw = "\n".join(f"line {number}" for number in range(100))
    failure = InvocationFailed("i", "t", "f", raw, "invalid", ({"loc": ["a"], "msg": "wrong"}, {"msg": "too long"}))
    text = bundle_of(failure)["text/plain"]
    assert text.splitlines()[0] == "f · not run: invalid · i · 789 characters came"
    assert "… 92 lines above\n    line 92\n" in text
    assert "line 99" in text
    assert "line 91" not in text
    assert 'error 1: {"loc": ["a"], "msg": "wrong"}' in text
    assert "error 2" in text


def test_a_chunk_says_only_what_it_says():
    (chunk,) = (event for event in EVENTS if isinstance(event, ChunkResponse))
    assert bundle_of(chunk)["text/plain"].splitlines() == [
        "ChunkResponse",
        "    content: Hi",
        '    tool_calls[3]: {"call_id": "c", "name": "f", "arguments_delta": "{"}',
        '    usage: {"prompt": 1, "completion": 2, "total": 3}',
    ]


def test_what_is_no_event_has_the_card_of_its_type():
    assert card_of(5).title == "int"
    assert event_bundle(5)["text/plain"] == "int"


def evil_events(evil: Any) -> list[Any]:
    segment = Segment(evil, evil, {evil: evil, "path": evil, "tool_name": evil}, evil, evil, evil, evil, evil)
    return [
        SegmentStart(evil, evil, {evil: evil, "path": evil}, turn_id=evil),
        SegmentContent(evil, evil, evil, turn_id=evil),
        SegmentEnd(evil, evil, evil, evil, {evil: [evil]}, turn_id=evil),
        ToolInvocation(evil, evil, evil, {evil: evil, "deep": {evil: [evil]}}),
        InvocationFailed(evil, evil, evil, evil, "invalid", ({evil: evil},)),
        Notice(evil, evil),
        ChunkResponse(content=evil, tool_calls=(ToolCallDelta(0, evil, evil, evil),), error={evil: evil}),
        segment,
        Collected(events=[Notice(evil, evil)], segments=[segment]),
    ]


@looped("event", evil_events(EVIL), ids=lambda event: type(event).__name__)
def test_text_of_others_is_shown_and_never_becomes_part_of_the_page(event: Any):
    page = assert_harmless(bundle_of(event)["text/html"])
    assert "script" not in page.elements
    assert EVIL in page.text


# Half of them are made of what could break out of a page or a terminal.
TEXTS = st.text() | st.text(st.sampled_from("<>&\"'/-!=\n\r\t\x00\x1b\x9b\u2028\u202e\ud83d\udf31\u200d🌱a"))


@given(TEXTS)
def test_any_text_gives_a_harmless_page_that_can_be_sent(text: str):
    for event in (*evil_events(text), SegmentEnd(text, None, None)):
        bundle = bundle_of(event)
        assert_harmless(bundle["text/html"])
        json.dumps(bundle, ensure_ascii=False).encode()
        for form in bundle.values():
            assert all(each.isprintable() or each in "\n\t" or not each.isascii() for each in form)
            assert not set(form) & set("\u202e\u2028\u2066\x85\x9b\r\x1b")


@given(TEXTS)
def test_a_short_text_is_shown_whole(text: str):
    short = "\n".join(text[:50].split("\n")[:9])
    page = Page(bundle_of(SegmentContent("s", "x", short))["text/html"])
    assert shown(short.removesuffix("\n")) in page.text


def test_a_first_line_that_is_empty_is_kept_by_a_pre():
    html = bundle_of(SegmentContent("s", "x", "\nfirst"))["text/html"]
    assert ">\n\nfirst</pre>" in html


def test_joiners_and_hard_spaces_are_no_danger_and_stay():
    assert shown("👩\u200d🌾 10\u202f€\xa0!") == "👩\u200d🌾 10\u202f€\xa0!"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


@given(JSON)
def test_a_value_is_shown_as_json_that_reads_back(value: Any):
    text = value_text(value, 10**9)
    if not isinstance(value, str):
        assert repr(json.loads(text)) == repr(value)


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def circle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (deep(100_000), "[" * 800 + "…"),
        (circle(), "<list>"),
        ({(1, 2): 3}, "<dict>"),
        ({"a": object()}, '{"a": "<object>"}'),
        (10**5000, "<int>"),
    ],
    ids=["too deep", "a circle", "no JSON key", "no JSON value", "too long a number"],
)
def test_a_value_without_a_json_form_is_named_by_its_type(value: Any, text: str):
    # How deep JSON goes depends on how deep the stack is already.
    assert value_text(value) in (text, "<list>")
    assert_harmless(bundle_of(ToolInvocation("i", name="f", arguments={"a": value}))["text/html"])


LONG = "x" * 1_000_000
HUGE = [
    SegmentContent(LONG, LONG, LONG),
    SegmentEnd("s", "x", None, metadata={str(each): LONG for each in range(1000)}),
    ToolInvocation(LONG, LONG, LONG, {LONG: LONG, **{str(each): [LONG] for each in range(1000)}}),
    InvocationFailed("i", name="f", raw=LONG, errors=tuple({"msg": LONG} for _ in range(1000))),
    Notice(LONG, LONG),
    ChunkResponse(content=LONG, tool_calls=tuple(ToolCallDelta(each, "c", "f", LONG) for each in range(1000))),
    Segment(LONG, LONG, {"path": LONG}, LONG),
    Segment("s", "text", {}, "\n" * 1_000_000),
    Segment("s", "write_file", {"path": "a.py"}, "1 if " * 200_000),
    ToolInvocation("i", name="f", arguments={"path": "a.py", **{str(each): "1 if\n" * 1000 for each in range(1000)}}),
    Collected(events=[Notice("c", LONG)] * 1000, segments=[Segment("s", "text", content=LONG)] * 1000),
]


@looped("event", HUGE, ids=lambda event: type(event).__name__)
def test_a_huge_event_gives_a_small_page(event: Any):
    largest = (CARDS if isinstance(event, Collected) else 1) * (3 * CHARACTERS + ROWS * CHARACTERS)
    for form in bundle_of(event).values():
        assert len(form) < largest


def test_what_is_left_out_is_counted():
    notices = Collected(events=[Notice("c", "d")] * (CARDS + 7))
    assert bundle_of(notices)["text/plain"].endswith("\n… 7 more")
    many = ToolInvocation("i", name="f", arguments={str(each): each for each in range(ROWS + 3)})
    assert bundle_of(many)["text/plain"].endswith("\n    … 3 more")
    assert "… 3 more" in Page(bundle_of(many)["text/html"]).text
    long = SegmentContent("s", "x", "a\n" * 500)
    assert "… 400 lines more" in Page(bundle_of(long)["text/html"]).text
    assert bundle_of(long)["text/plain"].endswith("… 490 lines more")


def lines_of(number: int) -> str:
    return "".join(f"line {each}\n" for each in range(1, number + 1))


@pytest.mark.parametrize("path", ["a.py", "a.unknown"])
@pytest.mark.parametrize(("lines", "said"), [(24, ""), (25, "… 9 lines more"), (500, "… 484 lines more")])
def test_a_long_file_is_folded_and_says_how_many_lines_more_there_are(path: str, lines: int, said: str):
    segment = Segment("s", "write_file", {"path": path}, lines_of(lines), status="complete")
    html = bundle_of(segment)["text/html"]
    shown_first, _, folded = html.partition("<details>")
    assert Page(html).text.count("line ") == min(lines, 100)
    assert f"{lines} lines" in Page(html).text
    if said:
        assert shown_first.count("line ") == 16
        assert folded.startswith(f'<summary style="cursor:pointer;opacity:.75"><small>{said}</small></summary><pre')
    assert ("… 400 lines more" in folded) == (lines == 500)
    assert "max-height" not in html


def test_a_long_line_is_folded_too():
    segment = Segment("s", "run_bash", {}, "x" * 5000, status="complete")
    first, _, rest = bundle_of(segment)["text/html"].partition("<details>")
    assert "… 3,000 characters more" in rest
    assert [Page(part + "</div></div>" * opened).text.count("x") for part, opened in ((first, 1),)] == [2000]
    assert Page(bundle_of(segment)["text/html"]).text.count("x") == 5000


def test_prose_is_never_folded():
    assert "<details>" not in bundle_of(Segment("s", "text", {}, lines_of(90)))["text/html"]


def test_the_arguments_of_a_call_are_folded_and_coloured_as_its_file_is():
    call = ToolInvocation("c", name="write_file", arguments={"path": "a.py", "content": lines_of(30)})
    html = bundle_of(call)["text/html"]
    assert "… 14 lines more" in html
    assert 'line <span style="color:var(--n)">1\n</span>' in html
    assert ">a.py<" in html


def test_a_call_says_what_is_known_of_it_and_not_that_it_was_run():
    assert card_of(CALL).badge == brief_card(CALL).badge == "ready to run"
    claimed = ToolInvocation("c", name="write_file", claimed_by="write_files")
    assert card_of(claimed).badge == brief_card(claimed).badge == "goes to write_files"


@given(st.text("ab\n", max_size=60), st.integers(1, 6), st.integers(1, 20))
def test_beginning_and_ending_are_pieces_of_the_text_and_say_truly_what_is_missing(text: str, lines: int, limit: int):
    whole = text.removesuffix("\n")
    for excerpt, is_piece, rest in (
        (first := beginning(text, lines, limit), whole.startswith(first.text), whole[len(first.text) :]),
        (last := ending(text, lines, limit), whole.endswith(last.text), whole[: len(whole) - len(last.text)]),
    ):
        assert is_piece
        assert excerpt.text.count("\n") < lines
        assert len(excerpt.text) <= limit
        note = excerpt.before or excerpt.after
        assert bool(note) == bool(rest)
        if rest:
            number, noun = note.split()[1:3]
            assert int(number) == (rest.count("\n") or len(rest))
            assert noun.startswith("line" if "\n" in rest else "character")


def test_colours_are_the_pages_own_so_that_dark_and_light_both_read():
    for event in EVENTS:
        for style in Page(bundle_of(event)["text/html"]).styles:
            for rule in style.split(";"):
                name, _, value = rule.partition(":")
                if name == "color":
                    # White is for badges alone, which bring their background. Code has colours mixed with the page's.
                    assert value == "inherit" or rule in CODE_STYLES or (value == "#fff" and "background:#" in style)
                if name.startswith("--"):
                    assert rule in COLOURS.split(";")
                if name == "background":
                    assert value == "transparent" or "color:#fff" in style


def test_a_collection_shows_everything_in_its_order():
    call = ToolCallDelta(0, "w", "write_file", '{"path": "a.py", "content": "' + "x" * 200 + '"}', done=True)
    cut = ToolCallDelta(1, "b", "run_bash", '{"command": "ls')
    collected = collect(drive([ChunkResponse(content="Hi"), ChunkResponse(tool_calls=(call, cut))], api_tool_call()))
    assert bundle_of(collected)["text/plain"].splitlines() == [
        "3 segments · 1 invocation · 1 failure",
        "text · complete",
        "    Hi",
        "write_file · complete · a.py",
        "    " + "x" * 200,
        "→ write_file(path='a.py', content=<200 characters>) · ready to run",
        "run_bash · truncated",
        "    ls",
        "run_bash · not run: truncated · b · 15 characters came",
        '    {"command": "ls',
        '    error: {"at": 15, "expected": "the closing \'\\"\' of a string", "found": "", "path": ["command"]}',
        "answer · truncated",
    ]


def test_the_end_of_an_answer_shows_how_it_ended_and_what_it_cost():
    cut, failed = (bundle_of(event)["text/plain"].splitlines() for event in EVENTS if isinstance(event, AnswerEnd))
    assert cut == ["answer · truncated · length · m · r", '    usage: {"prompt": 1, "completion": 2, "total": 3}']
    assert failed == ["answer · failed · choice 1", '    error: {"detail": "overloaded"}']


def test_what_only_a_provider_has_is_shown_as_rows():
    (event,) = (event for event in EVENTS if isinstance(event, ProviderEvent))
    assert bundle_of(event)["text/plain"].splitlines() == [
        "provider · citation · anthropic · t:text_0",
        "    url: https://a",
        '    quotes: ["b"]',
    ]


def test_a_result_is_a_value_an_error_or_why_there_is_none():
    assert [bundle_of(event)["text/plain"].splitlines() for event in EVENTS if isinstance(event, ToolResult)] == [
        ["result · value · call_1", '    {"celsius": 21}'],
        ["result · error · call_1", "    no such city"],
        ["result · denied · call_1", "    not on Sundays"],
    ]


COLOURED = '\x1b[1;31mFAILED\x1b[0m "a\\b" \x1b]8;;http://a.b\x1b\\link\x1b]8;;\x1b\\ \x1b[2K\x1b[?25l\x1b(B'


def test_what_programs_colour_for_a_terminal_is_shown_in_a_result_without_its_codes():
    results = [
        ToolResult("c", value=COLOURED),
        ToolResult("c", error=COLOURED),
        ToolResult("c", value={"out": [COLOURED]}),
    ]
    assert [bundle_of(event)["text/plain"].splitlines()[1].strip() for event in results] == [
        'FAILED "a\\b" link',
        'FAILED "a\\b" link',
        r'{"out": ["FAILED \"a\\b\" link "]}',
    ]
    assert event_line(results[1]) == '✗ c failed: FAILED "a\\b" link '


CODES = st.text(st.sampled_from('\x1b\x07[]31;m\\"(K aä\n')) | st.text()


@given(st.recursive(CODES, lambda inner: st.lists(inner) | st.dictionaries(st.just("key"), inner), max_leaves=6))
def test_codes_are_left_out_of_json_as_they_are_of_its_texts(value: Any):
    def cleaned(each: Any) -> Any:
        if isinstance(each, str):
            return without_codes(each)
        return {key: cleaned(inner) for key, inner in each.items()} if isinstance(each, dict) else [*map(cleaned, each)]

    assert json.loads(without_codes(json.dumps(value, ensure_ascii=False), is_json=True)) == cleaned(value)


def test_segments_put_into_a_collection_by_hand_are_shown_too():
    assert "text · complete" in bundle_of(Collected(segments=[Segment("s", "text", status="complete")]))["text/plain"]


def test_a_segment_says_how_it_ended_and_how_long_it_is():
    segment = Segment(
        "s", "write_file", {"tool_name": "write_file", "path": "a.py"}, "a\nb\nc", status="failed", reason="limit"
    )
    assert bundle_of(segment)["text/plain"].splitlines()[0] == "write_file · failed: limit · a.py · 3 lines"
    assert bundle_of(Segment("s", "text"))["text/plain"] == "text · open"


def test_a_brief_invocation_is_one_line_without_what_streamed():
    card = brief_card(ToolInvocation("i", name="f", arguments={"path": "a'b", "n": 3, "deep": {"a": [1]}, "s": LONG}))
    assert card.title == '→ f(path="a\'b", n=3, deep={"a": [1]}, s=<1,000,000 characters>)'
    assert card.rows == ()


def test_no_card_gives_an_empty_page():
    assert mime_bundle(()) == {"text/plain": "", "text/html": '<div style="color:inherit"></div>'}


def test_the_json_form_and_the_fields_know_nothing_of_it():
    for event in EVENTS[:8]:
        assert not [name for name in event.__struct_fields__ if "mime" in name]
        assert b"mime" not in msgspec.json.encode(event)


def test_the_builder_is_loaded_when_a_notebook_asks_and_not_before():
    code = f"""
import sys
from types import ModuleType
sys.modules["penstock"] = ModuleType("penstock")
sys.modules["penstock"].__path__ = [{str(ROOT)!r}]
from penstock.events import Notice
before = "penstock.sinks.card" in sys.modules
Notice("c", "d")._repr_mimebundle_()
print(before, "penstock.sinks.card" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_arguments_and_metadata_beyond_the_rows_are_counted():
    many = {f"k{number}": number for number in range(ROWS + 7)}
    assert brief_card(ToolInvocation("c", "t", "f", many)).title.endswith(f"k{ROWS - 1}={ROWS - 1}, … 7 more)")
    assert brief_card(ToolInvocation("c", "t", "f", {"a": 1})).title == "→ f(a=1)"
    facts = segment_card(Segment("s", "tool_call", many, "", status="complete")).facts
    assert facts[-2:] == (f"k{ROWS - 1}: {ROWS - 1}", "… 7 more")


def test_a_status_is_its_tool_and_its_state():
    shown = [bundle_of(event)["text/plain"].splitlines() for event in EVENTS if isinstance(event, ToolCallStatus)]
    assert shown == [["deploy · requested · call_1"], ["deploy · denied · call_1", "    not on Sundays"]]


MUTANTS = {
    "rows beyond the shown ones are not counted": ("beyond", ("sinks/card.py", 'f"… {number - ROWS:,} more"] if number > ROWS else []', '"…"] if number > 10**9 else []')),
}  # fmt: skip
