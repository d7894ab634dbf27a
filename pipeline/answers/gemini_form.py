"""The contents of Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from ...events.tool_result import ToolResult
from .answer_parts import AnswerPart
from .message_form import CallResult, MessageCall, MessageForm, Notices, left_out, plain_text

_NAME = "gemini"


def _sendable(message: dict[str, Any], _notices: Notices) -> dict[str, Any]:
    return message


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for part in parts:
        if part.call is None:
            if part.type in ("text", "refusal"):
                found.append({"text": part.text})
            else:
                left_out(notices, f"{part.type} of another provider", _NAME)
        elif part.call.is_providers:
            left_out(notices, "call that another provider ran itself", _NAME)
        else:
            found.append({"functionCall": {"name": part.call.name, "args": part.call.arguments}})
    return {"role": "model", "parts": found}


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = (part["functionCall"] for part in message.get("parts") or () if "functionCall" in part)
    return [MessageCall(call.get("id", ""), call.get("name", "")) for call in calls]


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "user", "parts": [{"functionResponse": _response(*each)} for each in results]}]


def _response(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    call_id = {"id": call.id} if call.id else {}
    return {**call_id, "name": call.name, "response": _object(result)}


def _object(result: ToolResult) -> dict[str, Any]:
    """Return a result as the object that the API wants: under the keys that its reference names."""
    if result.denied is not None:
        return {"error": f"The call was denied: {result.denied}"}
    if result.error is not None:
        return {"error": result.error}
    plain_text(result.value, result.id)  # raises for what JSON cannot represent
    value = to_jsonable_python(result.value)
    return value if isinstance(value, dict) else {"output": value}


GEMINI_FORM = MessageForm(
    _NAME,
    "gemini",
    _sendable,
    _plain,
    _calls,
    lambda message: [message] if message.get("parts") else [],
    _results,
    lambda text: {"role": "user", "parts": [{"text": text}]},
)
"""Thought signatures go back in the parts in which they came, empty ones included."""
