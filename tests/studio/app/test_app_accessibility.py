"""The page by keyboard and for a screen reader: what Chromium's accessibility tree says, and where the focus is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from accessibility import faint_texts, tree
from app_page import app_served
from app_tab import COMMAND_CARD, EVENTS, FILE_CARD, IN_THE_FILE, ask, card, leave, opened, replay
from browser import Tab
from every_sdk import nothing_left
from looped import looped
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow
NAMED = {"button", "textbox", "combobox", "radio", "tab", "tablist", "tabpanel", "region", "group", "main", "form"}
NAMED |= {"complementary", "radiogroup", "link", "option", "DisclosureTriangle"}


def focused(page: Page) -> str:
    """Return how a screen reader calls what has the focus."""
    session = page.context.new_cdp_session(page)
    found: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    has = [
        each
        for each in found
        if any(one["name"] == "focused" and one["value"]["value"] for one in each.get("properties", []))
    ]
    return f"{has[-1]['role']['value']} {has[-1].get('name', {}).get('value', '')}".strip()


def passed(page: Page, key: str, until: str, most: int = 30) -> list[str]:
    """Press a key until something has the focus; return what had it on the way."""
    names: list[str] = []
    while not names or names[-1] != until:
        assert len(names) < most, names
        page.keyboard.press(key)
        names.append(focused(page))
    return names


def test_everything_has_a_role_and_a_name_and_is_reached_and_done_by_keyboard(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "herbs.html").write_text("<h1>Herbs</h1>\n<p>Sage</p>\n")
    with (
        nothing_left(),
        replay().gated() as provider,
        app_served(monkeypatch, provider, root=tmp_path, commands=True) as served,
    ):
        page = opened(tab, served)
        page.evaluate(_LISTEN)
        page.keyboard.press("Tab")
        assert focused(page) == "link Skip to the answers"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        assert passed(page, "Tab", "textbox Prompt") == ["radio Ask a model", "textbox Prompt"]
        page.keyboard.type("Herbs")
        page.keyboard.press("Enter")
        provider.allow(IN_THE_FILE)
        expect(page.get_by_role("button", name="Changes: 0 added, 0 removed")).to_be_visible()
        provider.allow(len(EVENTS) - IN_THE_FILE)
        expect(page.get_by_role("button", name=f"Approve: {COMMAND_CARD}")).to_be_visible()
        expect(page.get_by_role("button", name="Changes: 1 added, 1 removed")).to_be_visible()

        nodes = tree(page)
        assert [role for role, name in nodes if role in NAMED and not name.strip() and role != "main"] == []
        assert {role for role, _ in nodes} >= {"main", "complementary", "tablist", "tab", "tabpanel", "status", "form"}
        page.evaluate("document.activeElement.blur()")
        page.locator("#new").focus()
        order = passed(page, "Tab", f"button Deny: {COMMAND_CARD}")
        assert order == [
            "button waits for you: Herbs openai-chat gpt-5 · " + order[0].rpartition("· ")[2],
            "combobox Theme",
            "tab waits for you: Herbs",
            "button Close Herbs; the answer goes on for a while",
            "button Stop",
            "DisclosureTriangle Reasoning",
            "button Content",
            "button Changes: 1 added, 1 removed",
            "button Copy",
            f"region {FILE_CARD}, changes on disk",
            f"button Approve: {FILE_CARD}",
            f"button Deny: {FILE_CARD}",
            "button Copy",
            f"region {COMMAND_CARD}, content",
            f"button Approve: {COMMAND_CARD}",
            f"button Deny: {COMMAND_CARD}",
        ]
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"

        # Whoever answers stays where the answer was given, and goes on from there.
        page.keyboard.press("Enter")
        expect(card(page, COMMAND_CARD).locator(".state")).to_have_text("denied")
        assert focused(page) == f"region {COMMAND_CARD}"
        passed(page, "Shift+Tab", f"button Approve: {FILE_CARD}")
        page.keyboard.press("Space")
        expect(page.locator(".badge")).to_have_text("complete")
        assert focused(page) == f"region {FILE_CARD}"
        assert (tmp_path / "docs" / "herbs.html").read_text(encoding="utf-8").startswith("<h1>Herbs")

        expect(page.locator("#status")).to_contain_text("The answer is complete")
        said: list[str] = [each for texts in page.evaluate("window.said") for each in texts.split("; ")]
        assert said[0] == f"writing {FILE_CARD}"
        assert said[-1] == "The answer is complete"
        assert sorted(said[1:-1]) == sorted(
            [
                f"{FILE_CARD}: 2 lines",
                f"writing {COMMAND_CARD}",
                f"{COMMAND_CARD}: complete",
                f"{FILE_CARD} waits for your approval",
                f"{COMMAND_CARD} waits for your approval",
            ]
        )
        assert ("status", "") in tree(page)
        leave(tab)
    assert tab.complaints == []


_LISTEN = """() => {
    window.said = [];
    const status = document.getElementById("status");
    if (status.getAttribute("aria-live") === "polite")
        new MutationObserver(() => window.said.push(status.textContent)).observe(status, { childList: true });
}"""


@looped("scheme", ["light", "dark"])
def test_no_text_is_fainter_than_people_can_read(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scheme: Any
):
    """The contrast of each text with what is behind it is 4.5 at least, as WCAG asks of small letters."""
    (tmp_path / "docs").mkdir(exist_ok=True)
    (tmp_path / "docs" / "herbs.html").write_text("<h1>Herbs</h1>\n<p>Sage</p>\n")
    with nothing_left(), replay() as provider, app_served(monkeypatch, provider, root=tmp_path) as served:
        tab.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page = opened(tab, served)
        faint = faint_texts(page)
        ask(page)
        expect(page.get_by_role("button", name="Changes: 1 added, 1 removed")).to_be_visible()
        faint += faint_texts(page)
        page.get_by_role("button", name=f"Deny: {FILE_CARD}").click()
        expect(page.locator(".badge")).to_have_text("complete")
        faint += faint_texts(page)
        leave(tab)
    assert faint == []
