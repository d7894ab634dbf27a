"""The time limits of an Observable, by the scheduler's time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from threading import RLock
from time import monotonic
from typing import Any

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SerialDisposable, SingleAssignmentDisposable
from reactivex.scheduler import TimeoutScheduler
from reactivex.scheduler.eventloop import AsyncIOThreadSafeScheduler

from ...events.chunk_response import ChunkResponse
from ...operators.engine.pump import loop_here
from ...operators.engine.stage import Completed, Failed, How, Interrupted
from ..base.machine import Machine
from .guarded_source import Reading
from .guarded_stream import SourceReader
from .time_limits import RESOLUTION, Clock, Phases


def watched_observable(
    source: Observable[Any], new_machine: Callable[[], Machine], new_phases: Callable[[], Phases]
) -> Observable[ChunkResponse]:
    """Return the chunks of an Observable; where a limit is exceeded it is disposed of, and the result completes."""

    def subscribe(
        observer: abc.ObserverBase[ChunkResponse], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        return _Watch(SourceReader(source, Reading(_as_it_is, new_machine)), new_phases(), observer, scheduler).start(
            source
        )

    return Observable(subscribe)


def _as_it_is(source: Any) -> Any:
    return source


class _Watch:
    """One subscription. While the observer has a chunk, no time passes."""

    def __init__(
        self,
        reader: SourceReader,
        phases: Phases,
        observer: abc.ObserverBase[ChunkResponse],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self._reader = reader
        self._phases = phases
        self._observer = observer
        self._asked = scheduler
        # The time of a scheduler of yours is its own; of the others it is that of the wall, which may be set back.
        self._scheduler: abc.SchedulerBase
        self._now: Clock
        if scheduler is not None:
            self._scheduler, self._now = scheduler, partial(_now_of, scheduler)
        elif (loop := loop_here()) is not None:
            self._scheduler, self._now = AsyncIOThreadSafeScheduler(loop), loop.time
        else:
            self._scheduler, self._now = TimeoutScheduler.singleton(), monotonic
        self._upstream = SingleAssignmentDisposable()
        self._timer = SerialDisposable()
        self._lock = RLock()
        self._busy = 0
        """The number of items that the observer has: more than one if it pushes the next from inside its callback."""
        self._is_over = False
        self._consumers_error: Exception | None = None
        self._began = 0.0
        self._due = inf

    def start(self, source: Observable[Any]) -> abc.DisposableBase:
        self._wait()
        self._upstream.disposable = source.subscribe(
            self._on_next, self._on_error, self._on_completed, scheduler=self._asked
        )
        return CompositeDisposable(self._upstream, self._timer, Disposable(self._leave))

    def _leave(self) -> None:
        self._is_over = True

    def _wait(self) -> None:
        """Begin to wait for the next item."""
        self._began = self._now()
        due = self._began + self._phases.left
        if due < self._due:
            self._schedule(due)

    def _schedule(self, due: float) -> None:
        self._due = due
        self._timer.disposable = self._scheduler.schedule_relative(max(due - self._now(), 0.0), self._on_time)

    def _on_time(self, _scheduler: abc.SchedulerBase, _state: Any = None) -> None:
        with self._lock:
            self._due = inf
            if self._is_over or self._busy:
                return
            due = self._began + self._phases.left
            if due - self._now() > RESOLUTION:
                if due < inf:
                    self._schedule(due)
                return
            self._is_over = True
        self._interrupt()

    def _interrupt(self) -> None:
        self._timer.dispose()
        self._upstream.dispose()
        self._phases.waited(self._now() - self._began)
        self._deliver([*self._reader.end(Interrupted("idle")), *self._phases.interruption()])
        self._observer.on_completed()

    def _is_late(self) -> bool:
        """Return whether what comes now comes too late, and nobody has noticed yet."""
        return not self._busy and self._now() - self._began >= self._phases.left

    def _on_next(self, item: Any) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = is_late = self._is_late()
            if not (is_late or self._busy):
                self._phases.waited(self._now() - self._began)
            self._busy += 1
        if is_late:
            self._interrupt()
            return
        try:
            chunks = self._reader.take(item)
            self._phases.note(chunks)
            self._deliver(chunks)
        finally:
            with self._lock:
                self._busy -= 1
                if not self._busy and not self._is_over:
                    self._wait()
        if self._reader.is_over:
            self._finish()

    def _deliver(self, chunks: list[Any]) -> None:
        try:
            for chunk in chunks:
                self._observer.on_next(chunk)
        except Exception as error:
            self._consumers_error = error
            raise

    def _on_error(self, error: Exception) -> None:
        # Some sources send back what our consumer raised as if the stream had failed: see `_subscribe` in stage.py.
        if error is self._consumers_error:
            self._upstream.dispose()
            self._timer.dispose()
            raise error
        self._end(Failed(error))

    def _on_completed(self) -> None:
        self._end(Completed())

    def _end(self, how: How) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = is_late = self._is_late()
        if is_late:
            self._interrupt()
            return
        self._deliver(self._reader.end(how))
        self._finish()

    def _finish(self) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        self._timer.dispose()
        self._upstream.dispose()
        if self._reader.failure is not None:
            self._observer.on_error(self._reader.failure)
        else:
            self._observer.on_completed()


def _now_of(scheduler: abc.SchedulerBase) -> float:
    return scheduler.to_seconds(scheduler.now)
