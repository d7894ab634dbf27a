"""Streams whose CONTENT events are merged: `coalesced`, a plain one, and `CoalescedStream`, an async one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Iterator
from time import monotonic
from typing import Any, Generic, Self, TypeVar, cast

from ...operators.engine.stage import Failed, How, Interrupted
from .channel import StreamCutError, running_loop
from .closed_unread import primed
from .coalescer import Bounds, Coalescer
from .event_pump import EventPump, close_stream, log_unread

T = TypeVar("T")


def coalesced(events: Iterable[T], bounds: Bounds, now: Callable[[], float] = monotonic) -> Iterator[T]:
    """Return the events of a plain stream, which is closed at the end."""
    return primed(_coalesced_plain(events, Coalescer(bounds), now))


def _coalesced_plain(events: Iterable[T], coalescer: Coalescer, now: Callable[[], float]) -> Generator[T, None, None]:
    iterator: Any = None
    try:
        yield cast("T", None)
        iterator = iter(events)
        try:
            for event in iterator:
                yield from coalescer.feed(event, now())
        except Exception:
            yield from coalescer.release()
            raise
        yield from coalescer.release()
    finally:
        for each in (iterator, events):
            if (close := getattr(each, "close", None)) is not None:
                close()


class CoalescedStream(Generic[T]):
    """The result of `coalesce` for an async stream: an async iterator for one loop."""

    def __init__(self, events: AsyncIterable[T], bounds: Bounds) -> None:
        self._source = events
        self._cancelling = _Cancelling()
        # The generator does not refer to this object, so that the loop closes it when this is garbage-collected.
        self._events = _coalesced(events, Coalescer(bounds), self._cancelling)
        self._is_begun = self._is_cut = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        if self._is_cut:
            message = "the stream ended because a read was cancelled"
            raise StreamCutError(message)
        self._is_begun = True
        try:
            event: T = await anext(self._events)
        except asyncio.CancelledError:
            self._is_cut = True
            raise
        return event

    def cancel(self, reason: str = "cancelled") -> Any:
        """Cancel the stream by its own `cancel`, and return what that returns.

        A stream without one is left: the events that wait still come, and then `StreamCutError` is raised. Call it in
        the loop's thread.
        """
        cancel = getattr(self._source, "cancel", None)
        if cancel is not None:
            return cancel(reason)
        self._cancelling.cancel(reason)
        return None

    async def aclose(self) -> None:
        """Close the stream without further events. Call it in the looping task."""
        await self._events.aclose()
        if not self._is_begun:  # a generator that never began has no `finally`
            self._is_begun = True
            await close_stream(self._source)


class _Cancelling:
    """Cancels what is read: at once, or when the reading begins."""

    __slots__ = ("_pump", "reason")

    def __init__(self) -> None:
        self._pump: EventPump | None = None
        self.reason: str | None = None

    def begin(self, pump: EventPump) -> None:
        self._pump = pump
        if self.reason is not None:
            pump.interrupt(self.reason)

    def cancel(self, reason: str) -> None:
        self.reason = self.reason or reason
        if self._pump is not None:
            self._pump.interrupt(self.reason)


async def _coalesced(
    events: AsyncIterable[Any], coalescer: Coalescer, cancelling: _Cancelling
) -> AsyncGenerator[Any, None]:
    now = running_loop().time
    errors: list[Exception] = []

    def close(how: How) -> list[Any]:
        if isinstance(how, Interrupted):
            why = "left before its end" if cancelling.reason is None else f"cancelled: {cancelling.reason}"
            errors.append(StreamCutError(f"the stream was {why}"))
        elif isinstance(how, Failed) and pump.is_left:
            log_unread(how.error)
        elif isinstance(how, Failed):
            errors.append(how.error)
        return coalescer.release()

    def feed(event: Any) -> list[Any]:
        due = coalescer.due
        released = coalescer.feed(event, now())
        if coalescer.due is not None and coalescer.due != due:
            pump.wake_at(coalescer.due)  # the reader goes on waiting: to wake it for that would be a turn of the loop
        return released

    pump = EventPump(events, feed, close, ahead=1)
    cancelling.begin(pump)
    try:
        while True:
            while pump.items:
                yield pump.take()
            if pump.is_over:
                break
            wait = None if coalescer.due is None else max(0, coalescer.due - now())
            if not await pump.changed(wait):
                pump.items.extend(coalescer.release())
        for error in errors:
            raise error
    finally:
        await pump.aclose()
