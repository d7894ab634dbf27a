"""`Channel`: a bounded queue of two ends, each of which is a thread's or a task's."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from contextlib import suppress
from threading import Condition, RLock
from typing import Any, Self

from ...events.errors import PenstockError, UsageError

_TURN, _TURNS = 0.05, 10
"""Seconds that a reader gets to make room, so many times over: a process that stood still has lost one of them."""


class StreamCutError(PenstockError):
    """Somebody left the stream before its end: by Ctrl-C, a cancellation, or a loop that broke off."""


class NoReaderError(PenstockError):
    """Told to the writer of a channel: nobody reads any more."""


def as_error(error: BaseException | None) -> Exception | None:
    """Return what ended a stream as an error in it.

    A KeyboardInterrupt or a cancellation is for one thread or task; the others get a `StreamCutError`, whose
    `__cause__` it is.
    """
    if error is None or isinstance(error, Exception):
        return error
    cut = StreamCutError(f"the stream was left before its end ({type(error).__name__})")
    cut.__cause__ = error
    return cut


class Channel:
    """A bounded queue between one writer and one reader.

        writer   offer, put, aput ... end(error)           reader   for, async for ... close()

    Whoever has to wait blocks its thread (`put`, `for`) or its task (`aput`, `async for`); the other end may be on any
    thread and any event loop. The reader gets everything that was put, then the end, or the error. A reader that closes
    sets the writer free: from then on it gets `NoReaderError`. Writing after the end is a `UsageError`.
    """

    __slots__ = (
        "__weakref__",
        "_change",
        "_error",
        "_is_closed",
        "_is_ended",
        "_items",
        "_lock",
        "_sleepers",
        "_tasks",
        "maxsize",
    )

    def __init__(self, maxsize: int) -> None:
        if type(maxsize) is not int or maxsize < 1:
            message = f"maxsize must be at least 1, got {maxsize!r}"
            raise UsageError(message)
        self.maxsize = maxsize
        self._items: deque[Any] = deque()
        # Reentrant: the garbage collector may close a reader while this very thread holds it.
        self._lock = RLock()
        self._change = Condition(self._lock)
        self._sleepers = 0  # threads that wait for a change
        self._tasks: list[asyncio.Future[None]] = []  # of the tasks that wait for a change
        self._is_ended = self._is_closed = False
        self._error: Exception | None = None

    def offer(self, item: Any) -> bool:
        """Put an item if there is room; give whether there was."""
        with self._lock:
            if self._is_closed:
                message = "this channel has no reader any more"
                raise NoReaderError(message)
            if self._is_ended:
                message = "this stream has ended and takes no more events"
                raise UsageError(message)
            if len(self._items) >= self.maxsize:
                return False
            self._items.append(item)
            self._tell()
            return True

    @property
    def waiting(self) -> int:
        """How many items wait for the reader."""
        return len(self._items)

    def put(self, item: Any) -> None:
        with self._lock:
            while not self.offer(item):
                self._sleep()

    def put_in_turn(self, item: Any) -> bool:
        """Put an item once the reader makes room; False if it had its turn, half a second, and took nothing."""
        with self._lock:
            for _ in range(_TURNS):
                if self.offer(item):
                    return True
                self._sleep(_TURN)
            return self.offer(item)

    async def aput(self, item: Any) -> None:
        while True:
            with self._lock:
                if self.offer(item):
                    return
                change = self._next_change()
            await self._until(change)

    async def aput_in_turn(self, item: Any) -> bool:
        for _ in range(_TURNS):
            with self._lock:
                if self.offer(item):
                    return True
                change = self._next_change()
            with suppress(TimeoutError):
                async with asyncio.timeout(_TURN):
                    await self._until(change)
        await asyncio.sleep(0)  # where the loop stood still, the time was over before the reader had its turn
        return self.offer(item)

    def release(self) -> None:
        """Let the writer wait no longer: from now on there is room for everything."""
        with self._lock:
            self.maxsize = sys.maxsize
            self._tell()

    def end(self, error: BaseException | None = None) -> None:
        """Say that nothing more comes, and why if it is an error; the first end counts."""
        with self._lock:
            if not self._is_ended:
                self._is_ended = True
                self._error = as_error(error)
            self._tell()  # a second time too: the first may have been broken off by a KeyboardInterrupt

    def cut(self, error: Exception) -> None:
        """End at once: what was not read is dropped, and the reader gets this error whatever the first end was."""
        with self._lock:
            self._is_ended, self._error = True, error
            self._items.clear()
            self._tell()

    @property
    def error(self) -> Exception | None:
        """What the reader is told at the end."""
        return self._error

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        with self._lock:
            while not self._is_ready():
                self._sleep()
            return self._taken(StopIteration)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while True:
            with self._lock:
                if self._is_ready():
                    return self._taken(StopAsyncIteration)
                change = self._next_change()
            await self._until(change)

    def close(self) -> None:
        """Leave, as a reader; what was not read is dropped."""
        with self._lock:
            self._is_closed = True
            self._items.clear()
            self._tell()

    async def aclose(self) -> None:
        self.close()

    def _is_ready(self) -> bool:
        return bool(self._items) or self._is_ended or self._is_closed

    def _taken(self, end: type[Exception]) -> Any:
        if self._items:
            item = self._items.popleft()
            self._tell()
            return item
        if self._error is not None and not self._is_closed:
            raise self._error
        raise end

    def _sleep(self, seconds: float | None = None) -> None:
        self._sleepers += 1
        try:
            self._change.wait(seconds)
        finally:
            self._sleepers -= 1

    def _next_change(self) -> asyncio.Future[None]:
        change = asyncio.get_running_loop().create_future()
        self._tasks.append(change)
        return change

    async def _until(self, change: asyncio.Future[None]) -> None:
        try:
            await change
        except asyncio.CancelledError:
            with self._lock, suppress(ValueError):  # it was told of at that very moment
                self._tasks.remove(change)
            raise

    def _tell(self) -> None:
        """Wake all who wait, at most one on each side; called with the lock held."""
        if self._sleepers:
            self._change.notify_all()
        # Woken before they are forgotten: a KeyboardInterrupt in between must leave nobody asleep.
        if self._tasks:
            for change in self._tasks:
                _wake(change)
            self._tasks.clear()


def _wake(change: asyncio.Future[None]) -> None:
    loop = change.get_loop()
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop:
        settle(change)
    else:
        with suppress(RuntimeError):  # that loop is closed, and nobody waits in it
            loop.call_soon_threadsafe(settle, change)


def settle(change: asyncio.Future[None]) -> None:
    """Set a future that nobody has cancelled meanwhile."""
    if not change.done():
        change.set_result(None)
