"""`coalesce`: fewer, larger CONTENT events, for a reader to whom each event costs something.

`Coalescer` merges them; it has no clock, it is told the time. `coalesced` is for a plain stream, `CoalescedStream`
for an async one, and `coalesced_observable` for an Observable.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator
from threading import TIMEOUT_MAX, RLock
from time import monotonic
from typing import Any, TypeAlias, TypeVar, cast, overload

from msgspec import Struct
from msgspec.structs import replace
from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SerialDisposable, SingleAssignmentDisposable
from reactivex.scheduler import TimeoutScheduler

from ...events.errors import UsageError
from ...events.segment_event import Fragment, SegmentContent, SegmentEnd, SegmentStart
from ...operators.engine.pump import is_async_stream, pump
from ...operators.engine.stage import Failed, How, Interrupted
from .channel import StreamCutError, running_loop
from .event_pump import EventPump, LoopStream, log_unread

T = TypeVar("T")


_Identity: TypeAlias = tuple[str | None, str]


class Bounds(Struct, frozen=True):
    """How long content may wait, and how many characters of it; None is no bound."""

    seconds: float | None
    chars: int | None


class Coalescer:
    """Merges the CONTENT events of one stream: `feed` each event, `release` when `due` has come and at the end.

    What waits goes out together, in the order in which it began to wait: so the events come out in the order in which
    their first character came in.
    """

    __slots__ = ("_bounds", "_length", "_shown", "_waiting", "due")

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._waiting: dict[_Identity, list[SegmentContent]] = {}
        self._length = 0
        self._shown: set[_Identity] = set()
        """The open segments of which some text went out."""
        self.due: float | None = None
        """The time by which what waits must be released; None if nothing waits, or without a bound of time."""

    def feed(self, event: Any, now: float) -> list[Any]:
        """Return the events that go out now; `now` is in seconds, of any clock that does not go back."""
        if not isinstance(event, SegmentContent):
            if isinstance(event, SegmentStart | SegmentEnd):
                self._shown.discard((event.turn_id, event.segment_id))
            return [*self.release(), event]
        identity = (event.turn_id, event.segment_id)
        if identity not in self._shown:
            if event.delta:
                self._shown.add(identity)
            return [*self.release(), event]
        pieces = self._waiting.get(identity)
        released = self.release() if pieces is not None and not _fit(pieces[0], event) else []
        self._wait(identity, event, now)
        return [*released, *self.release()] if self._is_full(now) else released

    def release(self) -> list[Any]:
        """Return what waits, each segment's content as one event."""
        if not self._waiting:
            return []
        released = [_merged(pieces) for pieces in self._waiting.values()]
        self._waiting.clear()
        self._length = 0
        self.due = None
        return released

    def _wait(self, identity: _Identity, event: SegmentContent, now: float) -> None:
        if not self._waiting and self._bounds.seconds is not None:
            self.due = now + self._bounds.seconds
        self._waiting.setdefault(identity, []).append(event)
        self._length += len(event.delta) or 1  # so that markup alone is bounded too

    def _is_full(self, now: float) -> bool:
        chars = self._bounds.chars
        return (chars is not None and self._length >= chars) or (self.due is not None and now >= self.due)


def _fit(one: SegmentContent, other: SegmentContent) -> bool:
    """Return whether two pieces of a segment can be one event: content with and without fragments cannot."""
    return one.segment_type == other.segment_type and (one.fragments is None) == (other.fragments is None)


def _merged(pieces: list[SegmentContent]) -> SegmentContent:
    first = pieces[0]
    if len(pieces) == 1:
        return first
    delta = "".join([piece.delta for piece in pieces])
    raw = "".join([piece.raw for piece in pieces])
    fragments = None if first.fragments is None else _joined(each for piece in pieces for each in piece.fragments or ())
    return replace(first, delta=delta, raw=raw, fragments=fragments)


