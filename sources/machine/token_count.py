"""Read a token count of the wire, and add up usage that comes in pieces."""

from __future__ import annotations

from ...events.chunk_response import TokenUsage
from ..fields.sdk_fields import Fields

MOST = 2**53  # as far as JSON's numbers are whole; JSON may say Infinity, too


def token_count(fields: Fields, name: str) -> int:
    """Return a count of a usage object; 0 if it is absent or not a number; `true` is none.

    >>> token_count({"input_tokens": 3}, "input_tokens"), token_count({"input_tokens": None}, "input_tokens")
    (3, 0)
    """
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value < MOST else 0


def added_up(last: TokenUsage, usage: TokenUsage) -> TokenUsage:
    """Return a later usage, with the last one's counts where it has none.

    >>> added_up(TokenUsage(prompt=25, completion=1, total=26), TokenUsage(completion=15, total=15))
    TokenUsage(prompt=25, completion=15, total=40, cached=0, reasoning=0)
    """
    prompt, completion = usage.prompt or last.prompt, usage.completion or last.completion
    total = usage.total
    if not usage.prompt and not usage.completion:
        total = total or last.total
    elif not usage.prompt or not usage.completion:
        total = max(total, prompt + completion)
    cached = usage.cached or min(last.cached, prompt)
    return TokenUsage(prompt, completion, total, cached, usage.reasoning or last.reasoning)
