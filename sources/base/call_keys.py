"""Which call a piece is of, by the keys that providers give; and the calls that have ended, which may come again."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct, convert, to_builtins

from ...events.chunk_response import ArgumentsKind, CallStatus, ExecutedBy, ToolCallDelta
from ...events.segment_event import JsonError
from ...operators.engine.limits import Limits
from ...operators.engine.state import EMPTY, Stateful
from ...operators.machines.json_machine import JsonMachine
from ...operators.machines.json_values import arguments_digest
from .shown_text import TextSoFar

Key: TypeAlias = int | str | None
"""The wire's key of a delta: an index, an item's id, or nothing."""
NOTHING = "{}"
"""The arguments of a call that has none."""

_LONGEST = 64
"""No placeholder is longer, blanks included."""


class EndedCall(Struct, gc=False):
    """A finished call; `digest` is of its arguments, if they are compared with a repetition."""

    key: Key
    index: int
    kind: ArgumentsKind
    executed_by: ExecutedBy
    digest: str
    is_told: bool
    """Whether its `done` was emitted: at once for closed JSON; for other calls when there is evidence of completion."""
    is_empty: bool = False
    """Whether it has no arguments, so that it waits for the answer's end."""
    given_id: str | None = None
    status: CallStatus | None = None
    """What will be told of a call that waits for the answer's end."""
    text: str = ""
    """The empty object that stands for no arguments, if the wire had it."""


