"""Arguments that a provider sends more than once: whether they are the same."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, cast

from ..events.chunk_response import ArgumentsKind

_WHOLE_FLOAT = re.compile(r"\d[.eE]")


def same_arguments(one: str, other: str, kind: ArgumentsKind) -> bool:
    """Return whether two argument texts mean the same: free-form text as it is, JSON after decoding.

    >>> same_arguments('{"a": 1, "b": 2}', '{"b":2,"a":1.0}', "json"), same_arguments("a ", "a", "text")
    (True, False)
    """
    return one == other or (kind != "text" and _canonical(one) == _canonical(other))


def arguments_digest(text: str, kind: ArgumentsKind) -> str:
    """Return 32 characters that are equal for arguments that mean the same, and only for them."""
    written = text if kind == "text" else _canonical(text)
    return hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _canonical(text: str) -> str:
    try:
        value = json.loads(text)
        if _WHOLE_FLOAT.search(text):
            value = _with_whole_numbers(value)
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):  # not JSON, or deeper than any limit
        return text


def _with_whole_numbers(value: Any) -> Any:
    """Write 1.0 as 1, which JSON does not tell apart."""
    if isinstance(value, dict):
        return {key: _with_whole_numbers(each) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_with_whole_numbers(each) for each in cast("list[object]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value
