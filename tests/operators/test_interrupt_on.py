from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import reactivex
from answered import answered
from body_server import BodyServer
from every_sdk import SDKS, Sdk, all_have_ended, frames_of, nothing_left
from looped import looped
from operator_contract import TURN, Source, call, erring, observed, raising_after, wrong_answers, wrong_segments
from reactivex import Observable
from reactivex import operators as rx
from reactivex.scheduler import NewThreadScheduler
from reactivex.subject import BehaviorSubject, Subject
from reactivex.testing import ReactiveTest, TestScheduler
from segment_events import payload_of
from untyped import drive, stage

from penstock.events import AnswerEnd, SegmentEnd
from penstock.events.chunk_response import ChunkResponse
from penstock.events.errors import ProviderError, UsageError
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import InvocationFailed
from penstock.operators.engine.stage import Failed, How, Interrupted, lift
from penstock.operators.interrupt_on import interrupt_on
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations
from penstock.operators.to_segments import to_segments

on_next, on_completed, on_error = ReactiveTest.on_next, ReactiveTest.on_completed, ReactiveTest.on_error

CHAIN = to_segments(turn_id=TURN), stream_fields(), to_invocations(keep_segments=True)
CUT_CALL = (ChunkResponse(content="Hi"), *call(0, "c", "write_file", '{"path": "a.py", "content": "x', " = 1"))


class Log:
    """A stage that gives what it is fed, and says how it was closed; at "bad" and at "broken" closes it raises."""

    def __init__(self) -> None:
        self.is_broken = False

    def feed(self, item: str) -> list[str]:
        if item == "bad":
            raise LookupError(item)
        self.is_broken = self.is_broken or item == "broken"
        return [f"{item}1", f"{item}2"]

    def close(self, how: How) -> list[str]:
        if self.is_broken:
            raise LookupError(how)
        return [f"closed {how}"]

    def dump(self) -> None: ...

    def load(self, state: None) -> None: ...


LOG = lift(Log)
INTERRUPTED = "closed Interrupted(reason='stop')"


class Seen:
    """What one subscriber got, and the source and the signal that it got it from."""

    def __init__(self, *operators: Any) -> None:
        self.source, self.signal = Source(), Source()
        self.events: list[Any] = []
        self.subscription = (
            self.source.observable()
            .pipe(interrupt_on(self.signal.observable(), *operators))
            .subscribe(self.on_next, self.events.append, lambda: self.events.append("completed"))
        )

    def on_next(self, event: Any) -> None:
        self.events.append(event)

    def send(self, *items: Any) -> None:
        for item in items:
            self.source.subject.on_next(item)

    def press(self, value: Any = "stop") -> None:
        self.signal.subject.on_next(value)

    @property
    def listeners(self) -> tuple[int, int]:
        return self.source.listeners, self.signal.listeners


# In virtual time.


def test_the_first_value_of_the_signal_ends_the_stream_at_its_moment() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_hot_observable(on_next(210, "a"), on_next(220, "b"), on_next(240, "c"), on_completed(250))
    signal = scheduler.create_hot_observable(on_next(230, "stop"), on_next(235, "again"))
    results = scheduler.start(lambda: source.pipe(interrupt_on(signal, LOG)))
    assert results.messages == [
        *(on_next(210, "a1"), on_next(210, "a2"), on_next(220, "b1"), on_next(220, "b2")),
        *(on_next(230, INTERRUPTED), on_completed(230)),
    ]
    assert [(each.subscribe, each.unsubscribe) for each in source.subscriptions] == [(200, 230)]
    assert [(each.subscribe, each.unsubscribe) for each in signal.subscriptions] == [(200, 230)]


@pytest.mark.parametrize("tail", [(), (on_completed(215),)])
def test_a_stream_that_is_not_interrupted_is_as_without_a_signal(tail: Any) -> None:
    scheduler = TestScheduler()
    source = scheduler.create_hot_observable(on_next(210, "a"), on_completed(220))
    signal = scheduler.create_hot_observable(*tail, on_next(230, "stop"))
    results = scheduler.start(lambda: source.pipe(interrupt_on(signal, LOG)))
    assert results.messages == [
        *(on_next(210, "a1"), on_next(210, "a2"), on_next(220, "closed Completed()"), on_completed(220)),
    ]
    assert all(each.unsubscribe <= 220 for each in signal.subscriptions)


