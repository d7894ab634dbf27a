"""`OtelSetup`: what all streams of one `observe_otel` share, with its metrics (`OtelInstruments`).

`log_contained` reports an exception that must not end the stream that is observed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from opentelemetry.metrics import Meter
from opentelemetry.trace import Span, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from ...operators.engine.where_raised import where_raised
from .otel_names import OtelNames

_Kind: TypeAlias = Literal["histogram", "counter", "up_down_counter"]

SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKENS = tuple(4**exponent for exponent in range(14))
"""The buckets that the conventions ask for."""

_ROWS: dict[str, tuple[_Kind, str, str]] = {
    "duration": ("histogram", "s", "Time from the request to the end of the answer."),
    "time_to_first_chunk": ("histogram", "s", "Time from the request to the first output."),
    "time_per_output_chunk": ("histogram", "s", "Time between a piece of output and the one before."),
    "token_usage": ("histogram", "{token}", "Tokens of an answer."),
    "usage_input": ("counter", "{token}", "Input tokens, cached ones included."),
    "usage_output": ("counter", "{token}", "Output tokens, reasoning included."),
    "usage_cached": ("counter", "{token}", "Input tokens from the provider's cache."),
    "usage_reasoning": ("counter", "{token}", "Output tokens spent on reasoning."),
    "operation_input": ("histogram", "{token}", "Input tokens of an answer."),
    "operation_output": ("histogram", "{token}", "Output tokens of an answer."),
    "tool_duration": ("histogram", "s", "Time from a complete call to its result."),
    "call_time_to_first_argument": ("histogram", "s", "Time from the start of a call to its first argument text."),
    "call_time_to_seal": ("histogram", "s", "Time from the start of a call until it may be run."),
    "call_failures": ("counter", "{call}", "Calls that must not be run."),
    "open_calls": ("up_down_counter", "{call}", "Calls that a model is writing now."),
}
"""What each metric is: its instrument, unit and description, by its field in `OtelNames`."""


class OtelInstruments(Struct):
    """The instruments by their fields in `OtelNames`; None for a metric that these names do not have."""

    duration: Any
    time_to_first_chunk: Any
    time_per_output_chunk: Any
    token_usage: Any
    usage_input: Any
    usage_output: Any
    usage_cached: Any
    usage_reasoning: Any
    operation_input: Any
    operation_output: Any
    tool_duration: Any
    call_time_to_first_argument: Any
    call_time_to_seal: Any
    call_failures: Any
    open_calls: Any


def otel_instruments(meter: Meter, names: OtelNames) -> OtelInstruments:
    """Make the instruments."""
    return OtelInstruments(**{field: _instrument(meter, getattr(names, field), *row) for field, row in _ROWS.items()})


def _instrument(meter: Meter, name: str, kind: _Kind, unit: str, description: str) -> Any:
    if not name:
        return None
    if kind == "histogram":
        buckets = SECONDS if unit == "s" else TOKENS
        return meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=buckets)
    create = meter.create_counter if kind == "counter" else meter.create_up_down_counter
    return create(name, unit, description)


_LOGGER = logging.getLogger("penstock")


def log_contained(what: str, error: Exception) -> None:
    """Log the class and the line of an exception; its message and traceback may be confidential: at DEBUG only."""
    _LOGGER.error("observe_otel %s: %s; the stream goes on", what, where_raised(error))
    _LOGGER.debug("observe_otel %s", what, exc_info=error)


class OtelSetup(Struct, frozen=True):
    """The tracer, the instruments, and the options."""

    tracer: Tracer
    instruments: OtelInstruments
    names: OtelNames
    clock: Callable[[], int]
    model: str | None
    provider: str | None
    attributes: Mapping[str, AttributeValue]
    answer_spans: bool
    tool_spans: bool
    content: bool
    redact: Callable[[str, Any], Any] | None

    def store(self, span: Span, name: str, value: Any) -> None:
        """Set an attribute to content, if content is asked for, after it was redacted; text stays, else as JSON."""
        if not (self.content and span.is_recording()):
            return
        try:
            if self.redact is not None:
                value = self.redact(name, value)
            if value is not None:
                text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=repr).decode()
                span.set_attribute(name, text)
        except Exception as error:  # noqa: BLE001 - the user's function, or a tool's value; the stream goes on
            log_contained(f"leaves out {name}", error)


def fail(span: Span, names: OtelNames, error_type: str, description: str | None = None) -> None:
    """Mark a span as failed."""
    span.set_attribute(names.error_type, error_type)
    span.set_status(Status(StatusCode.ERROR, description))


def seconds(start: int, end: int) -> float:
    """Return the seconds between two times in nanoseconds; a clock that was set back counts as 0."""
    return max(0, end - start) / 1e9
