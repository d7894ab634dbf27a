"""Calls whose block has ended: those that wait for evidence, and repetitions."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct, convert, to_builtins

from ...events.chunk_response import ArgumentsKind, CallStatus, ExecutedBy, ToolCallDelta
from ...operators.calls.same_arguments import arguments_digest

Key: TypeAlias = int | str | None
"""The wire's key of a delta: an index, an item's id, or nothing."""


class EndedCall(Struct):
    """A finished call; `digest` is of its arguments, if they are compared with a repetition."""

    key: Key
    index: int
    kind: ArgumentsKind
    executed_by: ExecutedBy
    digest: str
    is_told: bool
    """Whether its `done` was emitted: at once for closed JSON; for other calls when there is evidence of completion."""


class EndedCalls:
    """The ended calls of one choice, by their key."""

    def __init__(self) -> None:
        self._calls: dict[Key, EndedCall] = {}
        self._untold: dict[Key, EndedCall] = {}
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
            self._untold[call.key] = call
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
        if arguments and call.digest and arguments_digest(arguments, call.kind) != call.digest:
            call.digest = ""
            return self._tell(call, contradiction={source: arguments})
        return None if status is None or call.is_told else self._tell(call, status=status)

    def late(self, key: Key, text: str) -> ToolCallDelta | None:
        """Return the delta for text that arrives after the call's end; later operators decide about it."""
        call = self._calls[key]
        if not text:
            return None
        if not call.is_told:  # it was whole, and now there is more of it
            return self._tell(call, contradiction={"late": text})
        return ToolCallDelta(call.index, arguments_delta=text, kind=call.kind, executed_by=call.executed_by)

    def followed(self) -> list[ToolCallDelta]:
        """Return `done` with a status of completed for the waiting calls, because the model began another part."""
        return self.told("completed")

    def told(self, status: CallStatus | None = None) -> list[ToolCallDelta]:
        """Return `done` for the calls that wait for evidence, with a status if there is one."""
        return [self._tell(call, status=status) for call in list(self._untold.values())]

    def dump(self) -> Any:
        return to_builtins(list(self._calls.values()))

    def load(self, state: Any) -> None:
        self._calls, self._untold, self._by_digest = {}, {}, {}
        for call in convert(state, list[EndedCall]):
            self.add(call)

    def _tell(
        self, call: EndedCall, *, status: CallStatus | None = None, contradiction: dict[str, str] | None = None
    ) -> ToolCallDelta:
        call.is_told = True
        self._untold.pop(call.key, None)
        return ToolCallDelta(
            call.index,
            kind=call.kind,
            done=True,
            executed_by=call.executed_by,
            status=status,
            contradiction=contradiction,
        )


def _nothing(kind: ArgumentsKind) -> str:
    return "" if kind == "text" else "{}"


def digest_of(arguments: str, kind: ArgumentsKind) -> str:
    """Return the digest of a call's arguments; no arguments count as an empty object."""
    return arguments_digest(arguments or _nothing(kind), kind)
