from __future__ import annotations

import asyncio
import itertools
import pickle
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import pytest
import reactivex
from operator_contract import Source, by_adrive, by_drive, by_rx, by_subject, observed
from reactivex import operators as rx
from reactivex.subject import Subject

from penstock.events.errors import UsageError
from penstock.operators.engine.drive import adrive, drive
from penstock.operators.engine.stage import (
    Completed,
    Failed,
    How,
    Interrupted,
    Operator,
    StageChain,
    compose,
    lift,
    stage,
)
from penstock.operators.holdback import holdback
from penstock.operators.to_segments import to_segments


class Log:
    """A stage that gives each item `times` times under its name, says how it was closed, and raises where told."""

    def __init__(self, name: str = "a", times: int = 1, feed_error: str = "", close_error: str = "") -> None:
        self.name = name
        self.times = times
        self.feed_error = feed_error
        self.close_error = close_error
        self.count = 0

    def feed(self, item: Any) -> list[str]:
        if item == self.feed_error:
            message = f"{self.name} cannot take {item}"
            raise ValueError(message)
        self.count += 1
        return [f"{self.name}{self.count}({item})"] * self.times

    def close(self, how: How) -> list[str]:
        if self.close_error:
            raise ValueError(self.close_error)
        return [f"{self.name}:{type(how).__name__}"]

    def dump(self) -> int:
        return self.count

    def load(self, state: int) -> None:
        self.count = state


def log(*arguments: Any, **named: Any) -> Operator[Any, str]:
    return lift(partial(Log, *arguments, **named))


# Cold, with state per subscription.


def test_an_operator_subscribes_to_nothing_until_somebody_subscribes() -> None:
    source = Source()
    flow = source.observable().pipe(log(), log("b"))
    assert source.listeners == 0
    flow.subscribe()
    flow.subscribe()
    assert source.listeners == 2


def test_the_factory_is_called_once_for_each_subscription() -> None:
    made: list[Log] = []

    def factory() -> Log:
        made.append(Log())
        return made[-1]

    flow = reactivex.of("x", "y").pipe(lift(factory))
    assert made == []
    assert observed(flow).events == observed(flow).events == ["a1(x)", "a2(y)", "a:Completed"]
    assert len(made) == 2


def test_one_operator_serves_interleaved_streams() -> None:
    operator = log()
    first, second = stage(operator), stage(operator)
    assert [first.feed("x"), second.feed("x"), first.feed("y")] == [["a1(x)"], ["a1(x)"], ["a2(y)"]]


def test_publish_shares_one_subscription() -> None:
    source = Source()
    shared = source.observable().pipe(log(), rx.publish(), rx.ref_count())
    first: list[str] = []
    second: list[str] = []
    shared.subscribe(first.append)
    shared.subscribe(second.append)
    source.subject.on_next("x")
    assert (first, second, source.listeners) == (["a1(x)"], ["a1(x)"], 1)


# Many outputs for one input.


@pytest.mark.parametrize(
    "source", [reactivex.of("x", "y"), reactivex.from_iterable(["x", "y"])], ids=["of", "iterable"]
)
def test_outputs_come_with_their_input_and_not_after_the_sources_end(source: reactivex.Observable[str]) -> None:
    happened: list[str] = []
    source.pipe(rx.do_action(happened.append), log(times=2)).subscribe(happened.append)
    assert happened == ["x", "a1(x)", "a1(x)", "y", "a2(y)", "a2(y)", "a:Completed"]


def test_outputs_of_a_subject_come_before_on_next_returns() -> None:
    subject: Subject[str] = Subject()
    events: list[str] = []
    subject.pipe(log(times=2), log("b")).subscribe(events.append)
    subject.on_next("x")
    assert events == ["b1(a1(x))", "b2(a1(x))"]


def test_each_output_passes_the_whole_chain_of_hops_before_the_next() -> None:
    happened: list[str] = []
    flow = reactivex.of("x").pipe(
        log(times=2), rx.do_action(lambda event: happened.append(f"between {event}")), log("b")
    )
    flow.subscribe(happened.append)
    assert happened[:4] == ["between a1(x)", "b1(a1(x))", "between a1(x)", "b2(a1(x))"]


# How it ends.


