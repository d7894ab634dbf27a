"""Pictures as a real browser shows them: readable in the dark and in the light, nothing over anything else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from browser import Tab, browser_tab
from playwright.sync_api import Browser

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.operators import parse_text, stream_fields, to_invocations, to_segments
from penstock.studio import marbles, trace
from penstock.studio.marble_diagrams.marbles import MarblePicture

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LOOK = """
svg => {
    const ink = getComputedStyle(svg).color, ground = svg.querySelector(".ground");
    const lanes = [...svg.querySelectorAll("g.lane")].map(lane => [...lane.querySelectorAll(":scope > g")]);
    const boxes = lanes.flatMap(marks => marks.filter(each => each.querySelector("rect") && each.querySelector("text")));
    const wide = boxes.filter(each =>
        each.querySelector("text").getBBox().width > each.querySelector("rect").getBBox().width + 1);
    const over = lanes.flatMap(marks => {
        const items = marks.filter(each => !each.getAttribute("class")).map(each => each.getBBox());
        return items.slice(1).filter((box, at) => box.x < items[at].x + items[at].width - 0.5);
    });
    const all = svg.viewBox.baseVal;
    const outside = [...svg.querySelectorAll("text")].map(each => [each.textContent, each.getBBox()])
        .filter(([_, box]) => box.x < 0 || box.x + box.width > all.width + 1 || box.y + box.height > all.height);
    return {
        ink, ground: ground && getComputedStyle(ground).fill, marks: boxes.length,
        wide: wide.map(each => each.textContent), over: over.length, outside: outside.map(each => each[0]),
    };
}
"""
DARK, LIGHT = "rgb(13, 17, 23)", "rgb(255, 255, 255)"
INK = {"dark": ("rgb(230, 237, 243)", DARK), "light": ("rgb(31, 35, 40)", LIGHT)}


@pytest.fixture(scope="module")
def tab(chromium: Browser) -> Iterator[Tab]:
    with browser_tab(chromium) as found:
        yield found


def answer(pieces: int) -> Iterator[ChunkResponse]:
    yield ChunkResponse(reasoning="Hm 日本語 ")
    yield ChunkResponse(content="Now the file.</text><b>")
    yield ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "write_file", '{"path": "a.py", "content": "'),))
    for _ in range(pieces - 5):
        yield ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta="print(1)\\n"),))
    yield ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='"}'),))
    yield ChunkResponse(finish_reason="tool_calls")


def picture(length: int, **options: Any) -> MarblePicture:
    seen = trace(to_segments(), stream_fields(), to_invocations(keep_segments=True))
    for number, chunk in enumerate(answer(length)):
        seen.feed(chunk, t_ns=number * 200_000_000)
    seen.close(t_ns=length * 200_000_000)
    return marbles(seen, title="A file, while it is written", **options)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("axis", ["items", "time"])
@pytest.mark.parametrize("length", [10, 40, 5_000])
def test_a_picture_of_any_length_is_readable(
    tab: Tab, tmp_path: Path, length: int, axis: str, scheme: Literal["light", "dark"]
):
    path = picture(length, axis=axis).save(tmp_path / "picture.svg")
    tab.page.emulate_media(color_scheme=scheme)
    tab.page.goto(path.as_uri())
    looked = tab.page.locator("svg").evaluate(LOOK)
    assert (looked["ink"], looked["ground"]) == INK[scheme]
    assert (looked["wide"], looked["over"], looked["outside"]) == ([], 0, [])
    assert (looked["marks"] >= 10) is (length == 10)
    assert tab.complaints == []


def test_texts_that_are_held_back_at_one_moment_have_room(tab: Tab, tmp_path: Path):
    text = (
        'Now. <tool_call>{"name": "write_file", "arguments": {"path": "a.py", "content": "print(1)"}}</tool_call> So.'
    )
    pieces = [text[at : at + 9] for at in range(0, len(text), 9)]
    seen = trace(parse_text("hermes"), stream_fields(), to_invocations(keep_segments=True)).run(pieces)
    for by in ("operator", "segment"):
        tab.page.goto(marbles(seen, by=by).save(tmp_path / "picture.svg").as_uri())
        looked = tab.page.locator("svg").evaluate(LOOK)
        assert (looked["wide"], looked["over"], looked["outside"]) == ([], 0, [])
        assert tab.page.locator("g.held").count() > 3


def test_in_a_page_it_has_the_colour_of_the_page_and_no_ground(tab: Tab, tmp_path: Path):
    page = tmp_path / "page.html"
    page.write_text(
        f'<meta charset="utf-8"><body style="color: rgb(1, 2, 3)">{picture(10).html}{picture(10, by="segment").html}',
        encoding="utf-8",
    )
    tab.page.goto(page.as_uri())
    for each in tab.page.locator("svg").all():
        looked = each.evaluate(LOOK)
        assert (looked["ink"], looked["ground"]) == ("rgb(1, 2, 3)", None)
        assert looked["marks"] >= 10
    ids = tab.page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(set(ids)) == len(ids)
    hatch = tab.page.locator("g.held rect").first.get_attribute("fill")
    assert hatch is not None
    assert hatch.removeprefix("url(#").removesuffix(")") in ids


@pytest.mark.parametrize("length", [10, 5_000])
def test_in_a_narrow_page_its_words_stay_as_large_as_they_are_and_it_scrolls(tab: Tab, tmp_path: Path, length: int):
    page = tmp_path / "page.html"
    page.write_text(
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">{picture(length).html}',
        encoding="utf-8",
    )
    tab.page.set_viewport_size({"width": 420, "height": 720})
    tab.page.goto(page.as_uri())
    svg = tab.page.locator("svg")
    assert svg.evaluate("each => each.clientWidth === each.viewBox.baseVal.width && each.clientWidth > 420")
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    svg.evaluate("each => { each.parentElement.scrollLeft = 1e6; }")
    assert svg.evaluate("each => each.getBoundingClientRect().right <= innerWidth")
    tab.page.set_viewport_size({"width": 1280, "height": 720})


def test_it_is_an_image_with_a_name_and_a_description(tab: Tab, tmp_path: Path):
    tab.page.goto(picture(10).save(tmp_path / "picture.svg").as_uri())
    named = tab.page.get_by_role("img", name="A file, while it is written")
    assert named.count() == 1
    said = named.get_attribute("aria-labelledby")
    assert said is not None
    assert "source: 10 items, completed" in tab.page.locator(f"#{said.split()[1]}").text_content()  # type: ignore[operator]