class EndedCalls(Struct, gc=False, eq=False):
    """The ended calls of one choice, by their key."""

    _calls: dict[Key, EndedCall] = {}  # msgspec gives each instance its own
    _untold: dict[int, EndedCall] = {}
    """By index those that wait for evidence."""
    _at_end: dict[int, EndedCall] = {}
    """By index those that have it, and wait for the answer's end."""
    _by_digest: dict[str, Key] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._calls

    @property
    def is_waiting(self) -> bool:
        """Return whether a call waits for evidence that the model finished it."""
        return bool(self._untold)

    def add(self, call: EndedCall) -> None:
        self._calls[call.key] = call
        if not call.is_told:
            (self._at_end if call.is_empty and call.status else self._untold)[call.index] = call
        if call.digest:
            self._by_digest.setdefault(call.digest, call.key)

    def same(self, arguments: str, kind: ArgumentsKind) -> Key:
        """Return the key of the first call with these arguments; None without one."""
        return self._by_digest.get(arguments_digest(arguments or _nothing(kind), kind))

    def again(self, key: Key, arguments: str, source: str, status: CallStatus | None) -> ToolCallDelta | None:
        """Return what is new when a call is repeated: its status, or that its arguments differ."""
        call = self._calls.get(key)
        if call is None:
            return None
        is_new = bool(arguments and call.digest) and not is_placeholder(arguments, call.kind)
        if is_new and arguments_digest(arguments, call.kind) != call.digest:
            call.digest = ""
            return self._tell(call, contradiction={source: arguments})
        if status is not None and call.is_empty and not call.is_told:
            call.status = status
            self._at_end[call.index] = call
            self._untold.pop(call.index, None)
            return None
        return None if status is None or call.is_told else self._tell(call, status=status)

    def reopened(self, key: Key) -> EndedCall | None:
        """Return the call of a key, which has not ended after all, if its arguments may still come."""
        call = self._calls.get(key)
        if call is None or not call.is_empty or call.is_told:
            return None
        del self._calls[key]
        self._waits_no_more(call)
        if call.digest and self._by_digest.get(call.digest) == key:
            del self._by_digest[call.digest]
        return call

    def late(self, key: Key, text: str) -> ToolCallDelta | None:
        """Return the delta for text that arrives after the call's end; later operators decide about it."""
        call = self._calls[key]
        if not text:
            return None
        if not call.is_told and not call.is_empty:  # it was whole, and now there is more of it
            return self._tell(call, contradiction={"late": text})
        return ToolCallDelta(call.index, arguments_delta=text, kind=call.kind, executed_by=call.executed_by)

    def moved(self, key: Key, new: Key) -> None:
        """Give a call another key, because a new call takes over its own."""
        call = self._calls[new] = self._calls.pop(key)
        call.key = new
        if call.digest and self._by_digest.get(call.digest) == key:
            self._by_digest[call.digest] = new

    def at(self, key: Key) -> EndedCall | None:
        return self._calls.get(key)

    def followed(self) -> list[ToolCallDelta]:
        """Return `done` with a status of completed for the waiting calls, because the model began another part.

        Calls without arguments get the status at the answer's end.
        """
        found: list[ToolCallDelta] = []
        for call in list(self._untold.values()):
            if call.is_empty:
                call.status = "completed"
                self._at_end[call.index] = self._untold.pop(call.index)
            else:
                found.append(self._tell(call, status="completed"))
        return found

    def done_deltas(
        self, status: CallStatus | None = None, *, of_empty: CallStatus | None = None, is_cut: bool = False
    ) -> list[ToolCallDelta]:
        """Return `done` for the calls that wait, with a status if there is one.

        `of_empty`: the status of all calls without arguments, whatever the provider said. `is_cut`: whether the answer
        has no end, so that nothing more than `done` is said of them.
        """
        waiting = sorted((*self._untold.values(), *self._at_end.values()), key=_index)
        if is_cut:
            for call in waiting:
                if call.is_empty:
                    call.status, call.text = None, ""
        return [self._tell(call, status=(call.is_empty and of_empty) or call.status or status) for call in waiting]

    def dump(self) -> Any:
        return to_builtins(list(self._calls.values()))

    def load(self, state: Any) -> None:
        self._calls, self._untold, self._at_end, self._by_digest = {}, {}, {}, {}
        for call in convert(state, list[EndedCall]):
            self.add(call)

    def _waits_no_more(self, call: EndedCall) -> None:
        self._untold.pop(call.index, None)
        self._at_end.pop(call.index, None)

    def _tell(
        self, call: EndedCall, *, status: CallStatus | None = None, contradiction: dict[str, str] | None = None
    ) -> ToolCallDelta:
        call.is_told = True
        self._waits_no_more(call)
        return ToolCallDelta(
            call.index,
            arguments_delta="" if status == "incomplete" or contradiction else call.text,
            kind=call.kind,
            done=True,
            executed_by=call.executed_by,
            status=status,
            contradiction=contradiction,
        )


def _index(call: EndedCall) -> int:
    return call.index


def is_placeholder(arguments: str, kind: ArgumentsKind) -> bool:
    """Return whether arguments that are sent again may only stand where others belong: an empty object, or null.

    >>> is_placeholder("{ }", "json"), is_placeholder('{"a": 1}', "json"), is_placeholder("{}", "text")
    (True, False, False)
    """
    return kind != "text" and len(arguments) < _LONGEST and "".join(arguments.split()) in ("{}", "null")


def _nothing(kind: ArgumentsKind) -> str:
    return "" if kind == "text" else NOTHING


def digest_of(arguments: str, kind: ArgumentsKind) -> str:
    """Return the digest of a call's arguments; no arguments count as an empty object."""
    return arguments_digest(arguments or _nothing(kind), kind)


