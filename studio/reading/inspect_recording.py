"""Summarise a recorded answer: its chunks, its events, and when each call came."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct, to_builtins
from reactivex import Observable
from reactivex import operators as rx

from ...events.chunk_response import ChunkResponse
from ...events.errors import ProviderError, UsageError
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from ...operators.engine.stage import Operator
from ...pipeline.strategies import StrategyEvent, api_tool_call
from ...sinks.collect import Collector, Segment
from ...sources.from_stream import from_stream
from ...sources.from_wire import from_wire
from ...sources.recordings.read_recording import is_recording, out_of_cassette, read_recording, wire_of
from ..replay.replay_recordings import Recordings
from ..replay.replay_server import ReplayServer
from ..run_provider import SDKS, loopback
from .read_input import read_input
from .recorded import AsText, Recorded, api_or_text, recorded_stream

STEPS = 16
"""The most steps of a call's rate."""
_TO_FIRST_VALUE = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*"?', re.DOTALL)


class CallTiming(Struct, frozen=True):
    """When a call came: in seconds since the request, or as the numbers of chunks, from 1, if no times were recorded.

    `first_byte`: the first that showed the call. `first_field`: the first character of its first argument's value.
    `sealed`: its end, if it came whole. `chunks` had its `characters`. `rate`: the characters in each of some equal
    steps from the first character to the last.
    """

    first_byte: float
    first_field: float | None
    sealed: float | None
    characters: int
    chunks: int
    rate: tuple[int, ...]


class CallPieces:
    """The pieces of one call, with their times."""

    def __init__(self, begun: float) -> None:
        self.begun = begun
        self._pieces: list[str] = []
        self._times: list[float] = []

    def add(self, piece: str, now: float) -> None:
        self._pieces.append(piece)
        self._times.append(now)

    def timing(self, first_field: float | None, sealed: float | None) -> CallTiming:
        """Return when the call came.

        >>> pieces = CallPieces(1)
        >>> pieces.add('{"a":', 2)
        >>> pieces.add("1}", 4)
        >>> pieces.timing(pieces.first_value(), 5)
        CallTiming(first_byte=1, first_field=4, sealed=5, characters=7, chunks=2, rate=(5, 2))
        """
        lengths = list(map(len, self._pieces))
        return CallTiming(self.begun, first_field, sealed, sum(lengths), len(set(self._times)), self._rate(lengths))

    def first_value(self) -> float | None:
        """Return when the first value of a JSON object began; of pieces that are no object, when they began."""
        text = "".join(self._pieces)
        found = _TO_FIRST_VALUE.match(text)
        if found is None and text.lstrip()[:1] == "{":
            return None
        place = 0 if found is None else found.end()
        ends = list(accumulate(map(len, self._pieces)))
        return self._times[bisect_right(ends, place)] if place < len(text) else None

    def _rate(self, lengths: list[int]) -> tuple[int, ...]:
        steps = [0] * min(STEPS, len(set(self._times)))
        for length, at in zip(lengths, self._times, strict=True):
            share = (at - self._times[0]) / ((self._times[-1] - self._times[0]) or 1)
            steps[min(len(steps) - 1, int(share * len(steps)))] += length
        return tuple(steps)


WIRE_KINDS = {"custom": "custom_tool_call"}
"""The types of calls whose name on the wire differs from ours, by that name."""

_NO_CALLS = frozenset(("text", "reasoning", "refusal", "media"))


class InspectedCall(Struct, frozen=True):
    """One tool call; `arguments` is its raw text, exactly as it came."""

    index: int
    id: str
    name: str
    arguments: str
    kind: str
    wire_kind: str
    executed_by: str
    choice: int
    status: str | None
    timing: CallTiming | None = None


class Inspected(Struct, frozen=True):
    """The summary of an answer. `text` is in the order of its arrival; calls are in the order of their beginning.

    `seconds`: when the last chunk came; None if no times were recorded, and the calls' timings count chunks.
    """

    text: str
    reasoning_chars: int
    calls: tuple[InspectedCall, ...]
    finish_reason: str | None
    usage: dict[str, int] | None
    error: dict[str, Any] | None
    chunks: int = 0
    seconds: float | None = None


