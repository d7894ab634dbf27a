"""`adapted`: the events of another framework, in a plain or an async loop."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar, overload

from ...events.errors import UsageError
from ...operators.engine.pump import apump, is_async_stream, pump
from ...operators.engine.stage import How
from ..running.event_pump import ClosedUnread

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
    if is_async_stream(events):
        return ClosedUnread(apump(events, adapter()), events)
    if isinstance(events, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
        return pump(events, adapter())
    message = f"got {type(events).__name__}, not a stream of events; pass pipeline.stream(...) or pipeline.astream(...)"
    raise UsageError(message)
