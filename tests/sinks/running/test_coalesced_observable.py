"""Merged events in Rx: in virtual time, and with timers that are threads."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import reactivex
from reactivex import operators as rx
from reactivex.scheduler import NewThreadScheduler
from reactivex.subject import Subject
from reactivex.testing import ReactiveTest, TestScheduler
from segment_events import content, end, start

from penstock.events import ChunkResponse, ProviderError, SegmentContent
from penstock.operators import to_segments
from penstock.pipeline import Pipeline
from penstock.sinks import coalesce, collect

on_next, on_completed, on_error = ReactiveTest.on_next, ReactiveTest.on_completed, ReactiveTest.on_error
START, A, B, C, END = start("text"), content("a"), content("b"), content("c"), end()
ANSWER = [ChunkResponse(content=each) for each in "tide"]


def texts(events: Any) -> list[str]:
    return [event.delta for event in events if isinstance(event, SegmentContent)]


def hot(scheduler: TestScheduler, *messages: Any) -> Any:
    return scheduler.create_hot_observable(on_next(210, START), on_next(220, A), *messages)


def test_a_piece_waits_no_longer_than_allowed_though_nothing_else_comes():
    scheduler = TestScheduler()
    source = hot(scheduler, on_next(230, B), on_next(240, C), on_next(300, END), on_completed(310))
    results = scheduler.start(lambda: source.pipe(coalesce(seconds=50)))
    assert results.messages == [
        *(on_next(210, START), on_next(220, A), on_next(280, content("bc")), on_next(300, END), on_completed(310)),
    ]
    assert [(each.subscribe, each.unsubscribe) for each in source.subscriptions] == [(200, 310)]


def test_a_timer_is_for_what_waits_and_not_for_what_went_out():
    scheduler = TestScheduler()
    notice = start("text", "other")
    source = hot(scheduler, on_next(230, B), on_next(240, notice), on_next(270, C))
    results = scheduler.start(lambda: source.pipe(coalesce(seconds=50)))
    assert results.messages[2:] == [on_next(240, B), on_next(240, notice), on_next(320, C)]


def test_without_a_bound_of_time_no_timer_is_set():
    scheduler = TestScheduler()
    source = hot(scheduler, on_next(230, B), on_next(900, C))
    results = scheduler.start(lambda: source.pipe(coalesce(chars=2)))
    assert results.messages[2:] == [on_next(900, content("bc"))]


@pytest.mark.parametrize("tail", [on_completed(240), on_error(240, ProviderError("lost"))])
def test_an_end_and_an_error_come_after_what_waits(tail: Any):
    scheduler = TestScheduler()
    results = scheduler.start(lambda: hot(scheduler, on_next(230, B), tail).pipe(coalesce(seconds=50)))
    assert results.messages[2:] == [on_next(240, B), tail]


def test_a_stream_of_nothing_is_the_same():
    scheduler = TestScheduler()
    source = scheduler.create_hot_observable(on_completed(250))
    assert scheduler.start(lambda: source.pipe(coalesce(seconds=50))).messages == [on_completed(250)]


def test_dispose_is_silent_and_leaves_the_source():
    scheduler = TestScheduler()
    source = hot(scheduler, on_next(230, B), on_next(300, END))
    results = scheduler.start(lambda: source.pipe(coalesce(seconds=50)), disposed=240)
    assert results.messages == [on_next(210, START), on_next(220, A)]
    assert [each.unsubscribe for each in source.subscriptions] == [240]


def test_the_given_scheduler_measures_the_time_and_not_the_subscribers():
    given, subscribers = TestScheduler(), TestScheduler()
    source: Subject[Any] = Subject()
    seen: list[Any] = []
    source.pipe(coalesce(seconds=5, scheduler=given)).subscribe(seen.append, scheduler=subscribers)
    for event in (START, A, B):
        source.on_next(event)
    subscribers.advance_by(100)
    assert seen == [START, A]
    given.advance_by(5)
    assert seen == [START, A, B]


def test_what_a_consumer_raises_reaches_who_subscribed_and_is_no_error_of_the_stream():
    told: list[Any] = []

    def raises(event: Any) -> None:
        if event is END:
            raise LookupError

    with pytest.raises(LookupError):
        reactivex.of(START, A, B, END).pipe(coalesce(chars=9)).subscribe(raises, told.append)
    assert told == []


# Timers that are threads


def timer_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if isinstance(each, threading.Timer)}


@pytest.mark.parametrize("end_of_stream", ["dispose", "complete", "error", "flush"])
def test_no_timer_is_left(end_of_stream: str):
    before = timer_threads()
    source: Subject[Any] = Subject()
    subscription = source.pipe(coalesce(seconds=3600)).subscribe(on_error=lambda _: None)
    for event in (START, A, B):
        source.on_next(event)
    [timer] = timer_threads() - before
    match end_of_stream:
        case "dispose":
            subscription.dispose()
        case "complete":
            source.on_completed()
        case "error":
            source.on_error(LookupError())
        case _:
            source.on_next(END)
    timer.join(20)
    assert timer_threads() <= before


def test_without_a_scheduler_a_thread_lets_go_what_waits():
    source: Subject[Any] = Subject()
    came = threading.Event()
    seen: list[Any] = []

    def take(event: Any) -> None:
        seen.append(event)
        if event is B:
            came.set()

    source.pipe(coalesce(seconds=0.01)).subscribe(take)
    for event in (START, A, B):
        source.on_next(event)
    assert came.wait(20)
    assert seen == [START, A, B]


def test_the_source_waits_while_a_timer_delivers():
    source: Subject[Any] = Subject()
    begun, go_on = threading.Event(), threading.Event()
    seen: list[Any] = []

    def take(event: Any) -> None:
        if event is B:
            begun.set()
            assert go_on.wait(20)
        seen.append(event)

    source.pipe(coalesce(seconds=0.01)).subscribe(take)
    for event in (START, A, B):
        source.on_next(event)
    assert begun.wait(20)
    writer = threading.Thread(target=source.on_next, args=(END,))
    writer.start()
    go_on.set()
    writer.join(20)
    assert seen == [START, A, B, END]


def test_it_stands_in_a_chain_and_in_front_of_a_sink():
    chunks = reactivex.from_iterable(ANSWER)
    seen: list[Any] = []
    chunks.pipe(to_segments(), coalesce(chars=2)).subscribe(seen.append)
    assert texts(seen) == ["t", "id", "e"]
    pipeline = Pipeline([to_segments(), coalesce(chars=2)])
    assert texts(collect(pipeline.observable(ANSWER)).events) == ["t", "id", "e"]
    other = chunks.pipe(to_segments(), coalesce(seconds=3600), rx.subscribe_on(NewThreadScheduler()))
    assert texts(collect(other).events) == ["t", "ide"]
