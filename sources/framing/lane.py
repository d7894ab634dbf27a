"""Straight ways for what most events of a wire are: from an event's JSON text to its ChunkResponses."""

from __future__ import annotations

from collections.abc import Callable
from json import loads
from typing import Any, TypeAlias

from msgspec import DecodeError
from msgspec.json import Decoder

from ...events.chunk_response import ChunkResponse
from ..base.machine import Machine

Lane: TypeAlias = Callable[[str], list[ChunkResponse] | None]
"""Reads the JSON text of an event: returns what the machine's `feed` returns for it, and leaves the machine as `feed`
leaves it; or returns None for one that does not fit, and has done nothing that `feed` would not do."""

UNFIT = (DecodeError, RecursionError, UnicodeEncodeError)
"""What msgspec raises for JSON that does not fit, for NaN, numbers out of range and lone surrogates."""

_decode = Decoder().decode


def lane_of(machine: Machine) -> Lane | None:
    """Return the straight way of a machine that has one."""
    return getattr(machine, "lane", None)


def json_value(text: str) -> Any:
    r"""Return what `json.loads` returns, or raise what it raises, in less time where msgspec reads the text, too.

    >>> json_value('{"a": 1, "a": [2.0]}'), json_value("[1e999, -Infinity]"), json_value('"\\ud83d"')
    ({'a': [2.0]}, [inf, -inf], '\ud83d')
    """
    try:
        return _decode(text)
    except UNFIT:
        return loads(text)
