"""Token counts of the Chat Completions family, which names and adds them in several ways."""

from __future__ import annotations

from typing import Any

from ...events.chunk_response import TokenUsage
from ..fields.sdk_fields import Fields, fields_of
from ..machine.token_count import token_count

_VERCELS_PRICE = "market_cost"
_DIGITS = 19
"""The most digits of a token count; longer numbers are ignored."""


def chat_usage(given: Any) -> TokenUsage | None:
    """Read a usage object; None for one without counts.

    The provider's total decides whether the completion includes the reasoning: xAI adds it to the total only; ours
    includes it in the completion. Vercel's gateway, known by its price, leaves it out of the total, too. Other servers
    count more reasoning than completion and include it all the same; their numbers stay. DeepSeek, Moonshot and
    Anthropic's relatives have names of their own for what came from the cache.

    >>> chat_usage({"prompt_tokens": 361, "completion_tokens": 26, "total_tokens": 622,
    ...             "completion_tokens_details": {"reasoning_tokens": 235}})
    TokenUsage(prompt=361, completion=261, total=622, cached=0, reasoning=235)
    """
    fields = fields_of(given)
    if fields is None:
        return None
    prompt, completion = _count(fields, "prompt_tokens"), _count(fields, "completion_tokens")
    total = _count(fields, "total_tokens") or prompt + completion
    prompt_details = fields_of(fields.get("prompt_tokens_details")) or {}
    completion_details = fields_of(fields.get("completion_tokens_details")) or {}
    cached = (
        _count(prompt_details, "cached_tokens")
        or _count(fields, "prompt_cache_hit_tokens")
        or _count(fields, "cached_tokens")
        or _count(fields, "cache_read_input_tokens")
    )
    reasoning = _count(completion_details, "reasoning_tokens") or _count(fields, "reasoning_tokens")
    is_apart = total == prompt + completion + reasoning or (_VERCELS_PRICE in fields and reasoning > completion)
    if reasoning and is_apart:
        completion += reasoning
    if cached > prompt:
        prompt += cached
    usage = TokenUsage(prompt, completion, max(total, prompt + completion), cached, reasoning)
    return usage if usage != TokenUsage() else None


def _count(fields: Fields, name: str) -> int:
    value = fields.get(name)
    if isinstance(value, float) and not value.is_integer():
        return 0
    if isinstance(value, str):  # the SDK makes numbers of digits where all of a usage fits its types
        return int(value) if value.isdecimal() and len(value) < _DIGITS else 0
    return token_count(fields, name)
