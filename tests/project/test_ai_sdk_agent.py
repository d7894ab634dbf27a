"""The React page of an agent in a real browser: Stop, a reload and a restart, while it writes and while a call waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from browser import Tab
from chat_chunks import call, closing, event
from chat_page import EXAMPLES, ask, box, chat
from every_sdk import nothing_left
from npm_clients import bundle
from playwright.sync_api import Page, expect

from penstock.studio.testing import ReplayServer

pytestmark = pytest.mark.slow
CALLS = [
    event({"content": "Let me "}),
    event({"content": "see."}),
    call(0, '{"city": "Os', "call_look", "get_weather"),
    call(0, 'lo"}'),
    call(1, '{"path": "old', "call_delete", "delete_file"),
    call(1, '.log"}'),
    *closing(),
]
SAYS = [
    event({"content": "It is 21 °C, "}, id="chatcmpl-2"),
    event({"content": "and all is done."}, id="chatcmpl-2"),
    event({}, "stop", id="chatcmpl-2"),
    b"data: [DONE]\n\n",
]
TEXTS = ["Let me see.", "It is 21 °C, and all is done."]


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "build" / "ai_sdk_agent.js"
    bundle(EXAMPLES / "ai_sdk_agent.jsx", made)
    return made


@pytest.fixture
def script(bundled: Path, tmp_path: Path) -> Path:
    """Return the page's script, in a folder of its own for the chats."""
    copy = tmp_path / "build" / bundled.name
    copy.parent.mkdir()
    copy.write_bytes(bundled.read_bytes())
    return copy


