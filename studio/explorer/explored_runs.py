"""`ExploredRuns`: the runs of streams, with strategies and cuttings, as data of the explorer's page."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...events.errors import UsageError
from ...events.json_form import Event
from ...operators.engine.stage import Operator
from ...pipeline.chain import operator_of
from ...pipeline.pipeline import Pipeline
from ...pipeline.strategies import STRATEGIES
from ...pipeline.strategy_choice import DEFAULT_IN_TEXT
from ...sinks.parts.event_words import shortened
from ..reading.event_lines import LONGEST, short_line
from ..tracing.first_divergence import Divergence, first_divergence
from ..tracing.trace import Trace
from .explored_stream import ExploredStream, has_machine, stream_of
from .trace_data import json_text, plain_event, trace_data

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
            return stream.traced(_chain_of(Pipeline(choice.strategy)))
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
    """Run a stream through a pipeline; by default through that of the environment, plain text through `auto`."""
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
