"""`Turns`: how many requests are answered at the same time, and how many wait for that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from time import monotonic
from typing import Any, Final

from ...events.errors import ProviderError

STOPPING: Final = "the gateway is stopping"
_BUSY: Final = "the gateway answers too many requests at once"


class StoppingError(ProviderError):
    """The gateway breaks an answer off because it stops, which is no fault of the upstream."""


class BusyError(Exception):
    """A request that is not answered now, and why."""


class Turns:
    """Lets so many requests work at once. So many more have a place in the line, in the order in which they came.

    - `is_over`: set it, and requests that wait get a `BusyError` in their turn, and new ones at once.
    """

    def __init__(self, most_at_once: int, most_waiting: int, longest_wait: float) -> None:
        self._most = most_at_once + most_waiting
        self._longest_wait = longest_wait
        self._working = asyncio.Semaphore(most_at_once)
        self._entered = 0
        self.waiting = 0
        self.is_over = False

    @contextmanager
    def place(self) -> Generator[None]:
        """Around all of a request; `BusyError` if there is no place for it."""
        self._check(is_busy=self._entered >= self._most)
        self._entered += 1
        try:
            yield
        finally:
            self._entered -= 1

    @asynccontextmanager
    async def turn(self, notes: dict[str, Any]) -> AsyncGenerator[None]:
        """Around the work of a request that has a place; `BusyError` if its turn does not come in time.

        - `notes`: of the request; they get how long it has waited, if it has.
        """
        begin = monotonic() if self._working.locked() else None
        self.waiting += 1
        try:
            async with asyncio.timeout(self._longest_wait):
                await self._working.acquire()
        except TimeoutError:
            raise BusyError(_BUSY) from None
        finally:
            self.waiting -= 1
            if begin is not None:
                notes["waited"] = monotonic() - begin
        try:
            self._check(is_busy=False)
            yield
        finally:
            self._working.release()

    def _check(self, *, is_busy: bool) -> None:
        if self.is_over or is_busy:
            raise BusyError(STOPPING if self.is_over else _BUSY)