class ArgumentPieces(TextSoFar, gc=False):
    """The JSON arguments of one call as they came, for servers that send them whole again, once or with each piece.

    >>> pieces, limits = ArgumentPieces(), Limits()
    >>> [pieces.new_of(piece, limits) for piece in ('{"a', '{"a": 1', '{"a": 1}', '{"a": 1}')]
    ['{"a', '": 1', '}', '']

    A piece comes again if it begins as all of the text so far, and if the two, one behind the other, cannot be JSON: in
    `{"a": ` and `{"a": 1}` the second may be a value of the first. Once that happened, a piece that does not begin so
    contradicts it.
    """

    is_again: bool = False
    """Whether a piece came that said again what came before."""

    def new_of(self, piece: str, limits: Limits) -> str | None:
        """Return what a piece adds to the text so far; None for one that contradicts what was said again."""
        if (self.is_again or piece.startswith("{")) and not piece.isspace():
            is_same = self.begins(piece) and self.length > 0
            if is_same and (self.is_again or not _may_be_json(piece[: self.length] + piece, limits)):
                self.is_again = True
                new = piece[self.length :]
                self.pieces = [new] if new else []
                return new
            if self.is_again:
                return None
        self.add(piece)
        return piece


def _may_be_json(text: str, limits: Limits) -> bool:
    """Return whether a text is JSON, or the beginning of it."""
    items = JsonMachine(limits).feed(text)
    return not (items and isinstance(error := items[-1], JsonError) and error.reason == "malformed")


WAITING = -1


class TrackedCall(Struct, gc=False):
    """One call under one key. `index` is ours once the call is emitted; before that it is WAITING for its name."""

    key: Key
    number: int = -1
    index: int = WAITING
    given_id: str | None = None
    name: str = ""
    piece: str = ""
    """The last piece of the name."""
    waiting: list[str] = EMPTY
    """The pieces that arrived before the name; empty afterwards."""
    native: dict[str, Any] = {}  # msgspec gives each instance its own
    """What came for the provider before the name."""
    length: int = 0
    kind: ArgumentsKind = "json"
    executed_by: ExecutedBy = "client"
    is_compared: bool = False
    kept: list[str] = EMPTY
    """The pieces of the arguments, kept if they must be compared with a repetition."""
    said: ArgumentPieces | None = None
    """The arguments as they came, if they are the model's JSON."""
    source: str = "deltas"
    """The place on the wire from which the arguments were taken, for an error about contradicting ones."""
    contradiction: dict[str, str] = {}
    """Contradicting arguments, by their place on the wire."""
    announced: str = ""
    """Arguments that arrived with the beginning of the call; used only if no deltas arrive. An empty object is used
    only at the answer's end, and is no arguments until then."""