def test_completion_closes_every_stage_and_passes_what_they_say_to_the_later_ones() -> None:
    expected = ["b1(a1(x))", "b2(a:Completed)", "b:Completed"]
    assert by_rx(["x"], None, log(), log("b")) == (expected, "completed")
    assert by_rx(["x"], None, compose(log(), log("b"))) == (expected, "completed")


def test_a_source_error_closes_every_stage_as_failed_and_comes_after_what_they_say() -> None:
    error = OSError("gone")
    expected = (["b1(a1(x))", "b2(a:Failed)", "b:Failed"], error)
    for run in (by_rx, by_subject, by_drive, by_adrive):
        assert run(["x"], error, log(), log("b")) == expected


def test_the_error_that_close_gets_is_the_sources_own() -> None:
    seen: list[How] = []

    class Seeing(Log):
        def close(self, how: How) -> list[str]:
            seen.append(how)
            return []

    error = OSError("gone")
    observed(reactivex.throw(error).pipe(lift(Seeing)))
    assert isinstance(seen[0], Failed)
    assert seen[0].error is error


@pytest.mark.parametrize("run", [by_rx, by_subject, by_drive, by_adrive])
@pytest.mark.parametrize("composed", [True, False])
def test_a_stage_that_raises_in_feed_ends_the_stages_after_it_and_not_those_before(
    run: Callable[..., Any], composed: bool
) -> None:
    operators = log("a"), log("b", feed_error="a2(y)"), log("c")
    chain = (compose(*operators),) if composed else operators
    events, end = run(["x", "y", "z"], None, *chain)
    assert events == ["c1(b1(a1(x)))", "c:Failed"]
    assert str(end) == "b cannot take a2(y)"


@pytest.mark.parametrize("run", [by_rx, by_subject, by_drive, by_adrive])
def test_what_was_certain_before_the_raising_item_comes_first(run: Callable[..., Any]) -> None:
    class Two(Log):
        def feed(self, item: Any) -> list[str]:
            return ["first", "second"]

    events, end = run(["x"], None, compose(lift(Two), log("b", feed_error="second"), log("c")))
    assert events == ["c1(b1(first))", "c:Failed"]
    assert isinstance(end, ValueError)


@pytest.mark.parametrize("run", [by_rx, by_subject, by_drive, by_adrive])
@pytest.mark.parametrize("composed", [True, False])
def test_a_stage_that_raises_in_close_ends_the_stages_after_it(run: Callable[..., Any], composed: bool) -> None:
    operators = log("a"), log("b", close_error="b cannot end"), log("c")
    chain = (compose(*operators),) if composed else operators
    events, end = run(["x"], None, *chain)
    assert events == ["c1(b1(a1(x)))", "c2(b2(a:Completed))", "c:Failed"]
    assert str(end) == "b cannot end"


def test_two_stages_that_raise_at_the_end_are_both_heard_and_the_first_error_is_the_one() -> None:
    events, end = by_rx(["x"], None, log("a", close_error="first"), log("b", close_error="second"))
    assert events == ["b1(a1(x))"]
    assert str(end) in ("first", "second")
    with pytest.raises(ValueError, match="second") as raised:
        list(drive(["x"], log("a", close_error="first"), log("b", close_error="second")))
    assert str(raised.value.__context__) == "first"


def test_a_raising_stage_disposes_the_source() -> None:
    source = Source()
    ends: list[Any] = []
    source.observable().pipe(log(feed_error="x")).subscribe(lambda _: None, ends.append)
    source.subject.on_next("x")
    assert (source.listeners, len(ends)) == (0, 1)


def test_a_raising_stage_stops_an_endless_source() -> None:
    fed: list[int] = []
    counting = reactivex.from_iterable(itertools.count()).pipe(rx.do_action(fed.append))
    events, end = observed(counting.pipe(log(feed_error=3)))
    assert events == ["a1(0)", "a2(1)", "a3(2)"]
    assert isinstance(end, ValueError)
    assert fed == [0, 1, 2, 3]


# A consumer's exception.


def _refuse(_event: Any) -> None:
    raise LookupError


