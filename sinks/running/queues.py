"""Queues: a sink's own, bounded, with its policies; and `async_queue` and `thread_queue`, sinks that fill yours."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Coroutine, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Self, overload

from reactivex import Observable

from ...events.errors import UsageError
from ...operators.engine.pump import is_async_stream, loop_here
from .channel import Channel, NoReaderError
from .sink import TwinSink


class EventQueue:
    """A sink that holds the events of one stream for a reader elsewhere."""

    __slots__ = ("_channel", "_has_reader", "_has_writer", "_maxsize")

    _blocked_loop = ""
    """The error message for a plain stream that would block an event loop's thread; empty if blocking is allowed."""

    def __init__(self, maxsize: int) -> None:
        self._maxsize = maxsize
        self._channel = Channel(maxsize)
        self._has_reader = self._has_writer = False

    @overload
    def __call__(self, events: AsyncIterable[Any]) -> Coroutine[Any, Any, None]: ...
    @overload
    def __call__(self, events: Iterable[Any] | Observable[Any]) -> None: ...

    def __call__(
        self, events: AsyncIterable[Any] | Iterable[Any] | Observable[Any]
    ) -> Coroutine[Any, Any, None] | None:
        self.check_unused()
        self._has_writer = True
        if is_async_stream(events):
            return _until_left(TwinSink(partial(_AsyncWriter, self._channel))(events))
        with suppress(NoReaderError):
            TwinSink(partial(_Writer, self._channel, self._blocked_loop))(events)
        return None

    def check_unused(self) -> None:
        """Raise `UsageError` if the queue was already used."""
        if self._has_writer:
            message = "this queue was already used; make a new queue for each stream"
            raise UsageError(message)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(maxsize={self._maxsize})"

    def close(self) -> None:
        """Close the reader's end: drop unread events and let the stream go on; from any thread."""
        self._channel.close()

    def release(self) -> None:
        """Stop limiting the queue, so that the stream never waits again; from any thread."""
        self._channel.release()

    def _reader(self) -> Channel:
        if self._has_reader:
            message = "this queue already has a reader; make a new queue for each stream"
            raise UsageError(message)
        self._has_reader = True
        return self._channel


async def _until_left(writing: Awaitable[None]) -> None:
    with suppress(NoReaderError):
        await writing


class _Writer:
    def __init__(self, channel: Channel, blocked_loop: str) -> None:
        self._channel = channel
        self._blocked_loop = blocked_loop

    def feed(self, event: Any) -> None:
        if self._channel.offer(event):
            return
        if self._blocked_loop and loop_here() is not None:
            raise UsageError(self._blocked_loop)
        self._channel.put(event)

    def close(self, error: BaseException | None) -> None:
        self._channel.end(error)


class _AsyncWriter:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def feed(self, event: Any) -> Awaitable[None] | None:
        return None if self._channel.offer(event) else self._channel.aput(event)

    def close(self, error: BaseException | None) -> None:
        self._channel.end(error)


class ThreadQueue(EventQueue):
    """The result of `thread_queue`: a sink for the writer and an iterable for the reader."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return _events(self._reader())


def thread_queue(maxsize: int = 64) -> ThreadQueue:
    """Make a bounded queue that holds the events of one stream for another thread.

        queue = thread_queue()
        pipeline = Pipeline(sinks=[queue])         one thread:      for event in pipeline.stream(...): ...
                                                   another thread:  for event in queue: ...

    The reader's loop blocks its thread while nothing comes, ends with the stream, and raises what the stream raised; a
    Ctrl-C or a cancellation comes as `StreamCutError`. When `maxsize` events wait, the stream waits for the reader: a
    plain one blocks its own thread, an async one waits without blocking its loop. When the reader leaves its loop or
    calls `close()`, the stream no longer waits for it.

    One stream and one reader: a second one of either is a `UsageError`. Without a Pipeline: `queue(events)`, or
    `await queue(events)`, which ends with the stream or, then closing it, when the reader has left.
    """
    return ThreadQueue(maxsize)


def _events(channel: Channel) -> Iterator[Any]:
    yield from channel  # closing this generator, as leaving a loop does, closes the channel


class AsyncQueue(EventQueue):
    """The result of `async_queue`: a sink for the writer and an async iterable for the reader."""

    __slots__ = ()

    _blocked_loop = (
        "this queue is full, and a plain stream on the event loop's thread cannot wait for its reader: "
        "use astream(...), or run it on a thread"
    )

    def __aiter__(self) -> AsyncIterator[Any]:
        return _Reader(self._reader())


def async_queue(maxsize: int = 64) -> AsyncQueue:
    """Make a bounded queue that holds the events of one stream for a task.

        queue = async_queue()
        pipeline = Pipeline(sinks=[queue])       one task:      async for event in pipeline.astream(...): ...
                                                 another task:  async for event in queue: ...

    The reader's loop ends with the stream, and raises what the stream raised; a Ctrl-C or a cancellation comes as
    `StreamCutError`. When `maxsize` events wait, the stream waits for the reader. When the reader leaves its loop or
    calls `close()`, the stream no longer waits for it. A cancelled read, as by `asyncio.timeout`, removes no event:
    keep the iterator (`reader = aiter(queue)`) to read on.

    One stream and one reader: a second one of either is a `UsageError`. The stream may also be a plain one, on another
    thread, and the reader on another event loop. Without a Pipeline: `await queue(events)`, which ends with the stream
    or, then closing it, when the reader has left.
    """
    return AsyncQueue(maxsize)


class _Reader:
    """Reads a channel until it is closed or garbage-collected, as after a loop over it was left.

    It is not an async generator, because a cancelled read would end that.
    """

    __slots__ = ("_channel",)

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:  # a coroutine of its own, which holds this while it waits
        return await anext(self._channel)

    async def aclose(self) -> None:
        self._channel.close()

    def __del__(self) -> None:
        self._channel.close()
