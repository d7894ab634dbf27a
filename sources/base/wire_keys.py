"""`LEFT_OUT`: what the sources do not pass on, with the reason; all else of the wire reaches the chunks."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from functools import cache
from re import Match
from typing import NamedTuple

REPEATED = "repeats what the chunks have already"
"""The reason of what is passed on elsewhere: unlike the rest, it has to be found in the chunks."""

_FRAME = "says where data belongs, or of which type it is; a field of the chunk or the event stands for that"
_STATE = "a state that something else ends"
_TIMES = "times and speeds"
_ECHO = "repeats the request"
_SERVER = "names the server, the tier or the request"
_COUNTS = "details of the token counts and prices; `TokenUsage` has the five counts that all providers share"
_SUMS = "added up: a count of `TokenUsage` includes it"
_PADDING = "random padding, keep-alives and sequence numbers"
_TOKENS = "numbers of tokens, of the text that the chunks have"
_LOGPROBS = "only with `logprobs=True`"


class LeftOut(NamedTuple):
    """One place on the wire that is left out, with all below it.

    `where`: the path of keys, without list indexes. Where events have a type, the type stands before it:
    `message_start: message.role`; a type alone means the whole event. `*` stands for any characters.
    """

    api: str
    where: str
    why: str


def _rows(api: str, why: str, *places: str) -> tuple[LeftOut, ...]:
    return tuple(LeftOut(api, where, why) for where in places)


_ECHOED = (
    *("access_programs", "frequency_penalty", "input_transformations", "instructions", "max_output_tokens"),
    *("max_tool_calls", "metadata", "parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt"),
    *("prompt_cache_diagnostics", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning"),
    *("safety_identifier", "store", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p"),
    *("truncation", "user"),
)

LEFT_OUT = (
    *_rows("openai-chat", "the first id of a response counts", "id"),
    *_rows("openai-chat", _FRAME, "object", "choices.index", "choices.delta.role", "choices.delta.index"),
    *_rows(
        "openai-chat", _FRAME, "choices.delta.channel", "choices.delta.content.type", "choices.delta.content.closed"
    ),
    *_rows("openai-chat", _FRAME, "choices.delta.content.thinking.type"),
    *_rows("openai-chat", _FRAME, "choices.delta.tool_calls.index", "choices.delta.tool_calls.type"),
    *_rows("openai-chat", _FRAME, "choices.delta.images.type", "choices.delta.reasoning_details.type"),
    *_rows("openai-chat", _FRAME, "choices.delta.reasoning_details.index", "choices.delta.reasoning_details.format"),
    *_rows("openai-chat", _FRAME, "choices.delta.reasoning_details.id"),
    *_rows("openai-chat", REPEATED, "choices.message", "choices.text"),
    *_rows("openai-chat", _FRAME, "choices.message.role", "choices.message.tool_calls.index"),
    *_rows("openai-chat", _FRAME, "choices.message.tool_calls.type"),
    *_rows("openai-chat", _STATE, "choices.native_finish_reason", "choices.stop_reason", "choices.matched_stop"),
    *_rows("openai-chat", _TOKENS, "choices.token_ids", "choices.delta.token_id", "choices.delta.token_ids"),
    *_rows("openai-chat", _TOKENS, "prompt_token_ids", "prompt_text"),
    *_rows("openai-chat", _LOGPROBS, "choices.logprobs"),
    *_rows("openai-chat", _TIMES, "created", "timings", "time_info", "meta", "amazon-bedrock-invocationMetrics"),
    *_rows("openai-chat", _SERVER, "provider", "service_tier", "system_fingerprint", "generationId", "choices.seed"),
    *_rows("openai-chat", _SERVER, "choices.trace_details", "x_groq.id", "x_groq.seed"),
    *_rows("openai-chat", _PADDING, "obfuscation", "p"),
    *_rows("openai-chat", _COUNTS, "usage.*_details", "usage.*cost*", "usage.cache_*", "usage.prompt_cache_*"),
    *_rows("openai-chat", _COUNTS, "usage.is_byok", "usage.num_sources_used", "copilot_usage", "cost"),
    *_rows("openai-chat", _COUNTS, "usage.search_context_size", "usage.service_tier"),
    *_rows("openai-chat", _TIMES, "*usage.*_time*", "usage.avg_*"),
    *_rows("ollama", _FRAME, "done", "message.role", "message.tool_name", "message.tool_calls.function.index"),
    *_rows("ollama", _TIMES, "created_at", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration"),
    *_rows("ollama", _SERVER, "remote_host", "remote_model"),
    *_rows("ollama", _TOKENS, "context"),
    *_rows("ollama", _LOGPROBS, "logprobs"),
    *_rows("gemini", _FRAME, "candidates.index", "candidates.content.role", "candidates.content.parts.thought"),
    *_rows("gemini", _FRAME, "candidates.content.parts.functionCall.willContinue"),
    *_rows("gemini", _FRAME, "candidates.content.parts.functionCall.partialArgs.jsonPath"),
    *_rows("gemini", _FRAME, "candidates.content.parts.functionCall.partialArgs.willContinue"),
    *_rows("gemini", _FRAME, "candidates.content.parts.functionCall.partialArgs.nullValue"),
    *_rows("gemini", _FRAME, "candidates.content.parts.fileData.mimeType"),
    *_rows("gemini", _SUMS, "usageMetadata.promptTokenCount", "usageMetadata.toolUsePromptTokenCount"),
    *_rows("gemini", "says a regular finish again, in words", "candidates.finishMessage"),
    *_rows("gemini", _TIMES, "createTime"),
    *_rows("gemini", _COUNTS, "candidates.tokenCount", "usageMetadata.*TokensDetails", "usageMetadata.trafficType"),
    *_rows("gemini", _COUNTS, "usageMetadata.serviceTier"),
    *_rows("gemini", _LOGPROBS, "candidates.logprobsResult", "candidates.avgLogprobs"),
    *_rows("anthropic-messages", _PADDING, "ping"),
    *_rows("anthropic-messages", _FRAME, "*: type", "*: index", "content_block_stop", "message_stop"),
    *_rows("anthropic-messages", _FRAME, "content_block_delta: delta.type", "content_block_start: content_block.type"),
    *_rows("anthropic-messages", _FRAME, "message_start: message.type", "message_start: message.role"),
    *_rows("anthropic-messages", _FRAME, "message_start: message.content.type"),
    *_rows("anthropic-messages", _SUMS, "*usage.input_tokens", "*usage.cache_creation_input_tokens"),
    *_rows("anthropic-messages", _STATE, "content_block_delta: delta.estimated_tokens"),
    *_rows("anthropic-messages", _TIMES, "message_stop: amazon-bedrock-invocationMetrics"),
    *_rows("anthropic-messages", _COUNTS, "*usage.cache_creation", "*usage.iterations", "*usage.server_tool_use"),
    *_rows("anthropic-messages", _COUNTS, "*usage.inference_geo", "*usage.service_tier", "*usage.speed"),
    *_rows("openai-assistants", _FRAME, "*: event", "*: data.object", "*: data.id", "*: data.thread_id"),
    *_rows("openai-assistants", _FRAME, "*: data.run_id", "*: data.assistant_id", "*: data.type", "*: data.role"),
    *_rows("openai-assistants", _FRAME, "thread.*: data.content.type", "thread.*: data.delta.content.type"),
    *_rows(
        "openai-assistants", _FRAME, "thread.*: data.delta.content.index", "thread.*: data.delta.content.text.index"
    ),
    *_rows("openai-assistants", _FRAME, "thread.run.step.*: data.delta.step_details.type"),
    *_rows("openai-assistants", _FRAME, "thread.run.step.*: data.delta.step_details.tool_calls.index"),
    *_rows("openai-assistants", _FRAME, "thread.run.step.*: data.delta.step_details.tool_calls.type"),
    *_rows("openai-assistants", _FRAME, "thread.run.step.*: data.step_details.type"),
    *_rows("openai-assistants", _FRAME, "thread.run.step.*: data.step_details.tool_calls.type"),
    *_rows("openai-assistants", _FRAME, "thread.run.requires_action: data.required_action.type"),
    *_rows(
        "openai-assistants",
        _FRAME,
        "thread.run.requires_action: data.required_action.submit_tool_outputs.tool_calls.type",
    ),
    *_rows("openai-assistants", _ECHO, *(f"thread.run.*: data.{key}" for key in _ECHOED)),
    *_rows(
        "openai-assistants", _ECHO, "thread.run.*: data.max_completion_tokens", "thread.run.*: data.max_prompt_tokens"
    ),
    *_rows("openai-assistants", _ECHO, "thread.run.*: data.response_format", "thread.run.*: data.truncation_strategy"),
    *_rows("openai-assistants", _TIMES, "*: data.*_at"),
    *_rows("openai-assistants", _COUNTS, "thread.run.step.*: data.usage", "*: data.usage.*_details"),
    *_rows("openai-assistants", _STATE, "thread.message.*: data.status", "thread.run.*: data.status"),
    *_rows("openai-assistants", REPEATED, "thread.message.completed: data.content", "thread.*: data.file_ids"),
    *_rows("openai-assistants", _STATE, "thread.created", "thread.run.created", "thread.run.queued"),
    *_rows("openai-assistants", _STATE, "thread.run.in_progress", "thread.run.cancelling", "thread.run.step.created"),
    *_rows("openai-assistants", _STATE, "thread.run.step.in_progress", "thread.run.step.cancelled"),
    *_rows("openai-assistants", _STATE, "thread.run.step.expired", "thread.message.created"),
    *_rows("openai-assistants", _STATE, "thread.message.in_progress"),
    *_rows("bedrock-converse", _FRAME, "messageStart", "contentBlockStop", "*contentBlockIndex"),
    *_rows("bedrock-converse", _PADDING, "p", "*.p", "initial-response"),
    *_rows("bedrock-converse", _SUMS, "metadata.usage.inputTokens", "metadata.usage.cacheWriteInputTokens"),
    *_rows("bedrock-converse", _COUNTS, "metadata.usage.cacheDetails", "metadata.usage.serverToolUsage"),
    *_rows("bedrock-converse", _TIMES, "metadata.metrics"),
    *_rows("bedrock-converse", _SERVER, "metadata.performanceConfig", "metadata.serviceTier"),
    *_rows("bedrock-converse", _PADDING, "messageStop.p", "metadata.p"),
    *_rows("cohere", _FRAME, "*: type", "*: index", "content-end", "tool-call-end", "citation-end"),
    *_rows("cohere", _FRAME, "message-start: delta.message.role", "*: delta.message.content.type"),
    *_rows("cohere", _FRAME, "tool-call-start: delta.message.tool_calls.type"),
    *_rows("cohere", _ECHO, "debug"),
    *_rows("cohere", _COUNTS, "message-end: delta.usage.billed_units"),
    *_rows("cohere", _LOGPROBS, "content-delta: logprobs"),
    *_rows("cohere-v1", _FRAME, "*: event_type", "*: is_finished", "tool-calls-chunk: tool_call_delta.index"),
    *_rows("cohere-v1", _SERVER, "stream-start", "stream-end: response.generation_id", "stream-end: response.meta"),
    *_rows("cohere-v1", _ECHO, "debug", "stream-end: response.chat_history"),
    *_rows("cohere-v1", REPEATED, "stream-end: response", "tool-calls-generation: text"),
    *_rows("gemini-interactions", _FRAME, "*: event_type", "*: index", "*: step.type", "*: delta.type"),
    *_rows("gemini-interactions", _FRAME, "*: delta.content.type", "*: delta.mime_type", "*: step.summary.type"),
    *_rows(
        "gemini-interactions",
        _FRAME,
        "*: step.content.type",
        "interaction.*: interaction.object",
        "*: step.content.mime_type",
    ),
    *_rows("gemini-interactions", _STATE, "interaction.*: interaction.status", "interaction.status_update: status"),
    *_rows("gemini-interactions", _PADDING, "*: event_id"),
    *_rows("gemini-interactions", _TIMES, "interaction.*: interaction.created"),
    *_rows("gemini-interactions", _TIMES, "interaction.*: interaction.updated"),
    *_rows("gemini-interactions", _SERVER, "interaction.*: interaction.service_tier"),
    *_rows("gemini-interactions", REPEATED, "interaction.completed: interaction.steps"),
    *_rows("gemini-interactions", _COUNTS, "*usage.*_by_modality", "*usage.raw_prompt_token", "step.stop: step_usage"),
    *_rows("gemini-interactions", _COUNTS, "*usage.grounding_tool_count", "*usage.initial_input_tokens"),
    *_rows("gemini-interactions", _SUMS, "*usage.total_input_tokens", "*usage.total_output_tokens"),
    *_rows("gemini-interactions", _SUMS, "*usage.total_tool_use_tokens"),
    *_rows("openai-responses", _PADDING, "keepalive", "*: sequence_number", "*: obfuscation"),
    *_rows("openai-responses", _FRAME, "*: type", "*: output_index", "*: content_index", "*: summary_index"),
    *_rows("openai-responses", _FRAME, "*: item_id", "*: command_index", "*: annotation_index"),
    *_rows("openai-responses", _FRAME, "*: item.type", "*: item.content.type", "*: item.summary.type", "*: item.role"),
    *_rows("openai-responses", _FRAME, "*: item.id", "*: response.output.id", "*: item.phase", "*: part.type"),
    *_rows("openai-responses", _FRAME, "*: response.output.type", "*: response.output.content.type"),
    *_rows("openai-responses", _FRAME, "*: response.output.summary.type", "*: response.output.role"),
    *_rows("openai-responses", _FRAME, "*: response.output.phase", "response.*: response.object"),
    *_rows("openai-responses", REPEATED, "response.*_text.done", "response.*_call_arguments.done"),
    *_rows("openai-responses", REPEATED, "response.*_input.done", "response.*_code.done", "response.refusal.done"),
    *_rows("openai-responses", REPEATED, "response.content_part.done", "response.reasoning_summary_part.done"),
    *_rows("openai-responses", REPEATED, "response.shell_call_command.done", "response.completed: response.output"),
    *_rows("openai-responses", REPEATED, "response.incomplete: response.output", "response.failed: response.output"),
    *_rows("openai-responses", REPEATED, "response.shell_call_output_content.*"),
    *_rows("openai-responses", _STATE, "response.content_part.added", "response.reasoning_summary_part.added"),
    *_rows("openai-responses", _STATE, "response.*_call.in_progress", "response.*_call.completed"),
    *_rows("openai-responses", _STATE, "response.*_call.searching", "response.*_call.generating"),
    *_rows("openai-responses", _STATE, "response.*_call.interpreting", "response.*_call.failed"),
    *_rows("openai-responses", _STATE, "response.mcp_list_tools.*", "response.compaction.compacting"),
    *_rows("openai-responses", _STATE, "*: item.status", "*: response.output.status", "response.*: response.status"),
    *_rows("openai-responses", _STATE, "response.output_item.added: item", "response.shell_call_command.added"),
    *_rows("openai-responses", _STATE, "response.reasoning_summary_part.done: status"),
    *_rows("openai-responses", "the first id of a response counts, and the last", "response.in_progress: response.id"),
    *_rows("openai-responses", "text came already, and this is its summary", "*: item.summary"),
    *_rows(
        "openai-responses", "text came already, and this is its summary", "response.completed: response.output.summary"
    ),
    *_rows(
        "openai-responses", "encrypted anew; the item had it", "response.completed: response.output.encrypted_content"
    ),
    *_rows("openai-responses", _ECHO, *(f"response.*: response.{key}" for key in _ECHOED)),
    *_rows("openai-responses", _TIMES, "response.*: response.created_at", "response.*: response.completed_at"),
    *_rows("openai-responses", _SERVER, "response.*: response.service_tier", "response.*: response.background"),
    *_rows("openai-responses", _COUNTS, "response.*: copilot_usage", "response.*: response.tool_usage"),
    *_rows("openai-responses", _COUNTS, "*response.usage.*_details", "*response.usage.cost*", "*response.usage.num_*"),
    *_rows("openai-responses", _COUNTS, "*response.usage.is_byok"),
    *_rows("openai-responses", _LOGPROBS, "*: logprobs", "*.logprobs"),
)


@cache
def keys_left_out(api: str, place: str = "") -> frozenset[str]:
    """Return the keys that are left out directly below a place, of an API whose events have no types.

    >>> sorted(keys_left_out("openai-chat", "x_groq"))
    ['id', 'seed']
    """
    before = f"{place}." if place else ""
    below = (row.where.removeprefix(before) for row in LEFT_OUT if row.api == api and row.where.startswith(before))
    return frozenset(key for key in below if "." not in key)


def is_event_left_out(api: str, kind: str) -> bool:
    """Return whether all events of a type are left out.

    >>> is_event_left_out("openai-responses", "response.web_search_call.searching")
    True
    """
    return _events_left_out(api)(kind) is not None


@cache
def _events_left_out(api: str) -> Callable[[str], Match[str] | None]:
    kinds = (row.where for row in LEFT_OUT if row.api == api and ":" not in row.where)
    return re.compile("|".join(map(translate, kinds))).match
