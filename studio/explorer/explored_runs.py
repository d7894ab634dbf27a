"""`ExploredRuns`: the runs of streams, with strategies and cuttings, and their traces as data of the explorer."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from msgspec import Struct, structs

from ...events.errors import UsageError
from ...events.json_form import Event, to_dict
from ...events.segment_event import SegmentEvent
from ...events.tool_invocation import ToolCallArgumentProgress
from ...operators.argument_progress import argument_progress
from ...operators.engine.stage import Failed, How, Interrupted, Operator, stage
from ...operators.engine.withheld import MOST, Withheld
from ...operators.machines.live_view import LiveEvent
from ...pipeline.chain import operator_of
from ...pipeline.pipeline import Pipeline
from ...pipeline.strategies import STRATEGIES, strategy_named
from ...pipeline.strategy_choice import DEFAULT_IN_TEXT
from ...sinks.parts.event_words import shortened
from ...sources.recordings.recording_format import raw_form
from ..reading.play_recording import LONGEST, short_line
from ..tracing.first_divergence import Divergence, first_divergence
from ..tracing.trace import Trace
from .explored_stream import ExploredStream, has_machine, stream_of


def plain_event(event: Any) -> Any:
    """Return an event as plain JSON data; of a live view nothing, and of a value of yours its text.

    >>> from penstock.events import Notice
    >>> plain_event(Notice("c", "d")), plain_event("a"), plain_event(1 + 2j)
    ({'type': 'NOTICE', 'code': 'c', 'detail': 'd'}, 'a', '(1+2j)')
    """
    if isinstance(event, Event):
        return to_dict(event)
    if isinstance(event, Struct):
        named = structs.asdict(event)
        if isinstance(event, LiveEvent):
            del named[event.__struct_fields__[-1]]
        return {"type": type(event).__name__, **raw_form(named)}
    return raw_form(event)


def item_text(item: Any) -> str:
    r"""Return what came as a text to show: text and bytes as they are, all else as JSON.

    >>> item_text(b"data: {}\n\xff"), item_text("a"), item_text({"a": 1})
    ('data: {}\n\\xff', 'a', '{"a": 1}')
    """
    match item:
        case str():
            return item
        case bytes() | bytearray():
            return item.decode(errors="backslashreplace")
        case _:
            return json_text(plain_event(item))


def json_text(value: Any) -> str:
    """Return JSON that each reader of JSON reads: numbers that it has no form for are texts.

    >>> json_text([1, float("inf"), "ü"])
    '[1, "inf", "ü"]'
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, default=str)


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {key: _finite(each) for key, each in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_finite(each) for each in cast("list[Any]", value)]
        case _:
            return value


MOST_READINGS = 12
"""The most texts that are shown of what a withheld text may become."""


def trace_data(traced: Trace, **more: Any) -> bytes:
    """Return a trace, and `more` members beside it, as JSON that is packed with gzip.

    It has what is new with each item and never what was there before, so its size grows with the stream only.

    - `raw`: what came, a text for each item; `times`: when, in nanoseconds; `end`: how the input ended.
    - `outputs`: for each stage its events as `[item, JSON]`; `sizes`, `spent`: for each stage a number for each item.
    - `held`: what was withheld as `[item, stage, place in withheld]`; of a long text the last 1,000 characters.
    - `segment_stage`: the last stage with segments; `arguments`: the pieces of the arguments in them, as `[item, call,
      kind, path, value]`.
    """
    items = traced.items
    places = range(len(traced.stages))
    at = _segment_stage(traced)
    withheld: dict[Withheld, int] = {}
    held = [
        (number, place, withheld.setdefault(each, len(withheld)))
        for number, item in enumerate(items)
        for place, did in enumerate(item.stages)
        for each in did.withheld
    ]
    data = {
        "stages": traced.stages,
        "dropped": traced.dropped,
        "raw": ["" if _is_end(item) else item_text(item.item if item.raw is None else item.raw) for item in items],
        "times": _times(traced),
        "end": _end(traced.ended),
        "outputs": [
            [
                (number, json_text(plain_event(event)))
                for number, item in enumerate(items)
                for event in item.stages[place].outputs
            ]
            for place in places
        ],
        "sizes": [[item.stages[place].state_size for item in items] for place in places],
        "spent": [[item.stages[place].time_ns for item in items] for place in places],
        "held": held,
        "withheld": [_withheld(each) for each in withheld],
        "segment_stage": at,
        "arguments": [] if at is None else [*_arguments(traced, at)],
        **more,
    }
    return gzip.compress(json.dumps(data, allow_nan=False, separators=(",", ":")).encode(), 5)


