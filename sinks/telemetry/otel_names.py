"""`OtelNames`: every name that `observe_otel` writes, in the released form and in the latest one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from ...events.errors import UsageError

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
