"""The calls of a chat message."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from ...operators.engine.state import Stateful
from ..fields.sdk_fields import Fields, entries_of
from ..fields.surrogates import plain_json
from ..openai.chat_parts import unsaid_calls
from .call_places import CallPlaces
from .joined import Joined, wire_fields

_OWN = frozenset({"index", "id", "type", "function", "custom"})
_INNER = {"function": "arguments", "custom": "input"}
"""The key of the text of a call, by its type."""
_LEGACY = "function_call"


class _Call(Struct):
    """One call: what is beside its function in `outer`, and its function."""

    kind: str
    outer: Joined
    inner: Joined


class ChatCalls(Stateful):
    """Joins the calls of a message, each from the pieces that `CallTracker` gives it."""

    STATE = ("_calls", "_places")

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._places = CallPlaces()

    def add(self, delta: Fields) -> None:
        """Add the calls of a delta; only where there are none, the one call of the older form."""
        given = entries_of(delta.get("tool_calls"))
        for each in map(wire_fields, given):
            if each is not None:
                kind = "custom" if any((wire_fields(each.get("custom")) or {}).values()) else "function"
                self._add(_key(each.get("index")), each, kind, wire_fields(each.get(kind)) or {})
        legacy = wire_fields(delta.get(_LEGACY))
        if not given and legacy:
            self._add(_LEGACY, {}, _LEGACY, legacy)

    def add_unsaid(self, message: Fields) -> None:
        """Add the calls of a whole message that no delta had."""
        self.add(unsaid_calls(self._places.tracker, message))

    def whole(self) -> dict[str, Any]:
        """Return the fields of the message that have the calls."""
        found = list(self._calls.values())
        calls = [_whole(call) for call in found if call.kind != _LEGACY]
        legacy = [call.inner.whole() for call in found if call.kind == _LEGACY]
        return ({"tool_calls": calls} if calls else {}) | ({_LEGACY: legacy[-1]} if legacy else {})

    def new_part(self, _name: str, state: Any, /) -> Any:
        return _Call("", Joined(), Joined()) if "outer" in state else Joined()

    def _add(self, key: int | str | None, given: Fields, kind: str, function: Fields) -> None:
        given_id, text = _word(given.get("id")), _INNER.get(kind, "arguments")
        arguments = function.get(text)
        number, name = self._places.of(key, call_id=given_id, name=_word(function.get("name")), text=arguments)
        if number < 0:
            return
        call = self._calls.get(number)
        if call is None:
            call = self._calls[number] = _Call(kind, Joined(), Joined())
        outer, inner = call.outer, call.inner
        if given_id:
            outer.fields.setdefault("id", given_id)
        if name:
            inner.fields["name"] = name
        outer.add({key: value for key, value in given.items() if key not in _OWN}, ())
        if arguments is not None:
            inner.text(text, arguments if isinstance(arguments, str) else _dumped(arguments))
        inner.add({key: value for key, value in function.items() if key not in (text, "name")}, ())


def _whole(call: _Call) -> dict[str, Any]:
    inner = call.inner.whole()
    inner.setdefault(_INNER[call.kind], "")
    return {**call.outer.whole(), "type": call.kind, call.kind: inner}


def _key(index: Any) -> int | str | None:
    if isinstance(index, float) and index.is_integer():
        return int(index)
    return index if isinstance(index, int | str) else None


def _word(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return plain_json(value) if isinstance(value, str) and value and value != "null" else None


def _dumped(arguments: Any) -> str:
    return json.dumps(plain_json(arguments), ensure_ascii=False, separators=(",", ":"))
