"""`patiently`: asks a log again that does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from .stream_log import LogUnavailableError

T = TypeVar("T")

PATIENCE: Final = 60.0
"""Seconds for which a log that does not answer is asked again: a server is started anew in that time."""
_PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds between attempts; the last again and again."""


async def patiently(ask: Callable[[], Awaitable[T]], seconds: float = PATIENCE) -> T:
    """Return what a log answers, which is asked again for so long; then its `LogUnavailableError`."""
    now = asyncio.get_running_loop().time
    until = now() + seconds
    tries = 0
    while True:
        try:
            return await ask()
        except LogUnavailableError:
            pause = _PAUSES[min(tries, len(_PAUSES) - 1)]
            if now() + pause > until:
                raise
        tries += 1
        await asyncio.sleep(pause)