@pytest.mark.parametrize("hops", [1, 2])
def test_a_consumers_exception_reaches_who_pushed_the_item(hops: int) -> None:
    errors: list[Exception] = []
    subject: Subject[str] = Subject()
    subject.pipe(*[log() for _ in range(hops)]).subscribe(_refuse, errors.append)
    with pytest.raises(LookupError):
        subject.on_next("x")
    assert errors == []


@pytest.mark.parametrize("hops", [1, 2])
@pytest.mark.parametrize("make", [lambda: reactivex.of("x", "y"), lambda: reactivex.from_iterable(["x", "y"])])
def test_a_consumers_exception_reaches_who_subscribed_to_a_cold_source(
    hops: int, make: Callable[[], reactivex.Observable[str]]
) -> None:
    errors: list[Exception] = []
    with pytest.raises(LookupError):
        make().pipe(*[log() for _ in range(hops)]).subscribe(_refuse, errors.append)
    assert errors == []


def test_a_consumer_that_raised_once_hears_nothing_more_from_a_cold_source() -> None:
    heard: list[Any] = []

    def refuse_the_first(event: str) -> None:
        heard.append(event)
        if len(heard) == 1:
            raise LookupError

    with pytest.raises(LookupError):
        reactivex.from_iterable(["x", "y"]).pipe(log()).subscribe(refuse_the_first, heard.append)
    assert heard == ["a1(x)"]


def test_a_consumers_exception_at_the_closing_events_reaches_it_too() -> None:
    def refuse_the_end(event: str) -> None:
        if event.startswith("a:"):
            raise LookupError

    errors: list[Exception] = []
    subject: Subject[str] = Subject()
    subject.pipe(log()).subscribe(refuse_the_end, errors.append)
    subject.on_next("x")
    with pytest.raises(LookupError):
        subject.on_completed()
    assert errors == []


def test_an_exception_in_the_body_of_a_loop_is_the_loops_own() -> None:
    def loop() -> None:
        for _ in drive(["x"], log()):
            raise LookupError

    with pytest.raises(LookupError):
        loop()


# Dispose.


def test_dispose_is_silent_and_unsubscribes() -> None:
    source = Source()
    events: list[Any] = []
    subscription = (
        source.observable().pipe(log(), log("b")).subscribe(events.append, events.append, lambda: events.append("end"))
    )
    source.subject.on_next("x")
    subscription.dispose()
    source.subject.on_next("y")
    source.subject.on_completed()
    assert (events, source.listeners) == (["b1(a1(x))"], 0)


def test_take_stops_in_the_middle_of_one_items_outputs() -> None:
    events, end = observed(reactivex.of("x", "y").pipe(log(times=3), rx.take(2)))
    assert (events, end) == (["a1(x)", "a1(x)"], "completed")


# Steps.


def test_feed_after_the_close_is_a_usage_error_and_a_second_close_gives_nothing() -> None:
    chain = stage(log())
    assert chain.close() == ["a:Completed"]
    with pytest.raises(UsageError, match=r"closed; make a new one with stage"):
        chain.feed("x")
    assert chain.close(Failed(ValueError("x"))) == []


def test_feed_after_an_exception_is_a_usage_error_and_last_words_has_what_was_left() -> None:
    chain = stage(log(feed_error="x"), log("b"))
    with pytest.raises(ValueError, match="a cannot take x"):
        chain.feed("x")
    assert chain.last_words == ["b:Failed"]
    with pytest.raises(UsageError):
        chain.feed("y")
    assert chain.close() == []


@pytest.mark.parametrize("how", [Completed(), Failed(ValueError("x")), Interrupted("stop")])
def test_close_tells_every_stage_how(how: How) -> None:
    name = type(how).__name__
    assert stage(log(), log("b")).close(how) == [f"b1(a:{name})", f"b:{name}"]


def test_what_feed_gave_does_not_change_afterwards() -> None:
    class Keeping(Log):
        def __init__(self) -> None:
            super().__init__()
            self.given: list[str] = []

        def feed(self, item: Any) -> list[str]:
            self.given.append(item)
            return self.given

    chain = stage(lift(Keeping))
    first = chain.feed("x")
    chain.feed("y")
    assert first == ["x"]


