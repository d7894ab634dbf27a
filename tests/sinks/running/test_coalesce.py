"""`coalesce`: the same content in fewer events, whatever kind of stream, and nothing waits too long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
import virtual_time
from hypothesis import given
from hypothesis import strategies as st
from law_oracles import comparable, raw_by_segment
from looped import looped
from reactivex.testing import ReactiveTest, TestScheduler
from segment_events import content, end, start
from sse_stream import one_by_one
from strategies.answers import answers

from penstock.events import ChunkResponse, Notice, SegmentContent, SegmentEnd, SegmentEvent, SegmentStart, UsageError
from penstock.events.segment_event import Fragment
from penstock.operators import compose, drive, stream_fields, to_invocations, to_segments
from penstock.pipeline import Pipeline
from penstock.sinks import coalesce, to_sse
from penstock.sinks.running.coalesce import Bounds, coalesced

on_next, on_completed, on_error = ReactiveTest.on_next, ReactiveTest.on_completed, ReactiveTest.on_error


class Timed(NamedTuple):
    at: float
    event: Any


class Case(NamedTuple):
    source: list[Timed]
    error: Exception | None
    bounds: Bounds


LATER = (0, 0, 1, 2, 5, 20)
"""Seconds between two events."""


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw events of three segments in any order, each with its number as its source text; their times; and bounds."""
    source: list[Timed] = []
    now = 0
    for number in range(draw(st.integers(0, 25))):
        now += draw(st.sampled_from(LATER))
        segment, raw = draw(st.sampled_from("abc")), f"{number};"
        event: Any
        match draw(st.sampled_from(("content",) * 8 + ("start", "end", "notice"))):
            case "start":
                event = SegmentStart(segment, "text", raw=raw)
            case "end":
                event = SegmentEnd(segment, "text", "complete", raw=raw)
            case "notice":
                event = Notice("n", raw)
            case _:
                text = draw(st.sampled_from(("x", "yz", "", "long text")))
                fragments = draw(st.sampled_from((None, None, (), (Fragment(("k",), "TEXT", text, number),))))
                event = SegmentContent(segment, "text", text, raw=raw, fragments=fragments)
        source.append(Timed(now, event))
    seconds = draw(st.sampled_from((None, 1, 3, 10)))
    chars = draw(st.sampled_from((1, 3, 10, 100) if seconds is None else (None, 1, 3, 10, 100)))
    return Case(source, draw(st.sampled_from((None, LookupError("lost")))), Bounds(seconds, chars))


def numbers_of(event: Any) -> list[int]:
    said = event.raw if isinstance(event, SegmentEvent) else event.detail
    return [int(each) for each in said.split(";")[:-1]]


def text_in(pieces: Sequence[SegmentContent]) -> list[tuple[Any, str]]:
    return [(fragment.path, fragment.value) for piece in pieces for fragment in piece.fragments or ()]


def check(case: Case, result: Sequence[Timed]) -> None:
    """Compare what came out with what went in, except for the times."""
    source = [event for _, event in case.source]
    numbers = [numbers_of(event) for _, event in result]
    assert sorted(each for merged in numbers for each in merged) == [*range(len(source))]
    assert [each[0] for each in numbers] == sorted(each[0] for each in numbers)
    shown: set[str] = set()
    for (at, event), merged in zip(result, numbers, strict=True):
        pieces = [source[number] for number in merged]
        if len(pieces) == 1:
            assert event is pieces[0]
        else:
            assert {(each.segment_id, each.segment_type, each.fragments is None) for each in pieces} == {
                (event.segment_id, event.segment_type, event.fragments is None)
            }
            assert event.delta == "".join(piece.delta for piece in pieces)
            joined = "".join(text for _, text in text_in(pieces))
            assert [text for _, text in text_in([event])] == ([joined] if text_in(pieces) else [])
        between = source[merged[0] : merged[-1]]
        assert all(isinstance(each, SegmentContent) for each in between)
        assert at >= case.source[merged[-1]].at
        # The first text of a segment comes alone, and at once.
        if isinstance(event, SegmentStart | SegmentEnd):
            shown.discard(event.segment_id)
        elif isinstance(event, SegmentContent) and event.segment_id not in shown:
            assert (len(pieces), at) == (1, case.source[merged[0]].at)
            if event.delta:
                shown.add(event.segment_id)
        elif isinstance(event, SegmentContent) and case.bounds.chars is not None:
            assert sum(len(piece.delta) or 1 for piece in pieces[:-1]) < case.bounds.chars


def check_waits(case: Case, result: Sequence[Timed]) -> None:
    for at, event in result:
        waited = at - case.source[numbers_of(event)[0]].at
        assert waited <= (case.bounds.seconds or 1e9)
        assert waited == 0 or isinstance(event, SegmentContent)


