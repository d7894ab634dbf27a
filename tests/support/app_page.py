"""The app for tests: served by a real uvicorn, with answers of a replay server in a provider's place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from app_server import serving

from penstock.pipeline.app.app_command import new_session
from penstock.pipeline.app.app_routes import app_of
from penstock.pipeline.app.app_session import AppSession
from penstock.pipeline.app.app_sources import Playable
from penstock.sources.testing import ReplayServer

TOKEN = "the-token-of-the-tests"


class Served(NamedTuple):
    """An app that serves: `address` is `http://127.0.0.1:PORT`, `page` the address with the token."""

    address: str
    session: AppSession

    @property
    def page(self) -> str:
        return f"{self.address}/#token={TOKEN}"


def event(delta: dict[str, Any], finish: str | None = None, **beside: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "herbalist-1"}
    return f"data: {json.dumps(head | {'choices': [choice]} | beside)}\n\n".encode()


def call(index: int, text: str, call_id: str | None = None, name: str | None = None) -> bytes:
    begin = {"id": call_id, "type": "function"} if call_id else {}
    function = {"arguments": text} | ({"name": name} if name else {})
    return event({"tool_calls": [{"index": index, "function": function} | begin]})


def closing(reason: str = "tool_calls") -> list[bytes]:
    usage = {"prompt_tokens": 20, "completion_tokens": 30, "total_tokens": 50}
    return [event({}, reason, usage=usage), b"data: [DONE]\n\n"]


@contextmanager
def app_served(
    monkeypatch: pytest.MonkeyPatch,
    provider: ReplayServer | None = None,
    *,
    root: Path | None = None,
    commands: bool = False,
    playable: tuple[Playable, ...] = (),
) -> Iterator[Served]:
    """Serve the app; requests to OpenAI go to `provider`."""
    monkeypatch.setenv("NO_PROXY", "*")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    if provider is not None:
        monkeypatch.setenv("OPENAI_API_KEY", "a key")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    session = new_session(playable, root, commands=commands)
    with serving(app_of(session, TOKEN)) as host:
        yield Served(f"http://{host}", session)
