"""`OtelTarget`: spans and metrics of one stream of events. Needs `pip install ".[otel]"`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from opentelemetry import context, trace

from ...events.answer_end import AnswerEnd, Output, OutputFailed
from ...events.chunk_response import ProviderEvent
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import FileResult, InvocationFailed, ToolCallStatus, ToolInvocation, ToolResult
from .answer_span import AnswerSpan
from .call_times import CallTimes
from .contained import log_contained
from .otel_setup import OtelSetup
from .tool_spans import ToolSpans

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
