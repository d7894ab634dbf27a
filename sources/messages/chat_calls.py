"""The calls of a chat message."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from ...operators.engine.state import Stateful
from ..machine.sdk_fields import Fields, entries_of
from ..machine.surrogates import plain_json
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
    """Joins the calls of a message by index, under `CallTracker`'s rules.

    A new call begins with an index that was not used before, and with a new id and a name under one that was; without
    any ids with another name. Pieces without an index belong to the last call.
    """

    STATE = ("_by_key", "_calls", "_last")

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_key: dict[int | str | None, int] = {}
        self._last: int | None = None

    def add(self, delta: Fields) -> None:
        """Add the calls of a delta; only where there are none, the one call of the older form."""
        given = entries_of(delta.get("tool_calls"))
        for each in map(wire_fields, given):
            if each is not None:
                kind = "custom" if wire_fields(each.get("custom")) else "function"
                self._add(_key(each.get("index")), each, kind, wire_fields(each.get(kind)) or {})
        legacy = wire_fields(delta.get(_LEGACY))
        if not given and legacy:
            self._add(_LEGACY, {}, _LEGACY, legacy)

    def whole(self) -> dict[str, Any]:
        """Return the fields of the message that have the calls."""
        calls = [_whole(call) for call in self._calls if call.kind != _LEGACY]
        legacy = [call.inner.whole() for call in self._calls if call.kind == _LEGACY]
        return ({"tool_calls": calls} if calls else {}) | ({_LEGACY: legacy[-1]} if legacy else {})

    def new_part(self, _name: str, state: Any, /) -> Any:
        return _Call("", Joined(), Joined()) if "outer" in state else Joined()

    def _add(self, key: int | str | None, given: Fields, kind: str, function: Fields) -> None:
        given_id, name = _word(given.get("id")), _word(function.get("name"))
        call = self._call(key, given_id, name, kind)
        outer, inner = call.outer, call.inner
        if given_id:
            outer.fields.setdefault("id", given_id)
        if name:
            inner.fields.setdefault("name", name)
        outer.add({key: value for key, value in given.items() if key not in _OWN}, ())
        text = _INNER.get(kind, "arguments")
        arguments = function.get(text)
        if arguments is not None:
            inner.text(text, arguments if isinstance(arguments, str) else _dumped(arguments))
        inner.add({key: value for key, value in function.items() if key not in (text, "name")}, ())

    def _call(self, key: int | str | None, given_id: str | None, name: str | None, kind: str) -> _Call:
        at = self._by_key.get(key)
        if at is None and not given_id and not name and _is_no_index(key):
            at = self._last
        if at is None or _is_other(self._calls[at], key, given_id, name):
            at = self._by_key[key] = len(self._calls)
            self._calls.append(_Call(kind, Joined(), Joined()))
        self._last = at
        return self._calls[at]


def _is_other(call: _Call, key: int | str | None, given_id: str | None, name: str | None) -> bool:
    known_id, known_name = call.outer.fields.get("id"), call.inner.fields.get("name")
    if not name:
        return False
    if given_id and known_id:
        return bool(given_id != known_id)
    if known_id or not known_name:
        return False
    has_arguments = any(map(any, call.inner.texts.values()))
    return (has_arguments or bool(given_id)) and (known_name != name or _is_no_index(key))


def _whole(call: _Call) -> dict[str, Any]:
    inner = call.inner.whole()
    inner.setdefault(_INNER[call.kind], "")
    return {**call.outer.whole(), "type": call.kind, call.kind: inner}


def _key(index: Any) -> int | str | None:
    if isinstance(index, float) and index.is_integer():
        return int(index)
    return index if isinstance(index, int | str) else None


def _is_no_index(key: int | str | None) -> bool:
    return key is None or (isinstance(key, int) and key < 0)


def _word(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return plain_json(value) if isinstance(value, str) and value and value != "null" else None


def _dumped(arguments: Any) -> str:
    return json.dumps(plain_json(arguments), ensure_ascii=False, separators=(",", ":"))
