"""`Channel`: a bounded queue whose two ends may be in threads or in tasks."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from contextlib import suppress
from threading import Condition, RLock
from typing import Any, Self

from ...events.errors import PenstockError, UsageError
from ...operators.engine.pump import call_in

_TURN, _TURNS = 0.05, 10
"""How long a reader has to make room: seconds of one wait, and number of waits. Several short waits are used because a
process that was suspended loses only one of them."""


class StreamCutError(PenstockError):
    """The stream was left before its end: by Ctrl-C, a cancellation, or a loop that was left."""


class NoReaderError(PenstockError):
    """Raised in the writer of a channel when the reader has left."""


def running_loop() -> asyncio.AbstractEventLoop:
    """Return asyncio's running loop; `UsageError` where there is none, as under trio."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError as error:
        message = (
            "this needs asyncio's event loop, and none runs here; from trio, call asyncio.run in a thread "
            "(trio.to_thread.run_sync), or use the plain loop of stream(...) there"
        )
        raise UsageError(message) from error


def as_error(error: BaseException | None) -> Exception | None:
    """Return the exception that ended a stream, as an `Exception`.

    A KeyboardInterrupt or a cancellation belongs to one thread or task; others get a `StreamCutError` with it as
    `__cause__`.
    """
    if error is None or isinstance(error, Exception):
        return error
    cut = StreamCutError(f"the stream was left before its end ({type(error).__name__})")
    cut.__cause__ = error
    return cut


class Channel:
    """A bounded queue between one writer and one reader.

        writer   offer, put, aput ... end(error)           reader   for, async for ... close()

    `put` and `for` block their thread, `aput` and `async for` their task; the other end may be in any thread and any
    event loop. The reader gets everything that was put, then the end or the error. When the reader closes, the writer
    stops waiting and gets `NoReaderError`. Writing after the end raises a `UsageError`.
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
        """Put an item if there is room; return whether there was."""
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
        """Return the number of items that wait for the reader."""
        return len(self._items)

    def put(self, item: Any) -> None:
        with self._lock:
            while not self.offer(item):
                self._sleep()

    def put_in_turn(self, item: Any) -> bool:
        """Wait for room and put an item; return False if the reader takes nothing for half a second."""
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
        await asyncio.sleep(0)  # if the loop stood still, the time was over before the reader could run
        return self.offer(item)

    def release(self) -> None:
        """Stop limiting the queue, so that the writer never waits again."""
        with self._lock:
            self.maxsize = sys.maxsize
            self._tell()

    def end(self, error: BaseException | None = None) -> None:
        """End the channel, with an error if there was one; only the first call counts."""
        with self._lock:
            if not self._is_ended:
                self._is_ended = True
                self._error = as_error(error)
            self._tell()  # also the second time: a KeyboardInterrupt may have cut the first one short

    def cut(self, error: Exception) -> None:
        """End at once: drop unread items, and raise this error in the reader."""
        with self._lock:
            self._is_ended, self._error = True, error
            self._items.clear()
            self._tell()

    @property
    def error(self) -> Exception | None:
        """The exception that the reader gets at the end, if any."""
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
        """Close the reader's end and drop unread items."""
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
        """Wake the waiting writer and reader; called with the lock held."""
        if self._sleepers:
            self._change.notify_all()
        # Wake before clearing: a KeyboardInterrupt in between must not leave a waiter asleep.
        if self._tasks:
            for change in self._tasks:
                _wake(change)
            self._tasks.clear()


def _wake(change: asyncio.Future[None]) -> None:
    call_in(change.get_loop(), settle, change)


def settle(change: asyncio.Future[None]) -> None:
    """Set a future unless it was cancelled."""
    if not change.done():
        change.set_result(None)
