"""`LogWriter`: what writes a stream into a log beside the work that makes it, several items at once."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final, NoReturn, Self

from .patience import PATIENCE, patiently
from .stream_log import LogState, StreamLog

_PIECE: Final = 512 * 1024
"""Bytes of one item of those that are joined."""


class LogWriter:
    """Appends what it is given to one stream of a log, in order and once, while the giver goes on.

        writer = await LogWriter.claimed(log, stream)
        writer.put(b"one")
        writer.put(b"two")      # in the log with what comes within 50 ms
        await writer.close()    # all is in the log, and the stream is closed

    What comes after a pause is written at once. What follows within `every` seconds is written together, or as soon as
    `most` bytes wait.

    - `joined`: whether what is written together is joined to one item, as the bytes of a response may be.
    - `patience`: seconds for which a log that does not answer is asked again.
    - `last`: the number of the last item that is in the log. `size`: the bytes that wait.
    """

    def __init__(
        self,
        log: StreamLog,
        stream: str,
        state: LogState,
        *,
        every: float = 0.05,
        most: int = 64 * 1024,
        joined: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        self._log = log
        self._stream = stream
        self._fence = state.fence
        self._every, self._most, self._joined, self._patience = every, most, joined, patience
        self._now = asyncio.get_running_loop().time
        self.last = state.last
        self.size = 0
        self._waiting: list[bytes] = []
        self._since = 0.0
        """When the oldest that waits came."""
        self._next = 0.0
        """When the next may be written, unless much waits."""
        self._hurry = asyncio.Event()
        self._is_closing = False
        self._written = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None

    @classmethod
    async def claimed(cls, log: StreamLog, stream: str, *, joined: bool = False, every: float = 0.05) -> Self:
        """Claim a stream, and return its writer."""
        return cls(log, stream, await log.claim(stream), joined=joined, every=every)

    @property
    def lag(self) -> float:
        """Seconds for which the oldest item waits; 0 if none does."""
        return self._now() - self._since if self.size else 0.0

    async def beat(self) -> None:
        """Tell the log that the writer is alive. The error with which writing has ended, if it has."""
        if self._task is None and self._error is None:
            self._task = asyncio.get_running_loop().create_task(self._write(is_beat=True))
            await asyncio.shield(self._task)
        if self._error is not None:
            raise self._error

    async def keep_alive(self, beat: float) -> NoReturn:
        """Beat after so many seconds in which nothing was written, until the error with which writing has ended."""
        while True:
            last = self.last
            await asyncio.sleep(beat)
            if self.last == last:
                await self.beat()

    def put(self, item: bytes) -> None:
        """Take an item to write. The error with which writing has ended, if it has."""
        if self._error is not None:
            raise self._error
        if not self.size:
            self._since = self._now()
        self._waiting.append(item)
        self.size += len(item)
        if self.size >= self._most:
            self._hurry.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def room(self) -> None:
        """Wait while much more waits than is written at once. The error with which writing has ended, if it has."""
        while self.size >= 4 * self._most and self._error is None:
            await self._written.wait()
        if self._error is not None:
            raise self._error

    async def flush(self) -> None:
        """Wait until all is in the log. The error with which writing has ended, if it has."""
        self._is_closing = True
        self._hurry.set()
        try:
            while self._task is not None:
                await asyncio.shield(self._task)
        finally:  # who waits may give up
            self._is_closing = False
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        """Write all, and close the stream."""
        await self.flush()
        await patiently(partial(self._log.close, self._stream, self._fence), self._patience)

    async def _write(self, *, is_beat: bool = False) -> None:
        try:
            while self._waiting or is_beat:
                await self._due()
                taken, size = self._taken()
                self.last = await patiently(partial(self._append, taken, self.last), self._patience)
                is_beat = False
                self.size -= size
                self._since = self._next = self._now()
                self._next += self._every
                self._wake()
        except Exception as error:  # noqa: BLE001 - raised to whoever writes on
            self._error = error
        finally:
            self._task = None
            self._wake()

    def _wake(self) -> None:
        self._written.set()
        self._written = asyncio.Event()

    async def _due(self) -> None:
        """Wait until what waits is to be written."""
        while not (self._is_closing or self.size >= self._most) and (left := self._next - self._now()) > 0:
            self._hurry.clear()
            try:
                async with asyncio.timeout(left):
                    await self._hurry.wait()
            except TimeoutError:
                return

    def _taken(self) -> tuple[list[bytes], int]:
        """Return the items that are written next, and their size."""
        taken, self._waiting = self._waiting, []
        size = sum(map(len, taken))
        if self._joined:
            joined = b"".join(taken)
            taken = [joined[at : at + _PIECE] for at in range(0, len(joined), _PIECE)]
        return taken, size

    async def _append(self, items: list[bytes], after: int) -> int:
        return await self._log.append(self._stream, items, self._fence, after=after)
