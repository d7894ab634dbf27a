"""What a request to Gemini's Interactions API wants: tools, a structured answer, and the steps of the next turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from ...events.tool_invocation import ToolResult, result_text
from ...operators.engine.state import Stateful
from ...operators.schemas.json_schema import Schema
from ..base.answers import Choices
from ..base.kept_message import Joined, joined_arguments, json_as_far_as_it_came, set_json, wire_fields
from ..base.request import (
    AnswerPart,
    CallResult,
    MessageCall,
    MessageForm,
    Notices,
    Request,
    Said,
    as_they_are,
    left_out,
    said_parts,
    without_none,
)
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json
from ..gemini.request import GEMINI, gemini_schema
from .machine import FUNCTION_CALL, KNOWN_CONTENT, add_result, known

_LISTS = frozenset({"content", "summary"})


class _Step(Struct):
    """One step: its fields, the entries of its content or summary, and the pieces of its arguments."""

    own: Joined = field(default_factory=Joined)
    content: list[Joined] = []  # msgspec gives each instance its own
    arguments: list[str] = []


class InteractionsMessage(Stateful):
    """Joins the steps of an interaction by index: neighbouring texts are one, and annotations belong to their text.

    Arguments that were cut end with their last whole value; text that is no JSON becomes `{"INVALID_JSON": text}`.
    """

    STATE = ("_by_index", "_has_begun", "_steps", "_whole")

    def __init__(self, _choices: Choices = 0) -> None:
        self._steps: list[_Step] = []
        self._by_index: dict[str, int] = {}
        self._has_begun = False
        self._whole: list[Any] = []
        """The steps of the last event, for a stream that has no others."""

    def feed(self, item: Any, /) -> None:
        event = known(item) or {}
        kind = event.get("event_type")
        index = str(event.get("index"))
        if kind == "step.start":
            self._start(index, known(event.get("step")) or {})
        elif kind == "step.delta":
            self._delta(index, known(event.get("delta")) or {})
        elif kind in ("interaction.created", "interaction.completed"):
            self._has_begun = True
            self._whole = set_json(entries_of((fields_of(event.get("interaction")) or {}).get("steps")))

    def messages(self) -> dict[int, Any]:
        if not (self._has_begun or self._steps):
            return {}
        return {0: [_whole(step) for step in self._steps] or self._whole}

    def new_part(self, _name: str, state: Any, /) -> Any:
        return _Step() if "own" in state else Joined()

    def _start(self, index: str, given: Fields) -> None:
        self._by_index[index] = len(self._steps)
        step = _Step()
        add_result(step.own, _set_fields(given))
        for name in _LISTS:
            for content in entries_of(given.get(name)):
                _add_content(step, known(content) or {})
        self._steps.append(step)

    def _delta(self, index: str, delta: Fields) -> None:
        kind = delta.get("type")
        if index not in self._by_index:
            self._start(index, {"type": _step_of(kind)})
        step = self._steps[self._by_index[index]]
        if kind == "arguments_delta":
            if isinstance(text := delta.get("arguments"), str):
                step.arguments.append(text)
        elif kind == "thought_summary":
            _add_content(step, known(delta.get("content")) or {})
        elif kind == "thought_signature":
            if delta.get("signature"):
                step.own.fields["signature"] = plain_json(delta["signature"])
        elif kind == "text_annotation_delta":
            _annotate(step, delta)
        elif not isinstance(kind, str):
            return
        elif kind in KNOWN_CONTENT:
            _add_content(step, delta)
        elif kind.endswith(("_call", "_result")):
            add_result(step.own, {name: each for name, each in _set_fields(delta).items() if name != "type"})


def _step_of(kind: object) -> str:
    """Return the type of a step whose start did not come."""
    named = {"arguments_delta": "function_call", "thought_summary": "thought", "thought_signature": "thought"}
    if isinstance(kind, str) and kind.endswith(("_call", "_result")):
        return kind
    return named.get(str(kind), "model_output")


def _set_fields(given: Fields) -> Fields:
    """Return what a step or a delta says besides its content; nulls in arguments are the model's."""
    plain: Fields = set_json({name: each for name, each in given.items() if name not in (*_LISTS, "arguments")})
    return plain if given.get("arguments") is None else {**plain, "arguments": plain_json(given["arguments"])}


def _add_content(step: _Step, given: Fields) -> None:
    fields = wire_fields(given) or {}
    last = step.content[-1] if step.content else None
    if fields.get("type") != "text" or last is None or last.fields.get("type") != "text":
        last = Joined()
        step.content.append(last)
    last.add({name: each for name, each in fields.items() if name != "annotations"}, ("text",))
    if fields.get("annotations"):
        _annotate(step, fields)


def _annotate(step: _Step, given: Fields) -> None:
    if not step.content or step.content[-1].fields.get("type") != "text":
        step.content.append(Joined({"type": "text"}, {"text": [""]}))
    found = [set_json(each) for each in entries_of(given.get("annotations"))]
    step.content[-1].fields.setdefault("annotations", []).extend(found)


def _whole(step: _Step) -> dict[str, Any]:
    whole = step.own.whole()
    text = joined_arguments(step.arguments)
    if text and not text.isspace():
        whole["arguments"] = json_as_far_as_it_came(text)
    if step.content:
        name = "summary" if whole.get("type") == "thought" else "content"
        whole[name] = [content.whole() for content in step.content]
    return whole


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
