"""The explorer where notebooks put it: the colours of its first frame, and its width beside others, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser import Tab, browser_tab
from chat_chunks import call, closing, event
from explorer_tab import explorer_page
from looped import looped
from playwright.sync_api import Browser, Page, expect

from penstock.studio.explorer.explored_runs import RunChoice, runs_of_stream
from penstock.studio.explorer.explored_stream import ExploredStream

pytestmark = pytest.mark.slow

ANSWER = [
    *(event({"content": f"{number} "}) for number in range(90)),
    call(0, '{"path": "a/long/path/of/a/file.py", "content": "', "call_file", "write_file"),
    *(call(0, "x\\n") for _ in range(30)),
    call(0, '"}'),
    *closing(),
]


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    with browser_tab(chromium) as opened:
        opened.page.clock.install(time=0)
        opened.page.clock.pause_at(1_000)  # so that nothing is seen to by a timer
        yield opened
        assert opened.complaints == []


def data() -> bytes:
    runs = runs_of_stream(ExploredStream("a stream", "wire", ANSWER, None, "openai-chat"))
    return runs.data(RunChoice(), runs.first)


@pytest.fixture
def page(tab: Tab) -> Page:
    return explorer_page(tab, {"one": data()})


PUT = """([ground, isFirst]) => {
    const around = document.createElement("div");
    around.style.background = ground;
    document.body.append(around);
    const host = document.createElement("div");
    if (isFirst) around.append(host);
    explorers.two = new explorers.one.constructor(host, stores.one);
    const seen = [];
    window.painted = new Promise((resolve) => {
        const { root } = explorers.two;
        new MutationObserver(() => seen.push(root.dataset.theme)).observe(root, { attributeFilter: ["data-theme"] });
        if (isFirst) seen.push(root.dataset.theme);
        else around.append(host);
        // Told behind the explorer's own observer of its size, and before the paint.
        new ResizeObserver(() => resolve([root.dataset.theme, getComputedStyle(root).backgroundColor, seen])).observe(root);
    });
}"""
COLOURS = {"light": "rgb(255, 255, 255)", "dark": "rgb(19, 27, 28)"}


@looped(
    "ground, theme, system, is_first",
    [
        ("#fff", "light", "dark", True),
        ("#fff", "light", "dark", False),
        ("#111", "dark", "light", True),
        ("#111", "dark", "light", False),
    ],
)
def test_its_first_frame_has_the_colours_of_where_it_was_put(
    tab: Tab, ground: str, theme: str, system: Any, is_first: bool
):
    page = explorer_page(tab, {"one": data()})
    page.emulate_media(color_scheme=system)
    page.evaluate("document.body.style.background = ''")
    page.evaluate(PUT, [ground, is_first])
    assert page.evaluate("painted") == [theme, COLOURS[theme], [theme]]


def test_a_stylesheet_that_comes_later_changes_it_at_once(page: Page):
    page.route("**/late.css", lambda route: route.fulfill(body="body { background: #111 }", content_type="text/css"))
    explorer = page.locator(".penstock-explorer")
    expect(explorer).to_have_attribute("data-theme", "light")
    page.evaluate(
        """() => {
            const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/late.css" });
            document.head.append(link);
        }"""
    )
    expect(explorer).to_have_attribute("data-theme", "dark")


OUTSIDE = """(root) => {
    const { right } = root.getBoundingClientRect();
    return [...root.querySelectorAll("*")].filter((each) => each.getBoundingClientRect().right > right).map((each) => each.className);
}"""


@looped("width", [320, 420, 640, 727, 900, 1313])
def test_nothing_is_cut_off_at_its_right_edge(page: Page, width: int):
    page.set_viewport_size({"width": width, "height": 800})
    explorer = page.locator(".penstock-explorer")
    for item in (0, 60, len(ANSWER)):
        page.evaluate("item => explorers.one.go(item)", item)
        assert explorer.evaluate(OUTSIDE) == []
        column, visible, drawn = page.evaluate(
            "(({ column, visible, width }) => [column, visible, width])(explorers.one.lanes)"
        )
        assert column * visible == pytest.approx(drawn)  # the columns are whole
        assert column >= 22
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@looped("beside, least", [("", 880), ("beside it", 800), ("beside it " * 60, 240)])
def test_in_a_row_it_takes_the_room_that_there_is(tab: Tab, beside: str, least: int):
    page = explorer_page(tab, {"one": data()})
    page.set_viewport_size({"width": 900, "height": 800})
    page.evaluate(
        """(beside) => {
            const row = Object.assign(document.createElement("div"), { style: "display: flex" });
            row.append(document.getElementById("one"), Object.assign(document.createElement("p"), { textContent: beside }));
            document.body.append(row);
        }""",
        beside,
    )
    explorer = page.locator(".penstock-explorer")
    box = explorer.bounding_box()
    assert box is not None
    assert box["width"] >= least
    assert explorer.evaluate(OUTSIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
