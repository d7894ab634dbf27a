"""Streams that are written into a recording while they are read."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Callable, Iterable
from typing import Any, Protocol, Self

from ...operators.engine.pump import aclose_all, close_all, is_async_stream
from .guarded_source import GuardedSource


class ItemFile(Protocol):
    """Where the items go."""

    def write(self, item: object, /) -> None: ...
    def end(self, error: Exception | None = None, *, is_closed: bool = False) -> None: ...
    def discard(self) -> None: ...


def tapped(source: Any, new: Callable[[], ItemFile]) -> Any:
    """Return a source that yields the same, and is written into a new file once it is opened.

    What is no stream is returned as it is, and refused by whoever gets it, in its own words.
    """
    if isinstance(source, GuardedSource):
        return source.through(lambda inner: tapped(inner, new))
    if callable(source):
        return TappedStart(source, new)
    if type(source) is bytes:
        return _tap_of([source], new())
    return _tap_of(source, new()) if _is_stream(source) else source


def _is_stream(value: object) -> bool:
    is_value = isinstance(value, str | dict) or hasattr(value, "__pydantic_fields_set__")
    return not is_value and isinstance(value, Iterable | AsyncIterable)


def _tap_of(stream: Any, file: ItemFile) -> Tap | AsyncTap:
    return AsyncTap(stream, file) if is_async_stream(stream) else Tap(stream, file)


class TappedStart:
    """A callable that starts a request whose answer is written."""

    def __init__(self, start: Callable[[], Any], new: Callable[[], ItemFile]) -> None:
        self._start = start
        self._new = new

    def through(self, change: Callable[[Any], Any]) -> TappedStart:
        """Return the tap around what `change` makes of the source."""
        return TappedStart(change(self._start), self._new)

    def __call__(self) -> Any:
        file = self._new()
        try:
            stream = self._start()
        except BaseException:
            file.discard()
            raise
        return self._awaited(stream, file) if inspect.isawaitable(stream) else self._opened(stream, file)

    async def _awaited(self, opening: Any, file: ItemFile) -> Any:
        try:
            stream = await opening
        except BaseException:
            file.discard()
            raise
        return self._opened(stream, file)

    def _opened(self, stream: Any, file: ItemFile) -> Any:
        if _is_stream(stream):
            return _tap_of(stream, file)
        file.discard()
        return stream


class _Tap:
    def __init__(self, stream: Any, file: ItemFile) -> None:
        self._stream = stream
        self._file = file
        self._items: Any = None
        self.is_given_up = False
        """Whether an end of the items is that of the reader's patience, and not of the stream."""

    def through(self, change: Callable[[Any], Any]) -> Self:
        """Return the tap around what `change` makes of the source."""
        self._stream = change(self._stream)
        return self

    def discard(self) -> None:
        """Leave no file: it was no stream."""
        self._file.discard()

    def _end(self, error: Exception) -> None:
        """End the file as a read that raised this ends the stream."""
        if isinstance(error, StopIteration | StopAsyncIteration):
            self._file.end(is_closed=self.is_given_up)
        else:
            self._file.end(error)


class Tap(_Tap):
    """A stream that is written while it is read."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            if self._items is None:
                self._items = iter(self._stream)
            item = next(self._items)
            self._file.write(item)
        except Exception as error:
            self._end(error)
            raise
        return item

    def close(self) -> None:
        """Close the stream and the file."""
        try:
            close_all(self._stream)
        finally:
            self._file.end(is_closed=True)


class AsyncTap(_Tap):
    """An async stream that is written while it is read."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            if self._items is None:
                self._items = aiter(self._stream)
            item = await anext(self._items)
            self._file.write(item)
        except Exception as error:
            self._end(error)
            raise
        return item

    async def aclose(self) -> None:
        """Close the stream and the file."""
        try:
            await aclose_all(self._stream)
        finally:
            self._file.end(is_closed=True)
