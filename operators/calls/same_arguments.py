"""Compare arguments that arrive more than once."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, cast

from ...events.chunk_response import ArgumentsKind

_has_float = re.compile(r"\d[.eE]").search


def same_arguments(one: str, other: str, kind: ArgumentsKind) -> bool:
    """Return whether two argument texts are equal: free-form text literally, JSON after decoding.

    >>> same_arguments('{"a": 1, "b": 2}', '{"b":2,"a":1.0}', "json"), same_arguments("a ", "a", "text")
    (True, False)
    """
    return one == other or (kind != "text" and _canonical(one) == _canonical(other))


def is_json(text: str) -> bool:
    """Return whether a text is one whole JSON value.

    >>> is_json('{"a": 1}'), is_json('{"a"')
    (True, False)
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def arguments_digest(text: str, kind: ArgumentsKind) -> str:
    """Return a digest of 32 characters: equal for arguments with the same meaning, different for all others."""
    return _digest(text if kind == "text" else _canonical(text))


def value_digest(value: Any) -> str:
    """Return a digest of 32 characters: equal for equal JSON values, different for all others.

    >>> value_digest({"a": 1, "b": 2}) == value_digest({"b": 2, "a": 1.0}), value_digest(1) == value_digest(True)
    (True, False)
    """
    return _digest(_written(value))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _canonical(text: str) -> str:
    try:
        return _written(json.loads(text))
    except (ValueError, RecursionError):  # not JSON, or deeper than any limit
        return text


def _written(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    if not _has_float(text):
        return text
    return json.dumps(_with_whole_numbers(value), sort_keys=True, separators=(",", ":"))


def _with_whole_numbers(value: Any) -> Any:
    """Return a value with whole floats as integers, because in JSON 1.0 and 1 are the same number."""
    if isinstance(value, dict):
        return {key: _with_whole_numbers(each) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_with_whole_numbers(each) for each in cast("list[object]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value