def inspect_chunks(
    chunks: Observable[ChunkResponse],
    strategy: Operator[ChunkResponse, StrategyEvent],
    clock: Callable[[], float] | None = None,
) -> Inspected:
    """Run an answer through a strategy to its end and return its summary.

    >>> import reactivex
    >>> from penstock.pipeline.strategies import api_tool_call
    >>> answer = reactivex.of(ChunkResponse(content="Hi", finish_reason="stop"))
    >>> inspect_chunks(answer, api_tool_call()).text
    'Hi'

    A `ProviderError` of the stream is data, in `error`. Any other exception is raised. The source must be one
    that has come to its end when `subscribe` returns, as all that read files and sync SDK streams have. `clock` returns
    when the chunk that is there came, in seconds.
    """
    facts = _Facts(clock)
    collector = Collector[StrategyEvent](keep_events=False)
    texts: list[str] = []
    failures: list[Exception] = []

    def take(event: StrategyEvent) -> None:
        if isinstance(event, SegmentContent) and event.segment_type == "text":
            texts.append(event.delta)
        facts.note_event(event)
        collector.feed(event)

    chunks.pipe(rx.do_action(facts.note), strategy).subscribe(take, failures.append)
    for failure in failures:
        if not isinstance(failure, ProviderError):
            raise failure
        facts.error = error_record(failure)
    collected = collector.close()
    calls = [segment for segment in collected.segments if "tool_name" in segment.metadata]
    return Inspected(
        text="".join(texts),
        reasoning_chars=len(collected.reasoning),
        calls=tuple(facts.in_order(calls)),
        finish_reason=facts.finish_reasons[min(facts.finish_reasons)] if facts.finish_reasons else None,
        usage=facts.usage,
        error=facts.error,
        chunks=facts.chunks,
        seconds=None if clock is None else facts.now,
    )


class _Facts:
    """Facts that are only in the chunks: the position and times of each call, how the answer ended, and its usage."""

    def __init__(self, clock: Callable[[], float] | None) -> None:
        self.chunks = 0
        self.now = 0.0
        self._clock = clock
        self.places: dict[str, list[tuple[int, int, int]]] = {}
        """By id on the wire, for each call with that id: its number in the order of beginnings, its choice and its
        index."""
        self.finish_reasons: dict[int, str] = {}
        self.usage: dict[str, int] | None = None
        self.error: dict[str, Any] | None = None
        self._native: list[CallPieces] = []
        """The pieces of each native call, in the order of their beginnings."""
        self._by_place: dict[tuple[int, int], CallPieces] = {}
        """By choice and index, the pieces of the last call there."""
        self._unnamed: dict[tuple[int, int], CallPieces] = {}
        self._by_segment: dict[str, CallPieces] = {}
        self._first_fields: dict[str, float] = {}
        self._ends: dict[str, float] = {}

    def note(self, chunk: ChunkResponse) -> None:
        self.chunks += 1
        self.now = self.chunks if self._clock is None else self._clock()
        for delta in chunk.tool_calls:
            place = chunk.choice, delta.index
            if delta.name and delta.call_id:
                self.places.setdefault(delta.call_id, []).append((len(self._native), *place))
                pieces = self._unnamed.pop(place) if place in self._unnamed else CallPieces(self.now)
                self._native.append(pieces)
                self._by_place[place] = pieces
            if delta.arguments_delta:
                if place not in self._by_place:
                    self._by_place[place] = self._unnamed[place] = CallPieces(self.now)
                self._by_place[place].add(delta.arguments_delta, self.now)
        if chunk.finish_reason:
            self.finish_reasons[chunk.choice] = chunk.finish_reason
        if chunk.usage:
            usage = to_builtins(chunk.usage)
            self.usage = {name: usage[name] for name in chunk.usage.__struct_fields__}

    def note_event(self, event: StrategyEvent) -> None:
        """Note an event of a call; the pieces of a native one are in the chunks, those of another are its events."""
        if not isinstance(event, SegmentEvent):
            return
        if isinstance(event, SegmentStart):
            if event.segment_type in _NO_CALLS or self._place(event.segment_id, 0)[0] < len(self._native):
                return
            self._by_segment[event.segment_id] = CallPieces(self.now)
        elif isinstance(event, SegmentEnd):
            self._ends[event.segment_id] = self.now
        pieces = self._by_segment.get(event.segment_id)
        if pieces is None:
            return
        if event.raw:
            pieces.add(event.raw, self.now)
        if event.fragments and any(each.path for each in event.fragments):
            self._first_fields.setdefault(event.segment_id, self.now)

    def in_order(self, segments: list[Segment]) -> list[InspectedCall]:
        """Return the calls in the order in which they began; a segment may start later, when its path is known."""
        placed = sorted((*self._place(segment.id, number), number) for number, segment in enumerate(segments))
        return [
            _call(segments[number], choice, index, self._timing(segments[number], begun))
            for begun, choice, index, number in placed
        ]

    def _timing(self, segment: Segment, begun: int) -> CallTiming:
        sealed = self._ends.get(segment.id) if segment.status == "complete" else None
        if begun < len(self._native):
            return self._native[begun].timing(self._native[begun].first_value(), sealed)
        return self._by_segment[segment.id].timing(self._first_fields.get(segment.id), sealed)

    def _place(self, segment_id: str, number: int) -> tuple[int, int, int]:
        places = self.places.get(segment_id)
        if places:
            return places[0]
        # An id that came before is unique as a segment's: the second `a` is `a#2`.
        wire_id, _, count = segment_id.rpartition("#")
        places = self.places.get(wire_id, [])
        if count.isdecimal() and 0 < int(count) <= len(places):
            return places[int(count) - 1]
        return len(self._native) + number, 0, number  # a call that stood in the text, not in the API's calls


