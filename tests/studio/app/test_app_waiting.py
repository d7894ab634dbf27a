"""What waits for a yes is seen: in the list of runs whose page is gone, and below the bar of a narrow page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from app_page import app_served
from app_tab import COMMAND_CARD, EVENTS, FILE_CARD, IN_THE_FILE, ask, leave, opened, replay
from browser import Tab
from chat_chunks import call, closing, event
from every_sdk import nothing_left
from looped import looped
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow


def test_a_run_that_waits_is_listed_so_also_when_its_page_is_gone(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    with (
        nothing_left(),
        replay().gated() as provider,
        app_served(monkeypatch, provider, root=tmp_path) as served,
    ):
        page = opened(tab, served)
        ask(page)
        provider.allow(IN_THE_FILE)
        entry = page.locator("#history button")
        expect(entry).to_contain_text("streaming: A page about herbs")
        page.get_by_role("tab").press("Delete")
        expect(entry).to_contain_text("streaming")
        provider.allow(len(EVENTS))  # what it asks now, no page is told
        expect(entry).to_contain_text("waits for you: A page about herbswaits for you · openai-chat")
        expect(page).to_have_title("(1) Penstock: waits for you")
        page.evaluate("sessionStorage.removeItem('penstock.tabs')")
        page.goto(served.page)  # another window
        page.reload()
        expect(page.get_by_role("tab")).to_have_count(0)
        expect(entry).to_contain_text("waits for you")
        expect(page).to_have_title("(1) Penstock: waits for you")
        entry.click()
        page.get_by_role("button", name=f"Deny: {FILE_CARD}").click()
        expect(page.locator(".badge")).to_have_text("complete")
        expect(entry).not_to_contain_text("waits for you")
        expect(page).to_have_title("Penstock")
        leave(tab)
    assert tab.complaints == []


COVERED = """(each) => {
    const { left, top, right, bottom } = each.getBoundingClientRect();
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const isSeen = ([x, y]) => each.contains(document.elementFromPoint(x, y));
    return [[x, top + 1], [x, bottom - 1], [left + 1, y], [right - 1, y]].filter((edge) => !isSeen(edge)).length;
}"""
"""How many edges of an element are covered in their middle, or out of the page."""


@contextmanager
def asking(tab: Tab, monkeypatch: pytest.MonkeyPatch, folder: Path, height: int) -> Iterator[Page]:
    """Yield a page of the width of a phone, on which a file and a command wait."""
    arguments = json.dumps({"path": "docs/herbs.html", "content": "<p>Mint</p>\n" * 40})
    events = [
        event({"role": "assistant", "content": "First the page, and then a look at it. " * 8}),
        *(
            call(0, arguments[at : at + 60], *(("call_file", "write_file") if not at else ()))
            for at in range(0, len(arguments), 60)
        ),
        call(1, '{"command": "cat docs/herbs.html"}', "call_run", "run_bash"),
        *closing(),
    ]
    with (
        nothing_left(),
        replay(events) as provider,
        app_served(monkeypatch, provider, root=folder, commands=True) as served,
    ):
        tab.page.set_viewport_size({"width": 390, "height": height})
        page = opened(tab, served)
        ask(page, "A page about herbs, with a line for each of those that grow in the northern bed")
        expect(page.get_by_role("button", name=f"Approve: {COMMAND_CARD}")).to_be_visible()
        expect(page.get_by_role("button", name="Changes: 40 added, 0 removed")).to_be_visible()
        yield page
        leave(tab)
    assert tab.complaints == []


@looped("height", [560, 720])
def test_no_bar_covers_the_question_on_a_phone(tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, height: int):
    with asking(tab, monkeypatch, tmp_path, height) as page:
        first = page.get_by_role("group", name=f"Approval of {FILE_CARD}")
        for each in first.locator(".question, button").all():
            assert each.evaluate(COVERED) == 0  # where the page has gone by itself
        main = page.locator("#main")
        for name in (f"Deny: {COMMAND_CARD}", f"Deny: {FILE_CARD}"):
            button = page.get_by_role("button", name=name)
            for at in (0, 1_000_000):
                main.evaluate("(each, at) => { document.activeElement.blur(); each.scrollTop = at; }", at)
                button.focus()
                question = page.get_by_role("group").filter(has=button).locator(".question")
                assert (question.evaluate(COVERED), button.evaluate(COVERED)) == (0, 0), (name, at)


def test_the_page_goes_on_to_the_next_question_and_then_to_the_end(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    with asking(tab, monkeypatch, tmp_path, 560) as page:
        page.get_by_role("button", name=f"Approve: {FILE_CARD}").click()
        second = page.get_by_role("group", name=f"Approval of {COMMAND_CARD}").locator(".question")
        expect(page.get_by_role("group", name=f"Approval of {FILE_CARD}")).to_have_count(0)
        page.wait_for_function(f"(each) => ({COVERED})(each) === 0", arg=second.element_handle())
        page.get_by_role("button", name=f"Approve: {COMMAND_CARD}").click()
        expect(page.locator(".ended")).to_be_in_viewport()
