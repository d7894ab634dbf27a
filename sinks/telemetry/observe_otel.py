"""`observe_otel`: traces and metrics of a stream of events, with OpenTelemetry. Needs `pip install ".[otel]"`."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from ...events.errors import UsageError, how_to_install
from ...operators.engine.pump import apump, is_async_stream, pump
from ...operators.engine.stage import How
from ..running.event_pump import ClosedUnread
from ..running.sink import Target, TwinSink, each_event
from .otel_names import Conventions, otel_names

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider
    from opentelemetry.util.types import AttributeValue

    from .otel_target import OtelTarget

E = TypeVar("E")


class OtelObserver:
    """Observes streams, each on its own: call it with a stream, or pass its `sink` to a pipeline."""

    def __init__(self, new_target: Callable[[], OtelTarget | None]) -> None:
        self._new_target = new_target
        self.sink: TwinSink[None] = each_event(self._target)
        """The same as a sink."""

    @overload
    def __call__(self, events: AsyncIterable[E]) -> AsyncGenerator[E, None]: ...
    @overload
    def __call__(self, events: Iterable[E]) -> Generator[E, None, None]: ...

    def __call__(self, events: AsyncIterable[E] | Iterable[E]) -> AsyncGenerator[E, None] | Generator[E, None, None]:
        """Return the same events; they are observed while they are read."""
        if is_async_stream(events):
            watch = _Watch(self._new_target)
            return ClosedUnread(apump(events, watch, begin=watch.begin(), leave=watch.leave), events)
        if isinstance(events, str | bytes) or not isinstance(cast("object", events), Iterable):
            message = f"observe_otel(...) must be called with a stream of events, got {type(events).__name__}"
            raise UsageError(message)
        watch = _Watch(self._new_target)
        return pump(events, watch, begin=watch.begin(), leave=watch.leave)

    def _target(self) -> Target[None]:
        return self._new_target() or _Nothing()


class _Watch:
    """Passes events on, which a target sees from the first request on."""

    def __init__(self, new_target: Callable[[], OtelTarget | None]) -> None:
        self._new_target = new_target
        self._target: OtelTarget | None = None

    @contextmanager
    def begin(self) -> Generator[None]:
        target = self._target = self._new_target()
        with nullcontext() if target is None else target.as_current():
            yield

    def feed(self, event: E) -> tuple[E]:
        if self._target is not None:
            self._target.feed(event)
        return (event,)

    def close(self, _how: How) -> tuple[()]:
        return ()

    def leave(self, error: BaseException | None) -> None:
        if self._target is not None:
            self._target.close(error)


class _Nothing:
    def feed(self, _event: Any) -> None: ...
    def close(self, _error: BaseException | None) -> None: ...


def observe_otel(  # noqa: PLR0913 - one place for all options
    *,
    model: str | None = None,
    provider: str | None = None,
    attributes: Mapping[str, AttributeValue] | None = None,
    answer_spans: bool = True,
    tool_spans: bool = True,
    content: bool = False,
    redact: Callable[[str, Any], Any] | None = None,
    conventions: Conventions | None = None,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    clock: Callable[[], int] = time.time_ns,
) -> OtelObserver:
    """Record spans and metrics of the answers and calls in a stream of events, which passes on unchanged.

        events          ·····S-C--C--E-invocation--answer end--result--|
        chat            |====================================|
        execute_tool                   |===========================|

        for event in observe_otel()(pipeline.stream(source)): ...
        async for event in observe_otel()(pipeline.astream(source)): ...
        Pipeline(sinks=[observe_otel().sink])

    The span `chat {model}` begins when the first event is asked for and ends with the last `AnswerEnd` of its turn; it
    is a child of the current span, and itself the current span while the first event is awaited, so that the request is
    its child. A later answer of the same stream begins when the one before ended, or with the last `ToolResult`. The
    span `execute_tool {name}` begins with a `ToolInvocation`, or when a step that claimed the call starts it, and ends
    with its `ToolResult`; if none comes, it has no duration. An answer that was truncated or interrupted or that failed
    has the status ERROR and `error.type`. Leaving the stream early ends all open spans as `interrupted`. No event and
    no text is recorded for a delta.

    - `model`: the model that is requested. Without it, the span has the name of the model that answered, and the times
      between chunks are recorded at the end of the answer, all at once.
    - `provider`: `gen_ai.provider.name`, by default that of the answer's API.
    - `attributes`: more attributes for all spans, such as `{"gen_ai.conversation.id": "c1"}`.
    - `answer_spans`: False if another instrumentation has the spans and metrics of the model's answers. They are also
      left to it if the current span is one of these; then the current span only gets our own attributes.
    - `tool_spans`: False if something else has the spans of tools.
    - `content`: whether spans have arguments, results and the model's output; False by default.
    - `redact`: called with the name of the attribute and its value before content is recorded; what it returns is
      recorded instead, and None leaves it out. An exception in it is logged, and the value is left out.
    - `conventions`: "released" (`opentelemetry-semantic-conventions` 0.66b2) or "latest"; by default "released", unless
      `OTEL_SEMCONV_STABILITY_OPT_IN` has `gen_ai_latest_experimental`.
    - `tracer_provider`, `meter_provider`: by default the global ones, looked up for each stream. Without an SDK, events
      pass through without any work.
    - `clock`: returns the time in nanoseconds since 1970.

    Metrics are in seconds and tokens. A chunk, in their names, is a CONTENT event. As a `sink`, times include what an
    event waited in the queue. It never raises: an exception of an exporter is logged. `UsageError` for wrong options,
    and if OpenTelemetry is not installed. The names are those of the conventions for generative AI; see
    https://github.com/open-telemetry/semantic-conventions-genai.
    """
    try:
        from .otel_target import OtelStart  # noqa: PLC0415 - what it imports is an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        message = f"observe_otel needs opentelemetry-api; {how_to_install('otel')}"
        raise UsageError(message) from error
    if redact is not None and not content:
        message = "redact= changes the content that is recorded; pass content=True too"
        raise UsageError(message)
    options: dict[str, Any] = {
        "names": otel_names(conventions),
        "clock": clock,
        "model": model,
        "provider": provider,
        "attributes": dict(attributes or {}),
        "answer_spans": answer_spans,
        "tool_spans": tool_spans,
        "content": content,
        "redact": redact,
    }
    return OtelObserver(OtelStart(options, tracer_provider, meter_provider).target)
