"""The events of a stream for another reader: `async_queue` for a task, `thread_queue` for a thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

from .running.channel import Channel
from .running.event_queue import EventQueue


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

        queue = async_queue() pipeline = Pipeline(sinks=[queue]) one task: async for event in pipeline.astream(...): ...
        another task: async for event in queue: ...

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
