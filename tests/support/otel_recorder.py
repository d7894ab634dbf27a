"""What `observe_otel` recorded, read from the SDK's exporters in memory; and a clock that a test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

from penstock.sinks import observe_otel
from penstock.sinks.telemetry.observe_otel import OtelObserver

SECOND = 1_000_000_000
BEGIN = 1_700_000_000 * SECOND


class Recorder:
    """An SDK of its own for each test: nothing global is set."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._tracers = TracerProvider(shutdown_on_exit=False)
        self._tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        self._meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.now = BEGIN

    def observe(self, **options: Any) -> OtelObserver:
        options = {"conventions": "released", "clock": lambda: self.now, **options}
        return observe_otel(tracer_provider=self._tracers, meter_provider=self._meters, **options)

    @property
    def tracer(self) -> Tracer:
        """A tracer of the application, or of another instrumentation."""
        return self._tracers.get_tracer("application")

    def later(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)

    def timed(self, steps: Iterable[Any]) -> Iterator[Any]:
        """Yield events; a number in between moves the clock, an exception is raised."""
        for step in steps:
            if isinstance(step, int | float):
                self.later(step)
            elif isinstance(step, BaseException):
                raise step
            else:
                yield step

    async def atimed(self, steps: Iterable[Any]) -> AsyncIterator[Any]:
        for event in self.timed(steps):
            yield event

    def spans(self, beginning: str = "") -> list[ReadableSpan]:
        """Return the ended spans in the order of their ends."""
        return [span for span in self._exporter.get_finished_spans() if span.name.startswith(beginning)]

    def span(self, beginning: str) -> ReadableSpan:
        (span,) = self.spans(beginning)
        return span

    def metrics(self) -> dict[str, list[Any]]:
        """Return the data points by the metric's name."""
        data = self._reader.get_metrics_data()
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
        return {metric.name: [*metric.data.data_points] for scope in scopes for metric in scope.metrics}

    def units(self) -> dict[str, str | None]:
        data = self._reader.get_metrics_data()
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
        return {metric.name: metric.unit for scope in scopes for metric in scope.metrics}

    def histogram(self, name: str) -> list[tuple[int, float, dict[str, Any]]]:
        """Return count, sum and attributes of each point."""
        return [(each.count, round(each.sum, 6), dict(each.attributes)) for each in self.metrics().get(name, [])]

    def counter(self, name: str) -> list[tuple[int, dict[str, Any]]]:
        return [(each.value, dict(each.attributes)) for each in self.metrics().get(name, [])]


def seconds(span: ReadableSpan) -> tuple[float, float]:
    """Return when a span began and ended, in seconds of the test's clock."""
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.start_time - BEGIN) / SECOND, (span.end_time - BEGIN) / SECOND


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def outcome(span: ReadableSpan) -> tuple[str, str | None, Any]:
    """Return a span's status, its description and `error.type`."""
    return span.status.status_code.name, span.status.description, attributes(span).get("error.type")


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def id_of(span: Any) -> int:
    result: int = span.get_span_context().span_id
    return result
