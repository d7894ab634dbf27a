"""`ExploredRuns`: the runs of one stream, with strategies and cuttings, as data of the explorer's page."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...events.errors import UsageError
from ...events.json_form import Event
from ...operators.tracing.first_divergence import Divergence, first_divergence
from ...operators.tracing.trace import Trace
from ...sinks.wording.printable import shortened
from ..pipeline import Pipeline
from ..recordings.event_lines import LONGEST, short_line
from ..strategies.strategies import STRATEGIES
from .explored_stream import ExploredStream, stream_of
from .plain_event import json_text, plain_event
from .trace_data import trace_data

LONGEST_CHUNK = 1_000_000


class Choice(NamedTuple):
    """How the stream is run: the name of a strategy, and the size of chunks; empty and 0 for as it is."""

    strategy: str = ""
    chunk_size: int = 0


class ExploredRuns:
    """Runs a stream as it was chosen; the first run is what the others are compared with.

    - `stream`: None if a trace cannot be run again; then there are no choices.
    - `first`: the trace of the first run, which `pipeline` made if it was a pipeline.
    """

    def __init__(
        self, stream: ExploredStream | None, first: Trace, title: str, pipeline: Pipeline | None = None
    ) -> None:
        self.stream = stream
        self.first = first
        self._title = title
        self._pipeline = pipeline

    def traced(self, choice: Choice) -> Trace:
        """Return the trace of a run; `UsageError` for an unknown strategy or a size that cannot be."""
        if choice == Choice():
            return self.first
        if self.stream is None:
            message = "this trace cannot be run again: it does not have all items of a provider's stream"
            raise UsageError(message)
        if not 0 <= choice.chunk_size <= LONGEST_CHUNK:
            message = f"chunk_size= must be from 1 to {LONGEST_CHUNK:,}, or 0 for as it came, got {choice.chunk_size}"
            raise UsageError(message)
        stream = self.stream.cut(choice.chunk_size) if choice.chunk_size else self.stream
        return stream.traced(Pipeline(choice.strategy) if choice.strategy else self._pipeline)

    def data(self, choice: Choice, traced: Trace) -> bytes:
        """Return the data of a run's trace, with the choices that there are and the difference to the first run."""
        divergence = None if traced is self.first else first_divergence(self.first, traced)
        return trace_data(
            traced,
            title=self._title,
            strategies=[] if self.stream is None else ["", *STRATEGIES],
            can_cut=self._unit,
            strategy=choice.strategy,
            chunk_size=choice.chunk_size,
            is_changed=choice != Choice(),
            divergence=None if divergence is None else _told(divergence, is_cut_alike=not choice.chunk_size),
        )

    @property
    def _unit(self) -> str:
        """Return what a chunk size counts; empty if the stream cannot be cut."""
        if self.stream is None or not self.stream.can_be_cut:
            return ""
        return "characters" if self.stream.form == "texts" else "bytes"


def _told(found: Divergence, *, is_cut_alike: bool) -> dict[str, Any]:
    """Return a difference in a sentence, and the item at which it is in the new run, if there is one."""
    before, now = _said(found.number_a, found.output_a), _said(found.number_b, found.output_b)
    item = found.number_a if found.number_b is None and is_cut_alike else found.number_b
    return {"text": f"First difference, in {found.label}. Before: {before}. Now: {now}.", "item": item}


def _said(number: int | None, output: Any) -> str:
    if number is None:
        return "nothing more"
    said = short_line(output) if isinstance(output, Event) else shortened(json_text(plain_event(output)), LONGEST)
    return f"item {number + 1}, {said}"


def runs_of_stream(stream: ExploredStream, pipeline: Pipeline | None = None) -> ExploredRuns:
    return ExploredRuns(stream, stream.traced(pipeline), stream.title, pipeline)


def runs_of_trace(traced: Trace, title: str = "a traced stream") -> ExploredRuns:
    return ExploredRuns(stream_of(traced, title), traced, title)