def _call(segment: Segment, choice: int, index: int, timing: CallTiming) -> InspectedCall:
    metadata = segment.metadata
    native: dict[str, Any] = metadata.get("native") or {}
    wire_kind = str(native.get("type", "function"))
    return InspectedCall(
        index=index,
        id=segment.id,
        name=metadata["tool_name"],
        arguments=segment.raw,
        kind=metadata.get("kind", "json"),
        wire_kind=WIRE_KINDS.get(wire_kind, wire_kind),
        executed_by=metadata.get("executed_by", "client"),
        choice=choice,
        status=segment.status,
        timing=timing,
    )


def error_record(error: ProviderError) -> dict[str, Any]:
    """Return an error's attributes as plain data."""
    return {name: getattr(error, name) for name in ("detail", "code", "type", "status", "transport")}


Progress: TypeAlias = Callable[[int, int], None]
PIECE = 256 * 1024
"""The bytes that are decoded between two calls of `progress`."""
PIECE_OF_ITEMS = 1000
Via: TypeAlias = Literal["wire", "sdk"]
NewOperator: TypeAlias = Callable[[], Operator[Any, StrategyEvent]]
TEXT = "text"
"""What a text has in place of an API's name."""


class TextReading(NamedTuple):
    """How a text is read: `as_text` returns what is no stream, and `strategy` makes what finds the calls."""

    as_text: AsText
    strategy: NewOperator


def inspect_recording(
    path: str,
    *,
    api: str | None = None,
    via: Via = "wire",
    strategy: NewOperator = api_tool_call,
    in_text: TextReading | None = None,
    progress: Progress | None = None,
    interaction: int | None = None,
) -> tuple[str, Inspected]:
    """Return the name of a recording's API and the summary of its answer; all of n choices count.

    `via`: "wire" decodes what was recorded, "sdk" plays it over a local connection to the provider's SDK. `UsageError`
    for a file that cannot be read, for a body whose API is not known, and for one with no stream of its API in it;
    errors inside the answer are part of the summary. `progress` is called with what was decoded so far and with all.
    `interaction` chooses a response of a cassette, from 0. Without `in_text` what is no stream is an error.
    """
    body = out_of_cassette(read_input(path), interaction)
    if is_recording(body):
        recording = read_recording(body)
        if via == "wire":
            return _by_items(recorded_stream(recording, api), strategy, in_text, progress)
        recorded = wire_of(recording, api)
        body, api = b"".join(recorded.pieces), recorded.api
    name = api_or_text(body, api, in_text and in_text.as_text)
    if isinstance(name, Recorded):
        if via == "sdk":
            message = "plain text has no API, so no SDK can play it; use --via wire"
            raise UsageError(message)
        return _by_items(name, strategy, in_text, progress)
    with _by_sdk(name, body) if via == "sdk" else _by_wire(name, body, progress) as chunks:
        return name, inspect_chunks(chunks, strategy())


def _by_items(
    recorded: Recorded, strategy: NewOperator, in_text: TextReading | None, progress: Progress | None
) -> tuple[str, Inspected]:
    """Inspect a recording: each chunk comes when its item did."""
    now = 0.0

    def items() -> Iterator[Any]:
        nonlocal now
        for number, each in enumerate(recorded.items, 1):
            now = each.at
            yield each.item
            if progress is not None and number % PIECE_OF_ITEMS == 0:
                progress(number, len(recorded.items))
        if recorded.error is not None:
            raise recorded.error

    clock = (lambda: now) if recorded.has_times else None
    if recorded.kind == "wire":
        chunks = from_wire(recorded.api or "", items(), choices="all")
    else:
        chunks = from_stream(items(), recorded.api, choices="all")
    if recorded.is_text:
        return TEXT, inspect_chunks(chunks, (strategy if in_text is None else in_text.strategy)(), clock)
    return recorded.api or "unknown", inspect_chunks(chunks, strategy(), clock)


@contextmanager
def _by_wire(api: str, body: bytes, progress: Progress | None) -> Generator[Observable[ChunkResponse], None, None]:
    yield from_wire(api, _pieces(body, progress), choices="all")


def _pieces(body: bytes, progress: Progress | None) -> Iterator[bytes]:
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]
        if progress is not None:
            progress(min(start + PIECE, len(body)), len(body))


@contextmanager
def _by_sdk(api: str, body: bytes) -> Generator[Observable[ChunkResponse], None, None]:
    if api not in SDKS:
        message = f"no SDK can play {api!r}; use --via wire"
        raise UsageError(message)
    with ReplayServer(Recordings({"recording": body}, api)) as server, loopback(api, server.url) as start:
        yield from_stream(start, api, choices="all")
