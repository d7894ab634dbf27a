"""The messages of Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .answer_parts import AnswerPart
from .message_form import CallResult, MessageCall, MessageForm, Notices, left_out, result_text

_NAME = "anthropic"
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


def _sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    return {"role": "assistant", "content": [block for block in message["content"] if _is_sent(block, notices)]}


def _is_sent(block: dict[str, Any], notices: Notices) -> bool:
    kind = block.get("type")
    if kind == "text":
        return bool(block.get("text"))
    if kind == "thinking" and "signature" not in block:
        left_out(notices, "thinking without a signature", _NAME)
        return False
    return True


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for part in parts:
        if part.call is None:
            if part.type in ("text", "refusal"):
                content.append({"type": "text", "text": part.text})
            else:
                left_out(notices, f"{part.type} of another provider", _NAME)
        elif part.call.is_providers:
            left_out(notices, "call that another provider ran itself", _NAME)
        else:
            call_id = _REFUSED.sub("_", part.call.id)
            content.append({"type": "tool_use", "id": call_id, "name": part.call.name, "input": part.call.arguments})
    return {"role": "assistant", "content": content}


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    return [MessageCall(block["id"], block["name"]) for block in message["content"] if block.get("type") == "tool_use"]


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [_result(*each) for each in results]}]


def _result(call: MessageCall, result: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call.id, "content": result_text(result)}
    return {**block, "is_error": True} if result.is_error else block


ANTHROPIC_FORM = MessageForm(
    _NAME,
    "anthropic-messages",
    _sendable,
    _plain,
    _calls,
    lambda message: [message] if message["content"] else [],
    _results,
    lambda text: {"role": "user", "content": text},
)
"""Thinking goes back with its signature, and what the provider's own tools returned as it came."""
