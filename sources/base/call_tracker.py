"""Assign wire deltas to calls, whatever the provider does with indexes and ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import structs

from ...events.chunk_response import ArgumentsKind, CallStatus, ExecutedBy, ToolCallDelta
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.state import EMPTY, Stateful
from ...operators.machines.json_values import is_json, same_arguments
from .call_keys import (
    NOTHING,
    WAITING,
    ArgumentPieces,
    CallKeys,
    EndedCall,
    EndedCalls,
    Key,
    TrackedCall,
    digest_of,
    is_no_index,
    is_placeholder,
)
from .sdk_fields import HeldSurrogates, encodable, plain_json, rest_of_text, whole_text, without_halves
from .shown_text import MOST_PIECES

Given = TypeVar("Given")


class CallTracker(Stateful):
    """The calls of one choice of one response, under the rules that every source follows.

        wire   0: id=a f   0: {"x   0: id=b g   0: {}      one index, two calls
        ours   0  a  f     0  {"x   1  b  g     1  {}

    - A new call: a key not seen before, or a new non-empty id **and** a name under a used one.
      If the wire has no ids at all, another name after arguments begins a new call, too.
    - `CallKeys` says whose a delta is that does not come under its call's key.
    - The first delta has `call_id` and `name`; arguments wait for the name. If the wire has no id, one is made at once:
      `{turn_id}:call_{index}`. An id that comes later cannot replace it, because events with the made id are already
      emitted; it is passed on as `native={"id": ...}`, because the provider needs it with the result.
    - Empty, missing or repeated ids and names change nothing; another name of the same call is a further piece of it.
      `names_in_pieces`: whether the API allows that, so that the first delta says that its name may go on.
    - A call whose name can no longer arrive, or for which too much is held, is emitted without a name; later operators
      fail it.
    - The `done` of a call whose text does not prove it complete is held, in `ended`, until there is evidence; `rest`
      emits it without a status. A call of which no arguments came waits for the answer's end: they may come late. If
      any arguments of the answer belong to no call, it is then `incomplete`.
    - Arguments that are sent again (`whole`) are compared with the first ones if `compares` is set, or if some were
      announced: the text is kept until the call is done, and then a digest of it, in `ended`.
    - `pending_deltas` returns the deltas of other calls that a delta made due; they must be emitted before that delta.
    """

    STATE = (
        "_begun",
        "_concluded",
        "_held",
        "_is_orphaned",
        "_keys",
        "_made",
        "_open",
        "_over",
        "_pending_deltas",
        "ended",
    )

    def __init__(
        self,
        turn_id: Callable[[], str],
        choice: int = 0,
        limits: Limits = DEFAULT_LIMITS,
        *,
        compares: bool = False,
        names_in_pieces: bool = False,
    ) -> None:
        self._turn_id = turn_id
        self._choice = choice
        self._limits = limits
        self._compares = compares
        self._names_in_pieces = names_in_pieces
        self.ended = EndedCalls()
        self._contradicted: dict[int, TrackedCall] = {}
        self._open: dict[Key, TrackedCall] = {}
        self._over: dict[int, TrackedCall] = {}
        """By index the ended calls whose arguments may still come."""
        self._keys = CallKeys(self._open, self._over, self.ended)
        self._is_orphaned = False
        """Whether arguments came that belong to no call."""
        self._made = 0
        """The number of calls of which anything came."""
        self._begun = 0
        self._concluded = 0
        """The number of calls that had begun when the answer last ended."""
        self._held: HeldSurrogates = {}
        self._pending_deltas: list[ToolCallDelta] = EMPTY

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
        if given_id or given_name or key not in self._open:
            if not (given_id or text or native) and (not given_name or self._keys.is_contested(key)):
                return None
            key, given_name = self._keys.found(key, given_id, given_name, text)
            if not given_name and key not in self._open and key in self.ended and not self._reopened(key, text):
                return self._late(key, text)
        call = self._call(key, given_id, given_name)
        if call.index == WAITING:
            call.given_id = call.given_id or given_id
            if given_id:
                self._keys.identify(given_id, call.key)
            if not given_name:
                call.native |= native or {}
                self._wait(call, text)
                return None
            call.kind, call.executed_by = kind, executed_by
            call.announced = _argument_text(announced)
            call.is_compared = self._compares or call.announced not in ("", NOTHING)
            if self._contradicted:
                self._pending_deltas = [*self._pending_deltas, *self._contradictions()]
            begun = self._begin(call, given_name, text, native, is_open=arguments is not None)
            if self._keys.is_contested(key):
                self._place(call)
            return begun
        if given_id and not call.given_id:
            call.given_id = given_id
            self._keys.identify(given_id, call.key)
            native = {**(native or {}), "id": given_id}
        if announced is not None and call.index in self._keys.empty:
            call.announced = _argument_text(announced)
        piece = self._name_piece(call, given_name)
        if text and (text := self._new(call, text)):
            self._add(call, text)
            text = whole_text(self._held, str(call.index), text)
        if not text and not native and piece is None:
            return None
        return _update(call, text, native=native, name=piece)

    def __contains__(self, key: Key) -> bool:
        return key in self._open or key in self.ended

    def claim(self, key: Key) -> None:
        """Keep a new key for a call whose beginning may still come, because the wire has an id for it."""
        self._keys.belongs(key, key)

    def more(self, key: Key, text: str | None) -> ToolCallDelta | None:
        """Return the delta for text that goes on with the open call of a key; None, and no change, for all else.

        It is `delta` for most deltas, in less time; the text is without surrogates.
        """
        call = self._open.get(key)
        if call is None or not text or call.index < 0 or self._held or self._pending_deltas:
            return None
        if (said := call.said) is not None:
            if said.is_again or text[0] == "{":
                return None
            said.pieces.append(text)
            if len(said.pieces) > MOST_PIECES:
                said.put_away()
        call.length += len(text)
        if call.is_compared:
            self._keep(call, text)
        keys = self._keys
        if keys.empty and not text.isspace():
            keys.empty.pop(call.index, None)
        keys.last = call.key
        return ToolCallDelta(call.index, None, None, text, call.kind, executed_by=call.executed_by)

    def renamed(self, key: Key, name: object) -> ToolCallDelta | None:
        """Return the delta for the name that the provider gives an open call again; None if it is the same."""
        call = self._open.get(self._keys.other(key))
        piece = None if call is None or call.index < 0 else self._name_piece(call, _identifier(name))
        return None if call is None or piece is None else _update(call, "", name=piece)

    @property
    def has_begun(self) -> bool:
        return self._made > 0

    @property
    def speaker(self) -> tuple[int, str]:
        """Return which call spoke last, counted as they were first seen, and its name so far; -1 for none."""
        call = self._open.get(self._keys.last)
        return (-1, "") if call is None else (call.number, call.name)

    def goes_on(self, key: Key) -> tuple[int, str] | None:
        """Return the call, as `speaker` does, that text under a key goes on with; None if it has no arguments yet."""
        call = self._open.get(key)
        if call is None or call.index < 0 or call.index in self._keys.empty:
            return None
        self._keys.last = key
        return call.number, call.name

    def unsaid(self, given: list[tuple[object, Given]]) -> list[Given]:
        """Return those of an answer's whole calls, each with its id, that did not come before."""
        ids = [_identifier(call_id) for call_id, _ in given]
        has_known = any(each is not None and self._keys.known(each) for each in ids)
        return [
            call
            for place, (given_id, (_, call)) in enumerate(zip(ids, given, strict=True))
            if not (given_id is not None and self._keys.known(given_id)) and (has_known or place >= self._begun)
        ]

    def whole(self, key: Key, arguments: object, source: str = "whole") -> ToolCallDelta | None:
        """Process the whole arguments that the provider sends at a call's end; they are used if no delta arrived.

        Of deltas that are their beginning, the rest is returned. An empty object behind other arguments is only a
        placeholder. Pieces that wait for a name, of a stream that was resumed, are replaced by the whole they are from.
        If it differs from those that arrived, `done` reports it, or this method if the call is done already. `source`
        is their place on the wire.
        """
        call = self._open.get(self._keys.other(key))
        if call is None:
            return self.again(key, arguments, source, None)
        text = _argument_text(arguments)
        if call.index < 0:
            if text.endswith(_joined(call.waiting)):
                call.waiting, call.length = [text], len(text)
            return None
        if is_placeholder(text, call.kind) and (call.length or source == "done"):  # behind which the item comes
            call.announced = call.announced or text
            return None
        if text and (not call.length or (call.is_compared and "".join(call.kept).isspace() and not text.isspace())):
            call.source = source
            return self.delta(call.key, arguments=text)
        kept, text = _joined(call.kept), without_halves(text)
        if not text or not call.is_compared or same_arguments(kept, text, call.kind):
            return None
        if text.startswith(kept) and (call.kind == "text" or not is_json(kept)):
            return self.delta(call.key, arguments=text[len(kept) :])
        call.contradiction |= {call.source: kept, source: text}
        self._contradicted[call.number] = call
        return None

    def waits(self, key: Key) -> bool:
        """Return whether pieces came under a key, and no name."""
        call = self._open.get(key)
        return call is not None and call.index == WAITING

    def done(self, key: Key, status: CallStatus | None = None) -> ToolCallDelta | None:
        """Return a delta with `done=True` for a call whose block has ended, and free its key."""
        call = self._open.get(self._keys.other(key))
        if call is None or call.index < 0:
            return None
        more = None
        if call.announced and call.length and not self._compares:  # with `compares`, a snapshot may be announced
            more = self.whole(key, call.announced, "start")
        announced = self._announced(call) if more is None else more.arguments_delta
        del self._open[call.key]
        self._contradicted.pop(call.number, None)
        digest = ""
        if call.is_compared and not call.contradiction:
            digest = digest_of(_joined(call.kept), call.kind)
        is_empty = call.index in self._keys.empty and not call.contradiction
        is_told = bool(call.contradiction) or (not is_empty and (status is not None or _is_json(call)))
        ended = EndedCall(call.key, call.index, call.kind, call.executed_by, digest, is_told)
        if is_empty:
            ended.is_empty, ended.status, ended.text = True, status, call.announced
            self._over[call.index] = call
        ended.given_id = call.given_id
        self.ended.add(ended)
        text = announced + rest_of_text(self._held, str(call.index))
        if not is_told:
            return _update(call, text) if text else None
        delta = _update(call, text, done=True)
        if status is None and not call.contradiction:
            return delta
        return structs.replace(delta, status=status, contradiction=call.contradiction or None)

    def again(self, key: Key, arguments: object, source: str, status: CallStatus | None) -> ToolCallDelta | None:
        """Return what is new when a finished call is repeated: its status, or that its arguments differ.

        Arguments of which nothing came before are what they are at last.
        """
        text = without_halves(_argument_text(arguments))
        if text != NOTHING and self._reopened(key, text):
            if (given := self.whole(key, text, source)) is not None:
                self._pending_deltas = [*self._pending_deltas, given]
            return self.done(key, status)
        return self.ended.again(key, text, source, status)

    def concluded(self, *, is_regular: bool) -> list[ToolCallDelta]:
        """Return a status for each call whose text does not prove that it is complete, from the answer's end.

        At a later end of the answer, only the calls that began after the previous end count.
        """
        status: CallStatus = "completed" if is_regular and not self._is_orphaned else "incomplete"
        return self.ended.done_deltas(status, of_empty=self._of_empty()) + [
            structs.replace(_update(call, ""), status=status)
            for call in self._open.values()
            if call.index >= self._concluded and (call.kind != "json" or not call.length)
        ]

    def pending_deltas(self) -> list[ToolCallDelta]:
        """Return, once, the deltas of other calls that are due: nameless, contradicted, or with announced arguments."""
        deltas, self._pending_deltas = self._pending_deltas, EMPTY
        return deltas

    def rest(self, *, is_cut: bool = False) -> list[ToolCallDelta]:
        """Return all held deltas at the answer's end; a lone surrogate becomes U+FFFD.

        `is_cut`: whether the stream ends before the answer, so that nobody knows whether arguments would have come.
        """
        for call in [each for each in self._open.values() if each.index == WAITING]:
            del self._open[call.key]
            self._give_up(call)
        by_index = {str(call.index): call for call in self._open.values()}
        self._concluded = self._begun
        held = [_update(by_index[index], rest_of_text(self._held, index)) for index in sorted(self._held, key=int)]
        of_empty = self._of_empty()
        empty = [self._open[key] for key in self._keys.empty.values() if key in self._open]
        self._keys.empty.clear()
        self._over.clear()
        given: list[ToolCallDelta] = []
        if of_empty:
            given = [structs.replace(_update(call, ""), status=of_empty) for call in empty]
        announced = [
            _update(call, text)
            for call in self._open.values()
            if not ((of_empty or is_cut) and call.announced == NOTHING) and (text := self._announced(call))
        ]
        ended = self.ended.done_deltas(of_empty=of_empty, is_cut=is_cut)
        return [*held, *announced, *self._contradictions(), *ended, *given, *self.pending_deltas()]

    def dump(self) -> Any:
        """Return the state as plain data."""
        for call in (*self._open.values(), *self._over.values()):
            call.waiting, call.kept = ["".join(call.waiting)], ["".join(call.kept)]
            if call.said is not None:
                call.said.put_away()
        return super().dump()

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._keys.calls, self._keys.over = self._open, self._over
        self._contradicted = {call.number: call for call in self._open.values() if call.contradiction}

    def new_part(self, _name: str, state: Any, /) -> TrackedCall | ArgumentPieces:
        return ArgumentPieces() if "checksum" in state else TrackedCall(None)

    def _reopened(self, key: Key, text: str) -> bool:
        """Open an ended call again whose arguments come only now."""
        if not text.strip() or (ended := self.ended.reopened(key)) is None:
            return False
        self._open[key] = self._over.pop(ended.index)
        return True

    def _late(self, key: Key, text: str) -> ToolCallDelta | None:
        self._is_orphaned = self._is_orphaned or bool(text.strip())
        self._keys.last = key
        return self.ended.late(key, without_halves(text))

    def _name_piece(self, call: TrackedCall, name: str | None) -> str | None:
        """Return the further piece of a call's name; None for a repetition."""
        if not name or not call.name or name in (call.name, call.piece):
            return None
        call.piece = name
        call.name += name
        return name

    def _of_empty(self) -> CallStatus | None:
        """Return the status of the calls without arguments at the answer's end, if some arguments are of no call."""
        return "incomplete" if self._is_orphaned else None

    def _contradictions(self) -> list[ToolCallDelta]:
        """Return the contradictions of unfinished calls at the end."""
        found, self._contradicted = self._contradicted, {}
        return [each for call in found.values() if self._open.get(call.key) is call and (each := self.done(call.key))]

    def _new(self, call: TrackedCall, text: str) -> str:
        """Return what a piece of arguments adds to those that came."""
        new = text if call.said is None else call.said.new_of(text, self._limits)
        if new is None:
            call.contradiction |= {"again": without_halves(text)}
            self._contradicted[call.number] = call
        return new or ""

    def _add(self, call: TrackedCall, text: str) -> None:
        call.length += len(text)
        self._keep(call, text)
        if self._keys.empty and text.strip():
            self._keys.empty.pop(call.index, None)

    def _keep(self, call: TrackedCall, text: str) -> None:
        if call.length > self._limits.arguments_length:  # it fails, whatever comes again
            call.is_compared, call.kept = False, EMPTY
        if call.is_compared:
            if not call.kept:
                call.kept = []
            call.kept.append(text)

    def _announced(self, call: TrackedCall) -> str:
        """Use the arguments that arrived before any delta, if there were no others."""
        if call.index in self._keys.empty:
            return ""
        text, call.announced = call.announced, ""
        if call.length or not text:
            return ""
        call.length, call.source = len(text), "start"
        self._keep(call, text)
        return without_halves(text)

    def _call(self, key: Key, given_id: str | None, name: str | None) -> TrackedCall:
        call = self._open.get(key)
        if call is None or self._is_other(call, given_id, name):
            if call is not None:
                self._leave(call)
            elif (ended := self.ended.at(key)) is not None:
                if ended.is_empty and not ended.is_told:
                    self._keys.reuse(key)
                self.ended.moved(key, self._keys.move(key, ended.index, ended.given_id))
            call = self._open[key] = TrackedCall(key, number=self._made)
            self._made += 1
        self._keys.last = call.key
        return call

    def _is_other(self, call: TrackedCall, given_id: str | None, name: str | None) -> bool:
        if not name:
            return False
        if given_id and call.given_id:
            return call.given_id != given_id
        if call.given_id or not call.name:
            return False
        is_new = name not in (call.name, call.piece) or is_no_index(call.key)
        return (call.length > 0 or bool(given_id)) and is_new

    def _leave(self, call: TrackedCall) -> None:
        """Give a call whose key another call takes over a key of its own."""
        if call.index == WAITING:
            del self._open[call.key]
            self._keys.forget(call.given_id, call.key)
            self._give_up(call)
            return
        if call.index in self._keys.empty:
            self._keys.contest(call.key)
        self._place(call)
        if text := self._announced(call):
            self._pending_deltas = [*self._pending_deltas, _update(call, text)]

    def _place(self, call: TrackedCall) -> None:
        """Open a call under a key of its own."""
        self._open.pop(call.key, None)
        call.key = self._keys.move(call.key, call.index, call.given_id)
        self._open[call.key] = call

    def _begin(
        self,
        call: TrackedCall,
        name: str,
        text: str,
        native: dict[str, Any] | None,
        *,
        is_open: bool,
    ) -> ToolCallDelta:
        """Begin a call; `is_open`: whether the wire had a place for arguments beside the name.

        Servers that have none send the whole name alone.
        """
        call.index, call.name = self._begun, name
        self._begun += 1
        text = "".join(call.waiting) + text
        native = {**call.native, **(native or {})} if call.native else native
        call.native = {}
        call.piece, call.length, call.waiting = name, len(text), EMPTY
        self._keep(call, text)
        if call.kind == "json":
            call.said = ArgumentPieces(pieces=[text] if text else [])
        if call.executed_by == "client" and call.announced in ("", NOTHING) and not text.strip():
            self._keys.empty[call.index] = call.key
        return ToolCallDelta(
            call.index,
            call.given_id or self._made_id(call.index),
            name,
            whole_text(self._held, str(call.index), text),
            kind=call.kind,
            executed_by=call.executed_by,
            native=native,
            name_open=self._names_in_pieces and is_open and not text,
        )

    def _made_id(self, index: int) -> str:
        choice = f"choice_{self._choice}:" if self._choice else ""
        return f"{self._turn_id()}:{choice}call_{index}"

    def _wait(self, call: TrackedCall, text: str) -> None:
        if not call.waiting:
            call.waiting = []
        call.waiting.append(text)
        call.length += len(text)
        if call.length > self._limits.arguments_length:
            self._give_up(call)

    def _give_up(self, call: TrackedCall) -> None:
        """Emit a call without a name; later deltas follow under its index."""
        text, call.waiting = "".join(call.waiting), EMPTY
        self._is_orphaned = self._is_orphaned or bool(text.strip())
        if not (text or call.given_id):
            return
        call.index = self._begun
        self._begun += 1
        native, call.native = call.native or None, {}
        given = ToolCallDelta(call.index, call.given_id, arguments_delta=without_halves(text), native=native)
        self._pending_deltas = [*self._pending_deltas, given]


def _update(
    call: TrackedCall, text: str, *, done: bool = False, native: dict[str, Any] | None = None, name: str | None = None
) -> ToolCallDelta:
    return ToolCallDelta(
        call.index,
        name=name,
        arguments_delta=text,
        kind=call.kind,
        done=done,
        executed_by=call.executed_by,
        native=native,
    )


def _joined(pieces: list[str]) -> str:
    return without_halves("".join(pieces))


def _is_json(call: TrackedCall) -> bool:
    return call.kind == "json" and call.length > 0


def _identifier(value: object) -> str | None:
    if isinstance(value, str):
        return without_halves(value) or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _argument_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(plain_json(value), ensure_ascii=False, separators=(",", ":"))