@pytest.mark.parametrize("by", ["source", "signal"])
def test_an_error_of_the_source_or_of_the_signal_ends_what_is_open_and_comes_last(by: str) -> None:
    scheduler = TestScheduler()
    error = ProviderError("gone", transport=True)
    tails: dict[str, Any] = {"source": (), "signal": (), by: (on_error(220, error),)}
    source = scheduler.create_hot_observable(on_next(210, "a"), *tails["source"])
    signal = scheduler.create_hot_observable(*tails["signal"])
    results = scheduler.start(lambda: source.pipe(interrupt_on(signal, LOG)))
    assert results.messages[2:] == [on_next(220, f"closed {Failed(error)}"), on_error(220, error)]
    assert [each.unsubscribe for each in (*source.subscriptions, *signal.subscriptions)] == [220, 220]


def test_dispose_is_silent_and_leaves_source_and_signal() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_hot_observable(on_next(210, "a"), on_next(230, "b"))
    signal = scheduler.create_hot_observable(on_next(225, "stop"))
    results = scheduler.start(lambda: source.pipe(interrupt_on(signal, LOG)), disposed=220)
    assert results.messages == [on_next(210, "a1"), on_next(210, "a2")]
    assert [each.unsubscribe for each in (*source.subscriptions, *signal.subscriptions)] == [220, 220]


def test_a_time_limit_is_a_signal() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_hot_observable(on_next(210, "a"), on_next(290, "b"), on_next(310, "c"))
    limit = reactivex.timer(100).pipe(rx.map(lambda _: "too slow"))
    results = scheduler.start(lambda: source.pipe(interrupt_on(limit, LOG)))
    assert results.messages[-2:] == [on_next(300, "closed Interrupted(reason='too slow')"), on_completed(300)]


# What it ends.


def test_open_segments_end_as_interrupted_and_open_calls_fail_with_all_their_text() -> None:
    seen = Seen(*CHAIN)
    seen.send(*CUT_CALL)
    seen.press("Ctrl-C")
    chain = stage(*CHAIN)
    expected = [event for chunk in CUT_CALL for event in chain.feed(chunk)] + chain.close(Interrupted("Ctrl-C"))
    assert seen.events == [*expected, "completed"]
    assert seen.listeners == (0, 0)
    end, failed, answer_end = expected[-3:]
    assert (end.turn_id, answer_end) == (TURN, AnswerEnd(TURN, status="interrupted"))
    assert end.status == "interrupted"
    assert end.reason == "Ctrl-C"
    assert isinstance(failed, InvocationFailed)
    assert (failed.reason, failed.raw) == ("interrupted", '{"path": "a.py", "content": "x = 1')


def test_without_operators_it_ends_the_segments_that_others_left_open() -> None:
    seen = Seen()
    events = answered(CUT_CALL, *CHAIN[:2])[:-1]
    seen.send("anything", *events)
    seen.press("Ctrl-C")
    assert seen.events[:-3] == ["anything", *events]
    assert payload_of(seen.events[-3]) == {"status": "interrupted", "reason": "Ctrl-C"}
    assert seen.events[-2:] == [AnswerEnd(TURN, status="interrupted"), "completed"]
    assert wrong_segments(seen.events) == []
    assert wrong_answers(seen.events) == []


def test_without_operators_each_answer_has_one_end_and_one_that_ended_has_no_second() -> None:
    chunks = [ChunkResponse("a"), ChunkResponse("b", choice=1), ChunkResponse(choice=2, refusal="c")]
    events = list(drive(chunks, to_segments(turn_id=TURN)))
    first_end = next(place for place, event in enumerate(events) if isinstance(event, AnswerEnd))
    for end, ends in (("stop", ["truncated", "interrupted", "interrupted"]), ("error", ["truncated"] + ["failed"] * 2)):
        seen = Seen()
        seen.send(*events[: first_end + 1])
        if end == "stop":
            seen.press()
        else:
            seen.source.subject.on_error(ProviderError("overloaded"))
        assert wrong_segments(seen.events) == wrong_answers(seen.events) == []
        given = [(event.choice, event.status) for event in seen.events if isinstance(event, AnswerEnd)]
        assert given == list(enumerate(ends))


def test_without_operators_a_stream_that_completes_has_the_ends_that_it_came_with() -> None:
    for events in (list(drive(CUT_CALL, *CHAIN)), answered(CUT_CALL, *CHAIN)):
        assert observed(reactivex.from_iterable(events).pipe(interrupt_on(reactivex.never()))) == (events, "completed")


def test_dispose_brings_no_end_of_an_answer() -> None:
    seen = Seen(*CHAIN)
    seen.send(*CUT_CALL)
    seen.subscription.dispose()
    assert not any(isinstance(event, AnswerEnd) for event in seen.events)