class CallKeys(Stateful, Struct, gc=False, eq=False):
    """Finds a call by an id, or by a key that is not its own.

        wire   0: id=a f   1: {"x": 1}                          a key that is not the call's
        wire   id=a f {   id=b f {   id=a "x": 1}   id=b "y"    no key, but ids
        wire   0: id=a f   0: id=b f   0: {"x": 1}              nobody knows whose

    - A known id decides first.
    - A piece without id and name under a new key belongs to the only call without arguments, from then on also.
    - Two calls that began under one key, the first without arguments, contest it: a piece without an id under it may
      be of either, so it is of neither.
    """

    STATE = ("_contested", "_ids", "_others", "_reused", "empty", "last")

    calls: dict[Key, TrackedCall]
    """The open calls, by the keys that are their own."""
    over: dict[int, TrackedCall]
    """By index the ended calls whose arguments may still come."""
    _ended: EndedCalls
    last: Key = None
    """The key of the call that spoke last."""
    empty: dict[int, Key] = {}  # msgspec gives each instance its own
    """By index the keys of the client's calls that have begun and have no arguments."""
    _ids: dict[str, Key] = {}
    """The keys of the calls, by the ids that the wire gave them."""
    _others: dict[Key, Key] = {}
    """The keys of calls whose pieces come under another key, by that one."""
    _contested: dict[Key, None] = {}  # the garbage collector visits sets, and no dict like this
    _reused: dict[Key, None] = {}

    def found(self, key: Key, given_id: str | None, name: str | None, text: str) -> tuple[Key, str | None]:
        """Return the key of the call that a delta belongs to, and the name that it gives that call."""
        call = self.calls.get(key)
        if given_id and not (call is not None and call.given_id == given_id):
            known = self.known(given_id)
            if known is not None and (not name or self._goes_on(known[0], key, name, text)):
                return known[0], name
        if self.is_contested(key) and not given_id:
            return orphan_key(key), None
        if name or (given_id and not text):
            return key, name
        if call is None:
            return self._found_piece(key, given_id, text), None
        # An id that is not known: servers change ids, but where only ids tell calls apart it is another call's.
        is_others = is_no_index(key) and call.given_id not in (None, given_id)
        return orphan_key(f"id:{given_id}") if is_others else key, None

    def _found_piece(self, key: Key, given_id: str | None, text: str) -> Key:
        """Return the key of the call that a piece under a key without an open call belongs to."""
        if self.is_reused(key) and (ended := self._ended.at(key)) is not None and ended.is_empty:
            return orphan_key(key)
        if key in self._ended or self.is_other(key):
            return self.other(key)
        if is_no_index(key) and not given_id and (last := self.calls.get(self.last)) is not None:
            # A wire that gave an index at first and leaves it out afterwards.
            is_certain = last.index not in self.empty or len(self.empty) == 1
            return last.key if is_certain else orphan_key(key)
        if not text.strip() or len(self.empty) != 1:
            return key
        ((index, own),) = self.empty.items()
        only = self.calls.get(own) or self.over[index]
        if given_id and only.given_id:
            return key
        self.belongs(key, own)
        return own

    def _goes_on(self, known: Key, key: Key, name: str, text: str) -> bool:
        """Return whether a delta with a name is of the open call with its id, and not of a new one with the same id."""
        call = self.calls.get(known)
        if call is None or call.name != name or not (is_no_index(key) or key in self.calls):
            return False
        return call.index in self.empty or not text.lstrip().startswith(("{", "["))

    def known(self, given_id: str) -> tuple[Key] | None:
        """Return the key of the call with an id, as a tuple of one; None for an unknown id."""
        return (self._ids[given_id],) if given_id in self._ids else None

    def other(self, key: Key) -> Key:
        """Return the key of the call whose pieces come under a key."""
        return self._others.get(key, key)

    def is_other(self, key: Key) -> bool:
        return key in self._others

    def is_contested(self, key: Key) -> bool:
        return key in self._contested

    def belongs(self, key: Key, own: Key) -> None:
        """Note that the pieces under a key are those of the call with the key `own`."""
        self._others[key] = own

    def identify(self, given_id: str, key: Key) -> None:
        self._ids.setdefault(given_id, key)

    def contest(self, key: Key) -> None:
        """Note that the pieces under a key may be of several calls; its end is that of the last one."""
        self._contested[key] = None

    def is_reused(self, key: Key) -> bool:
        return key in self._reused

    def reuse(self, key: Key) -> None:
        """Note that a call begins under the key of one that had ended without arguments.

        What comes when both have ended may be of either.
        """
        self._reused[key] = None

    def move(self, key: Key, index: int, given_id: str | None) -> Key:
        """Return the key that a call has from now on, because another call takes over its own."""
        new = own_key(index)
        if given_id is not None and self._ids.get(given_id, new) == key:
            self._ids[given_id] = new
        if index in self.empty:
            self.empty[index] = new
        if self.last == key:
            self.last = new
        if key in self._contested:
            self._others[key] = new
        return new

    def forget(self, given_id: str | None, key: Key) -> None:
        """Forget the id of a call that was given up."""
        if given_id is not None and self._ids.get(given_id) == key:
            del self._ids[given_id]


def own_key(index: int) -> Key:
    """Return the key of a call whose wire's key is taken; no wire has it."""
    return f"\0{index}"


def orphan_key(of: object) -> Key:
    """Return the key for pieces of no known call."""
    return f"\0?{of}"


def is_no_index(key: Key) -> bool:
    return key is None or (isinstance(key, int) and key < 0)
