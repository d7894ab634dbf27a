from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as rx
from reactivex.subject import Subject

from penstock.events import AnswerEnd, ChunkResponse, InvocationFailed, SegmentEnd, ToolCallDelta, ToolInvocation
from penstock.operators import (
    drive,
    interrupt_on,
    lift,
    parse_text,
    split_reasoning,
    stream_fields,
    to_invocations,
    to_segments,
)
from penstock.operators.engine.turn_ids import TurnIds
from penstock.pipeline import Pipeline
from penstock.sources import from_stream


def turn(response_id: str | None = None) -> list[ChunkResponse]:
    return [
        ChunkResponse(content="a", response_id=response_id),
        ChunkResponse(tool_calls=(ToolCallDelta(0, "call_1", "f", '{"x"'),), response_id=response_id),
        ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=": 1}"),), response_id=response_id),
        ChunkResponse(finish_reason="tool_calls", is_complete=True, response_id=response_id),
    ]


def text_turn(_: str | None = None) -> list[str]:
    return ["Hi ", '<tool_call>{"name": "f", ', '"arguments": {}}</tool_call>']


def breaking(new_items: Callable[[], list[Any]], *, after: int = 2, times: int = 2) -> Callable[[], Iterator[Any]]:
    """Yield a source whose connection is lost in its first streams."""
    left = [times]

    def source() -> Iterator[Any]:
        items = new_items()
        if not left[0]:
            yield from items
            return
        left[0] -= 1
        yield from items[:after]
        raise ConnectionError

    return source


def taken(events: Observable[Any], *operators: Any) -> list[Any]:
    """Return what a consumer behind `operators` sees; the stream has to end in time."""
    seen: list[Any] = []
    errors: list[Exception] = []
    done = threading.Event()

    def fail(error: Exception) -> None:
        errors.append(error)
        done.set()

    events.pipe(*operators).subscribe(seen.append, fail, done.set)
    assert done.wait(20)
    assert errors == []
    return seen


def starts(events: list[Any]) -> list[tuple[str | None, str]]:
    return [(event.turn_id, event.segment_id) for event in events if getattr(event, "type", "") == "SEGMENT_START"]


def turns(events: list[Any]) -> list[str | None]:
    return list(dict.fromkeys(turn_id for turn_id, _ in starts(events)))