def _joined(fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
    """Return fragments with adjacent TEXT of one value joined, as if its text had come in one piece."""
    runs: list[list[Fragment]] = []
    for each in fragments:
        if runs and each.kind == "TEXT" == runs[-1][0].kind and each.path == runs[-1][0].path:
            runs[-1].append(each)
        else:
            runs.append([each])
    return tuple(run[0] if len(run) == 1 else _text_of(run) for run in runs)


def _text_of(run: list[Fragment]) -> Fragment:
    return replace(run[0], value="".join([each.value for each in run]))


def coalesced(events: Iterable[T], bounds: Bounds, now: Callable[[], float] = monotonic) -> Iterator[T]:
    """Return the events of a plain stream, which is closed at the end."""
    return pump(events, _Released(Coalescer(bounds), now))


class _Released:
    """What a plain stream gives is coalesced, and what waits is released at its end."""

    def __init__(self, coalescer: Coalescer, now: Callable[[], float]) -> None:
        self._coalescer = coalescer
        self._now = now

    def feed(self, event: Any) -> Iterable[Any]:
        return self._coalescer.feed(event, self._now())

    def close(self, _how: How) -> Iterable[Any]:
        return self._coalescer.release()


class CoalescedStream(LoopStream[T]):
    """The result of `coalesce` for an async stream: an async iterator for one loop."""

    def __init__(self, events: AsyncIterable[T], bounds: Bounds) -> None:
        self._cancelling = _Cancelling()
        super().__init__(_coalesced(events, Coalescer(bounds), self._cancelling), events)

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
        elif isinstance(how, Failed) and source.is_left:
            log_unread(how.error)
        elif isinstance(how, Failed):
            errors.append(how.error)
        return coalescer.release()

    def feed(event: Any) -> list[Any]:
        due = coalescer.due
        released = coalescer.feed(event, now())
        if coalescer.due is not None and coalescer.due != due:
            source.wake_at(coalescer.due)  # the reader goes on waiting: to wake it for that would be a turn of the loop
        return released

    source = EventPump(events, feed, close, ahead=1)
    cancelling.begin(source)
    try:
        while True:
            while source.items:
                yield source.take()
            if source.is_over:
                break
            wait = None if coalescer.due is None else max(0, coalescer.due - now())
            if not await source.changed(wait):
                source.items.extend(coalescer.release())
        for error in errors:
            raise error
    finally:
        await source.aclose()


def coalesced_observable(
    source: Observable[T], bounds: Bounds, scheduler: abc.SchedulerBase | None = None
) -> Observable[T]:
    """Return an Observable of the events; without `scheduler` the subscriber's measures the time, or threads do."""

    def subscribe(observer: abc.ObserverBase[T], subscribers: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        clock = scheduler or subscribers or TimeoutScheduler.singleton()
        return _Subscription(Coalescer(bounds), observer, clock).start(source, subscribers)

    return Observable(subscribe)


class _Subscription:
    """One subscription.

    The source and the timer may be in two threads, so each holds the lock while it delivers; a slow observer then
    holds up the source, as without a timer.
    """

    def __init__(self, coalescer: Coalescer, observer: abc.ObserverBase[Any], clock: abc.SchedulerBase) -> None:
        self._coalescer = coalescer
        self._observer = observer
        self._clock = clock
        self._lock = RLock()
        self._upstream = SingleAssignmentDisposable()
        self._timer = SerialDisposable()
        self._due: float | None = None
        """The time for which the timer is set."""
        self._consumers_error: Exception | None = None

    def start(self, source: Observable[Any], scheduler: abc.SchedulerBase | None) -> abc.DisposableBase:
        self._upstream.disposable = source.subscribe(
            self._on_next, self._on_error, self._on_completed, scheduler=scheduler
        )
        return CompositeDisposable(self._upstream, self._timer)

    def _on_next(self, event: Any) -> None:
        with self._lock:
            self._deliver(self._coalescer.feed(event, self._now()))
            self._set_timer()

    def _on_due(self, _scheduler: abc.SchedulerBase, _state: object = None) -> None:
        # A timer that was too late to be disposed releases what waits now, which is early and never late.
        with self._lock:
            self._deliver(self._coalescer.release())
            self._set_timer()

    def _on_error(self, error: Exception) -> None:
        # Some sources send back what our consumer raised as if the stream had failed: see `_subscribe` in stage.py.
        if error is self._consumers_error:
            self._upstream.dispose()
            raise error
        self._end()
        self._observer.on_error(error)

    def _on_completed(self) -> None:
        self._end()
        self._observer.on_completed()

    def _end(self) -> None:
        with self._lock:
            self._deliver(self._coalescer.release())

    def _deliver(self, events: list[Any]) -> None:
        try:
            for event in events:
                self._observer.on_next(event)
        except Exception as error:
            self._consumers_error = error
            raise

    def _set_timer(self) -> None:
        due = self._coalescer.due
        if due == self._due:
            return
        self._due = due
        self._timer.disposable = (
            Disposable() if due is None else self._clock.schedule_relative(max(0.0, due - self._now()), self._on_due)
        )

    def _now(self) -> float:
        return self._clock.to_seconds(self._clock.now)


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
        if is_async_stream(events):
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
