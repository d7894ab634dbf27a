"""Calls whose block has ended: those that wait for evidence, and repetitions."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct, convert, to_builtins

from ...events.chunk_response import ArgumentsKind, CallStatus, ExecutedBy, ToolCallDelta
from ...operators.calls.same_arguments import arguments_digest

Key: TypeAlias = int | str | None
"""The wire's key of a delta: an index, an item's id, or nothing."""
NOTHING = "{}"
"""The arguments of a call that has none."""

_LONGEST = 64
"""No placeholder is longer, blanks included."""


class EndedCall(Struct):
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


class EndedCalls:
    """The ended calls of one choice, by their key."""

    def __init__(self) -> None:
        self._calls: dict[Key, EndedCall] = {}
        self._untold: dict[int, EndedCall] = {}
        """By index those that wait for evidence."""
        self._at_end: dict[int, EndedCall] = {}
        """By index those that have it, and wait for the answer's end."""
        self._by_digest: dict[str, Key] = {}

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
