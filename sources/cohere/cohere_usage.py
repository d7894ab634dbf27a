"""The token counts of Cohere."""

from __future__ import annotations

from ...events.chunk_response import TokenUsage
from ..fields.sdk_fields import Fields, fields_of
from ..machine.token_count import token_count


def cohere_usage(usage: Fields) -> TokenUsage:
    """Return the counts of `tokens`; where they are missing, the billed ones.

    >>> cohere_usage({"tokens": {"input_tokens": 5.0, "output_tokens": 2.0}, "cached_tokens": 3})
    TokenUsage(prompt=5, completion=2, total=7, cached=3, reasoning=0)
    """
    tokens = fields_of(usage.get("tokens")) or fields_of(usage.get("billed_units")) or {}
    prompt, completion = token_count(tokens, "input_tokens"), token_count(tokens, "output_tokens")
    reasoning = token_count(tokens, "reasoning_tokens")
    return TokenUsage(prompt, completion, prompt + completion, token_count(usage, "cached_tokens"), reasoning)
