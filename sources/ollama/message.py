"""The message of Ollama's own chat stream."""

from __future__ import annotations

from typing import Any

from ...operators.engine.state import Stateful
from ..base.answers import Choices
from ..base.kept_message import Joined, set_json, wire_fields
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json

_TEXTS = frozenset({"content", "thinking"})
_LISTS = frozenset({"tool_calls", "images"})
_BESIDE = {"response": "content", "thinking": "thinking"}
"""The texts of a `generate` stream, which has no message."""


class OllamaMessage(Stateful):
    """Joins the texts of the stream's messages; calls and images come whole."""

    STATE = ("_message",)

    def __init__(self, _choices: Choices = 0) -> None:
        self._message: Joined | None = None

    def feed(self, item: Any, /) -> None:
        chunk = fields_of(item) or {}
        message = wire_fields(chunk.get("message")) or {}
        beside = {key: chunk[name] for name, key in _BESIDE.items() if chunk.get(name)}
        if not (message or beside):
            return
        kept = self._message = self._message or Joined()
        for name, value in message.items():
            if name in _TEXTS:
                kept.text(name, value)
            elif name in _LISTS:
                given = [_call(each) if name == "tool_calls" else set_json(each) for each in entries_of(value)]
                if given:
                    kept.fields.setdefault(name, []).extend(given)
            elif value is not None:
                kept.fields[name] = set_json(value)
        for name, value in beside.items():
            if not message.get(name):
                kept.text(name, value)

    def messages(self) -> dict[int, Any]:
        return {} if self._message is None else {0: {"role": "assistant", **self._message.whole()}}

    def new_part(self, _name: str, _state: Any, /) -> Joined:
        return Joined()


def _call(given: object) -> Any:
    """Return a call; nulls in its arguments are the model's."""
    call: Fields = dict(wire_fields(given) or {})
    function = wire_fields(call.pop("function", None))
    if function is None:
        return set_json(given)
    arguments = function.get("arguments")
    plain: Fields = set_json({name: value for name, value in function.items() if name != "arguments"})
    if arguments is not None:
        plain["arguments"] = plain_json(arguments)
    return {**set_json(call), "function": plain}
