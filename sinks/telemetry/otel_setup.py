"""`OtelSetup`: what all streams of one `observe_otel` share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from opentelemetry.trace import Span, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from .contained import log_contained
from .otel_instruments import OtelInstruments
from .otel_names import OtelNames


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
