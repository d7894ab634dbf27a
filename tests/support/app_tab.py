"""The app's page in a browser, and an answer with a file and a command for it."""

from __future__ import annotations

import json
from typing import Any

from app_page import Served
from browser import Tab
from chat_chunks import call, closing, event
from playwright.sync_api import Locator, Page, expect

from penstock.studio.testing import ReplayServer

FILE = "<h1>Herbs</h1>\n<p>Mint 🌿</p>\n"
EVENTS = [
    event({"role": "assistant", "reasoning_content": "A small bed first."}),
    event({"content": "Here is "}),
    event({"content": "the page.\n"}),
    call(0, '{"path": "docs/herbs.html", "content": "<h1>Her', "call_file", "write_file"),
    call(0, "bs</h1>\\n<p>Mi"),
    call(0, json.dumps("nt 🌿</p>\n")[1:] + "}"),
    call(1, '{"command": "cat docs/herbs.html"}', "call_run", "run_bash"),
    *closing(),
]
IN_THE_FILE = 5
"""So many events have been sent when the file is half written."""
HALF = "<h1>Herbs</h1>\n<p>Mi"


def replay(events: list[bytes] = EVENTS, **options: Any) -> ReplayServer:
    return ReplayServer({"chat": b"".join(events)}, **options)


def opened(tab: Tab, served: Served) -> Page:
    tab.page.goto(served.page)
    expect(tab.page.get_by_label("Prompt")).to_be_visible()
    expect(tab.page.locator("#provider option")).not_to_have_count(0)  # what is typed before has nobody to ask
    return tab.page


def ask(page: Page, text: str = "A page about herbs") -> None:
    page.get_by_label("Prompt").fill(text)
    page.get_by_label("Prompt").press("Enter")


def card(page: Page, name: str) -> Locator:
    return page.locator("article:not([hidden])").get_by_role("region", name=name, exact=True)


def lines(card: Locator, name: str = "content") -> Locator:
    return card.locator(f'[aria-label$=", {name}"] .source')


def expect_lines(card: Locator, text: str) -> None:
    expect(lines(card)).to_have_text(text.removesuffix("\n").split("\n"), use_inner_text=False)


def leave(tab: Tab) -> None:
    tab.page.goto("about:blank")  # a server that ends waits for its readers


FILE_CARD, COMMAND_CARD = "write_file docs/herbs.html", "run_bash"