def _is_end(item: Any) -> bool:
    return item.ended is not None and item.item is None


def _end(ended: How | None) -> dict[str, str] | None:
    match ended:
        case None:
            return None
        case Failed(error=error):
            return {"how": "failed", "reason": _begin_of(f"{type(error).__name__}: {error}")}
        case Interrupted(reason=reason):
            return {"how": "interrupted", "reason": _begin_of(reason)}
        case _:
            return {"how": "completed", "reason": ""}


def _times(traced: Trace) -> list[int] | None:
    """Return the times of the items; an end without one has that of the item before."""
    times: list[int] = []
    for item in traced.items:
        if item.t_ns is None and not (times and _is_end(item)):
            return None
        times.append(max(times[-1] if times else 0, times[-1] if item.t_ns is None else item.t_ns))
    return times


def _withheld(each: Withheld) -> dict[str, Any]:
    """Return what is shown of a withheld text; `before`: how many characters it has before that, None if unknown."""
    text = each.text[-MOST:]
    is_told_in_part = len(each.text) == MOST + 1 and each.text.startswith("…")
    return {
        "text": text,
        "before": None if is_told_in_part else len(each.text) - len(text),
        "reason": _begin_of(each.reason),
        "could_become": [*map(_begin_of, each.could_become[:MOST_READINGS])],
        "further": max(0, len(each.could_become) - MOST_READINGS),
        "segment_id": each.segment_id and _begin_of(each.segment_id),
        "in_raw": each.in_raw,
    }


def _begin_of(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST]}… {len(text) - MOST:,} more characters"


def _segment_stage(traced: Trace) -> int | None:
    """Return the place of the last stage that returned events of segments."""
    found = {
        place
        for item in traced.items
        for place, did in enumerate(item.stages)
        if any(isinstance(event, SegmentEvent) for event in did.outputs)
    }
    return max(found, default=None)


def _arguments(traced: Trace, place: int) -> Iterator[tuple[int, str, str, tuple[str | int, ...], Any]]:
    follower = stage(argument_progress())
    for number, item in enumerate(traced.items):
        for event in item.stages[place].outputs:
            if not isinstance(event, SegmentEvent):
                continue
            for piece in follower.feed(event):
                if isinstance(piece, ToolCallArgumentProgress):
                    kind, value = piece.fragment.kind, piece.fragment.value
                    yield (
                        number,
                        piece.tool_call_id,
                        kind,
                        piece.fragment.path,
                        json_text(value) if kind == "SCALAR" else value,
                    )


LONGEST_CHUNK = 1_000_000


class RunChoice(NamedTuple):
    """How the stream is run: the name of a strategy, and the size of chunks; empty and 0 for as it is."""

    strategy: str = ""
    chunk_size: int = 0


