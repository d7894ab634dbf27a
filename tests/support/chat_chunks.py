"""The server-sent events of a small chat completion, as OpenAI sends them."""

from __future__ import annotations

import json
from typing import Any


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