@pytest.mark.parametrize(("value", "reason"), [("Ctrl-C", "Ctrl-C"), ("", ""), (None, ""), (7, ""), (True, "")])
def test_a_text_is_the_reason_and_any_other_value_gives_none(value: Any, reason: str) -> None:
    seen = Seen(LOG)
    seen.press(value)
    assert seen.events == [f"closed {Interrupted(reason)}", "completed"]


def test_an_empty_source_and_one_of_one_item_end_as_they_do_without_it() -> None:
    never: Observable[Any] = reactivex.never()
    assert observed(reactivex.empty().pipe(interrupt_on(never, LOG))) == (["closed Completed()"], "completed")
    one = observed(reactivex.of("a").pipe(interrupt_on(never, LOG)))
    assert one == (["a1", "a2", "closed Completed()"], "completed")


@pytest.mark.parametrize("signal", [BehaviorSubject("stop"), reactivex.of("stop", "more"), reactivex.just("stop")])
def test_a_signal_that_is_there_already_ends_it_before_the_source_is_asked(signal: Observable[Any]) -> None:
    asked: list[str] = []

    def source() -> Iterator[str]:
        asked.append("!")
        yield "a"

    flow = reactivex.defer(lambda _: reactivex.from_iterable(source())).pipe(interrupt_on(signal, LOG))
    assert observed(flow) == ([INTERRUPTED], "completed")
    assert asked == []


def test_a_source_is_not_even_subscribed_to_where_the_signal_came_first() -> None:
    subscribed: list[str] = []

    def subscribe(*_: Any) -> Any:
        subscribed.append("!")

    flow = Observable(subscribe).pipe(interrupt_on(BehaviorSubject("stop"), LOG))
    assert observed(flow) == ([INTERRUPTED], "completed")
    assert subscribed == []


def test_two_subscribers_have_each_their_own_state_and_signal() -> None:
    source: Subject[Any] = Subject()
    signal: Subject[Any] = Subject()
    flow = source.pipe(interrupt_on(signal, *CHAIN))
    first: list[Any] = []
    late: list[Any] = []
    subscription = flow.subscribe(first.append)
    source.on_next(CUT_CALL[0])
    flow.subscribe(late.append)
    subscription.dispose()
    for chunk in CUT_CALL:
        source.on_next(chunk)
    signal.on_next("stop")
    assert len(first) == 2
    assert wrong_segments(late) == []
    assert len([event for event in late if isinstance(event, InvocationFailed)]) == 1


def test_what_is_no_signal_or_no_operator_is_refused() -> None:
    for wrong in (to_segments(), "stop", threading.Event()):
        with pytest.raises(UsageError, match="needs an Observable such as a Subject as its first argument"):
            interrupt_on(wrong)  # type: ignore[arg-type]
    plain: Any = rx.map(str)
    with pytest.raises(UsageError, match=r"interrupt_on\(\.\.\.\) takes Penstock operators"):
        interrupt_on(reactivex.never(), to_segments(), plain)


# Exceptions, as with every chain.


def test_an_operator_that_raises_ends_those_behind_it_and_the_stream_with_its_error() -> None:
    seen = Seen(LOG, raising_after(2, ValueError("a bug")), lift(Log))
    seen.send("a")
    seen.send("b")
    assert seen.events[:5] == ["a11", "a12", "a21", "a22", f"closed {Failed(seen.events[-1])}"]
    assert isinstance(seen.events[-1], ValueError)
    assert seen.listeners == (0, 0)
    seen.press()
    assert len(seen.events) == 6


def test_an_operator_that_raises_at_the_interruption_gives_its_error() -> None:
    seen = Seen(LOG, lift(Log))
    seen.send("broken")
    seen.press()
    assert seen.events[-1].args == (Interrupted("stop"),)
    seen = Seen(LOG)
    seen.send("bad")
    assert [type(event) for event in seen.events] == [LookupError]


@pytest.mark.parametrize("at", ["a1", "a2"])
def test_a_consumers_exception_reaches_its_caller_and_never_on_error(at: str) -> None:
    def refuse(event: str) -> None:
        if event == at:
            raise ZeroDivisionError

    errors: list[Exception] = []
    never: Observable[Any] = reactivex.never()
    with pytest.raises(ZeroDivisionError):
        reactivex.from_iterable(["a", "b"]).pipe(interrupt_on(never, LOG)).subscribe(refuse, errors.append)
    source: Subject[Any] = Subject()
    source.pipe(interrupt_on(never, LOG)).subscribe(refuse, errors.append)
    with pytest.raises(ZeroDivisionError):
        source.on_next("a")
    assert errors == []


