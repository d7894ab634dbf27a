"""Workaround for LiteLLM (1.110): its streams can be looped over in both ways, whichever call made them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Iterable
from typing import Any


def goes_async(stream: Any) -> bool:
    """Return whether a stream is to be read with `async for`.

    What LiteLLM's streams read tells which way is meant; where nothing is open yet, a running event loop does.
    """
    if not isinstance(stream, AsyncIterable):
        return False
    if not isinstance(stream, Iterable):
        return True
    inner = getattr(stream, "completion_stream", None)
    return _has_loop() if inner is None else isinstance(inner, AsyncIterable)


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
