"""What a request to Gemini's Interactions API wants: tools, a structured answer, and the steps of the next turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...events.tool_invocation import ToolResult, result_text
from ...operators.schemas.json_schema import Schema
from ..base.message_form import AnswerPart, CallResult, MessageCall, MessageForm, Notices, left_out, said_parts
from ..base.request import Request, Said, as_they_are, without_none
from ..base.sdk_fields import fields_of
from ..gemini.request import GEMINI, gemini_schema
from .machine import FUNCTION_CALL


def _ask(client: Any, request: Request, tools: Any) -> Any:
    config = {"max_output_tokens": request.max_tokens} if request.max_tokens else None
    options = without_none(tools=tools, system_instruction=request.system, generation_config=config)
    return client.interactions.create(model=request.model, input=request.prompt, stream=True, **options)


def _form(said: Said, parameters: Schema, more: Said) -> Said:
    return {"type": "function", **said, "parameters": gemini_schema(parameters), **more}


def _choice(name: str) -> Said:
    return {"allowed_tools": {"mode": "any", "tools": [name]}}


def _output(_name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"response_format": {"type": "text", "mime_type": "application/json", "schema": gemini_schema(schema)}}


_NAME = "gemini-interactions"


def _sendable(steps: list[dict[str, Any]], notices: Notices) -> list[dict[str, Any]]:
    return [_step(step, notices) for step in filter(None, map(fields_of, steps or ()))]


def _step(step: dict[str, Any], notices: Notices) -> dict[str, Any]:
    if step.get("type") != FUNCTION_CALL:
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
            steps.append({"type": FUNCTION_CALL, **call})
    return steps


def _calls(steps: list[dict[str, Any]]) -> list[MessageCall]:
    calls = (step for step in steps if step.get("type") == FUNCTION_CALL)
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


_MESSAGES = MessageForm(
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

GEMINI_INTERACTIONS = GEMINI._replace(
    name="gemini-interactions",
    aliases=("interactions",),
    api="gemini-interactions",
    ask=_ask,
    form=_form,
    listed=as_they_are,
    not_strict="its tools have no strict mode; use tool_choice('gemini-interactions', 'validated') in the request",
    words={"auto": "auto", "none": "none", "required": "any", "validated": "validated"},
    choice=_choice,
    output=_output,
    messages=_MESSAGES,
)
