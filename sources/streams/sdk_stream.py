"""An SDK's open stream, with its exceptions translated and its connection always closed."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any, Self, TypeAlias, cast

from ...events.errors import ProviderError
from ...operators.engine.pump import aclose_all, close_all
from .stream_bridge import goes_async
from .taps import AsyncTap, Tap, TappedStart

Translate: TypeAlias = Callable[[Exception], ProviderError | None]
"""Returns our error for an exception of the SDK, or None if it is raised unchanged."""
Check: TypeAlias = Callable[[object], Any]
"""Raises `UsageError` for anything but a stream; returns the stream to read in its place, if any."""
_ITEMS_IN_ONE_READ = 10_000


def translated(source: Any, check: Check, translate: Translate) -> Any:
    """Return a source whose streams raise our errors; `check` refuses other values, now or when it is opened."""
    if isinstance(source, TappedStart | Tap | AsyncTap):
        return source.through(lambda inner: translated(inner, check, translate))
    if not callable(source):
        return _wrapped(_checked(source, check), translate)
    check(source)

    def opened() -> Any:
        try:
            stream = source()
        except Exception as error:
            if ours := translate(error):
                raise ours from error
            raise
        if inspect.isawaitable(stream):
            return awaited(stream)
        return _wrapped(_checked(stream, check), translate)

    async def awaited(opening: Any) -> Any:
        try:
            stream = await opening
        except Exception as error:
            if ours := translate(error):
                raise ours from error
            raise
        return _wrapped(_checked(stream, check), translate)

    return opened


def _checked(stream: Any, check: Check) -> Any:
    instead = check(stream)
    return stream if instead is None else instead


def _wrapped(stream: Any, translate: Translate) -> Any:
    if hasattr(stream, "__anext__") and goes_async(stream):
        return _AsyncStream(stream, translate)
    if hasattr(stream, "__next__"):
        return _Stream(stream, translate)
    return stream


class _Stream:
    def __init__(self, stream: Iterator[Any], translate: Translate) -> None:
        self._stream = stream
        self._translate = translate

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._stream)
        except StopIteration:
            raise
        except Exception as error:
            if ours := self._translate(error):
                raise ours from error
            raise

    def close(self) -> None:
        close_all(self._stream)


class _AsyncStream:
    def __init__(self, stream: AsyncIterator[Any], translate: Translate) -> None:
        self._stream = stream
        self._translate = translate
        self._is_begun = self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        self._is_begun = True
        try:
            return await anext(self._stream)
        except StopAsyncIteration:
            self._is_over = True
            raise
        except Exception as error:
            self._is_over = True
            if ours := self._translate(error):
                raise ours from error
            raise
        except BaseException:  # cancelled while it waited: all of it has ended
            self._is_over = True
            raise

    async def aclose(self) -> None:
        """Close the stream and its underlying generators and response.

        Closing an async generator does not close one that it loops over. Google's are four of these, and the response
        at their bottom stays open until it is collected; a cancellation where they wait goes through all of them.
        """
        was_cancelled = await _cancellation()
        if self._is_begun and not self._is_over and _is_googles(self._stream):
            await _Cancelled(cast("AsyncGenerator[Any, None]", self._stream))
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


def _is_googles(stream: Any) -> bool:
    frame = getattr(stream, "ag_frame", None)
    return frame is not None and str(frame.f_globals.get("__name__", "")).startswith("google.")


class _Cancelled:
    """Run a generator to its next await and cancel it there, without cancelling this task."""

    def __init__(self, stream: AsyncGenerator[Any, None]) -> None:
        self._stream = stream

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            step = self._waiting()
            waits = step.throw(asyncio.CancelledError())
            while True:
                try:
                    sent = yield waits
                except BaseException as error:  # noqa: BLE001 - whatever comes belongs to who waits
                    waits = step.throw(error)
                else:
                    waits = step.send(sent)
        except (asyncio.CancelledError, StopAsyncIteration, StopIteration):
            return

    def _waiting(self) -> Any:
        """Return the awaitable that it waits for; items that have arrived are skipped, at most one read of them."""
        for _ in range(_ITEMS_IN_ONE_READ):
            step = self._stream.__anext__().__await__()
            try:
                step.send(None)
            except StopIteration:
                continue
            return step
        raise StopAsyncIteration
