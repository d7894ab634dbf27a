"""Assign wire deltas to calls, whatever the provider does with indexes and ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from ...events.chunk_response import ArgumentsKind, CallStatus, ExecutedBy, ToolCallDelta
from ...operators.calls.same_arguments import same_arguments
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.state import Stateful
from .argument_pieces import MANY, ArgumentPieces
from .ended_calls import EndedCall, EndedCalls, Key, digest_of
from .surrogates import Held, encodable, plain_json, rest_of_text, whole_text, without_halves

WAITING = -1


class _Call(Struct):
    """One call under one key. `index` is ours once the call is emitted; before that it is WAITING for its name."""

    key: Key
    index: int = WAITING
    given_id: str | None = None
    name: str = ""
    waiting: list[str] = []  # msgspec gives each instance its own
    """The pieces that arrived before the name; empty afterwards."""
    length: int = 0
    kind: ArgumentsKind = "json"
    executed_by: ExecutedBy = "client"
    is_compared: bool = False
    kept: list[str] = []
    """The pieces of the arguments, kept if they must be compared with a repetition."""
    said: ArgumentPieces | None = None
    """The arguments as they came, if they are the model's JSON."""
    source: str = "deltas"
    """The place on the wire from which the arguments were taken, for an error about contradicting ones."""
    contradiction: dict[str, str] = {}
    """Contradicting arguments, by their place on the wire."""
    announced: str = ""
    """Arguments that arrived with the beginning of the call; used only if no deltas arrive."""


