"""`coalesce`: fewer, larger CONTENT events, for a reader to whom each event costs something."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator
from threading import TIMEOUT_MAX
from typing import Any, TypeVar, cast, overload

from reactivex import Observable, abc

from ...events.errors import UsageError
from .coalesced_observable import coalesced_observable
from .coalesced_stream import CoalescedStream, coalesced
from .coalescer import Bounds

T = TypeVar("T")


def coalesce(
    *, seconds: float | None = None, chars: int | None = None, scheduler: abc.SchedulerBase | None = None
) -> Coalesce:
    """Merge the CONTENT events of each segment, so that a reader gets fewer and larger ones.

        events                   S-C "a"-C "b"-C "c"-----------C "d"-E--|
        coalesce(seconds=0.05)   S-C "a"------------C "bc"-----C "d"-E--|    "bc" has waited 0.05 seconds
        coalesce(chars=3)        S-C "a"-----------------------C "bcd"E--|   3 characters wait

        async for event in coalesce(seconds=0.05)(pipeline.astream(...)): ...
        to_sse(coalesce(seconds=0.05, chars=500)(pipeline.astream(...)))
        source.pipe(to_segments(), coalesce(seconds=0.05))
        for event in coalesce(chars=200)(pipeline.stream(...)): ...

    >>> from penstock import ChunkResponse, Pipeline, SegmentContent
    >>> events = Pipeline().stream([ChunkResponse(content=each) for each in "Hello"])
    >>> [event.delta for event in coalesce(chars=100)(events) if isinstance(event, SegmentContent)]
    ['H', 'ello']

    The first text of a segment comes at once. Later pieces wait, those of several segments side by side, and go out
    together in the order in which they began to wait:

    - `seconds`: as soon as the first of them has waited so long, also while the stream is silent; None for no limit.
    - `chars`: as soon as so many characters wait in all, where a piece without text counts as one; None for no limit.
      A piece is never split.
    - before any event that is not CONTENT, of whatever segment; before the first text of a segment; before the end and
      before the exception of the stream.

    So the events come out in the order in which their first character came in, and only CONTENT is changed: `delta`,
    `raw` and `fragments` are joined, adjacent TEXT of one value to one fragment. Pieces that cannot be one event, with
    and without fragments, stay apart. Nothing is merged across an event between them: updates and live values
    (`Pipeline(updates=True)`, `PartialOutput`) stand behind each CONTENT, and are better left out before.

    It takes three kinds of streams, each of them any number of times:

    - An async one: an async iterator. A task of its own reads on until events wait for you, so a slow loop slows the
      provider down. `aclose()`, leaving by garbage collection and a cancelled read close the stream; after a cancelled
      read, further reads raise `StreamCutError`. `cancel` is the stream's own; a stream without one is left, what waits
      still comes, and then `StreamCutError` is raised.
    - An Observable. `scheduler` measures the time, by default the one given to `subscribe`, else a
      `TimeoutScheduler`, whose timers are threads. It has no effect on other streams.
    - A plain iterable, as of `drive` or `stream`: an iterator. Nothing runs while it waits for the next event, so
      what has waited for `seconds` goes out when that event arrives, and no sooner.

    Without a bound, with one that is not above 0, and for anything but a stream it raises a `UsageError`.
    """
    if seconds is None and chars is None:
        message = "coalesce(...) needs a bound: pass seconds=0.05, chars=200 or both"
        raise UsageError(message)
    if seconds is not None and (type(seconds) not in (int, float) or not 0 < seconds <= TIMEOUT_MAX):
        message = f"seconds= must be a number of seconds above 0 or None, got {seconds!r}"
        raise UsageError(message)
    if chars is not None and (type(chars) is not int or chars < 1):
        message = f"chars= must be at least 1 or None, got {chars!r}"
        raise UsageError(message)
    return Coalesce(Bounds(seconds, chars), scheduler)


class Coalesce:
    """The result of `coalesce`: call it with a stream, or `pipe` an Observable through it. It holds no state."""

    __slots__ = ("_bounds", "_scheduler")

    def __init__(self, bounds: Bounds, scheduler: abc.SchedulerBase | None) -> None:
        self._bounds = bounds
        self._scheduler = scheduler

    @overload
    def __call__(self, events: Observable[T], /) -> Observable[T]: ...
    @overload
    def __call__(self, events: AsyncIterable[T], /) -> CoalescedStream[T]: ...
    @overload
    def __call__(self, events: Iterable[T], /) -> Iterator[T]: ...
    def __call__(self, events: Observable[T] | AsyncIterable[T] | Iterable[T], /) -> Any:
        if isinstance(events, AsyncIterable):
            return CoalescedStream(events, self._bounds)
        if isinstance(events, Observable):
            return coalesced_observable(events, self._bounds, self._scheduler)
        if isinstance(events, str | bytes) or not isinstance(cast("object", events), Iterable):
            message = f"coalesce(...) must be called with a stream of events, got {type(events).__name__}"
            raise UsageError(message)
        return coalesced(events, self._bounds)

    def __repr__(self) -> str:
        bounds = (("seconds", self._bounds.seconds), ("chars", self._bounds.chars))
        return f"coalesce({', '.join(f'{name}={bound!r}' for name, bound in bounds if bound is not None)})"
