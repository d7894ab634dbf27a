"""The messages of the second version of Cohere's chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.machines.json_machine import decode_json
from ...sinks.wording.result_text import result_text
from ...sources.fields.sdk_fields import fields_of
from .answer_parts import AnswerPart
from .message_form import CallResult, MessageCall, MessageForm, Notices, left_out, text_and_calls, user_message

_NAME = "cohere"
_SENT = ("tool_plan", "content", "tool_calls", "citations")


def _sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": "assistant"}
    for key, value in message.items():
        if key in _SENT and value:
            sent[key] = value
        elif key != "role" and value:
            left_out(notices, key, _NAME)
    if isinstance(sent.get("content"), list):
        parts: list[dict[str, Any]] = sent["content"]
        said = [part for part in parts if any(value for key, value in part.items() if key != "type")]
        sent["content"] = said
        if not said:
            del sent["content"]
    if calls := sent.get("tool_calls"):
        sent["tool_calls"] = [_call(fields_of(each) or {}, place, notices) for place, each in enumerate(calls)]
    return sent


def _call(call: dict[str, Any], place: int, notices: Notices) -> dict[str, Any]:
    function = fields_of(call.get("function")) or {}
    arguments = function.get("arguments")
    is_text = isinstance(arguments, str) and bool(arguments.strip())
    if not is_text or not isinstance(decode_json(str(arguments), DEFAULT_LIMITS)[0], dict):
        if is_text:
            left_out(notices, "arguments that are not a JSON object", _NAME)
        arguments = "{}"
    said = {"name": str(function.get("name") or ""), "arguments": arguments}
    return {"id": call.get("id") or f"call_{place}", "type": "function", "function": said}


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    text, calls = text_and_calls(parts, notices, _NAME)
    return _sendable({"content": text, "tool_calls": calls}, notices)


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    return [MessageCall(call["id"], call["function"]["name"], holder=call) for call in message.get("tool_calls", ())]


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message.get("content") or message.get("tool_calls") else []


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": call.id, "content": result_text(result)} for call, result in results]


COHERE_FORM = MessageForm(
    _NAME,
    "cohere",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    user_message,
)
"""The plan, the thinking and the citations go back as they came."""