class CallTracker(Stateful):
    """The calls of one choice of one response, under the rules that every source follows.

        wire   0: id=a f   0: {"x   0: id=b g   0: {}      one index, two calls
        ours   0  a  f     0  {"x   1  b  g     1  {}

    - A new call: a key not seen before, or a new non-empty id **and** a name under a used one.
      If the wire has no ids at all, another name after arguments begins a new call, too.
    - The first delta has `call_id` and `name`; arguments wait for the name. If the wire has no id, one is made at once:
      `{turn_id}:call_{index}`. An id that comes later cannot replace it, because events with the made id are already
      emitted; it is passed on as `native={"id": ...}`, because the provider needs it with the result.
    - Empty, missing or repeated ids and names change nothing.
    - A call whose name can no longer arrive, or for which too much is held, is emitted without a name; later operators
      fail it.
    - The `done` of a call whose text does not prove it complete is held, in `ended`, until there is evidence; `rest`
      emits it without a status.
    - Arguments that are sent again (`whole`) are compared with the first ones if `compares` is set, or if some were
      announced: the text is kept until the call is done, and then a digest of it, in `ended`.
    - `owed` returns the deltas of other calls that a delta made due; they must be emitted before that delta.
    """

    STATE = ("_begun", "_concluded", "_held", "_last", "_left", "_open", "_owed", "ended")

    def __init__(
        self,
        turn_id: Callable[[], str],
        choice: int = 0,
        limits: Limits = DEFAULT_LIMITS,
        *,
        compares: bool = False,
    ) -> None:
        self._turn_id = turn_id
        self._choice = choice
        self._limits = limits
        self._compares = compares
        self.ended = EndedCalls()
        self._contradicted: dict[Key, _Call] = {}
        self._open: dict[Key, _Call] = {}
        self._last: Key = None
        self._begun = 0
        self._concluded = 0
        """The number of calls that had begun when the answer last ended."""
        self._held: Held = {}
        self._left: list[_Call] = []
        """Calls that lost their key while half a surrogate pair was held."""
        self._owed: list[ToolCallDelta] = []

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
        announced: object = None,
    ) -> ToolCallDelta | None:
        """Return our delta for a wire delta; None if it adds nothing yet.

        `arguments` that are an object, not a text, become compact JSON. Arguments `announced` at the beginning of the
        call count only if no others arrive.
        """
        given_id, given_name = _identifier(call_id), _identifier(name)
        if given_id == "null":  # what some SDKs put for a missing id
            given_id = None
        native = native and encodable(native)
        text = _argument_text(arguments)
        if not given_name and key in self.ended and key not in self._open:
            return self.ended.late(key, without_halves(text))
        call = self._call(key, given_id, given_name)
        if call.index == WAITING:
            call.given_id = call.given_id or given_id
            if not given_name:
                self._wait(call, text)
                return None
            call.kind, call.executed_by = kind, executed_by
            call.announced = _argument_text(announced)
            call.is_compared = self._compares or bool(call.announced)
            self._owed += self._contradictions()
            return self._begin(call, given_name, text, native)
        if given_id and not call.given_id:
            call.given_id = given_id
            native = {**(native or {}), "id": given_id}
        if text and (text := self._new(call, text)):
            call.length += len(text)
            self._keep(call, text)
            text = whole_text(self._held, str(call.index), text)
        if not text and not native:
            return None
        return _update(call, text, native=native)

    def more(self, key: Key, text: str | None) -> ToolCallDelta | None:
        """Return the delta for text that goes on with the open call of a key; None, and no change, for all else.

        It is `delta` for most deltas, in less time; the text is without surrogates.
        """
        call = self._open.get(key)
        if call is None or not text or call.index < 0 or self._held or self._owed:
            return None
        if (said := call.said) is not None:
            if said.is_again or text[0] == "{":
                return None
            said.pieces.append(text)
            if len(said.pieces) > MANY:
                said.put_away()
        call.length += len(text)
        if call.is_compared:
            self._keep(call, text)
        self._last = call.key
        return ToolCallDelta(call.index, None, None, text, call.kind, executed_by=call.executed_by)

    def whole(self, key: Key, arguments: object, source: str = "whole") -> ToolCallDelta | None:
        """Process the whole arguments that the provider sends at a call's end; they are used if no delta arrived.

        If they differ from those that arrived, `done` reports it, or this method if the call is done already. `source`
        is their place on the wire.
        """
        call = self._open.get(key)
        if call is None:
            return self.again(key, arguments, source, None)
        if call.index < 0:
            return None
        text = _argument_text(arguments)
        if text and (not call.length or (call.is_compared and "".join(call.kept).isspace() and not text.isspace())):
            call.source = source
            return self.delta(key, arguments=text)
        kept, text = _joined(call.kept), without_halves(text)
        if text and call.is_compared and not same_arguments(kept, text, call.kind):
            call.contradiction |= {call.source: kept, source: text}
            self._contradicted[key] = call
        return None

    def done(self, key: Key, status: CallStatus | None = None) -> ToolCallDelta | None:
        """Return a delta with `done=True` for a call whose block has ended, and free its key."""
        call = self._open.get(key)
        if call is None or call.index < 0:
            return None
        if call.announced and call.length and not self._compares:  # with `compares`, a snapshot may be announced
            self.whole(key, call.announced, "start")
        announced = self._announced(call)
        del self._open[key]
        self._contradicted.pop(key, None)
        digest = ""
        if call.is_compared and not call.contradiction:
            digest = digest_of(_joined(call.kept), call.kind)
        is_told = bool(status or call.contradiction) or (call.kind == "json" and call.length > 0)
        self.ended.add(EndedCall(key, call.index, call.kind, call.executed_by, digest, is_told))
        text = announced + rest_of_text(self._held, str(call.index))
        if not is_told:
            return _update(call, text) if text else None
        delta = _update(call, text, done=True)
        if status is None and not call.contradiction:
            return delta
        return structs.replace(delta, status=status, contradiction=call.contradiction or None)

    def again(self, key: Key, arguments: object, source: str, status: CallStatus | None) -> ToolCallDelta | None:
        """Return what is new when a finished call is repeated: its status, or that its arguments differ."""
        return self.ended.again(key, without_halves(_argument_text(arguments)), source, status)

    def concluded(self, *, is_regular: bool) -> list[ToolCallDelta]:
        """Return a status for each call whose text does not prove that it is complete, from the answer's end.

        At a later end of the answer, only the calls that began after the previous end count.
        """
        status: CallStatus = "completed" if is_regular else "incomplete"
        return self.ended.told(status) + [
            structs.replace(_update(call, ""), status=status)
            for call in self._open.values()
            if call.index >= self._concluded and (call.kind != "json" or not call.length)
        ]

    def owed(self) -> list[ToolCallDelta]:
        """Return, once, the deltas of other calls that are due: nameless, contradicted, or with announced arguments."""
        owed, self._owed = self._owed, []
        return owed

    def rest(self) -> list[ToolCallDelta]:
        """Return all held deltas at the answer's end; a lone surrogate becomes U+FFFD."""
        by_index = {str(call.index): call for call in (*self._open.values(), *self._left)}
        self._left = []
        self._concluded = self._begun
        held = [_update(by_index[index], rest_of_text(self._held, index)) for index in sorted(self._held, key=int)]
        announced = [_update(call, text) for call in self._open.values() if (text := self._announced(call))]
        for key, call in list(self._open.items()):
            if call.index == WAITING:
                del self._open[key]
                self._give_up(call)
        return [*held, *announced, *self._contradictions(), *self.ended.told(), *self.owed()]

    def dump(self) -> Any:
        """Return the state as plain data."""
        for call in (*self._open.values(), *self._left):
            call.waiting, call.kept = ["".join(call.waiting)], ["".join(call.kept)]
            if call.said is not None:
                call.said.put_away()
        return super().dump()

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._contradicted = {key: call for key, call in self._open.items() if call.contradiction}

    def new_part(self, _name: str, state: Any, /) -> _Call | ArgumentPieces:
        return ArgumentPieces() if "checksum" in state else _Call(None)

    def _contradictions(self) -> list[ToolCallDelta]:
        """Return the contradictions of unfinished calls at the end."""
        found, self._contradicted = self._contradicted, {}
        return [each for key, call in found.items() if self._open.get(key) is call and (each := self.done(key))]

    def _new(self, call: _Call, text: str) -> str:
        """Return what a piece of arguments adds to those that came."""
        new = text if call.said is None else call.said.new_of(text, self._limits)
        if new is None:
            call.contradiction |= {"again": without_halves(text)}
            self._contradicted[call.key] = call
        return new or ""

    def _keep(self, call: _Call, text: str) -> None:
        if call.length > self._limits.arguments_length:  # it fails, whatever comes again
            call.is_compared, call.kept = False, []
        if call.is_compared:
            call.kept.append(text)

    def _announced(self, call: _Call) -> str:
        """Use the arguments that arrived before any delta, if there were no others."""
        text, call.announced = call.announced, ""
        if call.length or not text:
            return ""
        call.length, call.source = len(text), "start"
        self._keep(call, text)
        return without_halves(text)

    def _call(self, key: Key, given_id: str | None, name: str | None) -> _Call:
        call = self._open.get(key)
        if call is None and not given_id and not name and _is_no_index(key):
            call = self._open.get(self._last)  # a wire that gave an index at first and leaves it out afterwards
        if call is None or self._is_other(call, given_id, name):
            if call is not None:
                self._leave(call)
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
        """Finish a call whose key another call takes over."""
        if str(call.index) in self._held:
            self._left.append(call)
        if call.index == WAITING:
            self._give_up(call)
        elif text := self._announced(call):
            self._owed.append(_update(call, text))

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
        self._keep(call, text)
        if call.kind == "json":
            call.said = ArgumentPieces([text] if text else [])
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
            self._give_up(call)

    def _give_up(self, call: _Call) -> None:
        """Emit a call without a name; later deltas follow under its index."""
        text, call.waiting = "".join(call.waiting), []
        if not (text or call.given_id):
            return
        call.index = self._begun
        self._begun += 1
        self._owed.append(ToolCallDelta(call.index, call.given_id, arguments_delta=without_halves(text)))


def _update(call: _Call, text: str, *, done: bool = False, native: dict[str, Any] | None = None) -> ToolCallDelta:
    return ToolCallDelta(
        call.index,
        arguments_delta=text,
        kind=call.kind,
        done=done,
        executed_by=call.executed_by,
        native=native,
    )


def _joined(pieces: list[str]) -> str:
    return without_halves("".join(pieces))


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
