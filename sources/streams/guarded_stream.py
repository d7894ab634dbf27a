"""One stream of a guarded source, and what reads one of its sources."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator
from copy import copy
from typing import Any

from ...events.errors import UsageError
from ...operators.engine.pump import aclose_all, close_all, is_async_stream
from ...operators.engine.stage import Completed, Failed, How, Interrupted
from ..base.endings import provider_error
from .guarded_source import GuardedSource, Reading, with_argument
from .sdk_stream import unwrapped
from .workarounds import is_generator_stream


class GuardedStream(ABC):
    """One stream of a guarded source, which is opened with the first item; read it in one loop, plain or async.

    Before that it is not known whether the source is async: who reads it decides.
    """

    def __init__(self) -> None:
        self._items: Generator[Any, None, None] | None = None
        self._async_items: AsyncGenerator[Any, None] | None = None
        self.is_left = False
        """Whether a read was woken to end it, and not because its source broke."""

    @property
    @abstractmethod
    def reader(self) -> SourceReader:
        """What reads at the moment."""

    @abstractmethod
    def read(self) -> Generator[Any, None, None]:
        """Yield the chunks in a plain loop."""

    @abstractmethod
    def aread(self) -> AsyncGenerator[Any, None]:
        """Yield the chunks in an async loop."""

    @property
    def _stream(self) -> Any:  # by this name `wake_stream` finds it
        return self.reader.stream

    def __iter__(self) -> Iterator[Any]:
        self._items = self.read()
        return self._items

    def __aiter__(self) -> AsyncIterator[Any]:
        self._async_items = self.aread()
        return self._async_items

    def close(self) -> None:
        """Close the stream and its connection."""
        if self._items is not None:
            self._items.close()
        self.reader.close()

    async def aclose(self) -> None:
        """Close the stream and its connection."""
        if self._async_items is not None:
            await self._async_items.aclose()
        await self.reader.aclose()


class SourceReader:
    """Reads one source: opens it, decodes its items, closes it."""

    def __init__(self, source: Any, reading: Reading) -> None:
        self._keeps_text = reading.keeps_text
        source = reading.opened(with_argument(source, *reading.argument) if reading.argument else source)
        if isinstance(source, GuardedSource):
            source = source.decoded_by(reading.new_machine, keeps_text=self._keeps_text)
        self._source: Any = source
        self.stream: Any = None if callable(source) else source
        """The open stream."""
        self._machine = reading.new_machine()
        self._iterator: Any = None
        self._is_text = False
        self.is_over = False
        """Whether nothing more comes."""
        self.failure: Exception | None = None
        """The error that it ended with."""

    @property
    def is_callable(self) -> bool:
        """Whether opening it sends a request."""
        return self.stream is None

    def request(self) -> Any:
        """Return the stream, or an awaitable of it, without reading; any thread may call it."""
        return self._source() if self.stream is None else self.stream

    def begin(self, stream: Any) -> Callable[[], Any]:
        """Return what reads the next item in a plain loop; raises `StopIteration` at the end."""
        if is_only_async(stream):
            if inspect.iscoroutine(stream):
                stream.close()
            message = "this stream is async; use astream(...), or `async for`, inside a coroutine"
            raise UsageError(message)
        self.stream = stream
        self._iterator = iter(stream)
        read: Callable[[], Any] = self._iterator.__next__
        return read

    async def abegin(self, stream: Any) -> Callable[[], Awaitable[Any]]:
        """Return what reads the next item in an async loop; raises `StopAsyncIteration` at the end."""
        if inspect.isawaitable(stream):
            stream = await stream
        self.stream = stream
        if is_async_stream(stream):
            self._iterator = aiter(stream)
        elif hasattr(inner := unwrapped(stream), "response") or is_generator_stream(inner):
            message = "this stream would block the event loop; use the SDK's async client, or a plain loop in a thread"
            raise UsageError(message)
        else:
            self._iterator = _as_async(stream)
        read: Callable[[], Awaitable[Any]] = self._iterator.__anext__
        return read

    def take(self, item: Any) -> list[Any]:
        """Return the chunks of an item, and with the provider's last one those of the end."""
        if self._keeps_text and isinstance(item, str):
            self._is_text = True
            return [item]
        try:
            chunks: list[Any] = self._machine.feed(item)
        except Exception as error:  # noqa: BLE001 - a wrong item of the caller's, who gets it after the chunks
            return self.end(Failed(error))
        return chunks + self.end(Completed()) if self._machine.stopped else chunks

    def end(self, how: How) -> list[Any]:
        """Return the last chunks, and note the error that the source ended with."""
        if self.is_over:
            return []
        self.is_over = True
        if isinstance(how, Failed):
            self.failure = provider_error(how.error) or how.error
            how = Failed(self.failure)
        chunks: list[Any] = self._machine.close(how)
        if isinstance(how, Completed) and (failure := self._machine.failure) is not None:
            self.failure = copy(failure)  # the machine keeps its own, whose traceback would lead back to it
            self.failure.__cause__ = failure.__cause__
        return [] if self._is_text else chunks

    def raise_failure(self) -> None:
        """Raise the error that the source ended with, if any."""
        failure, self.failure = self.failure, None
        try:
            if failure is not None:
                raise failure
        finally:
            del failure  # whose traceback holds this frame

    def close(self) -> None:
        """Close the stream, also one that was never read."""
        self._leave()
        close_all(self._iterator, self.stream)

    async def aclose(self) -> None:
        """Close the stream, also one that was never read."""
        self._leave()
        await aclose_all(self._iterator, self.stream)

    def _leave(self) -> None:
        self.end(Interrupted())
        self._source = None  # which may hold what another source has shown, with its error


def is_only_async(stream: Any) -> bool:
    """Return whether a plain loop cannot read a stream."""
    return (hasattr(stream, "__aiter__") and not hasattr(stream, "__iter__")) or hasattr(stream, "__await__")


async def _as_async(items: Iterable[Any]) -> AsyncGenerator[Any, None]:
    for item in items:
        yield item
