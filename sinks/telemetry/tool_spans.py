"""`ToolSpans`: a span for each call, from its invocation to its result; `CallTimes`: how long its writing takes.

`CallTimes` also counts how many calls fail.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from msgspec import Struct
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind

from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import InvocationFailed, ToolCallStatus, ToolInvocation, ToolResult
from ...operators.calls.field_spec import called_name, is_argument
from .otel_setup import OtelSetup, fail, seconds


class _Call(Struct):
    started_at: int
    first_at: int | None = None
    is_open: bool = True
    is_settled: bool = False


class CallTimes:
    """The calls of one stream, from the START of their segment; calls that a provider runs itself are left out."""

    def __init__(self, setup: OtelSetup) -> None:
        self._setup = setup
        self._calls: dict[_Identity, _Call] = {}
        self._arguments: dict[_Identity, _Call] = {}
        """The calls by their open arguments that have segments of their own."""

    def start(self, event: SegmentStart, now: int) -> None:
        identity = (event.turn_id, event.segment_id)
        if is_argument(event):
            call = self._calls.get((event.turn_id, event.metadata["call_id"]))
            if call is not None:
                self._arguments[identity] = call
        elif called_name(event, {}) is not None:
            self._calls[identity] = _Call(now)
            self._setup.instruments.open_calls.add(1)

    def content(self, event: SegmentContent, now: int) -> None:
        identity = (event.turn_id, event.segment_id)
        call = self._calls.get(identity) or self._arguments.get(identity)
        if call is not None and call.first_at is None:
            call.first_at = now

    def end(self, event: SegmentEnd) -> None:
        identity = (event.turn_id, event.segment_id)
        self._arguments.pop(identity, None)
        if (call := self._calls.get(identity)) is not None:
            self._close(call)
            if call.is_settled:
                del self._calls[identity]

    def seal(self, event: ToolInvocation, now: int) -> None:
        call = self._settled((event.turn_id, event.id))
        if call is None:
            return
        names, instruments = self._setup.names, self._setup.instruments
        labels = {names.tool_name: event.name}
        instruments.call_time_to_seal.record(seconds(call.started_at, now), labels)
        if call.first_at is not None:
            instruments.call_time_to_first_argument.record(seconds(call.started_at, call.first_at), labels)

    def fail(self, event: InvocationFailed) -> None:
        names = self._setup.names
        self._settled((event.turn_id, event.id))
        labels: dict[str, str] = {names.error_type: event.reason}
        if event.reason not in ("unknown_tool", "guarded"):  # a model may invent any number of names
            labels[names.tool_name] = event.name
        self._setup.instruments.call_failures.add(1, labels)

    def close(self) -> None:
        """Count the calls that are still open as open no more."""
        for call in self._calls.values():
            self._close(call)

    def _settled(self, identity: _Identity) -> _Call | None:
        call = self._calls.get(identity)
        if call is not None:
            call.is_settled = True
            if not call.is_open:
                del self._calls[identity]
        return call

    def _close(self, call: _Call) -> None:
        if call.is_open:
            call.is_open = False
            self._setup.instruments.open_calls.add(-1)


_Identity: TypeAlias = tuple[str | None, str]


class _Running(NamedTuple):
    span: Span
    name: str
    started_at: int
    context: Context


class _Claimed(NamedTuple):
    call: ToolInvocation
    answer: Context
    came_at: int


class ToolSpans:
    """The calls of one stream that have no result yet.

    The span of a call begins when it starts: where a step has claimed it, after its approval, else with its invocation.
    A tool that reads its call while the model writes it starts before; if the call is cut then, it has no span.

    Their parent is that of the answer, because a tool runs beside the model; without one it is the answer, so that all
    is in one trace. A link leads to the answer in any case.
    """

    def __init__(self, setup: OtelSetup, parent: Context) -> None:
        self._setup = setup
        self._parent = parent if trace.get_current_span(parent).get_span_context().is_valid else None
        self._running: dict[_Identity, _Running] = {}
        self._claimed: dict[_Identity, _Claimed] = {}
        """The calls that a step has not started yet."""
        self._started_at: dict[_Identity, int] = {}
        """When the calls were started that had no invocation yet."""

    def invoked(self, call: ToolInvocation, answer: Context, now: int) -> None:
        started_at = self._started_at.pop((call.turn_id, call.id), None)
        if call.claimed_by is None or started_at is not None:
            self._start(call, answer, now if started_at is None else started_at)
        else:
            self._claimed[call.turn_id, call.id] = _Claimed(call, answer, now)

    def note(self, status: ToolCallStatus, now: int) -> None:
        identity = (status.turn_id, status.id)
        if status.state == "started":
            claimed = self._claimed.pop(identity, None)
            if claimed is not None:
                self._start(claimed.call, claimed.answer, now)
            else:
                self._started_at[identity] = now
        elif status.state == "failed":
            self._started_at.pop(identity, None)

    def _start(self, call: ToolInvocation, answer: Context, now: int) -> None:
        names, setup = self._setup.names, self._setup
        if not setup.tool_spans:
            return
        parent = answer if self._parent is None else self._parent
        asked_by = trace.get_current_span(answer).get_span_context()
        span = setup.tracer.start_span(
            f"{names.execute_tool} {call.name}",
            parent,
            SpanKind.INTERNAL,
            {
                **setup.attributes,
                names.operation: names.execute_tool,
                names.tool_name: call.name,
                names.tool_type: "function",
                names.call_id: call.id,
            },
            [Link(asked_by)] if asked_by.is_valid else None,
            start_time=now,
        )
        setup.store(span, names.call_arguments, call.arguments)
        if (before := self._running.pop((call.turn_id, call.id), None)) is not None:  # its result cannot be told apart
            before.span.end(before.started_at)
        context = trace.set_span_in_context(span, parent)
        self._running[call.turn_id, call.id] = _Running(span, call.name, now, context)

    def finish(self, result: ToolResult, now: int) -> None:
        """End the span of a call with its result."""
        claimed = self._claimed.pop((result.turn_id, result.id), None)
        if claimed is not None:  # it was answered without a start
            self._start(claimed.call, claimed.answer, claimed.came_at if result.denied is None else now)
        running = self._running.pop(self._identity(result), None)
        if running is None:
            return
        names, instruments = self._setup.names, self._setup.instruments
        labels = {names.tool_name: running.name}
        if result.is_error:
            labels[names.error_type] = "tool_error" if result.denied is None else "denied"
            fail(running.span, names, labels[names.error_type])
        else:
            self._setup.store(running.span, names.call_result, result.value)
        running.span.end(now)
        if instruments.tool_duration is not None and result.denied is None:
            instruments.tool_duration.record(seconds(running.started_at, now), labels, running.context)

    def _identity(self, result: ToolResult) -> _Identity:
        """Return the call of a result; of one that does not say its turn the newest with its id."""
        if result.turn_id is None:
            return next((each for each in reversed(self._running) if each[1] == result.id), (None, result.id))
        return result.turn_id, result.id

    def close(self, error: BaseException | None, now: int) -> None:
        """End the spans of calls without a result: with no duration, or interrupted if an error ended the stream."""
        for claimed in self._claimed.values():
            self._start(claimed.call, claimed.answer, now)
        self._claimed.clear()
        for running in self._running.values():
            if error is not None:
                fail(running.span, self._setup.names, "interrupted", "interrupted")
            running.span.end(running.started_at if error is None else now)
        self._running.clear()
