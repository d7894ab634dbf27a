"""A run that is left at any place: cancelled at each await, or by a consumer that raises at each event; or that has no end."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import chain, count, islice
from typing import Any, NamedTuple

import pytest
from chat_client import collected
from checkout import ROOT
from depth import is_deep, scaled
from every_sdk import SDKS, WITH_CALLS, all_have_ended, frames_of
from further_sdks import FURTHER_SDKS
from looped import looped
from operator_contract import wrong_answers, wrong_segments

from penstock.events import AnswerEnd, ChunkResponse, InvocationFailed, SegmentEnd, SegmentStart, ToolCallDelta
from penstock.operators import adrive, drive
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.strategies import api_tool_call, hermes
from penstock.sources import decode_wire, from_wire

STREAMS = {sdk.api: sdk.body_of(WITH_CALLS[sdk.api]) for sdk in SDKS} | {
    sdk.api: sdk.streams()[0].read_bytes() for sdk in FURTHER_SDKS
}
"""A body of each API."""
every_api = looped("api", STREAMS)


class Source:
    """The frames of a body, sync or async, with an await before each and one in the closing."""

    def __init__(self, api: str) -> None:
        self.frames = frames_of(STREAMS[api])
        self.has_begun = self.is_closed = False

    async def aread(self) -> AsyncIterator[bytes]:
        self.has_begun = True
        try:
            for frame in self.frames:
                await asyncio.sleep(0)
                yield frame
        finally:
            try:
                await asyncio.sleep(0)
            finally:
                self.is_closed = True

    def read(self) -> Iterator[bytes]:
        self.has_begun = True
        try:
            yield from self.frames
        finally:
            self.is_closed = True

    def assert_left(self) -> None:
        assert self.is_closed == self.has_begun, "the provider's stream stays open"


def pipeline() -> Pipeline:
    return Pipeline(turn_id="t")


def whole_of(api: str) -> list[Any]:
    return list(pipeline().stream(drive(Source(api).read(), decode_wire(api, turn_id="t"))))


# Cancelled at each await


class Cancelled(NamedTuple):
    events: list[Any]
    was_over: bool


async def cancelled_at(api: str, number: int, how: str) -> Cancelled:
    """Let a run go on for so many turns of the loop, then cancel it."""
    source, events = Source(api), list[Any]()
    run = pipeline().astream(adrive(source.aread(), decode_wire(api, turn_id="t")))

    async def read() -> None:
        async with run:
            async for event in run:
                events.append(event)

    task = asyncio.create_task(read())
    for _ in range(number):
        await asyncio.sleep(0)
    was_over = task.done()
    if how == "the task":
        task.cancel()
    else:
        run.cancel("why")
    await asyncio.wait({task}, timeout=20)
    assert task.done(), "it hangs"
    assert task.cancelled() == (how == "the task" and not was_over)
    await all_have_ended()
    source.assert_left()
    return Cancelled(events, was_over)


@every_api
def test_a_task_that_is_cancelled_at_any_await_leaves_nothing_open_and_has_the_beginning(api: str):
    whole = whole_of(api)

    async def main() -> int:
        for number in range(10_000):
            seen = await cancelled_at(api, number, "the task")
            assert seen.events == whole[: len(seen.events)]
            if seen.was_over:
                assert seen.events == whole
                return number
        raise AssertionError

    assert asyncio.run(main()) > len(frames_of(STREAMS[api])), "there is an await for each frame"


@every_api
def test_a_run_that_is_cancelled_at_any_await_ends_all_in_order(api: str):
    whole = whole_of(api)

    async def main() -> None:
        for number in range(10_000):
            events, was_over = await cancelled_at(api, number, "the run")
            assert wrong_segments(events) == []
            assert wrong_answers(events) == []
            assert isinstance(events[-1], AnswerEnd)
            if was_over:
                assert events == whole
                return
            if events[-1].status == "interrupted":
                assert events[-1].error is None
                ends = [event for event in events if isinstance(event, SegmentEnd) and event.status == "interrupted"]
                assert {end.reason for end in ends} <= {"why"}

    asyncio.run(main())


# A consumer that raises at each event


class ConsumerError(Exception):
    pass


def raising(number: int, seen: list[Any]) -> Callable[[Any], None]:
    """Return a consumer that raises at one event."""

    def on_next(event: Any) -> None:
        seen.append(event)
        if len(seen) == number + 1:
            raise ConsumerError

    return on_next


def in_a_loop(source: Source, api: str, consume: Callable[[Any], None]) -> None:
    with pipeline().stream(drive(source.read(), decode_wire(api, turn_id="t"))) as run:
        for event in run:
            consume(event)


def in_an_async_loop(source: Source, api: str, consume: Callable[[Any], None]) -> None:
    async def main() -> None:
        async with pipeline().astream(adrive(source.aread(), decode_wire(api, turn_id="t"))) as run:
            async for event in run:
                consume(event)

    asyncio.run(main())


def in_rx(source: Source, api: str, consume: Callable[[Any], None]) -> None:
    wrong: list[Exception] = []
    pipeline().observable(from_wire(api, source.read, turn_id="t")).subscribe(consume, wrong.append)
    assert wrong == [], "it is no error of the stream"


@every_api
def test_the_exception_of_a_consumer_reaches_it_at_any_event_and_the_source_is_closed(api: str):
    whole = whole_of(api)
    for run in (in_a_loop, in_an_async_loop, in_rx):
        for number in range(len(whole)):
            source, seen = Source(api), list[Any]()
            with pytest.raises(ConsumerError):
                run(source, api, raising(number, seen))
            assert seen == whole[: number + 1], run
            source.assert_left()


# Without an end


FOLDERS = {each.api: ROOT / "tests/streams" / each.folder for each in (*SDKS, *FURTHER_SDKS)}


def endless_text(api: str) -> Iterator[bytes]:
    """Return a body whose text goes on for ever: one of our streams whose first piece of text is repeated."""
    for path in sorted(FOLDERS[api].glob("*.*")):
        frames = frames_of(path.read_bytes()) if path.suffix != ".json" else []
        for number, frame in enumerate(frames[:8]):
            lengths = [said(api, [*frames[:number], *islice(repeated(frame), times)]) for times in (1, 2, 3)]
            has_calls = any(chunk.tool_calls for chunk in collected(from_wire(api, [frame]))[0])
            if lengths[0] < lengths[1] < lengths[2] and not has_calls:
                return chain(frames[:number], repeated(frame))
    raise AssertionError(api)


def repeated(frame: bytes) -> Iterator[bytes]:
    """Yield an event for ever, which is the next one each time where events are numbered."""
    begin, key, rest = frame.partition(b'"sequence_number":')
    behind = rest.lstrip(b" 0123456789")
    for number in count(1000):
        yield begin + key + b"%d" % number + behind if key else begin


def said(api: str, frames: list[bytes]) -> int:
    chunks, _ = collected(from_wire(api, [b"".join(frames)]))
    return sum(len(chunk.content) + len(chunk.reasoning) for chunk in chunks)


@pytest.mark.laws
@every_api
def test_an_answer_without_an_end_takes_no_more_memory_the_longer_it_is(api: str):
    events = drive(endless_text(api), decode_wire(api, turn_id="t"), api_tool_call(turn_id="t"))
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(3):
            for _ in range(scaled(3000)):
                next(events)
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[2] - sizes[1] < 20_000


def endless_argument() -> Iterator[ChunkResponse]:
    yield ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", '{"a": "'),))
    while True:
        yield ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta="x" * 2**16),))


def endless_call_in_text() -> Iterator[ChunkResponse]:
    yield ChunkResponse(content='<tool_call>{"name": "f", "arguments": {"a": "')
    while True:
        yield ChunkResponse(content="x" * 2**16)


@pytest.mark.laws
@looped("strategy, body, kept", [(api_tool_call, endless_argument, 0), (hermes, endless_call_in_text, 2)])
def test_an_argument_of_a_hundred_megabytes_fails_its_call_once(strategy: Any, body: Any, kept: int):
    """What is in the text of a call is kept to its end, for the failure has it; of arguments no more than their limit."""
    megabytes = 100 if is_deep() else 20
    pieces = (chunk for chunk, _ in zip(body(), range(megabytes * 16), strict=False))
    failed, segments = list[InvocationFailed](), list[Any]()
    tracemalloc.start()
    try:
        for event in drive(chain(pieces, [ChunkResponse(finish_reason="stop")]), strategy(turn_id="t")):
            if isinstance(event, InvocationFailed):
                failed.append(event)
            elif isinstance(event, SegmentStart | SegmentEnd):
                segments.append(event)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    [only] = failed
    assert only.reason == "limit"
    assert [event.segment_id for event in segments if event.segment_type == "tool_call"] == [only.id] * 2
    assert peak < (80 + kept * megabytes) * 2**20
