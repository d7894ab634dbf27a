"""Follow each call among segments from its START to its END, and pass all other segments on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ...events.segment_event import SegmentEnd, SegmentStart, Status
from ..engine.stage import How
from ..engine.state import Stateful
from .segment_end import OpenSegments, end_status


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
        for call in self._calls.values():
            events += self._ended(call, _end(call, *end_status(how)))
        self._calls.clear()
        return events

    def _border(self, event: SegmentStart | SegmentEnd) -> Sequence[Any]:
        """Return the events that a START or an END makes certain."""
        identity = event.turn_id, event.segment_id
        call = self._calls.pop(identity) if identity in self._calls else None
        if type(event) is SegmentEnd:
            return self._passed(event) if call is None else self._ended(call, event)
        broken_off = () if call is None else self._ended(call, _end(call, "truncated"))
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


def _end(call: FollowedCall, status: Status, reason: str | None = None) -> SegmentEnd:
    told = {"tool_name": call.name}
    return SegmentEnd(call.segment_id, call.segment_type, status, reason, told, turn_id=call.turn_id)