def test_a_consumers_exception_at_the_ends_reaches_whoever_signalled() -> None:
    def refuse(event: str) -> None:
        if event == INTERRUPTED:
            raise ZeroDivisionError

    errors: list[Exception] = []
    signal: Subject[Any] = Subject()
    reactivex.never().pipe(interrupt_on(signal, LOG)).subscribe(refuse, errors.append)
    with pytest.raises(ZeroDivisionError):
        signal.on_next("stop")
    assert errors == []


def test_a_consumers_exception_is_heard_though_it_signalled_before() -> None:
    signal: Subject[Any] = Subject()
    heard: list[Any] = []

    def refuse(event: str) -> None:
        heard.append(event)
        signal.on_next("stop")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        reactivex.from_iterable(["a", "b"]).pipe(interrupt_on(signal, LOG)).subscribe(refuse, heard.append)
    assert heard == ["a1"]


def test_source_and_signal_are_left_before_the_last_words_are_said() -> None:
    class Looking(Seen):
        def on_next(self, event: Any) -> None:
            super().on_next((event, self.listeners))

    seen = Looking(LOG)
    seen.press()
    assert seen.events == [(INTERRUPTED, (0, 0)), "completed"]
    seen = Looking(LOG, lift(Log))
    seen.send("bad")
    error = seen.events[-1]
    assert seen.events == [(f"closed {Failed(error)}", (0, 0)), error]


# A signal while something is being delivered.


def test_a_signal_inside_on_next_waits_for_the_events_of_its_item() -> None:
    class Pressing(Seen):
        def on_next(self, event: Any) -> None:
            super().on_next(event)
            if event == "b1":
                self.press()
                assert self.events[-1] == "b1"

    seen = Pressing(LOG)
    seen.send("a", "b", "c")
    assert seen.events == ["a1", "a2", "b1", "b2", INTERRUPTED, "completed"]
    assert seen.listeners == (0, 0)


def test_a_cold_source_stops_at_the_item_that_the_signal_came_with() -> None:
    signal: Subject[Any] = Subject()
    taken: list[str] = []
    source = reactivex.from_iterable(erring("abc", None)).pipe(rx.do_action(taken.append))
    events: list[Any] = []
    source.pipe(interrupt_on(signal, LOG), rx.do_action(lambda _: signal.on_next("stop"))).subscribe(events.append)
    assert (events, taken) == (["a1", "a2", INTERRUPTED], ["a"])


def test_signals_among_the_ends_change_nothing() -> None:
    class Pressing(Seen):
        def on_next(self, event: Any) -> None:
            super().on_next(event)
            self.press("again")

    seen = Pressing(LOG, lift(Log))
    seen.press()
    assert seen.events == [f"{INTERRUPTED}1", f"{INTERRUPTED}2", INTERRUPTED, "completed"]


@pytest.mark.parametrize("at", ["a1", "b1"])
def test_an_item_pushed_inside_on_next_is_delivered_and_then_comes_the_end(at: str) -> None:
    class Pushing(Seen):
        def on_next(self, event: Any) -> None:
            super().on_next(event)
            if event == "b1" == at:
                self.press()
            if event == "a1":
                self.send("b")
                self.press()
                self.send("c")
                self.source.subject.on_completed()

    seen = Pushing(LOG)
    seen.send("a")
    assert seen.events == ["a1", "b1", "b2", "a2", INTERRUPTED, "completed"]


def test_a_consumer_that_leaves_inside_on_next_hears_nothing_of_a_signal() -> None:
    class Leaving(Seen):
        def on_next(self, event: Any) -> None:
            super().on_next(event)
            self.press()
            self.subscription.dispose()

    seen = Leaving(LOG)
    seen.send("a")
    assert (seen.events, seen.listeners) == (["a1"], (0, 0))


def test_a_consumer_may_wait_in_on_next_for_the_thread_that_signals() -> None:
    class Waiting(Seen):
        def on_next(self, event: Any) -> None:
            super().on_next(event)
            if event == "a1":
                thread = threading.Thread(target=self.press, daemon=True)
                thread.start()
                thread.join(20)
                assert not thread.is_alive()

    seen = Waiting(LOG)
    seen.send("a", "b")
    assert seen.events == ["a1", "a2", INTERRUPTED, "completed"]


