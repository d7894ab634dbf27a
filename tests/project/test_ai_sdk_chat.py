"""The React page of the AI SDK in a real browser: what it shows while a model writes, and after a reload, a stop, a cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from browser import Tab
from chat_chunks import call, closing, event
from chat_page import ask, box, chat
from every_sdk import nothing_left
from npm_clients import bundle
from playwright.sync_api import Page, expect

from penstock.studio.testing import ReplayServer

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.slow
FILE = "<h1>Herbs</h1>\n<p>Mint 🌿</p>\n"


EVENTS = [
    event({"role": "assistant", "reasoning_content": "A small bed first."}),
    event({"content": "Here is "}),
    event({"content": "the page."}),
    call(0, '{"word": "ti', "call_word", "look_up"),
    call(0, 'de"}'),
    call(1, '{"path": "herbs.html", "content": "<h1>Her', "call_file", "write_file"),
    call(1, "bs</h1>\\n<p>Mi"),
    call(1, json.dumps("nt 🌿</p>\n")[1:] + "}"),
    *closing(),
]
IN_THE_FILE = 7
"""So many events have been sent when the file is half written."""
HALF = "<h1>Herbs</h1>\n<p>Mi"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "build" / "ai_sdk_chat.js"
    bundle(EXAMPLES / "ai_sdk_chat.jsx", made)
    return made


def replay(**options: Any) -> ReplayServer:
    return ReplayServer({"chat": b"".join(EVENTS)}, **options)


def expect_answer(page: Page) -> None:
    """Expect the whole answer as the last of the page."""
    answer = page.locator("article.assistant").last
    expect(answer.locator("footer")).to_have_text("herbalist-1, 50 tokens")
    expect(page.get_by_role("button")).to_have_text("Send")
    expect(answer.locator("p")).to_have_text(["A small bed first.", "Here is the page."])
    expect(box(page, "look_up").locator("i")).to_have_text("unknown_tool (known tools: write_file)")
    expect(box(page, "look_up").locator("pre")).to_have_text('{"word": "tide"}')
    expect(box(page, "write_file").locator("i")).to_have_text("complete")
    expect(box(page, "write_file").locator("pre")).to_have_js_property("textContent", FILE)
    expect(answer.locator("figcaption span").nth(1)).to_have_text("herbs.html")


def test_texts_calls_and_files_grow_while_the_model_writes_them(
    tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch
):
    page = tab.page
    with nothing_left(), replay().gated() as provider, chat(tab, script, monkeypatch, provider):
        for turn in (1, 2):
            ask(page, "A page about herbs")
            expect(page.get_by_role("button")).to_have_text("Stop")
            provider.allow(2)
            expect(page.locator("article.assistant").last.locator("p")).to_have_text(["A small bed first.", "Here is "])
            provider.allow(1)
            expect(page.get_by_text("Here is the page.")).to_have_count(turn)
            provider.allow(1)
            expect(box(page, "look_up").locator("pre")).to_have_text('{ "word": "ti" }')
            expect(box(page, "look_up").locator("i")).to_have_text("writing")
            provider.allow(2)
            expect(box(page, "write_file").locator("pre")).to_have_text("<h1>Her")
            provider.allow(1)
            expect(box(page, "write_file").locator("pre")).to_have_text(HALF)
            expect(box(page, "write_file").locator("i")).to_have_text("writing")
            assert [entry.outcome for entry in provider.log] == ["finished"] * (turn - 1) + ["open"]
            provider.allow(len(EVENTS) - IN_THE_FILE)
            expect_answer(page)
            assert provider.wait_for("finished", request=turn)
    assert tab.complaints == []


def test_a_page_that_is_loaded_again_resumes_the_answer_and_the_model_is_asked_once(
    tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch
):
    page = tab.page
    with nothing_left(), replay().gated() as provider, chat(tab, script, monkeypatch, provider) as address:
        ask(page, "A page about herbs")
        provider.allow(IN_THE_FILE)
        expect(box(page, "write_file").locator("pre")).to_have_text(HALF)
        page.reload()
        expect(box(page, "write_file").locator("pre")).to_have_text(HALF)
        expect(page.locator("article.user")).to_have_text("A page about herbs")
        page.goto("about:blank")
        provider.allow(len(EVENTS) - IN_THE_FILE)
        provider.wait_for("finished")
        page.goto(address)
        expect_answer(page)
        page.reload()  # what is complete is the page's own
        expect_answer(page)
        expect(page.locator("article")).to_have_count(2)
        assert len(provider.log) == 1
    assert tab.complaints == []


def test_the_button_stops_the_model_and_what_is_open_ends(tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch):
    page = tab.page
    with nothing_left(), replay().gated() as provider, chat(tab, script, monkeypatch, provider):
        ask(page, "A page about herbs")
        provider.allow(IN_THE_FILE)
        expect(box(page, "write_file").locator("pre")).to_have_text(HALF)
        page.get_by_role("button", name="Stop").click()
        left = provider.wait_for("client_left")
        assert left.bytes_sent < left.bytes_total
        expect(page.get_by_role("button")).to_have_text("Send")
        expect(box(page, "write_file").locator("i")).to_contain_text("interrupted")
        expect(box(page, "write_file").locator("pre")).to_have_text(HALF)
        expect(page.get_by_role("alert")).to_have_count(0)
        assert [entry.outcome for entry in provider.log] == ["client_left"]
    assert tab.complaints == []


def test_an_answer_whose_provider_breaks_off_says_so(tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch):
    page = tab.page
    cut = len(b"".join(EVENTS[:IN_THE_FILE]))
    with nothing_left(), replay(fault=f"cut:{cut}") as provider, chat(tab, script, monkeypatch, provider):
        ask(page, "A page about herbs")
        expect(page.get_by_role("alert")).to_contain_text("peer closed connection")
        expect(box(page, "write_file").locator("i")).to_contain_text("interrupted")
        expect(box(page, "write_file").locator("pre")).to_have_text(HALF)
        expect(page.get_by_text("Here is the page.")).to_be_visible()
        expect(page.get_by_role("button")).to_have_text("Send")
    assert tab.complaints == []


def test_without_a_key_a_recorded_answer_is_played(tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), chat(tab, script, monkeypatch):
        monkeypatch.setattr("recordings.PACE", 0)
        ask(tab.page, "Write a page about herbs")
        expect(tab.page.locator("figcaption")).to_have_text(
            ["write_file herbs.html complete", "write_file herbs.css complete"]
        )
        expect(tab.page.locator("pre").first).to_contain_text("<h1>🌿 Herbs on the balcony</h1>")
    assert tab.complaints == []
