"""The same questions to every operator; their own test files say what with."""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, get_origin, get_type_hints

import pytest
import reactivex
from contract_cases import CASES
from depth import some_of, stride
from looped import asking_for, looped
from operator_contract import (
    RUNS,
    Case,
    Outcome,
    Run,
    Source,
    Worker,
    by_drive,
    by_hops,
    by_source,
    frozen,
    observed,
    raising_after,
    rest_of_run,
    taken,
    taken_by_drive,
    thawed,
    wrong_answers,
    wrong_segments,
)
from reactivex.subject import Subject

from penstock import operators
from penstock.events.answer_end import AnswerEnd
from penstock.events.chunk_response import ProviderEvent
from penstock.events.errors import ProviderError, UsageError
from penstock.events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from penstock.events.tool_invocation import ToolInvocation
from penstock.operators.engine.drive import drive
from penstock.operators.engine.stage import Completed, Failed, Interrupted, Operator, compose, stage

COMBINATORS = {"compose", "lift"}
"""They make operators of operators or stages, and are asked about in test_stage.py."""

by_case = looped("case", CASES, ids=[case.name for case in CASES])
by_run = looped("run", RUNS.values(), ids=RUNS)


def by_input(question: Callable[..., None]) -> Callable[..., None]:
    """Ask a question about each input of a case, all of them in one test."""

    @wraps(question)
    def of_each_input(case: Case, **fixtures: Any) -> None:
        rows = [(case.operator, items) for items in case.inputs]
        ids = [f"{case.name}-{number}" for number in range(len(rows))]
        looped("operator, items", rows, ids)(question)(**fixtures)

    fixtures = [name for name in inspect.signature(question).parameters if name not in ("operator", "items")]
    return by_case(asking_for(of_each_input, ["case", *fixtures]))


Items = Sequence[Any]
AnyOperator = Operator[Any, Any]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


def test_the_table_has_every_public_operator() -> None:
    factories = {
        name
        for name in operators.__all__
        if inspect.isfunction(function := getattr(operators, name))
        and get_origin(get_type_hints(function).get("return")) is Operator
    }
    assert factories - COMBINATORS <= {case.name.split(" ")[0] for case in CASES}


@by_case
def test_the_inputs_of_the_table_give_something_before_the_end(case: Case) -> None:
    assert any(fed for items in case.inputs for fed in _steps(case.operator, items)[:-1])


def _steps(operator: AnyOperator, items: Items) -> list[list[Any]]:
    """Return what each item gave, and what the close gave."""
    chain = stage(operator)
    return [*(chain.feed(item) for item in items), chain.close()]


@by_run
@by_case
def test_an_empty_source_gives_what_the_close_of_a_fresh_stage_gives(case: Case, run: Run) -> None:
    assert run([], None, case.operator) == Outcome(stage(case.operator).close(), "completed")


@by_run
@by_case
def test_a_source_of_one_item_gives_its_events_and_completes(case: Case, run: Run) -> None:
    for items in case.inputs:
        first, closing = _steps(case.operator, items[:1])
        assert run(items[:1], None, case.operator) == Outcome([*first, *closing], "completed")


@by_input
def test_every_way_to_run_it_gives_the_same(operator: AnyOperator, items: Items) -> None:
    expected = [event for step in _steps(operator, items) for event in step]
    for name, run in RUNS.items():
        assert run(items, None, operator) == Outcome(expected, "completed"), name


@pytest.mark.laws
@by_input
def test_a_source_error_after_any_item_closes_it_as_failed_and_comes_last(operator: AnyOperator, items: Items) -> None:
    error = ProviderError("gone", transport=True)
    for length in range(0, len(items) + 1, stride(4)):
        chain = stage(operator)
        expected = [event for item in items[:length] for event in chain.feed(item)] + chain.close(Failed(error))
        for name, run in RUNS.items():
            assert run(items[:length], error, operator) == Outcome(expected, error), name