@looped("attempt", range(20))
def test_a_signal_from_another_thread_at_any_moment_ends_whole_segments_once(attempt: int) -> None:
    source: Subject[Any] = Subject()
    signal: Subject[Any] = Subject()
    events: list[Any] = []
    inside = threading.Lock()
    ends: list[Any] = []
    started, enough = threading.Event(), threading.Event()

    def take(event: Any) -> None:
        assert inside.acquire(blocking=False), "two events at the same time"
        events.append(event)
        if len(events) > attempt:
            started.set()
        inside.release()

    def end() -> None:
        ends.append(len(events))
        enough.set()

    source.pipe(interrupt_on(signal, *CHAIN)).subscribe(take, ends.append, end)

    def push() -> None:
        number = 0
        while not enough.is_set():
            for chunk in (ChunkResponse(content="x"), *call(number, f"c{number}", "run_bash", '{"command": "l', 's"}')):
                source.on_next(chunk)
            number += 1

    thread = threading.Thread(target=push)
    thread.start()
    assert started.wait(20)
    signal.on_next("stop")
    thread.join(20)
    assert not thread.is_alive()
    assert ends == [len(events)]
    assert wrong_segments(events) == []


# The provider's connection.


@pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
def test_a_signal_closes_the_connection_of_an_async_stream_at_once(sdk: Sdk) -> None:
    body, pieces = _cut_in_mid_answer(sdk)

    async def main(server: BodyServer) -> list[Any]:
        events: list[Any] = []
        begun, ended = asyncio.Event(), asyncio.Event()
        signal: Subject[Any] = Subject()

        def take(event: Any) -> None:
            events.append(event)
            begun.set()

        async with sdk.async_client(server.url) as client:
            source = sdk.source(lambda: sdk.acreate(client), turn_id=TURN)
            source.pipe(interrupt_on(signal, *CHAIN)).subscribe(take, events.append, ended.set)
            server.allow()
            await begun.wait()
            signal.on_next("Ctrl-C")
            assert ended.is_set()
            # Nothing more is allowed: the server sees the end although nothing comes.
            left = await asyncio.to_thread(server.wait_for, "client_left")
            assert left.bytes_sent <= pieces[0] < len(body)
            await all_have_ended()
        return events

    with nothing_left(), BodyServer(body, pieces=pieces, gated=True) as server:
        _check_interrupted(asyncio.run(main(server)))


@pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
def test_a_signal_from_another_thread_closes_the_connection_of_a_sync_stream_with_its_next_item(sdk: Sdk) -> None:
    body, pieces = _cut_in_mid_answer(sdk)
    events: list[Any] = []
    begun, ended = threading.Event(), threading.Event()
    signal: Subject[Any] = Subject()
    others = set(threading.enumerate())

    def take(event: Any) -> None:
        events.append(event)
        begun.set()

    with (
        nothing_left(),
        BodyServer(body, pieces=pieces, gated=True) as server,
        sdk.client(server.url) as client,
    ):
        source = sdk.source(lambda: sdk.create(client), turn_id=TURN)
        threads = NewThreadScheduler()
        source.pipe(interrupt_on(signal, *CHAIN)).subscribe(take, events.append, ended.set, scheduler=threads)
        server.allow()
        assert begun.wait(20)
        signal.on_next("Ctrl-C")
        assert ended.wait(20)
        given = len(events)
        server.allow(2)
        server.wait_for("client_left")
        assert "finished" not in [entry.outcome for entry in server.log]
        for thread in set(threading.enumerate()) - others:
            if thread.name.startswith("Thread-"):
                thread.join(20)
    assert len(events) == given
    _check_interrupted(events)


def _cut_in_mid_answer(sdk: Sdk) -> tuple[bytes, list[int]]:
    """Return a body, and the lengths of its parts, of which the first begins a segment and ends none."""
    body = sdk.body_of("thinking" if sdk.api == "ollama" else "write_file")
    if sdk.api == "ollama":  # its recordings are short
        body = b"".join(frames_of(body)[:1] * 40)
    frames = frames_of(body)
    for number in range(1, len(frames)):
        chunks, _ = sdk.by_wire([b"".join(frames[:number])])
        opened = [event for event in drive(chunks, *CHAIN[:2]) if isinstance(event, SegmentEvent)]
        if any(event.type == "SEGMENT_CONTENT" for event in opened):
            return body, [sum(map(len, frames[:number])), *map(len, frames[number:])]
    raise AssertionError


def _check_interrupted(events: list[Any]) -> None:
    ends = [event for event in events if isinstance(event, SegmentEnd)]
    assert ends[-1].status == "interrupted"
    assert ends[-1].reason == "Ctrl-C"
    assert wrong_segments(events) == []
    assert not [event for event in events if isinstance(event, Exception)]