CHAINS: dict[str, Callable[[Any, str | None], Observable[Any]]] = {
    "a pipeline": lambda source, turn_id: Pipeline().observable(source, turn_id=turn_id),
    "a pipeline with a turn id": lambda source, turn_id: Pipeline(turn_id=turn_id).observable(source),
    "a pipeline of an Observable": lambda source, turn_id: Pipeline().observable(from_stream(source), turn_id=turn_id),
    "operators": lambda source, turn_id: from_stream(source, turn_id=turn_id).pipe(
        to_segments(turn_id=turn_id), stream_fields(), to_invocations(keep_segments=True)
    ),
    "text operators": lambda source, turn_id: from_stream(source).pipe(
        parse_text("hermes", turn_id=turn_id), to_invocations(keep_segments=True)
    ),
    "an operator that can be interrupted": lambda source, turn_id: from_stream(source).pipe(
        interrupt_on(reactivex.never(), to_segments(turn_id=turn_id), to_invocations(keep_segments=True))
    ),
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("ids", [("t", None), (None, "r1")], ids=["a turn id", "the wire's id"])
def test_each_attempt_has_a_turn_id_of_its_own(chain: Any, ids: tuple[str | None, str | None]):
    turn_id, response_id = ids
    source = breaking(lambda: turn(response_id))
    seen = taken(chain(source, turn_id), rx.retry(3))
    first = turn_id or response_id
    assert turns(seen) == [first, f"{first}#2", f"{first}#3"]
    assert len(set(starts(seen))) == len(starts(seen)) == 6
    assert [(call.turn_id, call.id) for call in seen if isinstance(call, InvocationFailed)] == [
        (first, "call_1"),
        (f"{first}#2", "call_1"),
    ]
    assert [(call.turn_id, call.id) for call in seen if isinstance(call, ToolInvocation)] == [(f"{first}#3", "call_1")]


def test_each_attempt_at_a_text_has_a_turn_id_of_its_own():
    seen = taken(Pipeline().observable(breaking(text_turn), turn_id="t"), rx.retry(3))
    assert turns(seen) == ["t", "t#2", "t#3"]
    assert len(set(starts(seen))) == len(starts(seen))
    source = breaking(lambda: ["<think>Why?", "</think>So."])
    assert turns(taken(from_stream(source).pipe(split_reasoning(turn_id="t")), rx.retry(3))) == ["t", "t#2", "t#3"]


def test_invocations_behind_the_retry_are_told_apart():
    """The call that was sealed in both attempts is two calls: the turns are two."""
    source = breaking(lambda: [*turn()[:3], ChunkResponse(content="b"), turn()[3]], after=4, times=1)
    chunks = from_stream(source).pipe(to_segments(turn_id="t", eager=True), rx.retry(2), to_invocations())
    seen = taken(chunks)
    calls = [each for each in seen if isinstance(each, ToolInvocation)]
    assert [(call.turn_id, call.id) for call in calls] == [("t", "call_1"), ("t#2", "call_1")]
    ends = [(each.turn_id, each.status) for each in seen if isinstance(each, AnswerEnd)]
    assert ends == [("t", "interrupted"), ("t#2", "complete")]


def raising_once(at: str) -> Callable[[Any], Any]:
    left = [None]

    def check(event: Any) -> Any:
        if getattr(event, "type", "") == at and left:
            left.pop()
            raise ValueError
        return event

    return check


class Raises:
    def __init__(self, check: Callable[[Any], Any]) -> None:
        self._check = check

    def feed(self, event: Any) -> Any:
        return (self._check(event),)

    def close(self, _: Any) -> Any:
        return ()

    def dump(self) -> None: ...
    def load(self, _: Any) -> None: ...


@pytest.mark.parametrize("of", [CHAINS["a pipeline"], CHAINS["operators"]], ids=["a pipeline", "operators"])
@pytest.mark.parametrize("fails", ["a function of Rx", "a stage", "a time limit"])
def test_an_error_behind_the_operators_is_an_attempt_as_well(of: Any, fails: str):
    if fails == "a time limit":
        gate = Subject[Any]()
        subscriptions: list[Observable[Any]] = [
            reactivex.from_iterable(turn()[:2]).pipe(rx.concat(gate)),
            reactivex.from_iterable(turn()),
        ]
        source = reactivex.defer(lambda _: subscriptions.pop(0))
        segments: Observable[Any] = source.pipe(to_segments(turn_id="t"))
        limits = [0.05, 20.0]  # the second attempt is in time also on a machine that has much to do
        chunks = reactivex.defer(lambda _: segments.pipe(rx.timeout(limits.pop(0))))
    else:
        check = raising_once("SEGMENT_CONTENT")
        behind: Any = rx.map(check) if fails == "a function of Rx" else lift(lambda: Raises(check))
        chunks = of(turn, "t").pipe(behind)
    seen = taken(chunks, rx.retry(2))
    assert turns(seen) == ["t", "t#2"]
    assert len(set(starts(seen))) == len(starts(seen))


def test_where_the_wire_gives_another_id_nothing_is_numbered():
    numbers = iter(range(1, 9))
    source = breaking(lambda: turn(f"r{next(numbers)}"))
    assert turns(taken(Pipeline().observable(source), rx.retry(3))) == ["r1", "r2", "r3"]


def test_an_attempt_in_which_nothing_began_is_not_counted():
    source = breaking(turn, after=0)
    assert turns(taken(Pipeline().observable(source, turn_id="t"), rx.retry(3))) == ["t"]


def test_an_attempt_that_is_numbered_counts_up_also_where_one_began_nothing():
    after = [2, 0, 1, 4]

    def source() -> Iterator[Any]:
        items = turn()
        number = after.pop(0)
        yield from items[:number]
        if number < len(items):
            raise ConnectionError

    assert turns(taken(Pipeline().observable(source, turn_id="t"), rx.retry(4))) == ["t", "t#2", "t#3"]


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_streams_that_end_by_themselves_are_equal_however_often_they_are_asked_for(chain: Any):
    events = chain(turn, "t")
    assert taken(events) == taken(events)
    assert turns(taken(events)) == ["t"]


def test_subscribers_side_by_side_get_equal_events_also_where_the_stream_breaks_off():
    chunks: Subject[ChunkResponse] = Subject()
    events = chunks.pipe(to_segments(turn_id="t"))
    both: tuple[list[Any], list[Any]] = ([], [])
    for seen in both:
        events.subscribe(seen.append, seen.append)
    chunks.on_next(turn()[0])
    chunks.on_error(ConnectionError())
    assert both[0] == both[1]
    assert turns(both[0]) == ["t"]


def test_an_operator_that_serves_many_streams_remembers_none_of_them():
    operator = to_segments(turn_id="t")
    before = pickle.dumps(operator)
    for _ in range(3):
        seen: list[Any] = []
        from_stream(breaking(turn)).pipe(operator).subscribe(seen.append, lambda _: None)
        assert turns(seen) == ["t"]
    assert pickle.dumps(operator) == before
    assert turns(list(drive(turn(), operator))) == ["t"]


def test_what_was_interrupted_has_ended_in_order_and_is_no_attempt():
    stop: Subject[str] = Subject()
    chunks: Subject[ChunkResponse] = Subject()
    events = chunks.pipe(interrupt_on(stop, to_segments(turn_id="t")))
    for _ in range(2):
        seen: list[Any] = []
        events.subscribe(seen.append)
        chunks.on_next(turn()[0])
        stop.on_next("enough")
        assert turns(seen) == ["t"]
        assert [type(each) for each in seen[-2:]] == [SegmentEnd, AnswerEnd]
        assert seen[-1].status == "interrupted"


def test_an_attempt_goes_on_elsewhere_with_its_number():
    ids = TurnIds(None)
    ids.retry({"r1": 2})
    other = TurnIds(None)
    other.load(ids.dump())
    other.response_id = "r1"
    assert other.made(0, "text_0") == "r1#3:text_0"


MUTANTS = {
    "a retry after an error has the ids of the attempt before": ("", ("operators/engine/turn_ids.py", "            self._attempts.note(*ids.attempt)\n", "            pass\n")),
    "a retry after an error behind the operators has the ids of the attempt before": ("error_behind", ("operators/engine/stage.py", "return CompositeDisposable(upstream, Disposable(attempt.break_off))", "return CompositeDisposable(upstream, Disposable())")),
    "a retry is seen in every second subscription": ("by_themselves", ("operators/engine/turn_ids.py", "    def complete(self) -> None:\n", "    def complete(self) -> None:\n        self.break_off()\n")),
    "a retry of a pipeline loses its number where the stream says what it is": ("turn_id_of_its_own", ("pipeline/strategy_choice.py", "            self.ids.retry(before.former)\n", "            pass\n")),
    "a retry is numbered also where the wire gave another id": ("another_id", ("operators/engine/turn_ids.py", "self.former.get(turn_id, 0) + 1", "max([0, *self.former.values()]) + 1")),
}  # fmt: skip
