"""An SDK's open stream, with its exceptions translated and its connection always closed."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Self, TypeAlias

from ...events.errors import UsageError
from ...operators.engine.pump import aclose_all, close_all
from ..base.endings import Translate, raise_ours
from .guarded_source import GuardedSource
from .taps import AsyncTap, Tap, TappedStart
from .workarounds import cancel_inside, goes_async, is_of_closed_client, is_over

Check: TypeAlias = Callable[[object], Any]
"""Raises `UsageError` for anything but a stream; returns the stream to read in its place, if any."""


def translated(source: Any, check: Check, translate: Translate) -> Any:
    """Return a source whose streams raise our errors; `check` refuses other values, now or when it is opened."""
    if isinstance(source, TappedStart | Tap | AsyncTap | GuardedSource):
        return source.through(lambda inner: translated(inner, check, translate))
    if not callable(source):
        return _wrapped(_checked(source, check), translate)
    check(source)

    def opened() -> Any:
        try:
            stream = source()
        except Exception as error:
            _raise_ours(error, translate)
            raise
        return awaited(stream) if inspect.isawaitable(stream) else _wrapped(_checked(stream, check), translate)

    async def awaited(opening: Any) -> Any:
        try:
            stream = await opening
        except Exception as error:
            _raise_ours(error, translate)
            raise
        return _wrapped(_checked(stream, check), translate)

    return opened


def unwrapped(stream: Any) -> Any:
    """Return the SDK's stream of one that was translated or tapped, if it can be reached."""
    while not hasattr(stream, "response") and (within := getattr(stream, "_stream", None)) is not None:
        stream = within
    return stream


def _checked(stream: Any, check: Check) -> Any:
    instead = check(stream)
    return stream if instead is None else instead


def _wrapped(stream: Any, translate: Translate) -> Any:
    if hasattr(stream, "__anext__") and goes_async(stream):
        return _AsyncStream(stream, translate)
    if hasattr(stream, "__next__"):
        return _Stream(stream, translate)
    return stream


def _raise_ours(error: BaseException, translate: Translate) -> None:
    """Raise our error in place of the SDK's, if there is one; the end of a stream is no error."""
    if not isinstance(error, Exception) or isinstance(error, StopIteration | StopAsyncIteration):
        return
    if is_of_closed_client(error):
        message = (
            "the client was closed before this request; loop over the answer inside the client's `with` block, or make "
            "a client that stays open"
        )
        raise UsageError(message) from error
    raise_ours(error, translate)


def _check_unread(stream: object) -> None:
    if is_over(stream):
        message = (
            "this stream is over: it was read or closed before; pass a new one, or a lambda that makes a new request"
        )
        raise UsageError(message)


class _Stream:
    def __init__(self, stream: Iterator[Any], translate: Translate) -> None:
        self._stream = stream
        self._translate = translate

    def __iter__(self) -> Self:
        _check_unread(self._stream)
        return self

    def __next__(self) -> Any:
        try:
            return next(self._stream)
        except Exception as error:
            _raise_ours(error, self._translate)
            raise

    def close(self) -> None:
        close_all(self._stream)


class _AsyncStream:
    def __init__(self, stream: AsyncIterator[Any], translate: Translate) -> None:
        self._stream = stream
        self._translate = translate
        self._is_open = False
        """Whether it was read from and has not ended since, also by a cancellation, which ends all of it."""

    def __aiter__(self) -> Self:
        _check_unread(self._stream)
        return self

    async def __anext__(self) -> Any:
        self._is_open = True
        try:
            return await self._stream.__anext__()
        except BaseException as error:
            self._is_open = False
            _raise_ours(error, self._translate)
            raise

    async def aclose(self) -> None:
        """Close the stream and its underlying generators and response."""
        was_cancelled = await _cancellation()
        if self._is_open:
            await cancel_inside(self._stream)
        await aclose_all(self._stream)
        if was_cancelled:
            raise asyncio.CancelledError


async def _cancellation() -> bool:
    """Consume a pending cancellation of this task, which would interrupt the closing."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return True
    return False