def test_a_dumped_chain_goes_on_in_another_one_and_a_closed_one_is_closed_there() -> None:
    chain = stage(log(), log("b"))
    chain.feed("x")
    other = stage(log(), log("b"))
    other.load(chain.dump())
    assert other.feed("y") == chain.feed("y") == ["b2(a2(y))"]
    chain.close()
    other.load(chain.dump())
    with pytest.raises(UsageError):
        other.feed("z")


def test_a_state_of_another_number_of_stages_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="the state has 1 stages, the chain has 2"):
        stage(log(), log("b")).load(stage(log()).dump())


@pytest.mark.parametrize("state", [None, {}, [False], [False, [{"other": 1}]], [False, [3]], "state"])
def test_a_state_that_does_not_fit_is_a_usage_error(state: Any):
    with pytest.raises(UsageError, match="the state"):
        stage(to_segments()).load(state)


@pytest.mark.parametrize("error", [StopIteration(), RecursionError(), AssertionError("odd")])
def test_whatever_a_stages_load_raises_is_a_usage_error(error: Exception):
    class Refusing(Log):
        def load(self, state: Any) -> None:
            raise error

    chain = stage(lift(Refusing))
    with pytest.raises(UsageError, match=f"the state does not fit this chain .{type(error).__name__}") as told:
        chain.load(chain.dump())
    assert told.value.__cause__ is error


def test_a_usage_error_of_a_stages_load_is_raised_as_it_is():
    outer = stage(lift(lambda: stage(log(), log("b"))))
    with pytest.raises(UsageError, match=r"^the state has 1 stages, the chain has 2$"):
        outer.load([False, [stage(log()).dump()]])


# The plain loop.


