"""Follow each call among segments from its START to its END, and end those that are open at the end of the stream.

All other segments pass on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from msgspec import Struct

from ...events.errors import ProviderError
from ...events.segment_event import JsonError, SegmentEnd, SegmentStart, Status
from ..engine.stage import Completed, Failed, How, Interrupted
from ..engine.state import Stateful

_REGULAR = frozenset(("stop", "tool_calls"))
_CANCELLED = frozenset(("cancelled", "canceled", "abort", "aborted"))
"""The providers' words for a cancelled answer; our finish reason is `other`."""


def end_status(how: How, finish: str | None = None, words: str | None = None) -> tuple[Status, str | None]:
    """Return the status and reason for segments that are open at the end of a stream.

    `finish` is the answer's finish reason; None if there was none, so that even a completed stream counts as cut.
    `words` is the finish reason as the provider wrote it.

    >>> end_status(Completed(), "stop"), end_status(Completed()), end_status(Interrupted("Ctrl-C"))
    (('complete', None), ('truncated', None), ('interrupted', 'Ctrl-C'))
    """
    match how:
        case Failed(error):
            if isinstance(error, ProviderError) and not error.transport:
                return "failed", "provider_error"
            return "interrupted", None
        case Interrupted(reason):
            return "interrupted", reason or None
        case Completed():
            if finish is None:
                return "truncated", None
            if finish == "error":
                return "failed", "provider_error"
            if finish == "other" and words is not None and words.lower() in _CANCELLED:
                return "interrupted", words
            return ("truncated", finish) if finish in ("length", "content_filter") else ("complete", None)


def ended_regularly(how: How, finish: str | None) -> bool:
    """Return whether the model ended its answer itself, so that nothing of it is missing."""
    return isinstance(how, Completed) and finish in _REGULAR


def error_detail(error: JsonError) -> dict[str, Any]:
    """Return what is wrong with a JSON text as END metadata, and later as `InvocationFailed.errors`."""
    return {"at": error.at, "expected": error.expected, "found": error.found, "path": list(error.path)}


def guard_error(said: dict[str, Any]) -> dict[str, Any]:
    """Return what `guard` says of a call in its END's metadata as an entry of `InvocationFailed.errors`."""
    return {"type": said["policy"], "msg": said["reason"], "loc": said["path"]}


class OpenSegments(Stateful, Struct, gc=False, eq=False):
    """The segments that passed and have not ended, for operators that pass on segments made by others."""

    _open: dict[tuple[str | None, str], str | None] = {}  # msgspec gives each instance its own

    def note(self, event: SegmentStart | SegmentEnd) -> None:
        """Record a START or an END that passes."""
        if type(event) is SegmentStart:
            self._open[event.turn_id, event.segment_id] = event.segment_type
        else:
            self._open.pop((event.turn_id, event.segment_id), None)

    def end_one(self, identity: tuple[str | None, str], reason: str, metadata: dict[str, Any]) -> list[SegmentEnd]:
        """Return an interrupted END for one segment, if it is open."""
        if identity not in self._open:
            return []
        turn_id, segment_id = identity
        segment_type = self._open.pop(identity)
        return [SegmentEnd(segment_id, segment_type, "interrupted", reason, metadata, turn_id=turn_id)]

    def ends(self, how: How) -> list[SegmentEnd]:
        """Return an END for each segment that has none."""
        if not self._open:
            return []
        status, reason = end_status(how)
        ends = [
            SegmentEnd(segment_id, segment_type, status, reason, turn_id=turn_id)
            for (turn_id, segment_id), segment_type in self._open.items()
        ]
        self._open.clear()
        return ends


class FollowedCall(Protocol):
    """A call that is being followed, with the attributes from which an END can be made if none arrives."""

    @property
    def segment_id(self) -> str: ...
    @property
    def segment_type(self) -> str | None: ...
    @property
    def turn_id(self) -> str | None: ...
    @property
    def name(self) -> str: ...


C = TypeVar("C", bound=FollowedCall)


class CallFollower(Stateful, ABC, Generic[C]):
    """The part of a stage that opens and ends calls: its `feed` handles CONTENT, and START and END by `_border`.

    Every call ends: one whose id starts again as truncated, the others with the stream at the latest.
    """

    STATE: ClassVar[tuple[str, ...]] = ("_calls", "_others")

    def __init__(self, *, keep_segments: bool) -> None:
        self._keep = keep_segments
        self._calls: dict[tuple[str | None, str], C] = {}
        self._others = OpenSegments()

    def close(self, how: How) -> Sequence[Any]:
        events: list[Any] = list(self._others.ends(how))
        for call in [*self._calls.values()]:
            events += self._ended(call, made_end(call, *end_status(how)))
        self._calls.clear()
        return events

    def _border(self, event: SegmentStart | SegmentEnd) -> Sequence[Any]:
        """Return the events that a START or an END makes certain."""
        identity = event.turn_id, event.segment_id
        call = self._calls.pop(identity) if identity in self._calls else None
        if type(event) is SegmentEnd:
            return self._passed(event) if call is None else self._ended(call, event)
        broken_off = () if call is None else self._ended(call, made_end(call, "truncated"))
        call = self._opened(event)
        if call is None:
            return (*broken_off, *self._passed(event))
        self._calls[identity] = call
        return (*broken_off, *self._started(call, event))

    @abstractmethod
    def _opened(self, start: SegmentStart) -> C | None:
        """Return the call that a START opens; None for a segment that is not a call."""

    @abstractmethod
    def _started(self, call: C, start: SegmentStart) -> Sequence[Any]:
        """Return the events for a call's START."""

    @abstractmethod
    def _ended(self, call: C, end: SegmentEnd) -> Sequence[Any]:
        """Return the events for a call's END."""

    def _passed(self, event: SegmentStart | SegmentEnd) -> Sequence[Any]:
        if not self._keep:
            return ()
        self._others.note(event)
        return (event,)


def made_end(
    call: FollowedCall, status: Status, reason: str | None = None, metadata: Mapping[str, Any] | None = None
) -> SegmentEnd:
    """Return an END for a call that has none, with further metadata."""
    told = {"tool_name": call.name} if call.segment_type != "text" else {}
    return SegmentEnd(
        call.segment_id, call.segment_type, status, reason, {**told, **(metadata or {})}, turn_id=call.turn_id
    )
