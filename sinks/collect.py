"""`collect` and `acollect`: the events of a stream as a `Collected`: its segments, calls, failures and ends."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, Iterable, Iterator
from typing import Any, Generic, TypeAlias

from msgspec import Struct, field
from msgspec.structs import asdict
from reactivex import Observable
from reactivex import operators as rx
from typing_extensions import TypeVar

from ..events.answer_end import AnswerEnd, Output, OutputFailed
from ..events.chunk_response import ProviderEvent, TokenUsage
from ..events.json_form import whole_characters
from ..events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ..events.showing import shown_by, value_text
from ..events.tool_invocation import FileResult, InvocationFailed, Notice, ToolInvocation, ToolResult


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

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "segment_bundle")


E = TypeVar("E", default=Any)


class Collected(Struct, Generic[E]):
    """All events of a stream in order, and what they are about: segments, calls, results, the ends of the answers."""

    events: list[E] = field(default_factory=list[E])
    segments: list[Segment] = field(default_factory=list[Segment])
    """The segments in the order of their STARTs."""
    invocations: list[ToolInvocation] = field(default_factory=list[ToolInvocation])
    failures: list[InvocationFailed] = field(default_factory=list[InvocationFailed])
    outputs: list[Output | OutputFailed] = field(default_factory=list[Output | OutputFailed])
    """The results of a structured answer; usually one."""
    provider_events: list[ProviderEvent] = field(default_factory=list[ProviderEvent])
    results: list[ToolResult] = field(default_factory=list[ToolResult])
    ends: list[AnswerEnd] = field(default_factory=list[AnswerEnd])
    """How each answer ended: one for each choice of each turn."""

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens of all turns, each counted once however many choices it has; None if no provider told."""
        return total_usage(self.ends)

    @property
    def text(self) -> str:
        return self.joined("text")

    @property
    def reasoning(self) -> str:
        return self.joined("reasoning")

    def joined(self, segment_type: str) -> str:
        """Return the content of all segments of a type, joined."""
        return "".join(segment.content for segment in self.segments if segment.type == segment_type)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each segment, call, failure, output, result, notice and answer, in order.

            pandas.DataFrame(collect(pipeline.stream(source)).rows())

        | key | what it has |
        | --- | --- |
        | `kind`, `type`, `id` | the kind of the row; the segment's type, the tool's name or the model |
        | `status`, `reason` | how it ended, and why |
        | `text`, `characters` | the content, or the arguments or the value as JSON, and its length |
        | `pieces` | the number of CONTENT events of a segment |
        | `first_event`, `last_event` | the places in `events` |
        | `turn` | the turn's id |

        Each row has all keys, with None for what it lacks.
        """
        return [whole_characters(asdict(row)) for row in _rows(self)]

    _repr_mimebundle_ = shown_by("penstock.sinks.event_cards", "collected_bundle")


def total_usage(ends: Iterable[AnswerEnd]) -> TokenUsage | None:
    """Return the tokens of all turns, added up; None if no provider told.

    >>> usage = TokenUsage(prompt=5, completion=2, total=7)
    >>> total_usage([AnswerEnd("t", 0, usage=usage), AnswerEnd("t", 1, usage=usage)])
    TokenUsage(prompt=5, completion=2, total=7, cached=0, reasoning=0)
    """
    of_turns = {end.turn_id: end.usage for end in ends if end.usage is not None}
    if not of_turns:
        return None
    names = TokenUsage.__struct_fields__
    return TokenUsage(**{name: sum(getattr(usage, name) for usage in of_turns.values()) for name in names})


class SegmentRow(Struct, kw_only=True):
    """A row; the names of its fields are the keys."""

    kind: str
    type: str | None = None
    id: str | None = None
    status: str | None = None
    reason: str | None = None
    text: str | None = None
    characters: int | None = None
    pieces: int | None = None
    first_event: int | None = None
    last_event: int | None = None
    turn: str | None = None


def _rows(collected: Collected[Any]) -> list[SegmentRow]:
    rows: list[SegmentRow] = []
    segments = iter(collected.segments)  # they are in the order of their STARTs
    still_open: dict[tuple[str | None, str], SegmentRow] = {}
    for number, event in enumerate(collected.events):
        if isinstance(event, SegmentStart):
            if (segment := next(segments, None)) is not None:
                started = _segment(segment)
                started.pieces, started.first_event, started.last_event = 0, number, number
                still_open[event.turn_id, event.segment_id] = started
                rows.append(started)
        elif isinstance(event, SegmentContent | SegmentEnd):
            if (known := still_open.get((event.turn_id, event.segment_id))) is not None:
                known.pieces = (known.pieces or 0) + isinstance(event, SegmentContent)
                known.last_event = number
                if isinstance(event, SegmentEnd):
                    del still_open[event.turn_id, event.segment_id]
        else:
            for result in _result(event):
                result.first_event = result.last_event = number
                rows.append(result)
    rows += map(_segment, segments)
    for row in rows:
        row.characters = None if row.text is None else len(row.text)
    return rows


def _segment(segment: Segment) -> SegmentRow:
    return SegmentRow(
        turn=segment.turn_id,
        kind="segment",
        type=segment.type,
        id=segment.id,
        status=segment.status or "open",
        reason=segment.reason,
        text=segment.content,
    )


def _result(event: object) -> Iterator[SegmentRow]:
    """Yield the row of an event that is not part of a segment; none for any other value."""
    match event:
        case ToolInvocation(turn_id=turn, name=name, id=call_id, arguments=arguments):
            yield SegmentRow(turn=turn, kind="call", type=name, id=call_id, status="complete", text=_json(arguments))
        case InvocationFailed(turn_id=turn, name=name, id=call_id, reason=reason, raw=raw):
            yield SegmentRow(turn=turn, kind="failure", type=name, id=call_id, status="failed", reason=reason, text=raw)
        case Output(turn_id=turn, segment_id=segment_id, data=data):
            yield SegmentRow(turn=turn, kind="output", id=segment_id, status="complete", text=_json(data))
        case OutputFailed(turn_id=turn, segment_id=segment_id, reason=reason, raw=raw):
            yield SegmentRow(turn=turn, kind="output", id=segment_id, status="failed", reason=reason, text=raw)
        case ToolResult(turn_id=turn, id=call_id, value=value, error=error, denied=denied):
            failed = error if error is not None else denied
            status = "complete" if failed is None else "failed" if denied is None else "denied"
            text = _json(value) if failed is None else None
            yield SegmentRow(turn=turn, kind="result", id=call_id, status=status, reason=failed, text=text)
        case AnswerEnd(turn_id=turn, model=model, response_id=response_id, status=status):
            why = event.finish_reason_raw or event.finish_reason
            yield SegmentRow(turn=turn, kind="answer", type=model, id=response_id, status=status, reason=why)
        case ProviderEvent(turn_id=turn, kind=kind, segment_id=segment_id, data=data):
            yield SegmentRow(turn=turn, kind="provider", type=kind, id=segment_id, text=_json(data))
        case Notice(code=code, detail=detail):
            yield SegmentRow(kind="notice", type=code, text=detail)
        case _:
            pass


def _json(value: Any) -> str:
    return value_text(value, sys.maxsize)


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
