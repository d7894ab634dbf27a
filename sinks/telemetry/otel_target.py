"""`OtelTarget`: spans and metrics of one stream of events; `OtelStart`: find the SDK when a stream begins.

Needs `pip install ".[otel]"`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from opentelemetry import context, metrics, trace

from ...events.answer_end import AnswerEnd, Output, OutputFailed
from ...events.chunk_response import ProviderEvent
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import FileResult, InvocationFailed, ToolCallStatus, ToolInvocation, ToolResult
from .answer_span import AnswerSpan
from .otel_setup import OtelSetup, log_contained, otel_instruments
from .tool_spans import CallTimes, ToolSpans

_OF_ANSWER = (
    SegmentStart,
    SegmentContent,
    SegmentEnd,
    ToolInvocation,
    InvocationFailed,
    ProviderEvent,
    Output,
    OutputFailed,
    AnswerEnd,
)


class OtelTarget:
    """Observes one stream, from its first request on; it never raises."""

    def __init__(self, setup: OtelSetup) -> None:
        self._setup = setup
        self._parent = context.get_current()
        self._tools = ToolSpans(setup, self._parent)
        self._calls = CallTimes(setup)
        now = setup.clock()
        self._answer: AnswerSpan | None = AnswerSpan(setup, self._parent, now)
        """The answer of the last event; the first one begins with the request."""
        self._answers: list[AnswerSpan] = [self._answer]
        self._idle_since = now
        """When the last answer ended, or the last result of a tool came: the next answer is asked for then."""
        self._is_broken = False

    def as_current(self) -> AbstractContextManager[Any]:
        """Make the first answer's span the current one, as the parent of the request's spans."""
        span = self._answers[0].span
        return trace.use_span(span, record_exception=False, set_status_on_exception=False)

    def feed(self, event: Any) -> None:
        if self._is_broken:
            return
        try:
            self._feed(event)
        except Exception as error:  # noqa: BLE001 - of an SDK or an exporter; the stream goes on
            self._give_up(error)

    def close(self, error: BaseException | None) -> None:
        try:
            now = self._setup.clock()
            self._calls.close()
            self._tools.close(error, now)
            for answer in self._answers:
                answer.finish(error, now)
        except Exception as raised:  # noqa: BLE001 - as above
            self._give_up(raised)

    def _feed(self, event: Any) -> None:
        kind: Any = event.__class__
        if kind is ToolResult or kind is FileResult:
            now = self._idle_since = self._setup.clock()
            self._tools.finish(event, now)
        elif kind is ToolCallStatus:
            self._tools.note(event, self._setup.clock())
        elif kind in _OF_ANSWER:
            answer = self._answer
            if answer is None or answer.ends or event.turn_id != answer.turn_id:
                answer = self._answer = self._answer_of(event)
            answer.note(event)
            if kind is SegmentContent:
                now = self._setup.clock()
                answer.output(now)
                self._calls.content(event, now)
            else:
                self._rare(kind, event, answer)

    def _rare(self, kind: Any, event: Any, answer: AnswerSpan) -> None:
        now = self._setup.clock()
        if kind is SegmentStart:
            answer.begin_output(now)
            self._calls.start(event, now)
        elif kind is SegmentEnd:
            self._calls.end(event)
        elif kind is ToolInvocation:
            answer.begin_output(now)
            answer.calls += 1
            self._calls.seal(event, now)
            self._tools.invoked(event, answer.context, now)
        elif kind is InvocationFailed:
            answer.failed_calls += 1
            self._calls.fail(event)
        elif kind is AnswerEnd:
            answer.end(event, now)
            self._idle_since = now

    def _answer_of(self, event: Any) -> AnswerSpan:
        """Return the answer of an event. If it is a new one, those that have ended are finished."""
        first = self._answers[0]
        if not first.has_events:
            first.turn_id = event.turn_id
            return first
        for answer in self._answers:
            if answer.turn_id == event.turn_id and not _begins_anew(event, answer):
                return answer
        now = self._setup.clock()
        for answer in self._answers:
            if answer.ends:
                answer.finish(None, now)
        new = AnswerSpan(self._setup, self._parent, self._idle_since)
        new.turn_id = event.turn_id
        self._answers = [*(answer for answer in self._answers if not answer.ends), new]
        return new

    def _give_up(self, error: Exception) -> None:
        self._is_broken = True
        log_contained("stopped", error)


def _begins_anew(event: Any, answer: AnswerSpan) -> bool:
    """Whether an event is of a further answer with the same turn id: a choice that has ended begins or ends again."""
    if isinstance(event, SegmentStart):
        return event.metadata.get("choice", 0) in answer.ends
    return isinstance(event, AnswerEnd) and event.choice in answer.ends


_SCOPE = "penstock"


class OtelStart:
    """Makes the target of each stream; the instruments are made once for each pair of providers."""

    def __init__(
        self,
        options: dict[str, Any],
        tracer_provider: trace.TracerProvider | None,
        meter_provider: metrics.MeterProvider | None,
    ) -> None:
        self._options = options
        self._tracer_provider = tracer_provider
        self._meter_provider = meter_provider
        self._made: tuple[trace.TracerProvider, metrics.MeterProvider, OtelSetup] | None = None

    def target(self) -> OtelTarget | None:
        """Return what observes a stream; None if there is no SDK, so that nothing would be recorded."""
        tracers = self._tracer_provider or trace.get_tracer_provider()
        meters = self._meter_provider or metrics.get_meter_provider()
        if _is_of_api(tracers) and _is_of_api(meters):
            return None
        try:
            return OtelTarget(self._setup_of(tracers, meters))
        except Exception as error:  # noqa: BLE001 - of an SDK; the stream goes on
            log_contained("did not start", error)
            return None

    def _setup_of(self, tracers: trace.TracerProvider, meters: metrics.MeterProvider) -> OtelSetup:
        made = self._made
        if made is None or made[0] is not tracers or made[1] is not meters:
            tracer, meter = tracers.get_tracer(_SCOPE, _version()), meters.get_meter(_SCOPE, _version())
            setup = OtelSetup(tracer, otel_instruments(meter, self._options["names"]), **self._options)
            made = self._made = (tracers, meters, setup)
        return made[2]


def _is_of_api(provider: object) -> bool:
    """Whether a provider is one of the API's own, which record nothing."""
    return type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics"))


def _version() -> str | None:
    try:
        return version("penstock")
    except PackageNotFoundError:
        return None
