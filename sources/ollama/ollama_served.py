"""Ollama's chat API as the replay server serves it."""

from __future__ import annotations

import re
from typing import Any

from ..wire.served import Served


def _error(_: int, message: str) -> Any:
    return {"error": message}


def _event(message: str) -> tuple[str, Any]:
    return "", _error(500, message)


def _wants_stream(_: str, body: dict[str, Any]) -> bool:
    return body.get("stream") is not False


OLLAMA_SERVED = Served(
    re.compile(r"/api/(?:chat|generate)\Z"),
    "/api/chat",
    'ollama.Client(host="{url}")',
    _error,
    _event,
    _wants_stream,
    forms=frozenset({"sse", "rows"}),
)
