"""The pages on what Penstock plugs into: short, listed, and their applications answer the real clients.

What the other blocks of a page print is compared in test_docstrings.py; the React page runs in test_ai_sdk_chat.py.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
from ai_sdk_served import calls_in
from app_server import serving
from every_sdk import STREAMS
from looped import looped
from npm_clients import client_answers
from websockets.asyncio.client import connect

from penstock.studio.testing import ReplayServer

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GROUP = (DOCS / "index.md").read_text("utf-8").partition("## Plug into")[2].partition("\n## ")[0]
LISTED = re.findall(r"\n\| \[.+?\]\((\S+)\)", GROUP)
BODY = (STREAMS / "openai_chat/write_file.sse").read_bytes()
CALLS = ["write_file", "run_bash"]
HI = {"role": "user", "content": "Hi"}


def client_of(url: str) -> openai.AsyncOpenAI:
    """Return a client that keeps no connection, for nobody closes it."""
    alone = openai.DefaultAsyncHttpxClient(limits=httpx2.Limits(max_keepalive_connections=0))
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, http_client=alone)


def events_in(response: httpx2.Response) -> Iterator[Any]:
    return (json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: "))


def assert_whole(events: list[Any]) -> None:
    assert [event["name"] for event in events if event["type"] == "TOOL_INVOCATION"] == CALLS
    assert events[-1] == {"type": "STREAM_END"}


def an_answer(url: str) -> None:
    with httpx2.Client(base_url=url, trust_env=False) as browser:
        assert_whole([*events_in(browser.get("/answer", params={"prompt": "Hi"}))])


def ready_endpoints(url: str) -> None:
    with httpx2.Client(base_url=url, trust_env=False) as browser:
        events = [*events_in(browser.post("/chat", content=json.dumps({"id": "c", "messages": [HI]})))]
        assert_whole(events)
        again = browser.get("/chat/c/stream", headers={"Last-Event-ID": "5"})
        assert [*events_in(again)] == events[5:]
        assert browser.delete("/chat/c/stream").status_code == 204


def a_websocket(url: str) -> None:
    async def converse() -> list[Any]:
        async with connect(f"ws{url.removeprefix('http')}/chat", proxy=None) as socket:
            await socket.send(json.dumps({"messages": [HI]}))
            return [json.loads(text) async for text in socket]

    assert_whole(asyncio.run(converse()))


def use_chat(url: str) -> None:
    requests = [{"version": version, "chat": True, "api": f"{url}/api/chat"} for version in (5, 6, 7)]
    for answer in client_answers("ai_sdk.mjs", requests):
        assert (answer["errors"], answer["status"]) == ([], "ready")
        assert [call["toolName"] for call in calls_in(answer["messages"][-1]).values()] == CALLS


def http_agent(url: str) -> None:
    """Let AG-UI's clients ask, among them that of CopilotKit's runtime, in the second turn of a talk."""
    call = {"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    messages: list[Any] = [
        {"id": "1", **HI},
        {"id": "2", "role": "assistant", "toolCalls": [call]},
        {"id": "3", "role": "tool", "toolCallId": "c", "content": "noon"},
        {"id": "4", "role": "assistant", "content": "Hello"},
    ]
    clients = ("ag-ui-client-1", "ag-ui-client-0", "ag-ui-client-copilotkit")
    requests = [{"client": client, "url": f"{url}/agent", "messages": messages} for client in clients]
    for answer in client_answers("ag_ui.mjs", requests):
        assert (answer["error"], answer["warnings"]) == (None, [])
        new = answer["messages"][len(messages) :]
        assert [call["function"]["name"] for each in new for call in each.get("toolCalls", ())] == CALLS


ASKED_BY: dict[str, list[Callable[[str], None]]] = {
    "ag-ui.md": [http_agent],
    "ai-sdk.md": [use_chat],
    "fastapi.md": [an_answer, ready_endpoints, a_websocket],
    "resume.md": [ready_endpoints],
    "serving.md": [an_answer],
    "starlette.md": [an_answer, ready_endpoints, a_websocket],
}


def test_every_page_with_an_application_is_asked_and_all_are_listed():
    with_applications = {page.name for page in DOCS.glob("*.md") if "\ndef application(" in page.read_text("utf-8")}
    assert with_applications == set(ASKED_BY)
    adapters = {"ag-ui-approval.md", "ai-sdk-approval.md", "langchain.md", "pydantic-ai.md", "opentelemetry.md"}
    assert set(LISTED) == adapters | set(ASKED_BY) - {"resume.md", "serving.md"}


@looped("page", LISTED)
def test_a_page_on_what_it_plugs_into_has_at_most_sixty_lines_and_code(page: str):
    text = (DOCS / page).read_text("utf-8")
    assert len(text.splitlines()) <= 60
    assert "```python\n" in text


@looped("page, ask", [(page, ask) for page, asks in ASKED_BY.items() for ask in asks])
def test_the_application_of_a_page_answers(page: str, ask: Callable[[str], None]):
    code = re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    [block] = (each for each in code if "def application(" in each)
    names: dict[str, Any] = {}
    exec(compile(block, page, "exec"), names)
    asked: list[Any] = []
    with (
        ReplayServer({"chat": BODY}, check=lambda _, body: asked.append(body)) as provider,
        serving(names["application"](client_of(provider.url))) as address,
    ):
        ask(f"http://{address}")
    for body in asked:
        assert body["messages"][0] == HI
        assert {message["role"] for message in body["messages"]} <= {"user", "assistant"}
