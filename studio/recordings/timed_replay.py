"""`timed_replay`: feed items to a machine at their times, by a scheduler's clock; `recut`: in other chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from reactivex import Observable, abc
from reactivex.disposable import BooleanDisposable, CompositeDisposable, SerialDisposable
from reactivex.scheduler import CurrentThreadScheduler

from ...events.chunk_response import ChunkResponse
from ...operators.engine.stage import Completed, Failed
from ...sources.base.machine import Machine
from .read_recording import TimedItem


def recut(items: Sequence[TimedItem], chunk_size: int) -> list[TimedItem]:
    """Cut bytes anew; a chunk comes with its last byte.

    >>> recut([TimedItem(0.1, b"abc"), TimedItem(0.2, b"de")], 2)
    [TimedItem(at=0.1, item=b'ab'), TimedItem(at=0.2, item=b'cd'), TimedItem(at=0.2, item=b'e')]
    """
    body = b"".join(each.item for each in items)
    ends = list(accumulate(len(each.item) for each in items))
    cut: list[TimedItem] = []
    number = 0
    for start in range(0, len(body), chunk_size):
        chunk = body[start : start + chunk_size]
        while ends[number] < start + len(chunk):
            number += 1
        cut.append(TimedItem(items[number].at, chunk))
    return cut


def timed_replay(
    items: Sequence[TimedItem],
    ends_at: float,
    error: Exception | None,
    new_machine: Callable[[], Machine],
) -> Observable[ChunkResponse]:
    """Replay items for any number of subscribers; times are seconds from the subscription.

    The scheduler is the one that `subscribe` gets. Without one the subscribing thread sleeps; a `TestScheduler` takes
    no time, an `AsyncIOScheduler` keeps the event loop free.
    """

    def subscribe(
        observer: abc.ObserverBase[ChunkResponse], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        return _Replay(items, ends_at, error, new_machine(), observer).start(
            scheduler or CurrentThreadScheduler.singleton()
        )

    return Observable(subscribe)


class _Replay:
    """One subscription."""

    def __init__(
        self,
        items: Sequence[TimedItem],
        ends_at: float,
        error: Exception | None,
        machine: Machine,
        observer: abc.ObserverBase[ChunkResponse],
    ) -> None:
        self._items = items
        self._ends_at = ends_at
        self._error = error
        self._machine = machine
        self._observer = observer
        self._waiting = SerialDisposable()
        self._is_disposed = BooleanDisposable()
        self._next = 0

    def start(self, scheduler: abc.SchedulerBase) -> abc.DisposableBase:
        began = scheduler.now
        disposable = CompositeDisposable(self._is_disposed, self._waiting)

        def wait() -> None:
            at = self._items[self._next].at if self._next < len(self._items) else self._ends_at
            due = began + scheduler.to_timedelta(at)
            self._waiting.disposable = scheduler.schedule_absolute(due, step)

        def step(_scheduler: abc.SchedulerBase, _state: Any = None) -> None:
            if self._is_disposed.is_disposed:
                return
            if self._next == len(self._items):
                self._end(self._error)
                return
            item = self._items[self._next].item
            self._next += 1
            try:
                responses = self._machine.feed(item)
            except Exception as error:  # noqa: BLE001 - a wrong item of the recording, told by on_error
                self._end(error)
                return
            self._send(responses)
            if self._machine.stopped:
                self._end(None)
            elif not self._is_disposed.is_disposed:
                wait()

        wait()
        return disposable

    def _send(self, responses: Any) -> None:
        for response in responses:
            if self._is_disposed.is_disposed:
                return
            self._observer.on_next(response)

    def _end(self, error: Exception | None) -> None:
        if self._is_disposed.is_disposed:
            return
        self._send(self._machine.close(Completed() if error is None else Failed(error)))
        if self._is_disposed.is_disposed:
            return
        error = error or self._machine.failure
        if error is None:
            self._observer.on_completed()
        else:
            self._observer.on_error(error)
