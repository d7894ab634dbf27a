"""Several Observables, one after the other, where one breaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from reactivex import Observable, abc, defer
from reactivex.disposable import CompositeDisposable, Disposable, SerialDisposable, SingleAssignmentDisposable

from ..events.chunk_response import ChunkResponse
from .from_stream import decode_sdk, from_stream
from .handover import Handover
from .streams.guarded_source import GuardedSource, is_observable, with_argument


def failover_observable(sources: Sequence[Any], takers: Sequence[bool]) -> Observable[ChunkResponse]:
    """Return the chunks of the first source, and where one breaks those of the next."""

    def subscribe(
        observer: abc.ObserverBase[ChunkResponse], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        return _Chain(sources, takers, observer, scheduler).start()

    return Observable(subscribe)


class _Chain:
    """One subscription."""

    def __init__(
        self,
        sources: Sequence[Any],
        takers: Sequence[bool],
        observer: abc.ObserverBase[ChunkResponse],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self._sources = sources
        self._takers = takers
        self._observer = observer
        self._scheduler = scheduler
        self._handover = Handover(takers)
        self._upstream = SerialDisposable()
        self._is_disposed = False
        self._consumers_error: Exception | None = None

    def start(self) -> abc.DisposableBase:
        self._subscribe()
        return CompositeDisposable(self._upstream, Disposable(self._dispose))

    def _dispose(self) -> None:
        self._is_disposed = True

    def _subscribe(self) -> None:
        """Subscribe to the current source."""
        number = self._handover.number

        def on_next(chunk: ChunkResponse) -> None:
            if self._handover.number != number:
                return
            self._deliver(self._handover.take([chunk]))
            if self._handover.is_broken:
                self._end(None)

        def on_error(error: Exception) -> None:
            # Some sources send back what our consumer raised as if the stream had failed: see `_subscribe` in stage.py.
            if error is self._consumers_error:
                self._upstream.dispose()
                raise error
            if self._handover.number == number:
                self._end(error)

        def on_completed() -> None:
            if self._handover.number == number:
                self._end(None)

        upstream = SingleAssignmentDisposable()  # the next source may be subscribed to inside of this call
        self._upstream.disposable = upstream
        upstream.disposable = self._opened(self._sources[number]).subscribe(
            on_next, on_error, on_completed, scheduler=self._scheduler
        )

    def _opened(self, source: Any) -> Observable[ChunkResponse]:
        if self._takers[self._handover.number]:
            source = with_argument(source, self._handover.shown)
            if not isinstance(source, GuardedSource):
                return defer(lambda _: _observable(_answer(source)))
        return _observable(source)

    def _deliver(self, chunks: list[ChunkResponse]) -> None:
        try:
            for chunk in chunks:
                if self._is_disposed:
                    return
                self._observer.on_next(chunk)
        except Exception as error:
            self._consumers_error = error
            raise

    def _end(self, failure: Exception | None) -> None:
        notice = self._handover.change(failure)
        if notice is not None:
            self._upstream.disposable = None
            self._deliver([notice])
            if not self._is_disposed:
                self._subscribe()
            return
        rest = self._handover.rest(failure)
        self._handover.forget()
        self._deliver(rest)
        if failure is None:
            self._observer.on_completed()
        else:
            self._observer.on_error(failure)


def _answer(ask: Callable[[], Any]) -> Observable[Any] | Callable[[], Any]:
    """Return what a function returns, an Observable or a stream; or a source that raises what it raises."""
    try:
        answer = ask()
    except Exception as error:  # noqa: BLE001 - raised where it is told as any error of a source
        return partial(_raise, error)
    return answer if is_observable(answer) else lambda: answer


def _raise(error: Exception) -> NoReturn:
    raise error


def _observable(source: Any) -> Observable[ChunkResponse]:
    if is_observable(source):
        return decode_sdk()(source)
    return from_stream(source)
