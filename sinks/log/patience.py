"""`patiently`: asks a log again that does not answer; and `check_log`, which asks it once at a start."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from ...events.errors import without_credentials
from .stream_log import LogUnavailableError, StreamLog

T = TypeVar("T")

PATIENCE: Final = 60.0
"""Seconds for which a log that does not answer is asked again: a server is started anew in that time."""
ASKING: Final = 2.0
"""Seconds that a log has to answer a question about its health."""
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


async def check_log(log: StreamLog, say: Callable[[str], object]) -> None:
    """Ask a log whether it is there, and say if it is away now; it may come later.

    `UsageError` where it can never be used, as with a wrong password.
    """
    try:
        async with asyncio.timeout(ASKING):
            await log.state("health")
    except (LogUnavailableError, TimeoutError) as error:
        why = without_credentials(str(error)) or f"no answer in {ASKING:g} seconds"
        say(f"the log is away, and what has to be kept is refused until it answers: {why}")
