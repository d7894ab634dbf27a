"""`OtelNames`: every name that `observe_otel` writes, in the released form and in the latest one; and `OtelSetup`.

`OtelSetup` is what all streams of one `observe_otel` share, with its metrics (`OtelInstruments`).

`log_contained` reports an exception that must not end the stream that is observed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct
from opentelemetry.metrics import Meter
from opentelemetry.trace import Span, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from ...events.errors import UsageError
from ...operators.engine.where_raised import where_raised

Conventions: TypeAlias = Literal["released", "latest"]

OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
LATEST_OPT_IN = "gen_ai_latest_experimental"


class OtelNames(Struct, frozen=True):
    """Names of spans' attributes and of metrics; a metric without a name is not recorded.

    The defaults are those of `opentelemetry-semantic-conventions` 0.66b2; what begins with `penstock.` is ours.
    """

    # operations, which are also the beginnings of the spans' names
    chat: str = "chat"
    execute_tool: str = "execute_tool"

    # attributes of an answer
    operation: str = "gen_ai.operation.name"
    provider: str = "gen_ai.provider.name"
    request_model: str = "gen_ai.request.model"
    request_stream: str = "gen_ai.request.stream"
    response_id: str = "gen_ai.response.id"
    response_model: str = "gen_ai.response.model"
    finish_reasons: str = "gen_ai.response.finish_reasons"
    response_time_to_first_chunk: str = "gen_ai.response.time_to_first_chunk"
    input_tokens: str = "gen_ai.usage.input_tokens"
    output_tokens: str = "gen_ai.usage.output_tokens"
    cached_tokens: str = "gen_ai.usage.cache_read.input_tokens"
    reasoning_tokens: str = "gen_ai.usage.reasoning.output_tokens"
    output_messages: str = "gen_ai.output.messages"
    error_type: str = "error.type"
    status: str = "penstock.answer.status"
    raw_finish_reasons: str = "penstock.answer.raw_finish_reasons"
    calls: str = "penstock.answer.calls"
    failed_calls: str = "penstock.answer.failed_calls"

    # attributes of a call
    tool_name: str = "gen_ai.tool.name"
    tool_type: str = "gen_ai.tool.type"
    call_id: str = "gen_ai.tool.call.id"
    call_arguments: str = "gen_ai.tool.call.arguments"
    call_result: str = "gen_ai.tool.call.result"

    # attributes of metrics
    token_type: str = "gen_ai.token.type"  # noqa: S105 - tokens of a model
    token_modality: str = "gen_ai.token.modality"  # noqa: S105

    # metrics
    duration: str = "gen_ai.client.operation.duration"
    time_to_first_chunk: str = "gen_ai.client.operation.time_to_first_chunk"
    time_per_output_chunk: str = "gen_ai.client.operation.time_per_output_chunk"
    token_usage: str = "gen_ai.client.token.usage"  # noqa: S105
    usage_input: str = ""
    usage_output: str = ""
    usage_cached: str = ""
    usage_reasoning: str = ""
    operation_input: str = ""
    operation_output: str = ""
    tool_duration: str = ""
    call_time_to_first_argument: str = "penstock.tool_call.time_to_first_argument"
    call_time_to_seal: str = "penstock.tool_call.time_to_seal"
    call_failures: str = "penstock.tool_call.failures"
    open_calls: str = "penstock.tool_call.open"


NAMES: Mapping[Conventions, OtelNames] = MappingProxyType(
    {
        "released": OtelNames(),
        # The repository semantic-conventions-genai, not released yet.
        "latest": OtelNames(
            duration="gen_ai.client.inference.duration",
            time_to_first_chunk="gen_ai.client.inference.time_to_first_chunk",
            time_per_output_chunk="gen_ai.client.inference.time_per_output_chunk",
            token_usage="",
            usage_input="gen_ai.client.inference.usage.input_tokens",
            usage_output="gen_ai.client.inference.usage.output_tokens",
            usage_cached="gen_ai.client.inference.usage.cache_read.input_tokens",
            usage_reasoning="gen_ai.client.inference.usage.reasoning.output_tokens",
            operation_input="gen_ai.client.inference.operation.input_tokens",
            operation_output="gen_ai.client.inference.operation.output_tokens",
            tool_duration="gen_ai.execute_tool.duration",
        ),
    }
)

PROVIDERS: Mapping[str, str] = MappingProxyType(
    {
        "openai-chat": "openai",
        "openai-responses": "openai",
        "anthropic-messages": "anthropic",
        "gemini": "gcp.gen_ai",
        "ollama": "ollama",
        "bedrock-converse": "aws.bedrock",
        "cohere": "cohere",
        "gemini-interactions": "gcp.gen_ai",
        "openai-assistants": "openai",
    }
)
"""The conventions' name of a provider, by the API of the answer; of servers that speak OpenAI's API it is `openai`."""


def otel_names(conventions: Conventions | None = None) -> OtelNames:
    """Return the names of these conventions; without any, the environment chooses.

    >>> otel_names("released").duration, otel_names("latest").duration
    ('gen_ai.client.operation.duration', 'gen_ai.client.inference.duration')

    `OTEL_SEMCONV_STABILITY_OPT_IN` is a list with commas; `gen_ai_latest_experimental` in it chooses the latest.
    """
    if conventions is None:
        words = os.environ.get(OPT_IN, "").split(",")
        conventions = "latest" if LATEST_OPT_IN in map(str.strip, words) else "released"
    if conventions not in NAMES:
        message = f"conventions= must be one of {', '.join(map(repr, get_args(Conventions)))}, got {conventions!r}"
        raise UsageError(message)
    return NAMES[conventions]


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
