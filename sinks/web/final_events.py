"""`FinalEvents`: the events of a stream with their deltas joined, for storage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ...events.chunk_response import ChunkResponse, ToolCallDelta
from ...events.errors import UsageError
from ...events.json_form import Event
from ...events.segment_event import AnySegmentEvent, Fragment, SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from ...events.tool_invocation import InvocationFailed, ToolCallArgumentProgress, ToolCallUpdate, ToolInvocation
from ...operators.calls.field_spec import is_argument

_Identity: TypeAlias = tuple[str | None, str]

_DELTAS = (ChunkResponse, ToolCallDelta, Fragment)
_PROGRESS = (ToolCallUpdate, ToolCallArgumentProgress)
_RESULTS = (ToolInvocation, InvocationFailed)


class FinalEvents:
    """Turns the events of a stream into those to be stored, in the order in which they are complete.

    A finished segment is stored as START, one CONTENT with all of its text, and END. A call whose END is directly
    followed by its result is stored as that result, which has everything; so a call's END waits for the next event.
    The segments of single arguments beside their call are not stored, because the call has them.
    """

    def __init__(self) -> None:
        self._open: dict[_Identity, _Segment] = {}
        self._call: _Segment | None = None  # it has ended, and its result may be the next event

    def feed(self, event: Event) -> Iterable[Event]:
        if isinstance(event, SegmentEvent):
            if isinstance(event, SegmentContent) and self._call is None:
                segment = self._open.get((event.turn_id, event.segment_id))
                if segment is not None:
                    segment.text.append(event.delta)
                    return ()
            return [*self._ended(), *self._segment(event)]
        if isinstance(event, _PROGRESS):
            return ()
        if isinstance(event, _DELTAS):
            kind = type(event).__name__
            message = f'events="final" cannot store a {kind}, which is a delta; use events="all"'
            raise UsageError(message)
        if self._call is not None and isinstance(event, _RESULTS) and self._call.is_of(event):
            self._call = None
        return [*self._ended(), event]

    def close(self) -> Iterable[Event]:
        ended = self._ended()
        cut = [event for segment in self._open.values() for event in segment.events()]
        self._open.clear()
        return [*ended, *cut]

    def _segment(self, event: AnySegmentEvent) -> list[AnySegmentEvent]:
        identity = (event.turn_id, event.segment_id)
        if isinstance(event, SegmentStart):
            cut = self._open.pop(identity, None)
            self._open[identity] = _Segment(event)
            return cut.events() if cut is not None else []
        if isinstance(event, SegmentContent):
            self._open.setdefault(identity, _Segment(event)).text.append(event.delta)
            return []
        segment = self._open.pop(identity, None) or _Segment(event)
        segment.end = event
        if segment.is_argument:
            return []
        if segment.is_call:
            self._call = segment
            return []
        return segment.events()

    def _ended(self) -> list[AnySegmentEvent]:
        call, self._call = self._call, None
        return call.events() if call is not None else []


class _Segment:
    """A segment to be stored: its first event, all of its text, and its END."""

    __slots__ = ("end", "first", "text")

    def __init__(self, first: AnySegmentEvent) -> None:
        self.first = first
        self.text: list[str] = []
        self.end: SegmentEnd | None = None

    @property
    def is_argument(self) -> bool:
        """Whether the segment repeats an argument of a call, which is stored with its arguments."""
        return isinstance(self.first, SegmentStart) and is_argument(self.first)

    @property
    def is_call(self) -> bool:
        told = (each.metadata for each in (self.first, self.end) if isinstance(each, SegmentStart | SegmentEnd))
        return self.first.segment_type == "tool_call" or any("tool_name" in metadata for metadata in told)

    def is_of(self, result: ToolInvocation | InvocationFailed) -> bool:
        return (self.first.turn_id, self.first.segment_id) == (result.turn_id, result.id)

    def events(self) -> list[AnySegmentEvent]:
        first = self.first
        events: list[AnySegmentEvent] = []
        if self.is_argument:
            return events
        if isinstance(first, SegmentStart):
            events.append(first)
        if self.text:
            text = "".join(self.text)
            events.append(SegmentContent(first.segment_id, first.segment_type, text, turn_id=first.turn_id))
        if self.end is not None:
            events.append(self.end)
        return events
