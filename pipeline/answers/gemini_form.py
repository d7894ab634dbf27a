"""The contents of Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ...events.tool_invocation import ToolResult
from ...sinks.wording.result_text import result_data, result_text
from ...sources.fields.sdk_fields import fields_of
from .answer_parts import AnswerPart
from .message_form import CallResult, MessageCall, MessageForm, Notices, said_parts

_NAME = "gemini"
_NOT_SIGNED = "skip_thought_signature_validator"
"""In place of the signature that Gemini 3 requires of a turn's first call, for a call that Gemini did not make; from
"Thought signatures" in the documentation of the Gemini API."""


def _sendable(message: dict[str, Any], _notices: Notices) -> dict[str, Any]:
    parts = ({key: value for key, value in part.items() if value is not None} for part in message.get("parts") or ())
    return {"role": "model", "parts": [part for part in parts if any(value != "" for value in part.values())]}


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    signature = {"thoughtSignature": _NOT_SIGNED}
    for part in said_parts(parts, notices, _NAME, ("text", "refusal")):
        if part.call is None:
            found.append({"text": part.text})
        else:
            found.append({"functionCall": {"name": part.call.name, "args": part.call.arguments}, **signature})
            signature = {}
    return {"role": "model", "parts": found}


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = (fields_of(part["functionCall"]) or {} for part in message["parts"] if "functionCall" in part)
    return [MessageCall(str(call.get("id") or ""), str(call.get("name") or ""), holder=call) for call in calls]


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "user", "parts": [{"functionResponse": _response(*each)} for each in results]}]


def _response(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    call_id = {"id": call.id} if call.id else {}
    return {**call_id, "name": call.name, "response": _object(result)}


def _object(result: ToolResult) -> dict[str, Any]:
    """Return a result as the object that the API wants: under the keys that its reference names."""
    if result.is_error:
        return {"error": result_text(result)}
    value: Any = result_data(result)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"output": value}


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message["parts"] else []


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}


GEMINI_FORM = MessageForm(
    _NAME,
    "gemini",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    _user,
)
"""Thought signatures go back in the parts in which they came, empty ones included."""
