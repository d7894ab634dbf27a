"""Cohere's chat APIs as the replay server serves them."""

from __future__ import annotations

import re
from typing import Any

from ..wire.served import Served


def _error(_: int, message: str) -> Any:
    return {"message": message}


def _event(message: str) -> tuple[str, Any]:
    return "message-end", {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": message}}


def _event_v1(message: str) -> tuple[str, Any]:
    return "", {
        "event_type": "stream-end",
        "finish_reason": "ERROR",
        "is_finished": True,
        "response": {"text": message},
    }


COHERE_SERVED = Served(
    re.compile(r"/v2/chat/?\Z"),
    "/v2/chat",
    'cohere.ClientV2("-", base_url="{url}")',
    _error,
    _event,
    garbage_event="content-delta",
)
COHERE_V1_SERVED = Served(
    re.compile(r"/v1/chat\Z"),
    "/v1/chat",
    'cohere.Client("-", base_url="{url}")',
    _error,
    _event_v1,
    forms=frozenset({"sse", "rows"}),
)
