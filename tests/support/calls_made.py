"""The calls of a chain, and how a stream may end."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import Any

from operator_contract import call
from twins import in_python
from untyped import stage

from penstock.events.chunk_response import ChunkResponse
from penstock.events.errors import ProviderError
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted, Operator

LOST = Failed(ProviderError("reset", transport=True))
REFUSED = Failed(ProviderError("overloaded"))
HOWS: tuple[How, ...] = (Completed(), LOST, REFUSED, Failed(ValueError("a bug")), Interrupted("Ctrl-C"))


@in_python()
def calls_made(operator: Operator[Any, Any], chunks: Sequence[ChunkResponse]) -> int:
    """Count the calls of Python and C functions that a run makes where nothing was compiled."""
    chain = stage(operator)
    count = 0

    def counting(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    feed = chain.feed
    gc.disable()  # others may have hung functions on it, which would count
    sys.setprofile(counting)
    try:
        for chunk in chunks:
            feed(chunk)
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


UNIT = 'def add(a, b):\\n    return \\"a\\" + b    '
"""Forty characters of a file, escapes among them: ten pieces of four."""


def file_of(units: int) -> tuple[ChunkResponse, ...]:
    text = '{"path":"ab.py","content":"x' + UNIT * units
    return call(0, "a", "write_file", *(text[place : place + 4] for place in range(0, len(text), 4)))
