"""Decode complete JSON in one step, with exactly the results of the incremental machine."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, cast

from ...events.fragment import Fragment, JsonError
from ..engine.limits import Limits
from .fragment_aggregator import FragmentAggregator
from .json_machine import JsonMachine

# Where the machine and `json.loads` would differ, the machine decides: surrogates, raw or escaped, and limits.
_SURROGATE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")


def decode_whole(text: str, limits: Limits) -> dict[str, Any] | None:
    """Decode a complete JSON object; return None for any other text, and for one that only the machine can judge.

    >>> decode_whole('{"a": [1, 2]}', Limits()), decode_whole('{"a": [1, 2', Limits())
    ({'a': [1, 2]}, None)
    """
    inner = text.strip(" \t\n\r")
    if not (inner.startswith("{") and inner.endswith("}")) or len(text) > limits.arguments_length:
        return None
    if text.count("{") + text.count("[") > limits.depth or _SURROGATE.search(text):
        return None
    # A run that is too long may stand inside a string, where it is legal: then this is only a detour.
    if len(text) > min(limits.number_length, limits.key_length) and (
        len(text) > limits.key_length or _long_number(limits.number_length).search(text)
    ):
        return None
    try:
        return cast("dict[str, Any]", json.loads(text, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return None


def decode_json(text: str, limits: Limits) -> tuple[Any, JsonError | None]:
    """Decode any JSON text; return its value and None, or None and the error.

    >>> decode_json("[1]", Limits())
    ([1], None)
    """
    whole = decode_whole(text, limits)
    if whole is not None:
        return whole, None
    machine, values = JsonMachine(limits), FragmentAggregator()
    for piece in (*machine.feed(text), *machine.close()):
        if not isinstance(piece, Fragment):
            return None, piece
        values.feed(piece)
    return values.value, None


def _refuse(constant: str) -> None:
    message = f"{constant} is not JSON"
    raise ValueError(message)


@lru_cache(maxsize=8)
def _long_number(length: int) -> re.Pattern[str]:
    return re.compile(rf"[-+.eE0-9]{{{length + 1},}}")
