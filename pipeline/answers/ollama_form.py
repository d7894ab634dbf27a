"""The messages of Ollama's own API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.machines.json_machine import decode_json
from ...sinks.wording.result_text import result_text
from ...sources.fields.sdk_fields import fields_of
from .answer_parts import AnswerPart
from .message_form import CallResult, MessageCall, MessageForm, Notices, left_out, said_parts, user_message

_NAME = "ollama"
_KEYS = {"text": "content", "refusal": "content", "reasoning": "thinking"}
_SENT = ("content", "thinking", "images")


def _sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    for key, value in message.items():
        if value and key not in (*_SENT, "role", "tool_calls"):
            left_out(notices, key, _NAME)
    sent = {key: value for key, value in message.items() if key in _SENT and value is not None}
    if calls := message.get("tool_calls"):
        sent["tool_calls"] = [
            {"function": _function(_fields(_fields(call).get("function")), notices)} for call in calls
        ]
    return {"role": "assistant", **sent}


def _fields(value: Any) -> dict[str, Any]:
    """Return an object's fields; none for what a broken stream has in its place."""
    return fields_of(value) or {}


def _function(function: dict[str, Any], notices: Notices) -> dict[str, Any]:
    arguments: Any = function.get("arguments")
    if isinstance(arguments, str) and arguments.strip():
        arguments = decode_json(arguments, DEFAULT_LIMITS)[0]
    elif arguments is None or isinstance(arguments, str):
        arguments = {}
    if not isinstance(arguments, dict):
        left_out(notices, "arguments that are not a JSON object", _NAME)
        arguments = {}
    return {"name": str(function.get("name") or ""), "arguments": arguments}


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    texts: dict[str, str] = {}
    calls: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _NAME, _KEYS):
        if part.call is None:
            key = _KEYS[part.type]
            texts[key] = texts.get(key, "") + part.text
        else:
            calls.append({"function": {"name": part.call.name, "arguments": part.call.arguments}})
    return _sendable({**texts, "tool_calls": calls}, notices)


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    return [MessageCall("", call["function"]["name"]) for call in message.get("tool_calls", ())]


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_name": call.name, "content": result_text(result)} for call, result in results]


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message.get("content") or message.get("tool_calls") else []


OLLAMA_FORM = MessageForm(
    _NAME,
    "ollama",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    user_message,
)
"""Calls have no ids: results go back in the order of the calls."""
