"""The engine: a stage is a small machine without Rx; this module makes operators from stages, and chains of operators.

source.pipe(op_a, op_b)                     an Observable chain
for event in drive(items, op_a, op_b)       a plain loop, see drive.py
async for event in adrive(items, op_a)      an async loop, see drive.py
s = stage(op_a, op_b); s.feed(item)         a step
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, overload

from msgspec import Struct, to_builtins
from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SingleAssignmentDisposable

from ...events.errors import UsageError
from .lane import with_lanes
from .operator_call import OperatorCall, stage_name
from .state import EMPTY
from .turn_ids import Attempts, TurnIds
from .withheld import Withheld, withheld_by


class Completed(Struct, frozen=True):
    """The input ended by itself."""


class Failed(Struct, frozen=True):
    """The input ended with an exception."""

    error: Exception


class Interrupted(Struct, frozen=True):
    """The stream was stopped: by a person, a time limit or a signal."""

    reason: str = ""


How: TypeAlias = Completed | Failed | Interrupted


class StreamStopped(Exception):  # noqa: N818 - no error: the stream ends in order
    """Raised by a stage that wants no further item: whoever runs the chain closes it as `Interrupted` with the reason.

    `events` are to be delivered first.
    """

    def __init__(self, reason: str, stage: Stage[Any, Any] | None, events: Iterable[Any] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.stage = stage
        """The stage that raised; None if it is in a chain within a stage."""
        self.events: list[Any] = [*events]
        self.behind: list[Any] = []
        """What a lane has made before, which has passed all stages."""


In = TypeVar("In")
Out = TypeVar("Out")
In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")


class Stage(Protocol[In_contra, Out_co]):
    """The interface of a stage: no I/O, no Rx, no generators, no exception for bad input.

    `feed` returns what an item makes certain, `close` what the end makes certain. `dump` returns the state as plain
    data that msgspec can encode, and `load` restores it. Configuration is not state. A stage is called by `StageChain`,
    which feeds nothing after the close and closes only once. A stage that raises may leave the events that are still to
    be delivered in an attribute `last_words`, as the chain itself does.

    A stage may say what it withholds, for `trace`, with a method `withheld() -> Iterable[Withheld]`: the text that it
    keeps back after the last `feed`, why, and what the text may still become. It changes nothing. For a stage without
    it, `trace` finds the withheld text itself, and does not know the reason.

    A stage may offer text in the middle of a string a lane to the end of the chain, with a method
    `offer_lanes`, and take part in one with `take_lane`; see lane.py. Without them it declines.
    """

    def feed(self, item: In_contra, /) -> Iterable[Out_co]: ...
    def close(self, how: How, /) -> Iterable[Out_co]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...


class Operator(Generic[In_contra, Out_co]):
    """A recipe for a stage: callable on an Observable, and usable with `drive`, `adrive`, `stage` and `compose`.

    It holds configuration only, never state, so one operator serves any number of streams at once; it pickles
    when its factories do. `steps` are the calls that made it: operators with equal steps are equal.
    """

    __slots__ = ("factories", "steps")

    def __init__(
        self, *factories: Callable[[], Stage[Any, Any]], steps: tuple[OperatorCall, ...] | None = None
    ) -> None:
        self.steps = steps or tuple(OperatorCall(lift, stage_name(each), (each,), {}, (each,)) for each in factories)
        self.factories: tuple[Callable[[], Stage[Any, Any]], ...] = tuple(
            factory for step in self.steps for factory in step.factories
        )

    def __call__(self, source: Observable[In_contra]) -> Observable[Out_co]:
        attempts = Attempts()

        def subscribe(
            observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            return _subscribe(self, source, observer, scheduler, attempts)

        return Observable(subscribe)

    def __eq__(self, other: object) -> bool:
        return self.steps == other.steps if isinstance(other, Operator) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.steps)

    def __repr__(self) -> str:
        written = ", ".join(map(str, self.steps))
        return written if len(self.steps) == 1 else f"compose({written})"


AnyOperator: TypeAlias = Operator[Any, Any]


class StageChain(Generic[In, Out]):
    """A chain of stages, run as one stage; see `stage`."""

    __slots__ = (
        "_asking",
        "_behind",
        "_closed",
        "_ending",
        "_is_of_three",
        "_lanes",
        "_lanes_behind",
        "_stages",
        "last_words",
    )

    def __init__(self, stages: list[Stage[Any, Any]], *, may_ask: bool = False) -> None:
        self._stages = stages
        self._asking: list[Any] = [each for each in stages if getattr(each, "asks", False)] or EMPTY
        """The stages that may ask something that is awaited; see `question`."""
        if self._asking and not may_ask:
            message = "an async policy works in Pipeline.astream(...) only; elsewhere guard(...) needs a plain function"
            raise UsageError(message)
        self._ending: tuple[int, How] | None = None
        """Which stage asked something at the end, and how the chain ends once it is answered."""
        self._behind = stages[2:] or EMPTY
        self._lanes = with_lanes(stages[0], stages[1:])
        # A lane may begin behind one stage, such as the one that decodes a wire.
        self._lanes_behind = with_lanes(stages[1], self._behind) if len(stages) > 1 and self._lanes is None else None
        # Most chains have three stages; unrolling halves the cost.
        self._is_of_three = len(stages) == 3 and self._lanes_behind is None
        self._closed = False
        self.last_words: list[Out] = EMPTY
        """After an exception from `feed` or `close`: the events that are still to be delivered, with the ENDs."""

    def feed(self, item: In) -> list[Out]:
        """Return what this item makes certain.

        Raises `UsageError` after the close. An exception of a stage closes the stages after it as failed;
        `last_words` has what they returned. After `StreamStopped`, which has its events, close the chain.
        """
        if self._closed:
            message = "this chain is closed; make a new one with stage(...)"
            raise UsageError(message)
        number = 1
        given: list[Any] = EMPTY
        final: list[Out] = EMPTY
        try:
            if (lanes := self._lanes) is not None and (lane := lanes.lane) is not None:
                taken = lane(lanes, item)
                if taken is not None:
                    return taken
            stages = self._stages
            if self._is_of_three:
                first, second, third = stages
                final = []
                for event in first.feed(item):
                    number = 2
                    for later in second.feed(event):
                        number = 3
                        final += third.feed(later)
                return final
            if len(stages) == 1:
                return [*stages[0].feed(item)]
            lanes, follow = self._lanes_behind, stages[1]
            final = []
            for each in stages[0].feed(item):
                number = 2
                if lanes is not None and (lane := lanes.lane) is not None and (taken := lane(lanes, each)) is not None:
                    final += taken
                    continue
                events = follow.feed(each)
                for later in self._behind:
                    number += 1
                    given = []
                    for event in events:
                        given += later.feed(event)
                    events, given = given, EMPTY
                final += events
        except StreamStopped as stop:
            self._stop(stop, number, given, final)
            raise
        except Exception as error:
            self._fail(error, number, given, final)
            raise
        return final

    def close(self, how: How | None = None) -> list[Out]:
        """Return what the end makes certain; a second close returns nothing."""
        if self._ending is not None:
            return self._end_behind(how or Completed(), [])
        if self._closed:
            return []
        self._closed = True
        return self._close_from(0, [], how or Completed())

    @property
    def asks(self) -> bool:
        """Whether there may be questions."""
        return bool(self._asking)

    @property
    def question(self) -> Callable[[], Awaitable[Any]] | None:
        """What is to be awaited, for `answer`, before the next item is fed, and behind the close; None for nothing."""
        if not self._asking:
            return None
        return next((question for each in self._asking if (question := each.question) is not None), None)

    def answer(self, value: Any) -> list[Out]:
        """Return what the answer to the question makes certain; raises as `feed` does."""
        asked = next(each for each in self._asking if each.question is not None)
        number = self._stages.index(asked) + 1
        events: list[Any] = []
        how: How | None = None
        try:
            events += asked.answer(value)
        except StreamStopped as stop:
            if self._ending is None:
                self._stop(stop, number, events, ())
                raise
            events, how = stop.events, Interrupted(stop.reason)
        except Exception as error:
            self._fail(error, number, events, ())
            raise
        if self._ending is not None and asked.question is None:
            return self._end_behind(how or self._ending[1], events)
        return self._passed(number, events)

    @property
    def ids(self) -> TurnIds | None:
        """The ids of the turn, if a stage generates them."""
        return next((ids for each in self._stages if isinstance(ids := getattr(each, "ids", None), TurnIds)), None)

    def withheld(self) -> list[Withheld]:
        """Return what the stages withhold, in their order."""
        return [withheld for each in self._stages for withheld in withheld_by(each)]

    def dump(self) -> Any:
        """Return the state as plain data, to be restored elsewhere with `load`."""
        # A copy: what is dumped must not change when the stages go on.
        return to_builtins([self._closed, [each.dump() for each in self._stages]])

    def load(self, state: Any) -> None:
        """Restore a dumped state; the chain must have the same operators.

        `UsageError` for a state of another chain, or of a version of Penstock that kept other things.
        """
        try:
            self._load(to_builtins(state))  # a copy: it may be loaded more than once
        except UsageError:
            raise
        except Exception as error:
            message = (
                f"the state does not fit this chain ({type(error).__name__}: {error}); load what the same operators of "
                "the same version of Penstock have dumped"
            )
            raise UsageError(message) from error

    def _load(self, state: Any) -> None:
        closed, states = state
        if len(states) != len(self._stages):
            message = f"the state has {len(states)} stages, the chain has {len(self._stages)}"
            raise UsageError(message)
        self._closed = closed
        for each, its_state in zip(self._stages, states, strict=True):
            each.load(its_state)

    def _fail(self, error: Exception, number: int, given: Sequence[Any], final: Sequence[Out]) -> None:
        """Close the stages after stage `number` (from 1), which raised after it had returned `given`."""
        self._closed = True
        given = [*given, *_last_words(self._stages[number - 1])]
        try:
            self.last_words = self._close_from(number, given, Failed(error))
        finally:
            self.last_words = [*final, *self.last_words]

    def _stop(self, stop: StreamStopped, number: int, given: Sequence[Any], final: Sequence[Out]) -> None:
        """Pass the events of a stop on; `number` is that of the stage (from 1), unless the stop knows its stage."""
        if stop.stage is not None:
            number = next(place for place, each in enumerate(self._stages, 1) if each is stop.stage)
        events = self._passed(number, [*given, *stop.events])
        self.last_words = stop.events = [*final, *stop.behind, *events]
        stop.stage, stop.behind = None, []

    def _passed(self, number: int, events: list[Any]) -> list[Out]:
        """Pass `events` through the stages from `number` on, which stay open."""
        for each in self._stages[number:]:
            made: list[Any] = []
            _feed_all(each, events, made)
            events = made
        return events

    def _end_behind(self, how: How, events: list[Any]) -> list[Out]:
        """Pass on what came of the question at the end, close the stage that asked it, and those behind it."""
        position = 0 if self._ending is None else self._ending[0]
        self._ending = None
        return self._close_from(position + 1, [*events, *self._stages[position].close(how)], how)

    def _close_from(self, number: int, events: list[Any], how: How) -> list[Out]:
        """Pass `events` through the stages from `number` on, closing each after it has been fed."""
        for position in range(number, len(self._stages)):
            each = self._stages[position]
            given: list[Any] = []
            try:
                how = _feed_all(each, events, given) or how
                if self._asking and getattr(each, "question", None) is not None:
                    self._ending = position, how
                    return self._passed(position + 1, given)
                given += each.close(how)
            except Exception as error:
                given += _last_words(each)
                self.last_words = self._close_from(position + 1, given, Failed(error))
                raise
            events = given
        return events


def _feed_all(each: Stage[Any, Any], events: Iterable[Any], made: list[Any]) -> Interrupted | None:
    """Add what a stage makes of events to `made`; return the end if it wants no further one."""
    try:
        for event in events:
            made += each.feed(event)
    except StreamStopped as stop:
        made += stop.events
        return Interrupted(stop.reason)
    return None


def _last_words(raised: Stage[Any, Out]) -> Iterable[Out]:
    return getattr(raised, "last_words", ())


def lift(stage_factory: Callable[[], Stage[In, Out]]) -> Operator[In, Out]:
    """Make an operator from a stage; `stage_factory` is called once for each subscription.

        source         --1------2------|
        lift(Doubled)  --(1,1)--(2,2)--|

    >>> from penstock.operators import drive
    >>> class Doubled:
    ...     def feed(self, item): return [item, item]
    ...     def close(self, how): return []
    ...     def dump(self): return None
    ...     def load(self, state): pass
    >>> list(drive([1, 2], lift(Doubled)))
    [1, 1, 2, 2]
    """
    return Operator(stage_factory)


# Of up to five operators each function below knows what goes in and what comes out; longer chains are `compose`d.


@overload
def compose(a: Operator[A, B], /) -> Operator[A, B]: ...
@overload
def compose(a: Operator[A, B], b: Operator[B, C], /) -> Operator[A, C]: ...
@overload
def compose(a: Operator[A, B], b: Operator[B, C], c: Operator[C, D], /) -> Operator[A, D]: ...
@overload
def compose(a: Operator[A, B], b: Operator[B, C], c: Operator[C, D], d: Operator[D, E], /) -> Operator[A, E]: ...
@overload
def compose(
    a: Operator[A, B], b: Operator[B, C], c: Operator[C, D], d: Operator[D, E], e: Operator[E, F], /
) -> Operator[A, F]: ...
@overload
def compose(
    a: AnyOperator,
    b: AnyOperator,
    c: AnyOperator,
    d: AnyOperator,
    e: AnyOperator,
    f: AnyOperator,
    /,
    *more: AnyOperator,
) -> AnyOperator: ...
def compose(*operators: Operator[Any, Any]) -> Operator[Any, Any]:
    """Make one operator from several: one Rx hop for the whole chain.

        source                                       --a<--b>c<-----end>---|
        compose(holdback("<b>"), holdback("<end>"))  --a---(<b>,c)--<end>--|

    >>> from penstock.operators import holdback
    >>> compose(holdback("<a>"), holdback("<b>"))
    compose(holdback("<a>"), holdback("<b>"))
    """
    return Operator(steps=tuple(step for each in checked_operators(operators, "compose") for step in each.steps))


@overload
def stage(a: Operator[A, B], /) -> StageChain[A, B]: ...
@overload
def stage(a: Operator[A, B], b: Operator[B, C], /) -> StageChain[A, C]: ...
@overload
def stage(a: Operator[A, B], b: Operator[B, C], c: Operator[C, D], /) -> StageChain[A, D]: ...
@overload
def stage(a: Operator[A, B], b: Operator[B, C], c: Operator[C, D], d: Operator[D, E], /) -> StageChain[A, E]: ...
@overload
def stage(
    a: Operator[A, B], b: Operator[B, C], c: Operator[C, D], d: Operator[D, E], e: Operator[E, F], /
) -> StageChain[A, F]: ...
@overload
def stage(
    a: AnyOperator,
    b: AnyOperator,
    c: AnyOperator,
    d: AnyOperator,
    e: AnyOperator,
    f: AnyOperator,
    /,
    *more: AnyOperator,
) -> StageChain[Any, Any]: ...
def stage(*operators: Operator[Any, Any]) -> StageChain[Any, Any]:
    """Return a new chain that you feed item by item, for engines that keep state by key.

    >>> from penstock.operators import holdback
    >>> chain = stage(holdback("<end>"))
    >>> chain.feed("a<e"), chain.feed("x"), chain.close()
    (['a'], ['<ex'], [])
    """
    return StageChain([factory() for each in checked_operators(operators, "stage") for factory in each.factories])


def stage_of(operator: Operator[In, Out], *, may_ask: bool) -> StageChain[In, Out]:
    """Return a new chain of one operator; `may_ask`: whether its questions are awaited."""
    return StageChain([factory() for factory in operator.factories], may_ask=may_ask)


def checked_operators(operators: tuple[Any, ...], name: str) -> tuple[Operator[Any, Any], ...]:
    """Return the arguments of the function `name` if they are operators, at least one; else raise `UsageError`."""
    if not operators:
        message = f"{name}(...) needs at least one operator"
        raise UsageError(message)
    for each in operators:
        if not isinstance(each, Operator):
            message = (
                f"{name}(...) takes Penstock operators, got {each!r}; a plain Rx operator works with "
                "source.pipe(...) only, a function of your own becomes an operator with lift(...)"
            )
            raise UsageError(message)
    return operators


def _subscribe(
    operator: Operator[Any, Any],
    source: Observable[Any],
    observer: abc.ObserverBase[Any],
    scheduler: abc.SchedulerBase | None,
    attempts: Attempts,
) -> abc.DisposableBase:
    chain: StageChain[Any, Any] = stage(operator)
    attempt = attempts.begin(chain)
    upstream = SingleAssignmentDisposable()
    feed, emit = chain.feed, observer.on_next
    consumers_error: Exception | None = None

    def deliver(events: list[Any]) -> None:
        nonlocal consumers_error
        try:
            for event in events:
                emit(event)
        except Exception as error:
            consumers_error = error
            raise

    def fail(error: Exception) -> None:
        upstream.dispose()
        deliver(chain.last_words)
        attempt.break_off()
        observer.on_error(error)

    def on_next(item: Any) -> None:
        try:
            events = feed(item)
        except StreamStopped as stop:
            upstream.dispose()
            deliver(stop.events)
            complete(Interrupted(stop.reason))
        except Exception as error:  # noqa: BLE001 - it goes to on_error, as Rx demands
            fail(error)
        else:
            deliver(events)

    def end(how: How) -> bool:
        try:
            events = chain.close(how)
        except Exception as error:  # noqa: BLE001 - it goes to on_error, as Rx demands
            fail(error)
            return False
        deliver(events)
        return True

    def on_error(error: Exception) -> None:
        # Some sources (reactivex.from_iterable) catch what our consumer raised and send it back down as if the
        # stream had failed. It is the consumer's: back to the caller, and the stream is over.
        if error is consumers_error:
            upstream.dispose()
            raise error
        if end(Failed(error)):
            attempt.break_off()
            observer.on_error(error)

    def complete(how: How) -> None:
        if end(how):
            attempt.complete()
            observer.on_completed()

    upstream.disposable = source.subscribe(on_next, on_error, lambda: complete(Completed()), scheduler=scheduler)
    return CompositeDisposable(upstream, Disposable(attempt.break_off))
