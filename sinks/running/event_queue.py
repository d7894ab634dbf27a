"""`EventQueue`: the common part of the queues for tasks and for threads; it is a sink."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, overload

from reactivex import Observable

from ...events.errors import UsageError
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
        if isinstance(events, AsyncIterable):
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
        if self._blocked_loop and _runs_loop():
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


def _runs_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
