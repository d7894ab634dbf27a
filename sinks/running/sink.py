"""`Sink`; `each_event`, which makes a sink from a `Target`; and checks of functions that users pass."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Iterable
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast, overload

from reactivex import Observable
from reactivex import operators as rx
from reactivex.scheduler import NewThreadScheduler

from ...events.errors import UsageError
from ...operators.engine.pump import aclose_all, close_all, is_async_stream


def is_async_function(function: Callable[..., object]) -> bool:
    """Return whether a function is known to return an awaitable before it is called."""
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Sink: TypeAlias = Callable[[AsyncIterable[Any]], Awaitable[T]]
"""An async function that reads an async stream of events to its end and returns a result."""
SyncSink: TypeAlias = Callable[[Iterable[Any]], T]
"""A function that reads a plain stream of events to its end and returns a result."""

_NEEDS_ASYNC = "this sink is async and works with async streams only; use astream(...)"


class Target(Protocol[T_co]):
    """Handles the events of one stream one by one.

    `feed` may return an awaitable, which an async stream awaits. `close` is always called once, with the exception that
    ended the stream or None; it returns the sink's result, which may be awaitable too.
    """

    def feed(self, event: Any, /) -> Awaitable[None] | None: ...
    def close(self, error: BaseException | None, /) -> T_co | Awaitable[T_co]: ...


class TwinSink(Generic[T]):
    """A sink for plain streams, async streams and Observables; each stream gets its own target."""

    __slots__ = ("_new_target", "needs_async")

    def __init__(self, new_target: Callable[[], Target[T]], *, needs_async: bool = False) -> None:
        self._new_target = new_target
        self.needs_async = needs_async

    @overload
    def __call__(self, events: AsyncIterable[Any]) -> Coroutine[Any, Any, T]: ...
    @overload
    def __call__(self, events: Iterable[Any] | Observable[Any]) -> T: ...

    def __call__(self, events: AsyncIterable[Any] | Iterable[Any] | Observable[Any]) -> Coroutine[Any, Any, T] | T:
        if is_async_stream(events):
            return _take_async(events, self._new_target())
        if self.needs_async:
            raise UsageError(_NEEDS_ASYNC)
        if isinstance(events, Observable):
            return _take_observable(events, self._new_target())
        if isinstance(events, str | bytes) or not isinstance(cast("object", events), Iterable):
            message = f"a sink must be called with a stream of events, got {type(events).__name__}"
            raise UsageError(message)
        return _take(events, self._new_target())

    def __repr__(self) -> str:
        maker = getattr(self._new_target, "func", self._new_target)
        return f"TwinSink({getattr(maker, '__name__', type(maker).__name__).lstrip('_')})"


def each_event(new_target: Callable[[], Target[T]], *, needs_async: bool = False) -> TwinSink[T]:
    """Make a sink from a `Target`; `new_target` is called once per stream.

    >>> class Count:
    ...     def __init__(self): self.number = 0
    ...     def feed(self, event): self.number += 1
    ...     def close(self, error): return self.number
    >>> each_event(Count)(["a", "b"])
    2

    An exception of the stream is raised again after the target is closed with it. A stream that can be closed, such as
    a `Run`, is closed at the end, even if the target raises. `needs_async`: refuse plain streams at once with a
    `UsageError`, not at the first awaitable.
    """
    return TwinSink(new_target, needs_async=needs_async)


def _take(events: Iterable[Any], target: Target[T]) -> T:
    try:
        for event in events:
            _at_once(target.feed(event))
    except BaseException as error:
        _at_once(target.close(error))
        raise
    finally:
        close_all(events)
    return _at_once(target.close(None))


async def _take_async(events: AsyncIterable[Any], target: Target[T]) -> T:
    try:
        async for event in events:
            waiting = target.feed(event)
            if waiting is not None:
                await waiting
    except BaseException as error:
        await _in_time(target.close(error))
        raise
    finally:
        await aclose_all(events)
    return await _in_time(target.close(None))


def _take_observable(events: Observable[Any], target: Target[T]) -> T:
    try:
        _wait_for(events, target)
    except BaseException as error:
        _at_once(target.close(error))
        raise
    return _at_once(target.close(None))


def _wait_for(events: Observable[Any], target: Target[Any]) -> None:
    done = threading.Event()
    errors: list[Exception] = []

    def take(_: None, event: Any) -> None:
        if not done.is_set():
            _at_once(target.feed(event))

    def fail(error: Exception) -> None:
        errors.append(error)
        done.set()

    # On threads of its own, as Observable.run() does it: merged streams run side by side, and Ctrl-C is heard here.
    subscription = events.pipe(rx.reduce(take, None)).subscribe(
        on_error=fail, on_completed=done.set, scheduler=NewThreadScheduler()
    )
    try:
        done.wait()
    finally:
        done.set()
        subscription.dispose()
    if errors:
        raise errors[0]


def _at_once(result: Awaitable[T] | T) -> T:
    if result is None or not isawaitable(result):
        return result
    if iscoroutine(result):
        result.close()
    raise UsageError(_NEEDS_ASYNC)


async def _in_time(result: Awaitable[T] | T) -> T:
    if isawaitable(result):
        waited: T = await result
        return waited
    return result
