"""Token counts of the Responses API."""

from __future__ import annotations

from typing import Any

from ...events.chunk_response import TokenUsage
from ..fields.sdk_fields import fields_of
from ..machine.token_count import token_count


def responses_usage(given: Any) -> TokenUsage | None:
    """Read a usage object; None for what is none.

    >>> responses_usage({"input_tokens": 5, "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2}})
    TokenUsage(prompt=5, completion=3, total=8, cached=0, reasoning=2)
    """
    fields = fields_of(given)
    if fields is None:
        return None
    prompt, completion = token_count(fields, "input_tokens"), token_count(fields, "output_tokens")
    total = token_count(fields, "total_tokens") or prompt + completion
    cached = token_count(fields_of(fields.get("input_tokens_details")) or {}, "cached_tokens")
    reasoning = token_count(fields_of(fields.get("output_tokens_details")) or {}, "reasoning_tokens")
    return TokenUsage(prompt, completion, total, cached, reasoning)
