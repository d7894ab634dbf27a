"""The steps of Gemini's Interactions API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...events.tool_invocation import ToolResult
from ...sinks.wording.result_text import result_text
from ...sources.fields.sdk_fields import fields_of
from .answer_parts import AnswerPart
from .message_form import CallResult, MessageCall, MessageForm, Notices, left_out, said_parts

_NAME = "gemini-interactions"
_CALL = "function_call"


def _sendable(steps: list[dict[str, Any]], notices: Notices) -> list[dict[str, Any]]:
    return [_step(step, notices) for step in filter(None, map(fields_of, steps or ()))]


def _step(step: dict[str, Any], notices: Notices) -> dict[str, Any]:
    if step.get("type") != _CALL:
        return step
    arguments = step.get("arguments")
    if not isinstance(arguments, dict):
        if arguments:
            left_out(notices, "arguments that are not a JSON object", _NAME)
        arguments = {}
    # The API writes an empty signature, and its type for requests has none.
    return {**{key: value for key, value in step.items() if key != "signature" or value}, "arguments": arguments}


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _NAME, ("text", "refusal")):
        if part.call is None:
            steps.append({"type": "model_output", "content": [{"type": "text", "text": part.text}]})
        else:
            call = {"id": part.call.id, "name": part.call.name, "arguments": part.call.arguments}
            steps.append({"type": _CALL, **call})
    return steps


def _calls(steps: list[dict[str, Any]]) -> list[MessageCall]:
    calls = (step for step in steps if step.get("type") == _CALL)
    return [MessageCall(str(step.get("id") or ""), str(step.get("name") or ""), holder=step) for step in calls]


def _entries(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return steps


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [_result(*each) for each in results]


def _result(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    said = {"type": "function_result", "call_id": call.id, "name": call.name, "result": result_text(result)}
    return {**said, "is_error": True} if result.is_error else said


def _user(text: str) -> dict[str, Any]:
    return {"type": "user_input", "content": [{"type": "text", "text": text}]}


INTERACTIONS_FORM = MessageForm(
    _NAME,
    "gemini-interactions",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    _user,
)
"""The message is a list of steps. Thoughts go back with their signatures."""