@pytest.mark.parametrize("loop", [drive, adrive])
@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("bare", "got a bare str; put it in a list"),
        (b"bare", "got a bare bytes"),
        (7, "got int"),
        (None, "got NoneType"),
    ],
)
def test_items_that_are_no_iterable_of_items_are_a_usage_error_at_the_call(
    loop: Callable[..., Any], items: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        loop(items, log())


@pytest.mark.parametrize("loop", [drive, adrive])
def test_a_plain_rx_operator_is_a_usage_error_at_the_call(loop: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match=r"a plain Rx operator works with source\.pipe\(\.\.\.\) only"):
        loop(["x"], rx.map(str))


@pytest.mark.parametrize("function", [compose, stage, partial(drive, ["x"]), partial(adrive, ["x"])])
def test_no_operator_at_all_is_a_usage_error_at_the_call(function: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="needs at least one operator"):
        function()


def test_compose_and_stage_refuse_what_is_no_operator() -> None:
    functions: tuple[Callable[..., Any], ...] = (compose, stage)
    for function in functions:
        with pytest.raises(UsageError, match=r"takes Penstock operators, got <class 'test_stage\.Log'>"):
            function(log(), Log)


def test_an_async_iterable_in_a_plain_loop_is_a_usage_error_that_names_adrive() -> None:
    with pytest.raises(UsageError, match=r"for an async iterable there is adrive"):
        drive(_numbers([]), log())  # type: ignore[call-overload]


def test_drive_takes_the_next_item_when_the_next_event_is_asked_for() -> None:
    asked: list[str] = []

    def items() -> Iterator[str]:
        for item in "xyz":
            asked.append(item)
            yield item

    events = drive(items(), log(times=2))
    assert asked == []
    next(events)
    next(events)
    assert asked == ["x"]
    next(events)
    assert asked == ["x", "y"]


def test_leaving_a_plain_loop_early_asks_for_nothing_more() -> None:
    asked: list[str] = []

    def items() -> Iterator[str]:
        for item in "xyz":
            asked.append(item)
            yield item

    for _ in drive(items(), log()):
        break
    assert asked == ["x"]


# The async loop.


async def _numbers(asked: list[int]) -> AsyncIterator[int]:
    for number in itertools.count():
        asked.append(number)
        await asyncio.sleep(0)
        yield number


def test_adrive_asks_for_the_next_item_only_when_it_is_asked_itself() -> None:
    async def run() -> list[tuple[str, list[int]]]:
        asked: list[int] = []
        events = adrive(_numbers(asked), log(times=2))
        seen: list[tuple[str, list[int]]] = []
        for _ in range(3):
            await asyncio.sleep(0)
            seen.append((await anext(events), list(asked)))
        return seen

    assert asyncio.run(run()) == [("a1(0)", [0]), ("a1(0)", [0]), ("a2(1)", [0, 1])]


def test_leaving_an_async_loop_early_asks_for_nothing_more() -> None:
    async def run() -> list[int]:
        asked: list[int] = []
        events: Any = adrive(_numbers(asked), log())
        await anext(events)
        await events.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(events)
        return asked

    assert asyncio.run(run()) == [0]


def test_adrive_takes_a_plain_iterable_too() -> None:
    async def run() -> list[str]:
        return [event async for event in adrive(["x", "y"], log())]

    assert asyncio.run(run()) == ["a1(x)", "a2(y)", "a:Completed"]


def test_a_cancelled_task_ends_without_the_words_of_a_failure() -> None:
    events: list[str] = []

    async def items() -> AsyncIterator[str]:
        yield "x"
        await asyncio.get_running_loop().create_future()

    async def run() -> None:
        events.extend([event async for event in adrive(items(), log())])

    async def cancel() -> None:
        task = asyncio.create_task(run())
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    assert events == []


# Composition and pickling.


def test_compose_is_flat_whatever_the_brackets() -> None:
    a, b, c = log("a"), log("b"), log("c")
    left, right = compose(compose(a, b), c), compose(a, compose(b, c))
    assert left.factories == right.factories == (*a.factories, *b.factories, *c.factories)
    assert list(drive(["x"], left)) == list(drive(["x"], right)) == list(drive(["x"], a, b, c))


def test_a_composed_operator_is_one_hop_of_rx() -> None:
    source = Source()
    hops = 0
    subscribe = source.subject.subscribe

    def counting(*arguments: Any, **named: Any) -> Any:
        nonlocal hops
        hops += 1
        return subscribe(*arguments, **named)

    source.subject.subscribe = counting  # type: ignore[method-assign]
    made: list[StageChain[Any, Any]] = []
    original = StageChain.__init__

    def noting(chain: StageChain[Any, Any], stages: list[Any]) -> None:
        made.append(chain)
        original(chain, stages)

    StageChain.__init__ = noting  # type: ignore[assignment,method-assign]
    try:
        source.observable().pipe(compose(log(), log("b"), log("c"))).subscribe()
    finally:
        StageChain.__init__ = original  # type: ignore[method-assign]
    assert (hops, len(made)) == (1, 1)


def test_an_operator_pickles_when_its_factories_do() -> None:
    operator = compose(log(times=2), holdback("<end>"))
    copy = pickle.loads(pickle.dumps(operator))
    assert list(drive(["x"], copy)) == list(drive(["x"], operator)) == ["a1(x)", "a1(x)", "a:Completed"]


def test_an_operators_repr_says_how_it_was_made() -> None:
    assert repr(compose(log(), holdback("<end>"))) == 'compose(lift(partial(Log)), holdback("<end>"))'


def test_a_loop_that_is_left_early_closes_what_it_read() -> None:
    closed: list[str] = []

    def numbers() -> Iterator[str]:
        try:
            yield from "0123456789"
        finally:
            closed.append("sync")

    async def asynchronous() -> AsyncIterator[str]:
        try:
            for number in "0123456789":
                yield number
        finally:
            closed.append("async")

    async def left_early() -> None:
        items = asynchronous()
        events = adrive(items, holdback("<a>"))
        async for _ in events:
            break
        await events.aclose()  # type: ignore[attr-defined]

    source = numbers()
    events = drive(source, holdback("<a>"))
    assert next(events) == "0"
    events.close()  # type: ignore[attr-defined]
    asyncio.run(left_early())
    assert closed == ["sync", "async"]


MUTANTS = {
    "state is shared between subscriptions": ("", ("operators/engine/stage.py", "    return Operator(stage_factory)\n", "    one = stage_factory()\n    return Operator(lambda: one)\n")),
    "a second close speaks again": ("", ("operators/engine/stage.py", "        if self._closed:\n            return []\n", "")),
    "the stages after a raising one are not closed": ("", ("operators/engine/stage.py", "self.last_words = self._close_from(number, given, Failed(error))", "self.last_words = []")),
    "a consumer's exception goes to on_error": ("", ("operators/engine/stage.py", "if error is consumers_error:", "if False:")),
}  # fmt: skip
