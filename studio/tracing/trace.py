"""`trace`: run a chain and keep what each stage did with each item."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Any, SupportsIndex, TypeAlias, overload

from reactivex import Observable, abc

from ...events.errors import UsageError
from ...events.json_form import whole_characters
from ...events.showing import counted, shown_by
from ...operators.engine.drive import adrive, drive
from ...operators.engine.stage import (
    Completed,
    Failed,
    How,
    Operator,
    StageChain,
    StreamStopped,
    checked_operators,
    lift,
)
from .traced_chain import TracedChain, TracedItem

Clock: TypeAlias = Callable[[], int | None]
"""Returns a time in nanoseconds; None if it is not known."""
LIMIT = 20_000
"""The most items that a trace keeps by default."""
_LONGEST = 60
"""The most characters of a stage's code in the repr; of a longer one it has the name."""
_LONGEST_CELL = 200
"""The most characters of an item, and of an output, in a row."""


def trace(*operators: Operator[Any, Any], limit: int = LIMIT) -> Trace:
    """Return a trace, which runs the operators and keeps what each stage did with each item.

    >>> from penstock.operators import holdback
    >>> seen = trace(holdback("<tool>")).run(["a<to", "ol>"])
    >>> seen[0].stages[0].outputs, seen[0].stages[0].withheld[0].text
    (('a',), '<to')

    A trace is of one run. What comes after `limit` items is run, but not kept; `Trace.dropped` has its number. Raises
    `UsageError` for no operators, for anything else than operators, and for a limit below 1.
    """
    if limit < 1:
        message = f"limit= is a number of items, at least 1; got {limit}"
        raise UsageError(message)
    return Trace(checked_operators(operators, "trace"), limit=limit)


