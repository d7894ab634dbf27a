"""`interrupt_on`: an Rx operator that ends a stream in order when a signal arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, TypeAlias, cast

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SingleAssignmentDisposable

from ..events.answer_end import AnswerEnd
from ..events.errors import UsageError
from ..events.segment_event import SegmentEnd, SegmentStart
from .calls.open_segments import OpenSegments, end_status
from .engine.stage import (
    Completed,
    Failed,
    How,
    Interrupted,
    Operator,
    StageChain,
    StreamStopped,
    checked_operators,
    compose,
    lift,
    stage,
)
from .engine.state import Stateful
from .engine.turn_ids import Attempts

RxOperator: TypeAlias = Callable[[Observable[Any]], Observable[Any]]


def interrupt_on(signal: Observable[Any], *operators: Operator[Any, Any]) -> RxOperator:
    """Run operators until a signal arrives; then cancel the source, end open segments as `interrupted`, and complete.

        signal                               ------------s
        chunks                               --a------b-----------c
        interrupt_on(signal, to_segments())  --(S,x)--y--(E,A,|)
        where s = "Ctrl-C"
              a = ChunkResponse(content="a")
              b = ChunkResponse(content="b")
              c = ChunkResponse(content="c")
              S = SegmentStart(segment_type="text")
              x = SegmentContent(delta="a")
              y = SegmentContent(delta="b")
              E = SegmentEnd(status="interrupted", reason="Ctrl-C")
              A = AnswerEnd(status="interrupted")

    >>> from penstock.events import ChunkResponse
    >>> from penstock.operators import to_segments
    >>> from reactivex.subject import Subject
    >>> chunks, stop = Subject(), Subject()
    >>> _ = chunks.pipe(interrupt_on(stop, to_segments(turn_id="t"))).subscribe(print)
    >>> chunks.on_next(ChunkResponse(content="a")); stop.on_next("Ctrl-C")
    SegmentStart(segment_id='t:text_0', segment_type='text', turn_id='t')
    SegmentContent(segment_id='t:text_0', segment_type='text', delta='a', turn_id='t', raw='a')
    SegmentEnd(segment_id='t:text_0', segment_type='text', status='interrupted', reason='Ctrl-C', turn_id='t')
    AnswerEnd(turn_id='t', status='interrupted')

    - `signal`: its first value interrupts; a str is the reason. It is subscribed to before the source. Its completion
      is ignored; its error ends open segments like an error of the source, then arrives as `on_error`.
    - `operators`: as in `compose`; their close emits the ENDs, an `InvocationFailed` for each open call, and the
      `AnswerEnd`. Without operators, `interrupt_on` follows operators that emit segments, and ends what is open.

    The signal may come on any thread, also while an event is delivered: then all events of that item are delivered
    first. The signalling thread never waits: if the stream is busy, the stream's thread emits the ENDs. Nothing follows
    them. Raises `UsageError` for a signal that is not an Observable, and for operators that are not Penstock's.
    """
    if not isinstance(cast("object", signal), Observable):
        message = f"interrupt_on needs an Observable such as a Subject as its first argument; got {signal!r}"
        raise UsageError(message)
    chain = compose(*checked_operators(operators, "interrupt_on")) if operators else lift(_PassSegments)
    return lambda source: interruptible(signal, chain, source, Attempts())


def interruptible(
    signal: Observable[Any], operator: Operator[Any, Any], source: Observable[Any], attempts: Attempts
) -> Observable[Any]:
    """Run an operator until a signal arrives; `attempts` numbers the turns, so that a retry gets its own turn id."""

    def subscribe(observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        return _Run(stage(operator), observer, attempts).start(source, signal, scheduler)

    return Observable(subscribe)


class _Run:
    """One subscription.

    The lock is held only to read or set `_how` and `_busy`, never while code of a user or of a stage runs. The thread
    that sets `_how` ends the stream, unless another thread is delivering; then that thread ends it afterwards.
    """

    def __init__(self, chain: StageChain[Any, Any], observer: abc.ObserverBase[Any], attempts: Attempts) -> None:
        self._chain = chain
        self._attempt = attempts.begin(chain)
        self._observer = observer
        self._upstream = SingleAssignmentDisposable()
        self._signal = SingleAssignmentDisposable()
        self._lock = Lock()
        self._busy = 0
        """The number of items being delivered: more than one if a consumer pushes the next item from inside its
        callback."""
        self._how: How | None = None
        """How the stream ends; once it is set, no further item is accepted."""
        self._consumers_error: Exception | None = None

    def start(
        self, source: Observable[Any], signal: Observable[Any], scheduler: abc.SchedulerBase | None
    ) -> abc.DisposableBase:
        self._signal.disposable = signal.subscribe(self._on_signal, self._on_error, scheduler=scheduler)
        if self._how is None:
            self._upstream.disposable = source.subscribe(
                self._on_next, self._on_error, self._on_completed, scheduler=scheduler
            )
        return CompositeDisposable(self._upstream, self._signal, Disposable(self._attempt.break_off))

    def _on_signal(self, value: Any) -> None:
        self._end(Interrupted(value if isinstance(value, str) else ""))

    def _on_completed(self) -> None:
        self._end(Completed())

    def _on_error(self, error: Exception) -> None:
        # Some sources send back what our consumer raised as if the stream had failed: see `_subscribe` in stage.py.
        if error is self._consumers_error:
            self._dispose()
            raise error
        self._end(Failed(error))

    def _on_next(self, item: Any) -> None:
        with self._lock:
            if self._how is not None:
                return
            self._busy += 1
        try:
            self._feed(item)
        finally:
            with self._lock:
                self._busy -= 1
                is_mine = self._how is not None and not self._busy
        if is_mine:
            self._finish()

    def _feed(self, item: Any) -> None:
        try:
            events = self._chain.feed(item)
        except StreamStopped as stop:
            with self._lock:
                self._how = self._how or Interrupted(stop.reason)
            self._dispose()
            events = stop.events
        except Exception as error:  # noqa: BLE001 - it goes to on_error, as Rx demands
            with self._lock:
                self._how = Failed(error)
            self._dispose()
            events = self._chain.last_words
        self._deliver(events)

    def _end(self, how: How) -> None:
        with self._lock:
            if self._how is not None:
                return
            self._how = how
            if self._busy:
                return
        self._finish()

    def _finish(self) -> None:
        self._dispose()
        how = self._how
        try:
            events = self._chain.close(how)
        except Exception as error:  # noqa: BLE001 - it goes to on_error, as Rx demands
            how = Failed(error)
            events = self._chain.last_words
        self._deliver(events)
        if isinstance(how, Failed):
            self._attempt.break_off()
            self._observer.on_error(how.error)
        else:
            self._attempt.complete()
            self._observer.on_completed()

    def _deliver(self, events: list[Any]) -> None:
        try:
            for event in events:
                self._observer.on_next(event)
        except Exception as error:
            self._consumers_error = error
            raise

    def _dispose(self) -> None:
        self._upstream.dispose()
        self._signal.dispose()


class _PassSegments(Stateful):
    """Passes all events, and ends open segments and answers at the close."""

    STATE = ("_answers", "_open")

    def __init__(self) -> None:
        self._open = OpenSegments()
        self._answers: dict[tuple[str | None, int], None] = {}
        """The answers that have not ended, by turn and choice, in order."""

    def feed(self, event: Any) -> Iterable[Any]:
        if isinstance(event, SegmentStart | SegmentEnd):
            self._open.note(event)
            if isinstance(event, SegmentStart):
                self._answers[event.turn_id, event.metadata.get("choice", 0)] = None
        elif isinstance(event, AnswerEnd):
            self._answers.pop((event.turn_id, event.choice), None)
        return (event,)

    def close(self, how: How) -> Iterable[Any]:
        ends = self._open.ends(how)
        if isinstance(how, Completed):
            return ends
        status, _ = end_status(how)
        answers, self._answers = self._answers, {}
        return [*ends, *(AnswerEnd(turn_id, choice, status) for turn_id, choice in answers)]
