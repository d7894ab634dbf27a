"""`EventPump`: read a stream in a task of its own, so that its reader may wait or leave; and close streams safely.

`ClosedUnread` closes its source even if it is closed before the first item, when no `finally` has begun.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from ...operators.engine.pump import no_plain_loop
from ...operators.engine.stage import Completed, Failed, How, Interrupted
from ...operators.engine.where_raised import where_raised
from .channel import StreamCutError, running_loop

_LOGGER = logging.getLogger("penstock")
T = TypeVar("T")


class EventPump:
    """Reads events and queues what is made of them: `feed` makes items of an event, `close` those of the end.

    While `ahead` items are queued, nothing is read. The task that reads also closes the events, so that repeated
    cancellations of the reader cannot interrupt the closing.
    """

    def __init__(
        self,
        events: AsyncIterable[Any],
        feed: Callable[[Any], Iterable[Any]],
        close: Callable[[How], Iterable[Any]],
        ahead: int,
    ) -> None:
        self._events = events
        self._ahead = ahead
        self.items: deque[Any] = deque()
        self.error: Exception | None = None
        """The exception that `close` raised."""
        self.is_over = self.is_left = False
        """Whether the last item is queued; whether the reader has left, and nobody takes items."""
        self._waiting: asyncio.Future[bool] | None = None
        self._due: float | None = None
        """When the reader is woken although nothing has changed, in the loop's time."""
        self._timer: asyncio.TimerHandle | None = None
        """Fires at that time or before; it is left alone when the reader goes on waiting, as most waits are short."""
        self._loop = running_loop()
        self._room: asyncio.Future[None] | None = None
        self._is_reading = self._is_stopped = False
        self._reason: str | None = None
        """Why the stream was cancelled, if it was."""
        self._task = self._loop.create_task(self._run(feed, close))  # which hold who holds this: until it ends
        _keep(self._task)

    async def changed(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - what timed out is no error here
        """Wait for an item, the end or `wake`; return False after `timeout` seconds without.

        One task waits at a time.
        """
        # A future and a timer, as asyncio.Event in asyncio.timeout costs each item twice the time.
        waiting: asyncio.Future[bool] = self._loop.create_future()
        self._waiting = waiting
        if timeout is None:
            self._due = None
        else:
            self.wake_at(self._loop.time() + timeout)
        return await waiting

    def wake_at(self, due: float) -> None:
        """Let the `changed` that waits return False at a time of the loop's, instead of the one that it has."""
        self._due = due
        if self._timer is None or self._timer.when() > due:
            self._cancel_timer()
            self._timer = self._loop.call_at(due, self._time_came)

    def wake(self, *, has_changed: bool = True) -> None:
        """Let `changed` return, if it waits."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(has_changed)

    def _time_came(self) -> None:
        self._timer = None
        if self._due is None:
            return
        if self._due > self._loop.time():
            self.wake_at(self._due)
        else:
            self._due = None
            self.wake(has_changed=False)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def take(self) -> Any:
        """Return the next item; there must be one."""
        item = self.items.popleft()
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        return item

    async def cancel(self, reason: str) -> None:
        """Cancel the stream: by its own `cancel`, so that it ends in order, else by leaving it as interrupted."""
        cancel = getattr(self._events, "cancel", None)
        if cancel is None:
            self.interrupt(reason)
            return
        self._reason = self._reason or reason
        if inspect.isawaitable(cancelling := cancel(reason)):
            await cancelling

    def interrupt(self, reason: str) -> None:
        """Leave the stream as interrupted, whatever it can do itself."""
        self._reason = self._reason or reason
        self._stop_reading()

    async def aclose(self) -> None:
        """Stop reading, and wait until the events are closed."""
        self.is_left = True
        self._stop_reading()
        if not self._task.done():
            await asyncio.wait({self._task})

    def _stop_reading(self) -> None:
        self._is_stopped = True
        if self._is_reading:  # else it has yet to begin, and will not, or is closing, which nobody breaks off
            self._is_reading = False
            self._task.cancel()

    async def _run(self, feed: Callable[[Any], Iterable[Any]], close: Callable[[How], Iterable[Any]]) -> None:
        try:
            self.items.extend(close(await self._read(feed)))
        except Exception as error:  # noqa: BLE001 - raised by the reader
            self.error = error
        finally:
            self.is_over = True
            self._due = None
            self._cancel_timer()
            self.wake()

    async def _read(self, feed: Callable[[Any], Iterable[Any]]) -> How:
        """Read to the end, and close the events in every case."""
        iterator: Any = None
        try:
            try:
                iterator = aiter(self._events)
                self._is_reading = not self._is_stopped
                while self._is_reading:
                    self.items.extend(feed(await anext(iterator)))
                    if self.items:
                        self.wake()
                    while len(self.items) >= self._ahead:
                        self._room = self._loop.create_future()
                        await self._room
            finally:
                self._is_reading = False
                await close_both(iterator, self._events)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - told to the reader
            return how_ended(error, self._reason)
        return how_ended(None, self._reason)


def how_ended(error: BaseException | None, reason: str | None) -> How:
    """Return how a stream ended whose reading raised this or was stopped; `reason`: why it was cancelled, if so."""
    if isinstance(error, StopAsyncIteration):
        return Completed()
    if isinstance(error, Exception) and not (isinstance(error, StreamCutError) and reason is not None):
        return Failed(error)
    return Interrupted(reason or "cancelled")


_RUNNING: set[asyncio.Future[Any]] = set()
"""Running tasks, kept here because the loop has only weak references to them, and a task may outlive its reader."""


def _keep(task: asyncio.Future[Any]) -> None:
    _RUNNING.add(task)
    task.add_done_callback(_RUNNING.discard)


def apart(work: Awaitable[T]) -> asyncio.Future[T]:
    """Await in a task of its own, which no cancellation of the caller breaks off; return the task."""
    task = asyncio.ensure_future(work)
    _keep(task)
    return task


async def close_both(iterator: Any, stream: Any) -> None:
    """Close an iterator and the stream that it is of, which may be one object."""
    await close_stream(iterator)
    if iterator is not stream:
        await close_stream(stream)


async def close_stream(stream: Any) -> None:
    """Close an async stream if it can be closed; an exception is logged."""
    close = getattr(stream, "aclose", None)
    if close is None:
        return
    try:
        await close()
    except Exception:
        _LOGGER.debug("closing a stream failed", exc_info=True)


def log_unread(error: Exception) -> None:
    """Log what ended a stream whose reader had left; its message may be a tool's arguments, and is for debugging."""
    _LOGGER.error("a stream whose reader had left failed: %s", where_raised(error))
    _LOGGER.debug("a stream whose reader had left failed", exc_info=error)


class ClosedUnread(AsyncGenerator[T, None]):
    """The items of an async generator; `source` is closed if this is closed before the first one.

    An async generator cannot be `primed`, because it may be made before its loop runs.
    """

    __slots__ = ("_items", "_source")

    def __init__(self, items: AsyncGenerator[T, None], source: Any) -> None:
        self._items = items
        self._source = source

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Any:
        self._source = None
        return self._items.__anext__()

    def asend(self, value: None) -> Any:
        self._source = None
        return self._items.asend(value)

    async def athrow(self, *error: Any) -> T:
        try:
            return await self._items.athrow(*error)
        finally:
            await self._close_source()

    async def aclose(self) -> None:
        try:
            await self._items.aclose()
        finally:
            await self._close_source()

    async def _close_source(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            await asyncio.wait({apart(close_stream(source))})


class LoopStream(Generic[T]):
    """The items of an async generator, for one loop; a read that was cancelled cuts them.

    `source` is closed if this is closed before the first item. The generator must not refer to this object, so that
    the loop closes it when this is garbage-collected.
    """

    _instead = ""
    if not TYPE_CHECKING:  # so that checkers, too, refuse a plain loop
        __getitem__ = no_plain_loop

    def __init__(self, items: AsyncGenerator[T, None], source: Any) -> None:
        self._items = items
        self._source = source
        self._is_begun = self._is_cut = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        if self._is_cut:
            message = "the stream ended because a read was cancelled"
            raise StreamCutError(message)
        self._is_begun = True
        try:
            return await anext(self._items)
        except asyncio.CancelledError:
            self._is_cut = True
            raise

    async def aclose(self) -> None:
        """Close the stream without further events. Call it in the looping task."""
        await self._items.aclose()
        if not self._is_begun:  # a generator that never began has no `finally`
            self._is_begun = True
            await close_stream(self._source)
