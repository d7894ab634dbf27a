"""Which wire delta belongs to which call: the one place that knows, whatever the provider does with indexes and ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct, convert, to_builtins

from ..events.chunk_response import ArgumentsKind, ExecutedBy, ToolCallDelta
from ..operators.limits import DEFAULT_LIMITS, Limits
from .surrogates import Held, held_dump, held_load, plain_json, rest_of_text, whole_text, without_halves

Key: TypeAlias = int | str | None
"""What the wire files a delta under: an index, an item's id, or nothing."""

WAITING, REFUSED = -1, -2


class _Call(Struct):
    """One call under one key. `index` is ours once the name has come; before that WAITING, over a limit REFUSED."""

    key: Key
    index: int = WAITING
    given_id: str | None = None
    name: str = ""
    waiting: list[str] = []  # msgspec gives each instance its own
    """The pieces of what came before the name; none afterwards."""
    length: int = 0
    kind: ArgumentsKind = "json"
    executed_by: ExecutedBy = "client"


class CallTracker:
    """The calls of one choice of one response, in the grammar that every source keeps.

        wire   0: id=a f   0: {"x   0: id=b g   0: {}      one index, two calls
        ours   0  a  f     0  {"x   1  b  g     1  {}

    - A new call: a key not seen before, or a new non-empty id **and** a name under a used one.
      Where the wire gives no ids at all, another name after arguments is a new call too.
    - The first delta has `call_id` and `name`; arguments wait for the name. Without an id of the wire the id is
      made, at once: `{turn_id}:call_{index}`. An id that comes later cannot change it (it is out, and segments and
      invocations carry it), but the provider wants it back with the result: it is given as `native={"id": ...}`.
    - Empty, missing or repeated ids and names change nothing.
    - Calls whose name never came and calls over a limit are given by `lost()`, with their text.
    """

    def __init__(self, turn_id: Callable[[], str], choice: int = 0, limits: Limits = DEFAULT_LIMITS) -> None:
        self._turn_id = turn_id
        self._choice = choice
        self._limits = limits
        self._open: dict[Key, _Call] = {}
        self._last: Key = None
        self._begun = 0
        self._held: Held = {}
        self._left: list[_Call] = []
        """Calls whose key has gone to another one while half a character of theirs was held."""
        self._lost: list[dict[str, Any]] = []

    def delta(
        self,
        key: Key,
        *,
        call_id: object = None,
        name: object = None,
        arguments: object = None,
        kind: ArgumentsKind = "json",
        executed_by: ExecutedBy = "client",
        native: dict[str, Any] | None = None,
    ) -> ToolCallDelta | None:
        """Give our delta for one of the wire's; None where it says nothing, or nothing yet.

        `arguments` that are an object and not a text become compact JSON.
        """
        given_id, given_name = _identifier(call_id), _identifier(name)
        if given_id == "null":  # what some SDKs put for a missing id
            given_id = None
        text = _argument_text(arguments)
        call = self._call(key, given_id, given_name)
        if call.index == WAITING:
            call.given_id = call.given_id or given_id
            if not given_name:
                self._wait(call, text)
                return None
            call.kind, call.executed_by = kind, executed_by
            return self._begin(call, given_name, text, native)
        if call.index == REFUSED:
            self._lose("call_over_limit", call, text, given_id, given_name)
            return None
        if given_id and not call.given_id:
            call.given_id = given_id
            native = {**(native or {}), "id": given_id}
        if text:
            call.length += len(text)
            text = whole_text(self._held, str(call.index), text)
        if not text and not native:
            return None
        return _update(call, text, native=native)

    def whole(self, key: Key, arguments: object) -> ToolCallDelta | None:
        """Take the whole arguments of a call, which the provider says again at its end: they count if no delta came."""
        call = self._open.get(key)
        if call is None or call.length:
            return None
        return self.delta(key, arguments=arguments)

    def done(self, key: Key) -> ToolCallDelta | None:
        """Give `done=True` for a call whose block the provider has ended; its key is free again."""
        call = self._open.get(key)
        if call is None or call.index < 0:
            return None
        del self._open[key]
        return _update(call, rest_of_text(self._held, str(call.index)), done=True)

    def rest(self) -> list[ToolCallDelta]:
        """Give what is held of the argument texts, when no more can come: half a character is U+FFFD."""
        by_index = {str(call.index): call for call in (*self._open.values(), *self._left)}
        self._left = []
        return [_update(by_index[index], rest_of_text(self._held, index)) for index in sorted(self._held, key=int)]

    def lost(self, *, closing: bool = False) -> list[dict[str, Any]]:
        """Give, once, what belongs to no call; `closing` adds the calls whose name never came."""
        if closing:
            for key, call in list(self._open.items()):
                if call.index == WAITING:
                    del self._open[key]
                    self._lose("call_without_name", call, "".join(call.waiting), call.given_id, "")
        lost, self._lost = self._lost, []
        return lost

    def dump(self) -> Any:
        """Give the state as plain data."""
        return {
            "open": [_dumped(call) for call in self._open.values()],
            "left": [_dumped(call) for call in self._left],
            "last": self._last,
            "begun": self._begun,
            "held": held_dump(self._held),
            "lost": list(self._lost),
        }

    def load(self, state: Any) -> None:
        """Go on from a dumped state."""
        self._open = {call.key: call for call in map(_loaded, state["open"])}
        self._left = [_loaded(each) for each in state["left"]]
        self._last = state["last"]
        self._begun = state["begun"]
        self._held = held_load(state["held"])
        self._lost = list(state["lost"])

    def _call(self, key: Key, given_id: str | None, name: str | None) -> _Call:
        call = self._open.get(key)
        if call is None and not given_id and not name and _is_no_index(key):
            call = self._open.get(self._last)  # a wire that gave an index at first and leaves it out afterwards
        if call is None or self._is_other(call, given_id, name):
            if call is not None:
                self._leave(call)
            elif len(self._open) >= self._limits.open_calls:
                return _Call(key, REFUSED)
            call = self._open[key] = _Call(key)
        self._last = call.key
        return call

    def _is_other(self, call: _Call, given_id: str | None, name: str | None) -> bool:
        if not name:
            return False
        if given_id and call.given_id:
            return call.given_id != given_id
        if call.given_id or not call.name:
            return False
        return (call.length > 0 or bool(given_id)) and (call.name != name or _is_no_index(call.key))

    def _leave(self, call: _Call) -> None:
        """Another call begins under this call's key: nothing more can come for it."""
        if str(call.index) in self._held:
            self._left.append(call)
        if call.index == WAITING:
            self._lose("call_without_name", call, "".join(call.waiting), call.given_id, "")

    def _begin(
        self,
        call: _Call,
        name: str,
        text: str,
        native: dict[str, Any] | None,
    ) -> ToolCallDelta:
        call.index, call.name = self._begun, name
        self._begun += 1
        text = "".join(call.waiting) + text
        call.length, call.waiting = len(text), []
        return ToolCallDelta(
            call.index,
            call.given_id or self._made_id(call.index),
            name,
            whole_text(self._held, str(call.index), text),
            kind=call.kind,
            executed_by=call.executed_by,
            native=native,
        )

    def _made_id(self, index: int) -> str:
        choice = f"choice_{self._choice}:" if self._choice else ""
        return f"{self._turn_id()}:{choice}call_{index}"

    def _wait(self, call: _Call, text: str) -> None:
        call.waiting.append(text)
        call.length += len(text)
        if call.length > self._limits.arguments_length:
            self._lose("call_over_limit", call, "".join(call.waiting), call.given_id, "")
            call.index, call.waiting = REFUSED, []

    def _lose(self, kind: str, call: _Call, text: str, given_id: str | None, name: str | None) -> None:
        if text or given_id or name:
            entry = {"type": kind, "key": call.key, "id": given_id, "name": name, "arguments": without_halves(text)}
            self._lost.append({field: value for field, value in entry.items() if value not in (None, "")})


def _dumped(call: _Call) -> Any:
    """Give a call as plain data: what waits in it may still have half a character, which JSON text can only escape."""
    return {**to_builtins(call), "waiting": json.dumps("".join(call.waiting))}


def _loaded(state: Any) -> _Call:
    return convert({**state, "waiting": [json.loads(state["waiting"])]}, _Call)


def _update(call: _Call, text: str, *, done: bool = False, native: dict[str, Any] | None = None) -> ToolCallDelta:
    return ToolCallDelta(
        call.index,
        arguments_delta=text,
        kind=call.kind,
        done=done,
        executed_by=call.executed_by,
        native=native,
    )


def _is_no_index(key: Key) -> bool:
    return key is None or (isinstance(key, int) and key < 0)


def _identifier(value: object) -> str | None:
    if isinstance(value, str):
        return without_halves(value) or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _argument_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(plain_json(value), ensure_ascii=False, separators=(",", ":"))