class Trace(Sequence[TracedItem]):
    """The items of one run in order, its end last, and what each stage did with them; `trace` makes it.

    - `operators`: those that it runs. `stages`: the stages as code, one text each.
    - `dropped`: the number of items that came after the limit.
    """

    _repr_mimebundle_ = shown_by("penstock.studio.marble_diagrams.marbles", "trace_bundle")

    def __init__(
        self,
        operators: Iterable[Operator[Any, Any]],
        *,
        limit: int = LIMIT,
        read_raw: Callable[[Any], Any] | None = None,
    ) -> None:
        self.operators = tuple(operators)
        steps = [step for each in self.operators for step in each.steps]
        stages = [factory() for step in steps for factory in step.factories]
        self.stages: tuple[str, ...] = tuple(str(step) for step in steps for _ in step.factories)
        self.dropped = 0
        self.last_words: list[Any] = []
        """After an exception from `feed` or `close`: the events that are still to be delivered, with the ENDs."""
        self._items: list[TracedItem] = []
        self._number = 0
        self._limit = limit
        self._read_raw = read_raw
        self._traced = TracedChain(stages)
        self._untraced: StageChain[Any, Any] = StageChain(stages)
        self._began: int | None = None
        self._is_closed = False
        self._is_used = False

    @property
    def items(self) -> Sequence[TracedItem]:
        """The items, and the end as the last one if the run has ended."""
        return self._items

    @property
    def ended(self) -> How | None:
        """How the run ended; None while it goes on."""
        return self._items[-1].ended if self._items else None

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: SupportsIndex) -> TracedItem: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TracedItem]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> TracedItem | Sequence[TracedItem]:
        return self._items[index]

    def __repr__(self) -> str:
        end = "" if self.ended is None else f", {type(self.ended).__name__.lower()}"
        dropped = f", {self.dropped} more not kept" if self.dropped else ""
        count = len(self._items) - (self.ended is not None and self._items[-1].item is None)
        names = " | ".join(label if len(label) <= _LONGEST else label.partition("(")[0] for label in self.stages)
        return f"<trace of {names}: {counted(count, 'item')}{dropped}{end}>"

    def run(self, items: Iterable[Any], *, clock: Clock | None = None) -> Trace:
        """Run all items, and return this trace.

        An exception of the items, or of a stage, is not raised: it is how the trace `ended`. `clock` returns when an
        item came, in nanoseconds; by default it is the time at which it is read, and a list has no times.
        """
        self._check_unused()
        try:
            for _ in drive(items, self._operator(clock or clock_of(items))):
                pass
        except Exception:
            if self.ended is None:
                raise
        return self

    async def arun(self, items: AsyncIterable[Any] | Iterable[Any], *, clock: Clock | None = None) -> Trace:
        """Run all items of an async iterable, as `run` does."""
        self._check_unused()
        try:
            async for _ in adrive(items, self._operator(clock or clock_of(items))):
                pass
        except Exception:
            if self.ended is None:
                raise
        return self

    def __call__(self, source: Observable[Any]) -> Observable[Any]:
        """Use the trace as an operator of Rx: `source.pipe(trace)`; it takes one subscription."""

        def subscribe(
            observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            self._check_unused()
            clock: Clock = perf_counter_ns if scheduler is None else partial(_scheduled_ns, scheduler)
            return source.pipe(self._operator(clock)).subscribe(observer, scheduler=scheduler)

        return Observable(subscribe)

    def feed(self, item: Any, *, t_ns: int | None = None) -> list[Any]:
        """Run an item, and return what comes out at the end of the chain; `t_ns`: when it came, by any clock.

        Raises `UsageError` after the close, and what a stage raises; `last_words` then has the last events.
        """
        if self._is_closed:
            message = "this trace is closed; make a new one with trace(...)"
            raise UsageError(message)
        is_kept = self._number < self._limit
        chain: StageChain[Any, Any] = self._traced if is_kept else self._untraced
        stopped: StreamStopped | None = None
        try:
            events = chain.feed(item)
        except StreamStopped as stop:
            stopped, events = stop, stop.events
        except Exception as error:
            self._is_closed = True
            self.last_words = chain.last_words
            self._note_end(item, t_ns, Failed(error))
            raise
        if not is_kept:
            self.dropped += 1
        else:
            if t_ns is not None:
                if self._began is None:
                    self._began = t_ns
                t_ns -= self._began
            # Not by a function: there is a call for each item, and of calls a trace takes few.
            stages = self._traced.stage_traces(is_end=False)
            self._items += (TracedItem(self._number, t_ns, item, stages, None, self._read_raw),)
            self._number += 1
        if stopped is not None:
            raise stopped
        return events

    def close(self, how: How | None = None, *, t_ns: int | None = None) -> list[Any]:
        """End the run, and return what comes out; a second close returns nothing."""
        if self._is_closed:
            return []
        self._is_closed = True
        how = how or Completed()
        try:
            return self._traced.close(how)
        except Exception as error:
            how = Failed(error)
            self.last_words = self._traced.last_words
            raise
        finally:
            self._note_end(None, t_ns, how)

    def _note_end(self, item: Any, t_ns: int | None, ended: How) -> None:
        if t_ns is not None:
            t_ns -= t_ns if self._began is None else self._began
        stages = self._traced.stage_traces(is_end=True)
        self._items.append(TracedItem(self._number + self.dropped, t_ns, item, stages, ended, self._read_raw))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each item and stage, as pandas and polars take them.

            pandas.DataFrame(trace(holdback("<tool>")).run(texts).rows())

        `outputs` is their number, and `output` shows them. Each row has all keys, with None for what it lacks.
        """
        return [whole_characters(row) for each in self._items for row in _rows(each, self.stages)]

    def dump(self) -> Any:
        """Return the state of the stages as plain data; the items are not in it."""
        return self._untraced.dump()

    def load(self, state: Any) -> None:
        """Go on from a dumped state, of a trace or of a chain with the same operators."""
        self._untraced.load(state)

    def _check_unused(self) -> None:
        if self._is_used or self._items or self._is_closed:
            message = "a trace is of one run; make a new one with trace(...)"
            raise UsageError(message)
        self._is_used = True

    def _operator(self, clock: Clock) -> Operator[Any, Any]:
        return lift(lambda: _TracedStage(self, clock))


class _TracedStage:
    """The trace as a stage, so that it runs in each way in which stages run."""

    def __init__(self, traced: Trace, clock: Clock) -> None:
        self._trace = traced
        self._clock = clock
        self.dump = traced.dump
        self.load = traced.load

    @property
    def last_words(self) -> list[Any]:
        return self._trace.last_words

    def feed(self, item: Any, /) -> list[Any]:
        return self._trace.feed(item, t_ns=self._clock())

    def close(self, how: How, /) -> list[Any]:
        return self._trace.close(how, t_ns=self._clock())


def clock_of(items: object) -> Clock:
    """Return the clock for items that arrive; what is all there already has no times."""
    return no_time if isinstance(items, Sequence) else perf_counter_ns


def no_time() -> None:
    """Return that no time is known."""


def _scheduled_ns(scheduler: abc.SchedulerBase) -> int:
    """Return a scheduler's time, which may be virtual."""
    return round(scheduler.to_seconds(scheduler.now) * 1_000_000_000)


def _rows(item: TracedItem, labels: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for stage, (label, done) in enumerate(zip(labels, item.stages, strict=True)):
        withheld = done.withheld
        yield {
            "number": item.number,
            "t_ns": item.t_ns,
            "item": None if item.item is None else _cell(item.item),
            "stage": stage,
            "operator": label,
            "outputs": len(done.outputs),
            "output": "\n".join(map(_cell, done.outputs)) or None,
            "withheld": "".join(one.text for one in withheld) or None,
            "reason": "\n".join(one.reason for one in withheld) or None,
            "could_become": "\n".join(text for one in withheld for text in one.could_become) or None,
            "state_size": done.state_size,
            "time_ns": done.time_ns,
            "ended": None if item.ended is None else type(item.ended).__name__.lower(),
        }


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST_CELL else text[:_LONGEST_CELL] + "…"