class Provider:
    """Answers with calls, then with a text, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[dict[str, Any]]] = []

    def __call__(self, _: Any, body: Any) -> None:
        self.asked.append(body["messages"])

    def server(self) -> ReplayServer:
        return ReplayServer({"1": b"".join(CALLS), "2": b"".join(SAYS)}, check=self)


def expect_waiting(page: Page) -> None:
    expect(page.get_by_role("button", name="Run it")).to_be_visible()
    expect(box(page, "delete_file").locator("i")).to_have_text("waits for you")
    expect(box(page, "get_weather").locator("i")).to_have_text("done")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(page.locator("article")).to_have_count(2)
    expect(page.locator("figure")).to_have_count(2)


def expect_answer(page: Page, last: str = "done") -> None:
    expect(page.locator("article.assistant p")).to_have_text(TEXTS)
    expect(page.get_by_role("button")).to_have_text("Send")
    expect(box(page, "delete_file").locator("i")).to_have_text(last)
    expect(page.locator("article")).to_have_count(2)
    expect(page.locator("figure")).to_have_count(2)


def kept_messages(script: Path) -> list[dict[str, Any]]:
    [path] = script.parent.glob("chats/*/messages.json")
    messages: list[dict[str, Any]] = json.loads(path.read_text())
    return messages


@pytest.mark.parametrize("says_yes", [True, False])
def test_a_call_waits_over_a_reload_and_a_restart_and_goes_on_with_the_answer(
    tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch, says_yes: bool
):
    page, provider = tab.page, Provider()
    with nothing_left(), provider.server() as server:
        with chat(tab, script, monkeypatch, server) as address:
            ask(page, "How is the weather? And delete the old log.")
            expect_waiting(page)
            page.reload()
            expect_waiting(page)
        port = int(address.rstrip("/").rpartition(":")[2])
        with chat(tab, script, monkeypatch, server, port=port):
            expect_waiting(page)
            page.get_by_role("button", name="Run it" if says_yes else "No").click()
            expect_answer(page, "done" if says_yes else "denied")
            page.reload()
            expect_answer(page, "done" if says_yes else "denied")
            result = "deleted old.log" if says_yes else "The call was denied: the user said no"
            assert [each["content"] for each in provider.asked[1] if each["role"] == "tool"][1] == result
            assert [each["role"] for each in kept_messages(script)] == [
                "user",
                "assistant",
                "tool",
                "tool",
                "assistant",
            ]
    assert len(provider.asked) == 2
    assert tab.complaints == []


def test_a_tab_that_answers_later_than_another_is_told_so_and_asks_once(
    tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch
):
    page, provider = tab.page, Provider()
    with nothing_left(), provider.server() as server, chat(tab, script, monkeypatch, server) as address:
        ask(page, "How is the weather?")
        expect_waiting(page)
        other, posts = page.context.new_page(), list[str]()
        other.goto(address)
        other.evaluate("kept => Object.assign(sessionStorage, kept)", page.evaluate("({ ...sessionStorage })"))
        other.reload()
        expect_waiting(other)
        page.get_by_role("button", name="Run it").click()
        expect_answer(page)
        other.on("request", lambda request: posts.append(request.method))
        other.get_by_role("button", name="Run it").click()
        expect(other.get_by_role("alert")).to_contain_text("This was answered in another tab")
        expect(other.get_by_role("button")).to_have_text("Send")
        assert posts == ["POST"]
        other.goto("about:blank")
    assert len(provider.asked) == 2


def test_a_reload_in_mid_stream_goes_on_before_and_behind_an_approval(
    tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch
):
    page, provider = tab.page, Provider()
    with nothing_left(), provider.server().gated() as server, chat(tab, script, monkeypatch, server) as address:
        ask(page, "How is the weather?")
        server.allow(2)
        expect(page.locator("article.assistant p")).to_have_text(["Let me see."])
        page.reload()
        expect(page.locator("article.assistant p")).to_have_text(["Let me see."])
        server.allow(len(CALLS) - 2)
        expect_waiting(page)
        page.get_by_role("button", name="Run it").click()
        server.allow(1)
        expect(page.locator("article.assistant p")).to_have_text([TEXTS[0], "It is 21 °C, "])
        page.reload()
        expect(page.locator("article.assistant p")).to_have_text([TEXTS[0], "It is 21 °C, "])
        expect(box(page, "delete_file").locator("i")).to_have_text("done")
        page.goto("about:blank")
        server.allow(len(SAYS) - 1)
        server.wait_for("finished", request=2)
        page.goto(address)
        expect_answer(page)
        page.reload()
        expect_answer(page)
    assert len(provider.asked) == 2
    assert tab.complaints == []


def test_a_server_that_ends_in_mid_stream_leaves_what_came_and_a_chat_that_goes_on(
    tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch
):
    """Behind an approval, where the page has the first part of the answer, and the store has all of it."""
    page, provider = tab.page, Provider()
    with nothing_left(), provider.server().gated() as server:
        with chat(tab, script, monkeypatch, server) as address:
            ask(page, "How is the weather?")
            server.allow(len(CALLS))
            expect_waiting(page)
            page.get_by_role("button", name="Run it").click()
            server.allow(1)
            expect(page.locator("article.assistant p")).to_have_text([TEXTS[0], "It is 21 °C, "])
        with chat(tab, script, monkeypatch, server, port=int(address.rstrip("/").rpartition(":")[2])):
            expect(page.locator("article.assistant p")).to_have_text([TEXTS[0], "It is 21 °C, "])
            expect(box(page, "delete_file").locator("i")).to_have_text("done")
            expect(page.locator("article")).to_have_count(2)
            expect(page.locator("figure")).to_have_count(2)
            ask(page, "And now?")
            server.allow(len(CALLS))
            expect(page.locator("article")).to_have_count(4)
            expect(page.get_by_role("button", name="Run it")).to_be_visible()
    roles = [each["role"] for each in provider.asked[2]]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert provider.asked[2][4]["content"] == "It is 21 °C, "
    assert tab.complaints == []


def test_stop_ends_the_answer_and_the_chat_goes_on(tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch):
    page, provider = tab.page, Provider()
    with nothing_left(), provider.server().gated() as server, chat(tab, script, monkeypatch, server):
        ask(page, "How is the weather?")
        server.allow(5)
        expect(box(page, "delete_file").locator("i")).to_have_text("writing")
        page.get_by_role("button", name="Stop").click()
        assert server.wait_for("client_left").outcome == "client_left"
        expect(page.get_by_role("button")).to_have_text("Send")
        expect(box(page, "delete_file").locator("i")).to_contain_text("interrupted")
        page.reload()
        expect(box(page, "delete_file").locator("i")).to_contain_text("interrupted")
        ask(page, "Go on")
        server.allow(len(SAYS))
        expect(page.locator("article.assistant").last.locator("p")).to_have_text([TEXTS[1]])
        calls = {each["id"] for each in provider.asked[1][1]["tool_calls"]}
        assert {each["tool_call_id"] for each in provider.asked[1] if each["role"] == "tool"} == calls
    assert tab.complaints == []


def test_without_a_key_a_recorded_answer_is_played(tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), chat(tab, script, monkeypatch):
        monkeypatch.setattr("recordings.PACE", 0)
        ask(tab.page, "How is the weather?")
        tab.page.get_by_role("button", name="No").click()
        expect(tab.page.locator("article.assistant p")).to_have_text(["It is 21 °C."])
        expect(tab.page.locator("figcaption")).to_contain_text(["done", "KeyError: 'Nowhere'", "denied"])
    assert tab.complaints == []