@by_input
def test_a_lane_gives_what_the_stages_give_one_after_the_other(operator: AnyOperator, items: Items) -> None:
    declining = compose(operator, raising_after(sys.maxsize, ValueError("never")))
    assert stage(declining)._lanes is None
    assert _steps(operator, items) == _steps(declining, items)


@by_input
def test_the_events_of_each_item_come_with_it_and_not_after_the_source_ended(
    operator: AnyOperator, items: Items
) -> None:
    subject: Subject[Any] = Subject()
    events: list[Any] = []
    subject.pipe(operator).subscribe(events.append)
    expected: list[Any] = []
    steps = _steps(operator, items)
    for item, step in zip(items, steps[:-1], strict=True):
        subject.on_next(item)
        expected += step
        assert events == expected
    subject.on_completed()
    assert events == expected + steps[-1]


@by_input
def test_what_a_cut_input_gave_is_the_beginning_of_what_a_longer_one_gives(operator: AnyOperator, items: Items) -> None:
    steps = _steps(operator, items)
    for length in range(len(items)):
        assert _steps(operator, items[:length])[:-1] == steps[:length]


@pytest.mark.laws
@by_input
def test_after_an_early_dispose_nothing_comes_and_nobody_listens(operator: AnyOperator, items: Items) -> None:
    whole = [event for step in _steps(operator, items) for event in step]
    for number in range(1, len(whole) + 1, stride(4)):
        assert taken(items, operator, number) == Outcome(whole[:number], "completed")
        assert taken_by_drive(items, operator, number) == whole[:number]
    for length in range(0, len(items) + 1, stride(3)):
        source = Source()
        events: list[Any] = []
        subscription = source.observable().pipe(operator).subscribe(events.append)
        for item in items[:length]:
            source.subject.on_next(item)
        before = list(events)
        assert source.listeners == 1
        subscription.dispose()
        assert source.listeners == 0
        for item in items[length:]:
            source.subject.on_next(item)
        source.subject.on_completed()
        assert events == before


@by_input
def test_two_subscribers_have_each_their_own_state(operator: AnyOperator, items: Items) -> None:
    flow = reactivex.from_iterable(items).pipe(operator)
    assert observed(flow) == observed(flow)
    subject: Subject[Any] = Subject()
    hot = subject.pipe(operator)
    first: list[Any] = []
    late: list[Any] = []
    hot.subscribe(first.append)
    for item in items[:1]:
        subject.on_next(item)
    hot.subscribe(late.append)
    for item in items[1:]:
        subject.on_next(item)
    subject.on_completed()
    assert first == [event for step in _steps(operator, items) for event in step]
    assert late == [event for step in _steps(operator, items[1:]) for event in step]