class ExploredRuns:
    """Runs a stream as it was chosen; the first run is what the others are compared with.

    - `stream`: None if a trace cannot be run again; then there are no choices.
    - `first`: the trace of the first run; `given`: its operators behind the provider's machine.
    - `is_decoded`: whether the first run had no machine.
    """

    def __init__(
        self,
        stream: ExploredStream | None,
        first: Trace,
        title: str,
        given: Sequence[Operator[Any, Any]],
        *,
        is_decoded: bool,
    ) -> None:
        self.stream = stream
        self.first = first
        self._title = title
        self._given = given
        self._is_decoded = is_decoded

    def traced(self, choice: RunChoice) -> Trace:
        """Return the trace of a run; `UsageError` for an unknown strategy or a size that cannot be."""
        if choice == RunChoice():
            return self.first
        if self.stream is None:
            message = "this trace cannot be run again: it does not have all items of a provider's stream"
            raise UsageError(message)
        if not 0 <= choice.chunk_size <= LONGEST_CHUNK:
            message = f"the size of a chunk must be from 1 to {LONGEST_CHUNK:,}, got {choice.chunk_size}"
            raise UsageError(message)
        stream = self.stream.cut(choice.chunk_size) if choice.chunk_size else self.stream
        if choice.strategy:
            return stream.traced(_chain_of(Pipeline(strategy_named(choice.strategy))))
        return stream.traced(self._given, is_decoded=self._is_decoded)

    def data(self, choice: RunChoice, traced: Trace) -> bytes:
        """Return the data of a run's trace, with the choices that there are and the difference to the first run."""
        divergence = None if traced is self.first else first_divergence(self.first, traced)
        return trace_data(
            traced,
            title=self._title,
            strategies=[] if self.stream is None else ["", *STRATEGIES],
            can_cut="" if self.stream is None else self.stream.unit,
            strategy=choice.strategy,
            chunk_size=choice.chunk_size,
            is_changed=choice != RunChoice(),
            divergence=None if divergence is None else _told(divergence, is_cut_alike=not choice.chunk_size),
        )


def _told(found: Divergence, *, is_cut_alike: bool) -> dict[str, Any]:
    """Return a difference in a sentence, and the item at which it is in the new run, if there is one."""
    before, now = _described(found.number_a, found.output_a), _described(found.number_b, found.output_b)
    item = found.number_a if found.number_b is None and is_cut_alike else found.number_b
    return {"text": f"First difference, in {found.label}. Before: {before}. Now: {now}.", "item": item}


def _described(number: int | None, output: Any) -> str:
    if number is None:
        return "nothing more"
    said = short_line(output) if isinstance(output, Event) else shortened(json_text(plain_event(output)), LONGEST)
    return f"item {number + 1}, {said}"


def runs_of_stream(stream: ExploredStream, pipeline: Pipeline | None = None) -> ExploredRuns:
    """Run a stream through a pipeline; by default its own, else the environment's, and plain text through `auto`."""
    pipeline = pipeline or stream.pipeline
    if pipeline is None:
        pipeline = Pipeline(DEFAULT_IN_TEXT) if stream.form == "texts" else Pipeline()
    given = _chain_of(pipeline)
    return ExploredRuns(stream, stream.traced(given), stream.title, given, is_decoded=False)


def runs_of_trace(traced: Trace, title: str = "a traced stream") -> ExploredRuns:
    is_decoded = not has_machine(traced)
    given = traced.operators if is_decoded else traced.operators[1:]
    return ExploredRuns(stream_of(traced, title), traced, title, given, is_decoded=is_decoded)


def _chain_of(pipeline: Pipeline) -> list[Operator[Any, Any]]:
    return [operator_of((each,), "explore(...)") for each in pipeline.chain]


MOST_KEPT = 4
"""The streams whose first run is kept, to compare others with."""


class ExploredStreams:
    """Streams by name."""

    def __init__(self, streams: Mapping[str, ExploredStream]) -> None:
        self._streams = dict(streams)
        self._runs: OrderedDict[str, ExploredRuns] = OrderedDict()

    def listed(self) -> list[dict[str, Any]]:
        """Return names and titles; of streams with the same title the name is the title."""
        titles = Counter(each.title for each in self._streams.values())
        return [
            {"name": name, "title": each.title if titles[each.title] == 1 else name}
            for name, each in self._streams.items()
        ]

    def data(self, name: str, choice: RunChoice) -> bytes:
        """Run a stream as it was chosen, and return the data for the page."""
        if name not in self._streams:
            message = f"unknown stream {name!r:.200}; choose one that the page offers"
            raise UsageError(message)
        runs = self._runs.pop(name, None) or runs_of_stream(self._streams[name])
        self._runs[name] = runs
        while len(self._runs) > MOST_KEPT:
            self._runs.popitem(last=False)
        return runs.data(choice, runs.traced(choice))
