"""What a request of OpenAI's Assistants API wants, whose server keeps the thread: a run, and its tools' outputs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ...events.tool_invocation import result_text
from ...operators.engine.state import Stateful
from ..base.answers import Choices
from ..base.kept_message import Joined, joined, set_json, wire_fields
from ..base.request import (
    AnswerPart,
    CallResult,
    MessageCall,
    MessageForm,
    Notices,
    Request,
    left_out,
    text_and_calls,
    user_message,
    without_none,
)
from ..base.sdk_fields import Fields, entries_of, fields_of
from ..openai_chat.request import OPENAI_CHAT


class AssistantsMessage(Stateful):
    """Joins the content of the run's messages by id and index, and its calls of functions by step and index.

    A message, a step or an action that comes whole replaces its pieces.
    """

    STATE = ("_calls", "_content", "_has_begun")

    def __init__(self, _choices: Choices = 0) -> None:
        self._content: dict[str, Joined] = {}
        self._calls: dict[str, Joined] = {}
        self._has_begun = False

    def feed(self, item: Any, /) -> None:
        event = fields_of(item) or {}
        kind, data = event.get("event"), fields_of(event.get("data")) or {}
        if not isinstance(kind, str):
            return
        self._has_begun = self._has_begun or kind.startswith("thread.")
        if kind == "thread.message.delta":
            self._add(data, fields_of(data.get("delta")) or {})
        elif kind in ("thread.message.completed", "thread.message.incomplete"):
            before = f"{data.get('id')}:"
            if entries_of(data.get("content")):
                self._content = {key: each for key, each in self._content.items() if not key.startswith(before)}
                self._add(data, data)
        elif kind == "thread.run.step.delta":
            self._add_calls(data, fields_of((fields_of(data.get("delta")) or {}).get("step_details")) or {})
        elif kind == "thread.run.requires_action":
            action = fields_of((fields_of(data.get("required_action")) or {}).get("submit_tool_outputs")) or {}
            if entries_of(action.get("tool_calls")):
                self._calls = {}
                self._add_calls(data, action)

    def messages(self) -> dict[int, Any]:
        if not self._has_begun:
            return {}
        message: dict[str, Any] = {"role": "assistant"}
        if content := [_whole_part(part) for part in self._content.values()]:
            message["content"] = content
        if calls := [_whole_call(call) for call in self._calls.values() if call.fields.get("type") == "function"]:
            message["tool_calls"] = calls
        return {0: message}

    def new_part(self, _name: str, _state: Any, /) -> Joined:
        return Joined()

    def _add(self, message: Fields, given: Fields) -> None:
        for place, part in enumerate(map(wire_fields, entries_of(given.get("content")))):
            fields = dict(part or {})
            index = fields.pop("index", place)
            kept = self._content.setdefault(f"{message.get('id')}:{index}", Joined())
            if (text := wire_fields(fields.pop("text", None))) is not None:
                kept.text("text", text.get("value"))
                annotations = [_annotation(each) for each in entries_of(text.get("annotations"))]
                kept.fields.setdefault("annotations", []).extend(annotations)
            kept.add(fields, ("refusal",))

    def _add_calls(self, step: Fields, given: Fields) -> None:
        for place, call in enumerate(map(wire_fields, entries_of(given.get("tool_calls")))):
            fields = dict(call or {})
            index = fields.pop("index", place)
            kept = self._calls.setdefault(f"{step.get('id')}:{index}", Joined())
            function = wire_fields(fields.pop("function", None)) or {}
            kept.text("arguments", function.get("arguments"))
            name = {"name": function["name"]} if function.get("name") else {}
            kept.add({**{each: value for each, value in fields.items() if isinstance(value, str)}, **name}, ())


def _annotation(given: Any) -> Any:
    plain = set_json(given)
    if (fields := fields_of(plain)) is None:
        return plain
    return {name: each for name, each in fields.items() if name != "index"}


def _whole_part(part: Joined) -> dict[str, Any]:
    if part.fields.get("type") != "text":
        return part.whole()
    text = {"value": joined(part.texts.get("text", [])), "annotations": part.fields.get("annotations", [])}
    return {"type": "text", "text": text}


def _whole_call(call: Joined) -> dict[str, Any]:
    whole = call.whole()
    function = {"name": whole.pop("name", ""), "arguments": whole.pop("arguments", "")}
    return {**whole, "function": function}


def _ask(client: Any, request: Request, tools: Any) -> Any:
    """Run an assistant, whose id is the model of the request, on a thread of its own."""
    options = without_none(tools=tools, instructions=request.system, max_completion_tokens=request.max_tokens)
    thread = {"messages": [{"role": "user", "content": request.prompt}]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # which the SDK says of this whole API
        return client.beta.threads.create_and_run(assistant_id=request.model, thread=thread, stream=True, **options)


_NAME = "openai-assistants"


def _sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    texts: list[str] = []
    for part in filter(None, map(fields_of, message.get("content") or ())):
        if part.get("type") == "text":
            texts.append(str((fields_of(part.get("text")) or {}).get("value") or ""))
        elif part.get("type") == "refusal":
            texts.append(str(part.get("refusal") or ""))
        else:
            left_out(notices, "content that is not text", _NAME)
    return {"role": "assistant", "content": "".join(texts), "tool_calls": message.get("tool_calls") or []}


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    text, calls = text_and_calls(parts, notices, _NAME)
    return {"role": "assistant", "content": text, "tool_calls": calls}


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = filter(None, map(fields_of, message["tool_calls"]))
    named = [(call, fields_of(call.get("function")) or {}) for call in calls]
    return [MessageCall(str(call.get("id") or ""), str(function.get("name") or "")) for call, function in named]


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": message["content"]}] if message["content"] else []


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"tool_call_id": call.id, "output": result_text(result)} for call, result in results]


_MESSAGES = MessageForm(
    _NAME,
    "openai-assistants",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    user_message,
)
"""Results are the `tool_outputs` of the run, which has the calls; the message is for another thread."""

OPENAI_ASSISTANTS = OPENAI_CHAT._replace(
    name="openai-assistants",
    aliases=("assistants",),
    api="openai-assistants",
    ask=_ask,
    messages=_MESSAGES,
)
