"""`coalesced_observable`: an Observable whose CONTENT events are merged."""

from __future__ import annotations

from threading import RLock
from typing import Any, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SerialDisposable, SingleAssignmentDisposable
from reactivex.scheduler import TimeoutScheduler

from .coalescer import Bounds, Coalescer

T = TypeVar("T")


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
