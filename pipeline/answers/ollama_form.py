"""The messages of Ollama's own API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .answer_parts import AnswerPart
from .message_form import CallResult, MessageCall, MessageForm, Notices, left_out, result_text

_NAME = "ollama"


def _sendable(message: dict[str, Any], _notices: Notices) -> dict[str, Any]:
    sent = {key: value for key, value in message.items() if key != "tool_calls"}
    if calls := message.get("tool_calls"):
        functions = (call.get("function") or {} for call in calls)
        sent["tool_calls"] = [
            {"function": {"name": each.get("name", ""), "arguments": each.get("arguments") or {}}} for each in functions
        ]
    return sent


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    texts: dict[str, list[str]] = {}
    calls: list[dict[str, Any]] = []
    for part in parts:
        if part.call is None:
            key = {"text": "content", "refusal": "content", "reasoning": "thinking"}.get(part.type)
            if key is None:
                left_out(notices, part.type, _NAME)
            else:
                texts.setdefault(key, []).append(part.text)
        elif part.call.is_providers:
            left_out(notices, "call that another provider ran itself", _NAME)
        else:
            calls.append({"function": {"name": part.call.name, "arguments": part.call.arguments}})
    sent: dict[str, Any] = {"role": "assistant", **{key: "".join(found) for key, found in texts.items()}}
    return _sendable({**sent, "tool_calls": calls} if calls else sent, notices)


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    return [MessageCall("", call["function"]["name"]) for call in message.get("tool_calls") or ()]


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_name": call.name, "content": result_text(result)} for call, result in results]


OLLAMA_FORM = MessageForm(
    _NAME,
    "ollama",
    _sendable,
    _plain,
    _calls,
    lambda message: [message] if message.get("content") or message.get("tool_calls") else [],
    _results,
    lambda text: {"role": "user", "content": text},
)
"""Calls have no ids: results go back in the order of the calls."""
