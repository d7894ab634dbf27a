"""Structured answers in pieces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.events import (
    ChunkResponse,
)


def chunks_of(texts: Iterable[str], finish: Any = "stop", choice: int = 0) -> list[ChunkResponse]:
    end = [] if finish is None else [ChunkResponse(finish_reason=finish, is_complete=True, choice=choice)]
    return [*(ChunkResponse(content=text, choice=choice) for text in texts), *end]


def grows(before: Any, after: Any) -> bool:
    """Return whether nothing of a value was taken back in a later one; the last of repeated keys counts."""
    if isinstance(before, dict) and isinstance(after, dict):
        return all(key in after and grows(each, after[key]) for key, each in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return len(before) <= len(after) and all(map(grows, before, after))
    if isinstance(before, str) and isinstance(after, str):
        return after.startswith(before)
    return repr(before) == repr(after)
