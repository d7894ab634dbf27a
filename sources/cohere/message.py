"""The messages of Cohere's chats, of the second version and of the first."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct, field

from ...operators.engine.state import Stateful
from ..base.answers import Choices
from ..base.kept_message import Joined, json_as_far_as_it_came, set_json, wire_fields
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json

_TEXTS = frozenset({"text", "thinking"})
_FUNCTION = "function."
"""The begin of the keys that belong to the function of a call."""


class _Message(Struct):
    """What has come of a message."""

    plain: Joined = field(default_factory=Joined)
    content: dict[str, Joined] = {}  # msgspec gives each instance its own
    calls: dict[str, Joined] = {}
    citations: list[Any] = []


class CohereMessage(Stateful):
    """Joins the plan, the content and the calls of a message, by their indexes; citations come whole."""

    STATE = ("_message",)

    def __init__(self, _choices: Choices = 0) -> None:
        self._message: _Message | None = None

    def feed(self, item: Any, /) -> None:
        event = fields_of(item) or {}
        delta = fields_of(event.get("delta")) or {}
        message = wire_fields(delta.get("message"))
        if message is None:
            return
        kept = self._message = self._message or _Message()
        index = str(event.get("index"))
        kept.plain.text("tool_plan", message.get("tool_plan"))
        if isinstance(role := message.get("role"), str):
            kept.plain.fields["role"] = role
        for place, content in enumerate(map(wire_fields, entries_of(message.get("content")))):
            kept.content.setdefault(_place(index, place), Joined()).add(content or {}, _TEXTS)
        for place, call in enumerate(map(wire_fields, entries_of(message.get("tool_calls")))):
            _add_call(kept.calls.setdefault(_place(index, place), Joined()), call or {})
        kept.citations += [set_json(each) for each in entries_of(message.get("citations")) if each]

    def messages(self) -> dict[int, Any]:
        kept = self._message
        if kept is None:
            return {}
        message = {"role": "assistant", **kept.plain.whole()}
        if not message.get("tool_plan"):
            message.pop("tool_plan", None)
        lists = {
            "content": [block.whole() for block in kept.content.values()],
            "tool_calls": [_whole_call(call) for call in kept.calls.values()],
            "citations": kept.citations,
        }
        return {0: message | {name: each for name, each in lists.items() if each}}

    def new_part(self, _name: str, state: Any, /) -> Any:
        return _Message() if "citations" in state else Joined()


class CohereV1Message(Stateful):
    """Takes the text and the calls of the end; of an answer that was cut, what came before."""

    STATE = ("_calls", "_has_begun", "_text", "_whole")

    def __init__(self, _choices: Choices = 0) -> None:
        self._text = Joined()
        self._calls: dict[str, Joined] = {}
        self._whole: dict[str, Any] | None = None
        self._has_begun = False

    def feed(self, item: Any, /) -> None:
        event = fields_of(item) or {}
        kind = event.get("event_type")
        self._has_begun = self._has_begun or kind is not None
        if kind == "text-generation":
            self._text.text("message", event.get("text"))
        elif kind == "tool-calls-chunk":
            call = wire_fields(event.get("tool_call_delta")) or {}
            kept = self._calls.setdefault(str(call.get("index")), Joined())
            kept.add({"name": call.get("name")}, ())
            kept.text("parameters", call.get("parameters"))
        elif kind in ("tool-calls-generation", "stream-end"):
            self._take(fields_of(event.get("response")) or event)

    def messages(self) -> dict[int, Any]:
        if not self._has_begun:
            return {}
        message = {"role": "CHATBOT", "message": "", **self._text.whole()}
        if calls := [_parameters(call.whole()) for call in self._calls.values() if call.fields.get("name")]:
            message["tool_calls"] = calls
        return {0: message | (self._whole or {})}

    def new_part(self, _name: str, _state: Any, /) -> Joined:
        return Joined()

    def _take(self, whole: Fields) -> None:
        taken = dict(self._whole or {})
        if isinstance(text := whole.get("text"), str) and text:
            taken["message"] = plain_json(text)
        if calls := [_parameters(wire_fields(each) or {}) for each in entries_of(whole.get("tool_calls"))]:
            taken["tool_calls"] = calls
        self._whole = taken


def _place(index: str, place: int) -> str:
    return index if not place else f"{index}:{place}"


def _add_call(kept: Joined, call: Fields) -> None:
    kept.add({name: value for name, value in call.items() if name != "function"}, ())
    function = wire_fields(call.get("function")) or {}
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = json.dumps(plain_json(arguments), ensure_ascii=False)
    kept.text("arguments", arguments)
    kept.add({f"{_FUNCTION}{name}": each for name, each in function.items() if name != "arguments"}, ())


def _whole_call(call: Joined) -> dict[str, Any]:
    whole = call.whole()
    function = {name.removeprefix(_FUNCTION): whole.pop(name) for name in list(whole) if name.startswith(_FUNCTION)}
    arguments = whole.pop("arguments", "")
    return {**whole, "function": {**function, "arguments": arguments}}


def _parameters(call: Fields) -> dict[str, Any]:
    parameters: Any = call.get("parameters")
    if isinstance(parameters, str):
        parameters = json_as_far_as_it_came(parameters) if parameters.strip() else {}
    rest: dict[str, Any] = set_json({name: each for name, each in call.items() if name != "parameters"})
    return {**rest, "parameters": {} if parameters is None else plain_json(parameters)}
