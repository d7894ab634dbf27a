"""`adapted`: the events of another framework, in a plain or an async loop."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Iterator
from typing import Any, Protocol, TypeVar, cast, overload

from ...events.errors import UsageError
from ...operators.engine.stage import Completed, Failed, How
from ..running.event_pump import ClosedUnread, primed

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Adapter(Protocol[T_co]):
    """Makes events of another framework from ours; `close` ends what is open."""

    def feed(self, event: Any, /) -> Iterable[T_co]: ...
    def close(self, how: How, /) -> Iterable[T_co]: ...


@overload
def adapted(events: Iterable[Any], adapter: Callable[[], Adapter[T]]) -> Iterator[T]: ...
@overload
def adapted(events: AsyncIterable[Any], adapter: Callable[[], Adapter[T]]) -> AsyncIterator[T]: ...
def adapted(
    events: Iterable[Any] | AsyncIterable[Any], adapter: Callable[[], Adapter[T]]
) -> Iterator[T] | AsyncIterator[T]:
    """Return what an adapter makes of events, plain for plain ones and async for async ones.

    If the events raise, what is open is ended, and then the exception is raised. The events are closed at the end, and
    when the loop is left.
    """
    if isinstance(events, AsyncIterable):
        return ClosedUnread(_async(events, adapter()), events)
    if isinstance(events, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
        return primed(_plain(events, adapter()))
    message = f"got {type(events).__name__}, not a stream of events; pass pipeline.stream(...) or pipeline.astream(...)"
    raise UsageError(message)


def _plain(events: Iterable[Any], adapter: Adapter[T]) -> Generator[T, None, None]:
    how: How = Completed()
    iterator: Any = None
    try:
        yield cast("T", None)
        iterator = iter(events)
        while True:
            try:
                event = next(iterator)
            except StopIteration:
                break
            except Exception as error:  # noqa: BLE001 - raised below
                how = Failed(error)
                break
            yield from adapter.feed(event)
        yield from adapter.close(how)
    finally:
        for each in (iterator, events):
            if (close := getattr(each, "close", None)) is not None:
                close()
    if isinstance(how, Failed):
        raise how.error


async def _async(events: AsyncIterable[Any], adapter: Adapter[T]) -> AsyncGenerator[T, None]:
    how: How = Completed()
    iterator: Any = None
    try:
        iterator = aiter(events)
        while True:
            try:
                event = await anext(iterator)
            except StopAsyncIteration:
                break
            except Exception as error:  # noqa: BLE001 - raised below
                how = Failed(error)
                break
            for each in adapter.feed(event):
                yield each
        for each in adapter.close(how):
            yield each
    finally:
        for stream in (iterator, events):
            close = getattr(stream, "aclose", None)
            if close is not None and inspect.isawaitable(closing := close()):
                await closing
    if isinstance(how, Failed):
        raise how.error