def step_of(bounds: Bounds) -> Any:
    return coalesce(seconds=bounds.seconds, chars=bounds.chars)


async def in_time(case: Case) -> AsyncIterator[Any]:
    now = 0.0
    for at, event in case.source:
        if at > now:
            await asyncio.sleep(at - now)
            now = at
        yield event
    if case.error is not None:
        raise case.error


def timers() -> list[Any]:
    loop: Any = asyncio.get_running_loop()
    return [each for each in loop._scheduled if not each.cancelled()]


def run_async(case: Case) -> tuple[list[Timed], Exception | None]:
    result: list[Timed] = []

    async def main() -> Exception | None:
        now = asyncio.get_running_loop().time
        error = None
        try:
            async for event in step_of(case.bounds)(in_time(case)):
                result.append(Timed(now(), event))  # noqa: PERF401 - a comprehension would keep nothing before an error
        except LookupError as raised:
            error = raised
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert timers() == []
        return error

    error = virtual_time.run(main())
    return result, error


@given(cases())
def test_an_async_stream_has_the_same_content_in_time(case: Case):
    result, error = run_async(case)
    check(case, result)
    check_waits(case, result)
    assert error is case.error


@given(cases())
def test_an_observable_has_the_same_content_in_time_for_each_subscriber(case: Case):
    scheduler = TestScheduler()
    last = int(case.source[-1].at) if case.source else 0
    tail = on_completed(300 + last) if case.error is None else on_error(300 + last, case.error)
    source = scheduler.create_hot_observable(*(on_next(300 + int(at), event) for at, event in case.source), tail)
    step = coalesce(seconds=case.bounds.seconds, chars=case.bounds.chars)
    both = [scheduler.create_observer(), scheduler.create_observer()]
    merged = source.pipe(step)
    for each in both:
        merged.subscribe(each, scheduler=scheduler)
    scheduler.start()
    one, other = both
    assert one.messages == other.messages
    *events, terminal = one.messages
    assert terminal == tail
    result = [Timed(message.time - 300, getattr(message.value, "value", None)) for message in events]
    check(case, result)
    check_waits(case, result)


@given(cases())
def test_a_plain_stream_has_the_same_content_as_soon_as_the_next_event_allows(case: Case):
    now = 0.0

    def source() -> Iterator[Any]:
        nonlocal now
        for at, event in case.source:
            now = at
            yield event
        if case.error is not None:
            raise case.error

    result: list[Timed] = []
    events = coalesced(source(), case.bounds, lambda: now)
    if case.error is None:
        result = [Timed(now, event) for event in events]
    else:
        with pytest.raises(LookupError) as raised:
            result.extend(Timed(now, event) for event in events)
        assert raised.value is case.error
    check(case, result)
    for at, event in result:
        due = case.source[numbers_of(event)[0]].at + (case.bounds.seconds or 1e9)
        assert not any(due <= each.at < at for each in case.source)


def told(events: Sequence[Any]) -> Any:
    """Return what the events say of each segment, and what they say besides, each in its order."""
    segments: dict[Any, list[Any]] = {}
    others: list[Any] = []
    for event in events:
        (segments.setdefault(event.segment_id, []) if isinstance(event, SegmentEvent) else others).append(event)
    return {name: comparable(each) for name, each in segments.items()}, comparable(others), raw_by_segment(events)


@given(answers(), st.integers(1, 40))
def test_what_follows_reads_the_same_from_merged_events(answer: list[ChunkResponse], chars: int):
    segments = to_segments(turn_id="t")
    after = compose(stream_fields(), to_invocations(keep_segments=True))
    plain = [*drive(answer, segments)]
    merged = [*coalesce(chars=chars)(plain)]
    assert told(merged) == told(plain)
    one, other = ([*drive(events, after)] for events in (plain, merged))
    assert told(other) == told(one)
    assert told([*coalesce(chars=chars)(one)]) == told(one)


def test_content_in_one_piece_has_the_fragments_of_content_in_many():
    text = '{"path": "a.py", "content": "one\\ntwo\\u00e9", "n": [12, true]}'

    def events_of(pieces: Sequence[str]) -> list[Any]:
        return [SegmentContent("c", "tool_call", piece) for piece in pieces]

    def fragments_of(events: list[Any]) -> list[Any]:
        parsed = drive([start("tool_call", "c", tool_name="f"), *events], stream_fields())
        return [event for event in parsed if isinstance(event, SegmentContent)]

    first, *rest = [*coalesce(chars=1000)(fragments_of(events_of([text[0], *text[1:]])))]
    assert [first, *rest] == fragments_of(events_of([text[0], text[1:]]))


# What it is for


