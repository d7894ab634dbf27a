"""`collect` and `acollect`: a whole stream of events as one value."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from typing import Any, Generic, TypeAlias

from reactivex import Observable
from reactivex import operators as rx
from typing_extensions import TypeVar

from ..events.answer_end import AnswerEnd, Output, OutputFailed
from ..events.chunk_response import ProviderEvent
from ..events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ..events.tool_invocation import FileResult, InvocationFailed, ToolInvocation, ToolResult
from .collected.collected import Collected, Segment

E = TypeVar("E", default=Any)

_Identity: TypeAlias = tuple[str | None, str]
_LISTS: dict[type, str] = {
    ToolInvocation: "invocations",
    InvocationFailed: "failures",
    Output: "outputs",
    OutputFailed: "outputs",
    ProviderEvent: "provider_events",
    ToolResult: "results",
    FileResult: "results",
    AnswerEnd: "ends",
}
"""The list of `Collected` for each type of event that does not belong to a segment."""


class Collector(Generic[E]):
    """Joins events to segments; the pieces of a text are joined once, at the segment's end.

    `keep_events`: whether `Collected.events` is filled; without it, the events of a long text are not kept.
    """

    __slots__ = ("_events", "_lists", "_open", "_segments")

    def __init__(self, *, keep_events: bool = True) -> None:
        self._events: list[E] | None = [] if keep_events else None
        self._segments: list[Segment] = []
        self._lists: dict[str, list[Any]] = {}
        """Those that are not empty: a list that stays empty is one more for the garbage collector in each stream."""
        self._open: dict[_Identity, tuple[Segment, list[str], list[str]]] = {}

    def feed(self, event: Any) -> None:
        if self._events is not None:
            self._events.append(event)
        kind: Any = event.__class__
        if kind is SegmentContent:
            entry = self._open.get((event.turn_id, event.segment_id))
            if entry is not None:
                _, content, raw = entry
                content.append(event.delta)
                raw.append(event.raw)
        elif kind is SegmentStart or kind is SegmentEnd:
            self._border(event)
        elif (name := _LISTS.get(kind)) is not None:
            self._lists.setdefault(name, []).append(event)

    def close(self) -> Collected[E]:
        """Return what was collected; a segment that is still open has no status."""
        for identity in list(self._open):
            self._end(identity)
        return Collected(self._events or [], self._segments, **self._lists)

    def _border(self, event: SegmentStart | SegmentEnd) -> None:
        identity = (event.turn_id, event.segment_id)
        if isinstance(event, SegmentStart):
            if identity in self._open:
                self._end(identity)
            segment = Segment(event.segment_id, event.segment_type or "", turn_id=event.turn_id)
            self._segments.append(segment)
            self._open[identity] = (segment, [], [])
        entry = self._open.get(identity)
        if entry is None:
            return
        segment, _, raw = entry
        raw.append(event.raw)
        segment.metadata.update(event.metadata)
        if isinstance(event, SegmentEnd):
            segment.status = event.status or "complete"
            segment.reason = event.reason
            self._end(identity)

    def _end(self, identity: _Identity) -> None:
        segment, content, raw = self._open.pop(identity)
        segment.content = "".join(content)
        segment.raw = "".join(raw)


def collect(events: Iterable[E] | Observable[E]) -> Collected[E]:
    """Read a stream of events to its end and return a `Collected`.

    >>> from penstock.events import ChunkResponse
    >>> from penstock.operators import drive, to_segments
    >>> result = collect(drive([ChunkResponse(content="Hi"), ChunkResponse(content="!")], to_segments()))
    >>> result.text, [segment.type for segment in result.segments]
    ('Hi!', ['text'])

    An Observable is subscribed to and waited for. An exception of the stream passes through. For async streams there is
    `acollect`.
    """
    if isinstance(events, Observable):
        events = events.pipe(rx.to_list()).run()
    collector = Collector[E]()
    for event in events:
        collector.feed(event)
    return collector.close()


async def acollect(events: AsyncIterable[E]) -> Collected[E]:
    """Read an async stream of events to its end and return a `Collected`; see `collect`."""
    collector = Collector[E]()
    async for event in events:
        collector.feed(event)
    return collector.close()