@pytest.mark.laws
@by_input
def test_a_stage_that_raises_before_it_closes_it_as_failed(operator: AnyOperator, items: Items) -> None:
    for passes in some_of(sorted({0, len(items) // 2, len(items) - 1}), 2):
        error = ValueError("a bug")
        chain = stage(operator)
        expected = [event for item in items[:passes] for event in chain.feed(item)] + chain.close(Failed(error))
        raising = raising_after(passes, error)
        for name, run in RUNS.items():
            assert run(items, None, compose(raising, operator)) == Outcome(expected, error), name
            assert run(items, None, raising, operator) == Outcome(expected, error), name


@pytest.mark.laws
@by_input
def test_a_stage_that_raises_after_it_gets_its_events_until_then(operator: AnyOperator, items: Items) -> None:
    whole = [event for step in _steps(operator, items) for event in step]
    for passes in some_of(sorted({0, len(whole) // 2, max(len(whole) - 1, 0)}), 2):
        error = ValueError("a bug")
        raising = raising_after(passes, error)
        end: Any = error if len(whole) > passes else "completed"
        for name, run in RUNS.items():
            assert run(items, None, operator, raising) == Outcome(whole[:passes], end), name
        assert by_hops(items, None, operator, raising) == Outcome(whole[:passes], end)


@by_input
def test_a_consumers_exception_reaches_its_caller_and_never_on_error(operator: AnyOperator, items: Items) -> None:
    errors: list[Exception] = []
    whole = [event for step in _steps(operator, items) for event in step]
    for number in {0, len(whole) // 2}:
        consumer = _Choosy(number)
        if number >= len(whole):
            continue
        subject: Subject[Any] = Subject()
        subject.pipe(operator).subscribe(consumer, errors.append)
        with pytest.raises(LookupError):
            _push(subject, items)
        with pytest.raises(LookupError):
            reactivex.from_iterable(items).pipe(operator).subscribe(_Choosy(number), errors.append)
        assert consumer.taken == whole[:number]
    assert errors == []


class _Choosy:
    """A consumer that raises at one event."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.taken: list[Any] = []

    def __call__(self, event: Any) -> None:
        if len(self.taken) == self.number:
            raise LookupError
        self.taken.append(event)


def _push(subject: Subject[Any], items: Items) -> None:
    for item in items:
        subject.on_next(item)
    subject.on_completed()


@by_case
def test_fed_after_its_close_it_is_a_usage_error_and_a_second_close_gives_nothing(case: Case) -> None:
    for how in (Completed(), Failed(ValueError("x")), Interrupted("stop")):
        for items in case.inputs:
            chain = stage(case.operator)
            for item in items:
                chain.feed(item)
            chain.close(how)
            with pytest.raises(UsageError, match="closed"):
                chain.feed(items[0])
            assert chain.close(how) == []


@by_input
def test_the_operator_pickles(operator: AnyOperator, items: Items) -> None:
    copy = pickle.loads(pickle.dumps(operator))
    assert list(drive(items, copy)) == list(drive(items, operator))


@pytest.mark.laws
@by_input
def test_frozen_after_any_item_it_goes_on_the_same(operator: AnyOperator, items: Items) -> None:
    steps = _steps(operator, items)
    chain = stage(operator)
    for length in range(len(items) + 1):
        state = frozen(chain)
        if length % stride(3) == 0:
            assert rest_of_run(operator, state, items[length:]) == steps[length:]
            for how in (Failed(ProviderError("gone", transport=True)), Interrupted("stop")):
                unbroken = stage(operator)
                for item in items[:length]:
                    unbroken.feed(item)
                assert thawed(operator, state).close(how) == unbroken.close(how)
        if length < len(items):
            chain.feed(items[length])


@by_input
def test_freezing_does_not_disturb_what_is_frozen(operator: AnyOperator, items: Items) -> None:
    chain = stage(operator)
    given: list[list[Any]] = []
    for item in items:
        frozen(chain)
        given.append(chain.feed(item))
    frozen(chain)
    assert [*given, chain.close()] == _steps(operator, items)


@by_input
def test_frozen_after_any_item_it_goes_on_the_same_in_another_process(
    operator: AnyOperator, items: Items, worker: Worker
) -> None:
    steps = _steps(operator, items)
    chain = stage(operator)
    tails: list[tuple[bytes, Items]] = []
    for length in range(len(items) + 1):
        tails.append((frozen(chain), items[length:]))
        if length < len(items):
            chain.feed(items[length])
    assert worker.rests(operator, tails) == [steps[length:] for length in range(len(items) + 1)]


@pytest.mark.laws
@by_input
def test_every_start_gets_one_end_however_the_stream_ends(operator: AnyOperator, items: Items) -> None:
    endings = (
        (Completed(), {"complete", "truncated", "failed"}),
        (Failed(ProviderError("gone", transport=True)), {"interrupted", "failed"}),
        (Failed(ValueError("a bug")), {"interrupted", "failed"}),
        (Failed(ProviderError("overloaded")), {"failed"}),
        (Interrupted("stop"), {"interrupted", "failed"}),
    )
    for how, statuses in endings:
        for length in range(0, len(items) + 1, stride(3)):
            chain = stage(operator)
            events = [event for item in items[:length] for event in chain.feed(item)]
            closing = chain.close(how)
            # What a segment ended that began only now, such as a call that was cut at its opener, is complete.
            begun = [at for at, event in enumerate(closing) if getattr(event, "type", "") == "SEGMENT_START"]
            for at, event in enumerate(closing):
                if _is_end(event):
                    assert event.status in (statuses | {"complete"} if at < max(begun, default=0) else statuses)
            # What was given a stream without its STARTs cannot have them.
            assert wrong_segments([*events, *closing]) == []


@pytest.mark.laws
@by_input
def test_every_answer_gets_one_end_however_the_stream_ends(operator: AnyOperator, items: Items) -> None:
    makes_answers = bool(_answer_ends(stage(operator).close()))
    hows = (
        Completed(),
        Failed(ProviderError("gone", transport=True)),
        Failed(ValueError("a bug")),
        Interrupted("stop"),
    )
    for how in hows:
        for length in range(0, len(items) + 1, stride(3)):
            chain = stage(operator)
            fed = [event for item in items[:length] for event in chain.feed(item)]
            closing = chain.close(how)
            if makes_answers:
                assert wrong_answers([*fed, *closing]) == []
                assert _answer_ends(fed) == []
                assert isinstance(closing[-1], AnswerEnd)
            else:
                assert _answer_ends(fed) == _answer_ends(items[:length])
                assert _answer_ends(closing) == []


def _answer_ends(events: Iterable[Any]) -> list[AnswerEnd]:
    return [event for event in events if isinstance(event, AnswerEnd)]


def test_the_checker_of_answers_sees_what_is_wrong() -> None:
    start, end = SegmentStart("a", "text"), SegmentEnd("a", "text", "complete")
    other = SegmentStart("b", "text", {"choice": 1})
    assert wrong_answers([start, other, end, AnswerEnd(), AnswerEnd(choice=1)]) == []
    assert wrong_answers([start, end, ToolInvocation("a"), AnswerEnd(), ToolInvocation("unknown")]) == []
    for events in (
        [start, end],
        [start, AnswerEnd(), end],
        [start, end, AnswerEnd(), AnswerEnd()],
        [start, other, AnswerEnd()],
        [start, end, AnswerEnd(), ToolInvocation("a")],
        [AnswerEnd(), ProviderEvent("other", {})],
        [AnswerEnd("t"), SegmentStart("a", "text")],
    ):
        assert wrong_answers(events)


def _is_end(event: Any) -> bool:
    return isinstance(event, SegmentEnd)


def test_the_checker_of_segments_sees_what_is_wrong() -> None:
    start = SegmentStart("a", "text")
    end = SegmentEnd("a", "text", "complete")
    content = SegmentContent("a", "text", "x")
    assert wrong_segments([start, content, end, start, end]) == []
    for events in ([start], [end], [content], [start, start, end], [start, end, content], [start, end, end]):
        assert wrong_segments(events)


def test_two_hops_of_rx_give_what_one_composed_hop_gives() -> None:
    chain = next(case for case in CASES if case.name == "the chain")
    halves = [case.operator for case in CASES if case.name in ("to_segments", "stream_fields")]
    for items in chain.inputs:
        for error in (None, ProviderError("gone", transport=True)):
            assert by_hops(items, error, *halves) == by_drive(items, error, *halves)
            assert observed(by_source(items, error).pipe(compose(*halves))) == by_drive(items, error, *halves)


MUTANTS = {
    "the dump forgets arguments before the name": ("frozen", ("operators/calls/native_calls.py", '"open", "waiting")', '"open")')),
}  # fmt: skip
