"""The explorer for a screen reader and for weak eyes: what Chromium's accessibility tree says, and the contrast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from accessibility import faint_texts, tree
from browser import Tab, browser_tab
from chat_chunks import call, closing, event
from explorer_tab import explorer_page
from looped import looped
from playwright.sync_api import Browser, expect

from penstock.studio.explorer.explored_runs import RunChoice, runs_of_stream
from penstock.studio.explorer.explored_stream import ExploredStream

pytestmark = pytest.mark.slow

ANSWER = [
    event({"role": "assistant", "reasoning_content": "Hm."}),
    event({"content": "Here it <tool_"}),
    call(0, '{"path": "a.py", "size": 12, "con', "call_file", "write_file"),
    call(0, 'tent": "x = 1\\n"}'),
    *closing(),
]
NAMED = {"button", "combobox", "spinbutton", "slider", "group", "region", "form", "list", "DisclosureTriangle"}


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    with browser_tab(chromium) as opened:
        yield opened
        assert opened.complaints == []


def data() -> bytes:
    """Return a run with another strategy, which has withheld text and a difference."""
    runs = runs_of_stream(ExploredStream("a stream", "wire", ANSWER, None, "openai-chat"))
    return runs.data(RunChoice("hermes"), runs.traced(RunChoice("hermes")))


def test_everything_has_a_role_and_a_name(tab: Tab):
    page = explorer_page(tab, {"one": data()}, item=1)
    nodes = tree(page)
    assert {role for role, _ in nodes} >= NAMED | {"status", "heading", "listitem"}
    unnamed = [role for role, name in nodes if role in NAMED - {"list", "group"} and not name.strip()]
    assert unnamed == []
    assert ("group", "Explorer of a stream") in nodes  # other groups are named by what opens them
    names = {name for role, name in nodes if role == "region"}
    assert {"What came, as it is", "What each stage did with it", "The answer so far"} <= names


@looped("scheme", ["light", "dark"])
def test_no_text_is_fainter_than_people_can_read(tab: Tab, scheme: Any):
    page = explorer_page(tab, {"one": data()}, problem="it cannot be run")
    page.evaluate("scheme => { document.documentElement.style.colorScheme = scheme; }", scheme)
    expect(page.locator(".penstock-explorer")).to_have_attribute("data-theme", scheme)
    page.get_by_label("Strategy").select_option("as given")
    faint = []
    seen = set()
    for item in range(len(ANSWER)):
        page.evaluate("item => explorers.one.go(item)", item)
        for each in page.locator(".pe-event summary").all():
            each.click()
        faint += faint_texts(page)
        seen |= {
            name
            for name in ("held", "scalar", "key", "string", "divergence", "open", "unrun:visible")
            if page.locator(f".pe-{name}").count()
        }
    assert faint == []
    assert len(seen) == 7


@looped("scheme", ["light", "dark"])
def test_the_edges_of_what_can_be_used_are_seen(tab: Tab, scheme: Any):
    """The contrast of the border of fields and buttons is 3 at least, as WCAG asks."""
    page = explorer_page(tab, {"one": data()})
    page.evaluate("scheme => { document.documentElement.style.colorScheme = scheme; }", scheme)
    expect(page.locator(".penstock-explorer")).to_have_attribute("data-theme", scheme)
    borders = page.evaluate(
        """() => [...document.querySelectorAll('select, button:not(.pe-play), input[type=number]')].map((each) => {
            each.style.color = getComputedStyle(each).borderTopColor;
            return getComputedStyle(each).borderTopColor;
        })"""
    )
    assert len(borders) == 7
    assert faint_texts(page) == []
