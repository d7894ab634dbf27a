"""`KeptStream`: read a stream into a buffer for any number of readers, while there are some and a while longer.

The `FrameBuffer` keeps the newest frames of the stream, numbered from 1, in bounded memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ...operators.engine.where_raised import where_raised
from ..running.channel import running_loop
from ..web.protocols import FrameSource


class FrameBuffer:
    """Keeps the newest frames, at most so many and so many bytes; the last one is kept whatever its size.

    >>> buffer = FrameBuffer(max_bytes=100, max_frames=2)
    >>> for frame in (b"one", b"two", b"three"):
    ...     buffer.append(frame)
    >>> (buffer.first, buffer.last), buffer[2]
    ((2, 3), b'two')

    - `after`: the number behind which the frames begin.
    - `first`, `last`: the numbers of the oldest and the newest frame kept; `first` is `last + 1` if there is none.
    - `size`: the bytes kept.
    """

    __slots__ = ("_frames", "_max_bytes", "_max_frames", "first", "last", "size")

    def __init__(self, *, max_bytes: int, max_frames: int, after: int = 0) -> None:
        self._max_bytes = max_bytes
        self._max_frames = max_frames
        self._frames: dict[int, bytes] = {}
        self.go_on_at(after + 1)

    def __getitem__(self, number: int) -> bytes:
        return self._frames[number]

    def append(self, frame: bytes) -> None:
        while self.would_drop(frame):
            self.size -= len(self._frames.pop(self.first))
            self.first += 1
        self.last += 1
        self.size += len(frame)
        self._frames[self.last] = frame

    def go_on_at(self, number: int) -> None:
        """Let the next frame have this number; frames before it are dropped."""
        self._frames.clear()
        self.first, self.last, self.size = number, number - 1, 0

    def would_drop(self, frame: bytes) -> bool:
        """Return whether the oldest frame has to go before this one can be kept."""
        is_full = len(self._frames) >= self._max_frames or self.size + len(frame) > self._max_bytes
        return is_full and bool(self._frames)


_LOGGER = logging.getLogger("penstock")
FIRST_READER = 10.0
"""Seconds that a stream has at least until its first reader comes, whatever its grace time."""
PATIENCE = 0.5
"""Seconds for which a full buffer waits for the fastest reader to take a frame."""
CLOSING = 10.0
"""Seconds in which a cancelled stream must end by itself; then it is closed."""


class Lifetime(NamedTuple):
    """How long a stream goes on without a reader, and is kept after its end, in seconds; see `StreamRuns`."""

    grace: float | None
    keep: float


class Reader(Protocol):
    """What a stream knows of a reader: the number of the last frame that it took, and how to wake it."""

    taken: int
    arrived: asyncio.Event


class KeptStream:
    """Reads the frames of a pump into `frames`, and wakes the attached readers.

    - `forget`: called when the stream has ended and its time is over.
    - `is_ours`: whether it ends when no reader is left; else it is only read no more.
    - `has_ended`: whether the last frame is there.
    """

    def __init__(
        self,
        pump: FrameSource,
        frames: FrameBuffer,
        lifetime: Lifetime,
        forget: Callable[[], object],
        *,
        is_ours: bool = True,
    ) -> None:
        self.frames = frames
        self.has_ended = False
        self._pump = pump
        self._lifetime = lifetime
        self._forget = forget
        self._is_ours = is_ours
        self._readers: set[Reader] = set()
        self._room = asyncio.Event()
        self._is_stalled = False
        self._loop = running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._filling = self._loop.create_task(self._fill())
        if lifetime.grace is not None:
            self._call_later(max(lifetime.grace, FIRST_READER), self._stop)

    @property
    def last(self) -> int:
        """The number of the newest frame, 0 if there is none yet."""
        return self.frames.last

    @property
    def is_left(self) -> bool:
        """Whether it is about to end because no reader is left."""
        return self._stopping is not None

    def at(self, _after: int) -> KeptStream:
        """Return the stream to read from a frame on, which is this."""
        return self

    @property
    def has_end(self) -> bool:
        """Whether the last frame is the last object of its protocol; not so if the events were just closed."""
        return self.has_ended and self._pump.has_end

    async def cancel(self, reason: str) -> None:
        """Cancel the stream: open segments end as interrupted, then the last object follows."""
        if self.has_ended:
            return
        try:
            await self._pump.cancel(reason)
        except Exception as error:  # noqa: BLE001 - `cancel` is the user's
            log_error("a stream could not be cancelled, and is closed", error)
            await self._pump.aclose()

    async def aclose(self) -> None:
        """Close the events at once, and forget the stream; readers get what is kept, and no last object."""
        await self._pump.aclose()
        await asyncio.wait({self._filling} if self._stopping is None else {self._filling, self._stopping})
        self._call_later(None)
        self._forget()

    def abandon(self) -> None:
        """Stop when the last reader has left, because no other one can come."""
        self._lifetime = Lifetime(0.0, 0.0)
        if not self._readers:
            self._stop()

    def attach(self, reader: Reader) -> None:
        self._readers.add(reader)
        if not self.has_ended:
            self._call_later(None)

    def detach(self, reader: Reader) -> None:
        if reader not in self._readers:
            return
        self._readers.discard(reader)
        self._room.set()
        if not self._readers and not self.has_ended:
            self._call_later(self._lifetime.grace, self._stop)

    def was_read(self) -> None:
        self._is_stalled = False
        self._room.set()

    async def _fill(self) -> None:
        pump = self._pump
        try:
            while await pump.wait() and (frame := pump.take()) is not None:
                while self.frames.would_drop(frame) and await self._reader_moved():
                    pass
                self.frames.append(frame)
                self._wake()
        except Exception as error:  # noqa: BLE001 - the readers were told its class
            log_error("a stream whose readers may come back failed", error)
        finally:
            self.has_ended = True
            self._wake()
            self._call_later(self._lifetime.keep, self._forget)

    async def _reader_moved(self) -> bool:
        """Wait for a reader if none has taken the oldest frame; return False if there is nothing to wait for."""
        fastest = max((each.taken for each in self._readers), default=self.frames.first)
        if self._is_stalled or fastest >= self.frames.first:
            return False
        self._room.clear()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._room.wait()
        except TimeoutError:
            self._is_stalled = True
        return not self._is_stalled

    def _wake(self) -> None:
        for reader in self._readers:
            reader.arrived.set()

    def _call_later(self, seconds: float | None, then: Callable[[], object] = lambda: None) -> None:
        """Call a function later, in place of the one that was to be called; None for no other one."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self._loop.call_later(seconds, then)

    def _stop(self) -> None:
        if self._stopping is None and not self.has_ended:
            self._stopping = self._loop.create_task(self._end_without_readers())

    async def _end_without_readers(self) -> None:
        if self._is_ours:
            await self.cancel("no reader")
            done, _ = await asyncio.wait({self._filling}, timeout=CLOSING)
            if done:
                return
        await self._pump.aclose()


def log_error(what: str, error: Exception) -> None:
    """Log an exception; its message, which may be a tool's arguments, only for debugging."""
    _LOGGER.error("%s: %s", what, where_raised(error))
    _LOGGER.debug(what, exc_info=error)