def letters(number: int, seconds: float = 0) -> AsyncIterator[ChunkResponse]:
    async def chunks() -> AsyncIterator[ChunkResponse]:
        for place in range(number):
            await asyncio.sleep(seconds)
            yield ChunkResponse(content=chr(97 + place % 26), response_id="r")
        yield ChunkResponse(finish_reason="stop", is_complete=True)

    return chunks()


@pytest.mark.parametrize(
    ("bounds", "pause", "frames"),
    [
        # Beside the merged ones: START, the first text, END, AnswerEnd, STREAM_END.
        (None, 0.012, 1004),
        ({"seconds": 0.05}, 0.012, 5 + 200),
        ({"chars": 100}, 0.012, 5 + 10),
        ({"seconds": 0.05, "chars": 100}, 0.012, 5 + 200),
        ({"seconds": 0.05, "chars": 100}, 0, 5 + 10),
        ({"seconds": 0.05}, 0, 5 + 1),
        ({"seconds": 0.05}, 1, 1004),
    ],
)
def test_a_thousand_deltas_of_one_character_are_fewer_frames(bounds: Any, pause: float, frames: int):
    async def main() -> list[bytes]:
        events: Any = Pipeline().astream(letters(1000, pause))
        return [frame async for frame in one_by_one(to_sse(events if bounds is None else coalesce(**bounds)(events)))]

    assert len(virtual_time.run(main())) == frames


def test_a_call_of_a_pipelines_run_reaches_the_run():
    async def main() -> list[Any]:
        async def chunks() -> AsyncIterator[ChunkResponse]:
            for text in ("Hel", "l", "o"):
                yield ChunkResponse(content=text, response_id="r")
            await asyncio.Event().wait()

        run = Pipeline().astream(chunks())
        events = coalesce(seconds=60)(run)
        seen = [await anext(events), await anext(events)]
        await asyncio.sleep(1)
        events.cancel("enough")
        seen += [event async for event in events]
        assert run.answer.text == "Hello"
        return seen

    _, first, rest, last, answer_end = virtual_time.run(main())
    assert (first.delta, rest.delta) == ("Hel", "lo")
    assert (last.status, last.reason, answer_end.status) == ("interrupted", "enough", "interrupted")


# Arguments


@looped(
    "bounds, words",
    [
        ({}, "needs a bound: pass seconds=0.05, chars=200 or both"),
        ({"seconds": 0}, "above 0 or None, got 0"),
        ({"seconds": -1.0}, "above 0 or None"),
        ({"seconds": float("nan")}, "above 0 or None"),
        ({"seconds": float("inf")}, "above 0 or None"),
        ({"seconds": True}, "above 0 or None"),
        ({"seconds": "1"}, "above 0 or None"),
        ({"chars": 0}, "at least 1 or None, got 0"),
        ({"chars": 1.5}, "at least 1 or None"),
        ({"chars": True}, "at least 1 or None"),
    ],
)
def test_wrong_bounds_are_told_at_the_call(bounds: Any, words: str):
    with pytest.raises(UsageError, match=words):
        coalesce(**bounds)


@pytest.mark.parametrize("events", ["text", b"bytes", None, 5, start("text")])
def test_what_is_no_stream_is_told(events: Any):
    with pytest.raises(UsageError, match="must be called with a stream of events, got"):
        coalesce(chars=1)(events)


def test_what_has_no_clock_refuses_it():
    step: Any = coalesce(chars=1)
    for refuses in (lambda: drive([], step), lambda: compose(step)):
        with pytest.raises(UsageError, match=r"takes Penstock operators, got coalesce\(chars=1\)"):
            refuses()


def test_it_shows_its_bounds():
    assert [repr(coalesce(seconds=0.05)), repr(coalesce(seconds=1, chars=2))] == [
        *("coalesce(seconds=0.05)", "coalesce(seconds=1, chars=2)"),
    ]


def test_one_step_serves_any_number_of_streams():
    step = coalesce(chars=2)
    events = [start("text"), *map(content, "abc"), end()]
    both = zip(step(events), step(events), strict=True)
    for one, other in both:
        assert one == other
    assert [getattr(event, "delta", "") for event in step(events)] == ["", "a", "bc", ""]
    assert [one == other for one, other in pairwise([*step(events)])] == [False] * 3


MUTANTS = {
    "what waits is lost with an error": (["tests/sinks/running/test_coalesce.py", "tests/sinks/running/test_coalesced_stream.py"], ("sinks/running/coalesce.py", "    def close(self, _how: How) -> Iterable[Any]:\n        return self._coalescer.release()", "    def close(self, how: How) -> Iterable[Any]:\n        return () if isinstance(how, Failed) else self._coalescer.release()")),
}  # fmt: skip
