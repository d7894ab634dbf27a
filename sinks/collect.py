"""`collect` and `acollect`: a whole stream of events as one value."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from typing import Any, Generic, TypeAlias

from msgspec import Struct, field
from reactivex import Observable
from reactivex import operators as rx
from typing_extensions import TypeVar

from ..events.output import Output, OutputFailed
from ..events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentStart
from ..events.showing.shown_by import shown_by
from ..events.tool_invocation import InvocationFailed, ToolInvocation


class Segment(Struct):
    """A segment, joined from its events."""

    id: str
    type: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    content: str = ""
    raw: str = ""
    status: str | None = None
    """How the segment ended; None while it is open."""
    reason: str | None = None
    turn_id: str | None = None

    _repr_mimebundle_ = shown_by("penstock.sinks.segment_card", "segment_bundle")


E = TypeVar("E", default=Any)


class Collected(Struct, Generic[E]):
    """All events of a stream in order, and the segments, invocations, failures and outputs made from them."""

    events: list[E] = field(default_factory=list[E])
    segments: list[Segment] = field(default_factory=list[Segment])
    """The segments in the order of their STARTs."""
    invocations: list[ToolInvocation] = field(default_factory=list[ToolInvocation])
    failures: list[InvocationFailed] = field(default_factory=list[InvocationFailed])
    outputs: list[Output | OutputFailed] = field(default_factory=list[Output | OutputFailed])
    """The results of a structured answer; usually one."""

    @property
    def text(self) -> str:
        return self.joined("text")

    @property
    def reasoning(self) -> str:
        return self.joined("reasoning")

    def joined(self, segment_type: str) -> str:
        """Return the content of all segments of a type, joined."""
        return "".join(segment.content for segment in self.segments if segment.type == segment_type)

    _repr_mimebundle_ = shown_by("penstock.sinks.segment_card", "collected_bundle")


_Identity: TypeAlias = tuple[str | None, str]


class _Fold(Generic[E]):
    """Joins events to segments; the pieces of a text are joined once, at the segment's end."""

    def __init__(self) -> None:
        self.collected = Collected[E]()
        self._open: dict[_Identity, tuple[Segment, list[str], list[str]]] = {}

    def feed(self, event: E) -> None:
        self.collected.events.append(event)
        if isinstance(event, SegmentStart | SegmentContent | SegmentEnd):
            self._segment(event)
        elif isinstance(event, ToolInvocation):
            self.collected.invocations.append(event)
        elif isinstance(event, InvocationFailed):
            self.collected.failures.append(event)
        elif isinstance(event, Output | OutputFailed):
            self.collected.outputs.append(event)

    def close(self) -> Collected[E]:
        for identity in list(self._open):
            self._end(identity)
        return self.collected

    def _segment(self, event: AnySegmentEvent) -> None:
        identity = (event.turn_id, event.segment_id)
        if isinstance(event, SegmentStart):
            segment = Segment(event.segment_id, event.segment_type or "", turn_id=event.turn_id)
            self.collected.segments.append(segment)
            self._open[identity] = (segment, [], [])
        entry = self._open.get(identity)
        if entry is None:
            return
        segment, content, raw = entry
        raw.append(event.raw)
        if isinstance(event, SegmentContent):
            content.append(event.delta)
            return
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
    fold = _Fold[E]()
    for event in events:
        fold.feed(event)
    return fold.close()


async def acollect(events: AsyncIterable[E]) -> Collected[E]:
    """Read an async stream of events to its end and return a `Collected`; see `collect`."""
    fold = _Fold[E]()
    async for event in events:
        fold.feed(event)
    return fold.close()
