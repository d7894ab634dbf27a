"""`pump` and `apump`: the one loop over a stream, plain and async, whatever is done with its items."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from inspect import isawaitable
from typing import Any, NoReturn, Protocol, TypeVar, cast

from typing_extensions import TypeIs

from ...events.errors import UsageError
from .stage import Completed, Failed, How, Interrupted, StreamStopped

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

_END: Any = object()
_NOTHING = nullcontext()


class Work(Protocol[T_co]):
    """What is done with the items of a stream; a call returns what comes of it.

    If one raises and the work has `last_words`, these are still given.
    """

    def feed(self, item: Any, /) -> Iterable[T_co]: ...
    def close(self, how: How, /) -> Iterable[T_co]: ...


def no_async_for(_: object) -> NoReturn:
    """Say what to write in place of `async for`, as the `__aiter__` of a plain stream."""
    message = (
        "this stream is plain; write `for event in ...`, or in a coroutine `async for event in pipeline.astream(...)`"
    )
    raise UsageError(message)


def no_plain_loop(stream: Any, _: int) -> NoReturn:
    """Say what to write in place of a plain loop, as the `__getitem__` of an async stream.

    A loop asks for it where there is no `__iter__`; what has one would count as a plain stream. `_instead` of the
    stream is what a plain loop may read.
    """
    message = f"this stream is async; write `async for event in ...` in a coroutine{stream._instead}"  # noqa: SLF001
    raise UsageError(message)


def loop_here() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread, None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def call_in(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: Any) -> None:
    """Call a function in a loop: at once if it runs here, else when it comes to that; never if it is closed."""
    if loop_here() is loop:
        function(*args)
    else:
        with suppress(RuntimeError):  # it is closed, so nothing waits in it
            loop.call_soon_threadsafe(function, *args)


def is_async_stream(stream: object) -> TypeIs[AsyncIterable[Any]]:
    """Return whether a stream is read with `async for`."""
    return getattr(type(stream), "__aiter__", None) is not no_async_for and isinstance(stream, AsyncIterable)


def pump(
    items: Iterable[Any],
    work: Work[T],
    *,
    begin: AbstractContextManager[Any] = _NOTHING,
    leave: Callable[[BaseException | None], object] | None = None,
) -> Generator[T, None, None]:
    """Yield what a work makes of items, with backpressure: the next item is read when more is asked for.

    If the items raise, the work is closed with the failure before the exception is raised. The items are closed at
    the end, when the loop is left, and when it is closed unread. `begin` is entered around the first item; `leave` is
    called once at the end, with what ended the loop too early.
    """
    return primed(_pump(items, work, begin, leave))


def _pump(
    items: Iterable[Any],
    work: Work[T],
    begin: AbstractContextManager[Any],
    leave: Callable[[BaseException | None], object] | None,
) -> Generator[T, None, None]:
    iterator: Any = None
    error: BaseException | None = None
    how: How | None = None
    try:
        yield cast("T", None)
        while how is None:
            try:
                if iterator is None:
                    with begin:
                        iterator = iter(items)
                        item = next(iterator, _END)
                else:
                    item = next(iterator, _END)
            except Exception as failure:  # noqa: BLE001 - raised below
                item, how = _END, Failed(failure)
            try:
                if item is not _END:
                    events = work.feed(item)
                else:
                    how = how or Completed()
                    events = work.close(how)
            except StreamStopped as stop:
                how = Interrupted(stop.reason)
                events = [*stop.events, *work.close(how)]
            except Exception:
                yield from getattr(work, "last_words", ())
                raise
            yield from events
        if isinstance(how, Failed):
            raise how.error  # noqa: TRY301 - the frame of a function would hold it, too
    except BaseException as raised:
        error = raised
        raise
    finally:
        del work, how  # the exception's traceback holds this frame, which would hold the exception
        try:
            if leave is not None:
                leave(error)
            close_all(iterator, items)
        finally:
            del error


async def apump(
    items: AsyncIterable[Any] | Iterable[Any],
    work: Work[T],
    *,
    begin: AbstractContextManager[Any] = _NOTHING,
    leave: Callable[[BaseException | None], object] | None = None,
) -> AsyncGenerator[T, None]:
    """Do the same in an async loop."""
    iterator: Any = None
    read: Any = None
    item: Any = None
    error: BaseException | None = None
    how: How | None = None
    try:
        while how is None:
            try:
                if read is None:
                    with begin:
                        iterator = aiter(items) if is_async_stream(items) else _async(items)
                        read = iterator.__anext__
                        item = await read()
                else:
                    item = await read()
            except StopAsyncIteration:
                how = Completed()
            except Exception as failure:  # noqa: BLE001 - raised below
                how = Failed(failure)
            try:
                events = work.feed(item) if how is None else work.close(how)
            except StreamStopped as stop:
                how = Interrupted(stop.reason)
                events = [*stop.events, *work.close(how)]
            except Exception:
                for event in getattr(work, "last_words", ()):
                    yield event
                raise
            for event in events:
                yield event
        if isinstance(how, Failed):
            raise how.error  # noqa: TRY301 - the frame of a function would hold it, too
    except BaseException as raised:
        error = raised
        raise
    finally:
        del work, how  # as above
        try:
            if leave is not None:
                leave(error)
            await aclose_all(iterator, items)
        finally:
            del error


async def _async(items: Iterable[T]) -> AsyncGenerator[T, None]:
    for item in items:
        yield item


def primed(generator: Generator[T, None, None]) -> Generator[T, None, None]:
    """Run a generator to its first `yield`, whose value is none of its items, and return it.

    >>> def items():
    ...     try:
    ...         yield
    ...         yield 1
    ...     finally:
    ...         print("closed")
    >>> primed(items()).close()
    closed
    """
    next(generator)
    return generator


def close_all(*streams: Any) -> None:
    """Close each stream that can be closed, an iterator and what it is of among them."""
    for each in streams:
        if (close := getattr(each, "close", None)) is not None:
            close()


async def aclose_all(*streams: Any) -> None:
    """Close each stream that can be closed, by `aclose` or an awaited `close`."""
    for each in streams:
        close = getattr(each, "aclose", None) or getattr(each, "close", None)
        if close is not None and isawaitable(closing := close()):
            await closing
