"""The message of Cohere's chat."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct, field

from ...operators.engine.state import Stateful
from ..base.answers import Choices
from ..base.kept_message import Joined, set_json, wire_fields
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
