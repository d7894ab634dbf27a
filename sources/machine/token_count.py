"""Read a token count of the wire."""

from __future__ import annotations

from .sdk_fields import Fields

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
