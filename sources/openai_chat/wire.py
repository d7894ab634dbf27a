"""What OpenAI's chat has on the wire: the keys that are known or left out, and how it is served."""

from __future__ import annotations

import re
from typing import Any

from ..base.wire_keys import COUNTS, FRAME, LOGPROBS, PADDING, REPEATED, SERVER, STATE, TIMES, TOKENS, WireKeys, rows
from ..framing.served import Served

_ERROR_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_ERROR_CODES = {404: "model_not_found"}
OPENAIS_CLIENT = 'openai.OpenAI(base_url="{url}/v1", api_key="-")'


def openai_error(status: int, message: str) -> Any:
    kind = _ERROR_KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": _ERROR_CODES.get(status)}}


def _chat_event(message: str) -> tuple[str, Any]:
    return "", openai_error(500, message)


CHAT_SERVED = Served(
    re.compile(r"/chat/completions/?\Z"), "/v1/chat/completions", OPENAIS_CLIENT, openai_error, _chat_event
)
_OF_CALLS = "function(name arguments) custom(name input)"
_DELTA = (
    f"(* tool_calls(* {_OF_CALLS}) function_call(name arguments)"
    " content(* thinking(type text)) images(type index image_url(url detail))"
    " reasoning_details(type text summary data signature id index format))"
)
_SHAPES = {
    "": (
        f"* choices(* delta{_DELTA} message{_DELTA})"
        " usage(prompt_tokens completion_tokens total_tokens cached_tokens cache_read_input_tokens"
        " prompt_cache_hit_tokens prompt_tokens_details completion_tokens_details reasoning_tokens market_cost)"
    )
}

KEYS = WireKeys(
    "openai-chat",
    left_out=(
        *rows("the first id of a response counts", "id"),
        *rows(FRAME, "object", "choices.index", "choices.delta.role", "choices.delta.index", "choices.delta.channel"),
        *rows(FRAME, "choices.delta.content.type", "choices.delta.content.closed"),
        *rows(FRAME, "choices.delta.content.thinking.type", "choices.delta.tool_calls.index"),
        *rows(FRAME, "choices.delta.tool_calls.type", "choices.delta.images.type"),
        *rows(FRAME, "choices.delta.reasoning_details.type", "choices.delta.reasoning_details.index"),
        *rows(FRAME, "choices.delta.reasoning_details.format", "choices.delta.reasoning_details.id"),
        *rows(FRAME, "choices.message.role", "choices.message.tool_calls.index", "choices.message.tool_calls.type"),
        *rows(REPEATED, "choices.message", "choices.text"),
        *rows(STATE, "choices.native_finish_reason", "choices.stop_reason", "choices.matched_stop"),
        *rows(TOKENS, "choices.token_ids", "choices.delta.token_id", "choices.delta.token_ids", "prompt_token_ids"),
        *rows(TOKENS, "prompt_text"),
        *rows(LOGPROBS, "choices.logprobs"),
        *rows(TIMES, "created", "timings", "time_info", "meta", "amazon-bedrock-invocationMetrics", "*usage.*_time*"),
        *rows(TIMES, "usage.avg_*"),
        *rows(SERVER, "provider", "service_tier", "system_fingerprint", "generationId", "choices.seed"),
        *rows(SERVER, "choices.trace_details", "x_groq.id", "x_groq.seed"),
        *rows(PADDING, "obfuscation", "p"),
        *rows(COUNTS, "usage.*_details", "usage.*cost*", "usage.cache_*", "usage.prompt_cache_*", "usage.is_byok"),
        *rows(COUNTS, "usage.num_sources_used", "copilot_usage", "cost", "usage.search_context_size"),
        *rows(COUNTS, "usage.service_tier"),
    ),
    shapes=_SHAPES,
)
