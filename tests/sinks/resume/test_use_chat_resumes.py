"""The resume of `useChat`, by the official clients of npm: a run that goes on, one that has ended, and none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any, cast

import httpx
import pytest
from app_server import serving
from npm_clients import client_answers
from starlette.applications import Starlette

from penstock.sinks import StreamRuns, stream_routes
from penstock.sinks.web.protocols import PROTOCOLS, ProtocolRow

VERSIONS = (5, 6, 7)


class Parts:
    """Sends parts of the protocol as they are."""

    def feed(self, event: Any) -> Iterable[Any]:
        return [event]

    def close(self, how: Any, error: Any) -> Iterable[Any]:
        return [{"type": "finish"}]


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch):
    row = ProtocolRow(Parts, ending=b"[DONE]", headers={"x-vercel-ai-ui-message-stream": "v1"}, resumes_ended=False)
    monkeypatch.setitem(cast("dict[Any, ProtocolRow]", PROTOCOLS), "parts", row)


def test_a_run_is_resumed_while_it_goes_on_and_else_there_is_nothing_and_no_error():
    asked: dict[str, asyncio.Event] = {}

    async def start(request: Any) -> AsyncIterator[Any]:
        return parts(asked.setdefault(request["id"], asyncio.Event()), waits=request["waits"])

    async def parts(is_asked: asyncio.Event, *, waits: bool) -> AsyncIterator[Any]:
        yield {"type": "start", "messageId": "m"}
        yield {"type": "text-start", "id": "t"}
        yield {"type": "text-delta", "id": "t", "delta": "High "}
        if waits:
            await is_asked.wait()
        yield {"type": "text-delta", "id": "t", "delta": "tide"}
        yield {"type": "text-end", "id": "t"}

    routes = Starlette(routes=stream_routes("/chat", start, runs=StreamRuns(grace=None), protocol=cast("Any", "parts")))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] == "GET":
            asked[scope["path"].split("/")[2]].set()
        await routes(scope, receive, send)

    with serving(app) as address:
        api = f"http://{address}/chat"
        for version in VERSIONS:
            asked[f"none{version}"] = asyncio.Event()
            httpx.post(api, json={"id": f"ended{version}", "waits": False})
            with httpx.stream("POST", api, json={"id": f"runs{version}", "waits": True}) as left:
                next(left.iter_lines())
        chats = [(version, kind) for version in VERSIONS for kind in ("runs", "ended", "none")]
        requests = [{"version": version, "api": api, "id": f"{kind}{version}"} for version, kind in chats]
        answers = client_answers("ai_sdk_resume.mjs", requests)
    for (_, kind), answer in zip(chats, answers, strict=True):
        assert (answer["errors"], answer["status"]) == ([], "ready")
        texts = [part["text"] for message in answer["messages"] for part in message["parts"]]
        assert texts == (["High tide"] if kind == "runs" else [])
