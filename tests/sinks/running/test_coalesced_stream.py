"""Merged events in a loop: silence, slow loops, errors, and loops that are left; in virtual time."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import Any

import pytest
import virtual_time
from counted_calls import counted
from segment_events import content, end, start

from penstock.events import ChunkResponse, ProviderError, SegmentContent
from penstock.operators import drive, to_segments
from penstock.sinks import StreamCutError, coalesce

START, A, B, C, END = start("text"), content("a"), content("b"), content("c"), end()
AB = [START, A, B, C, END]


class Stream:
    """Events, and pauses as numbers, as an async stream that knows what became of it."""

    def __init__(self, *items: Any, error: BaseException | None = None, endless: bool = False) -> None:
        self.asked = self.closed = 0
        self.tasks: set[Any] = set()
        self._events = self._run(items, error, endless)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        self.tasks.add(asyncio.current_task())
        return await anext(self._events)

    async def aclose(self) -> None:
        self.tasks.add(asyncio.current_task())
        await self._events.aclose()
        await asyncio.sleep(0)  # as the closing of a connection, which a cancellation could break off
        self.closed += 1

    async def _run(self, items: Iterable[Any], error: BaseException | None, endless: bool) -> Any:
        for item in items:
            if isinstance(item, int | float):
                await asyncio.sleep(item)
                continue
            self.asked += 1
            yield item
        if error is not None:
            raise error
        if endless:
            await asyncio.Event().wait()


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a test in virtual time; no task and no timer must be left."""

    async def checked() -> Any:
        result = await main()
        gc.collect()
        for _ in range(20):
            await asyncio.sleep(0)
        loop: Any = asyncio.get_running_loop()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert [each for each in loop._scheduled if not each.cancelled()] == []
        return result

    return virtual_time.run(checked())


def timed(*items: Any, **bounds: Any) -> list[tuple[float, Any]]:
    """Return when which event came: START and END by name, content by its text."""

    async def main() -> list[tuple[float, Any]]:
        now = asyncio.get_running_loop().time
        return [(round(now(), 6), event) async for event in coalesce(**bounds)(Stream(*items))]

    seen: list[tuple[float, Any]] = run(main)
    return [(at, getattr(event, "delta", None) or event) for at, event in seen]


def test_a_piece_waits_no_longer_than_allowed_though_nothing_else_comes():
    assert timed(START, A, 1, B, 1, C, 100, END, seconds=5) == [(0, START), (0, "a"), (6, "bc"), (102, END)]


def test_without_a_bound_of_time_a_piece_waits_for_what_follows():
    assert timed(START, A, B, 100, C, 100, END, chars=3) == [(0, START), (0, "a"), (200, "bc"), (200, END)]


def test_the_bounds_hold_side_by_side():
    assert timed(START, A, B, 3, C, C, 10, END, seconds=5, chars=3) == [(0, START), (0, "a"), (3, "bcc"), (13, END)]


@pytest.mark.parametrize("items", [(), (START,), (A,)])
def test_a_stream_of_no_event_or_one_is_the_same(items: Any):
    assert [event for _, event in timed(*items, seconds=1)] == [getattr(each, "delta", each) for each in items]


async def until_error(events: Any, seen: list[Any]) -> None:
    async for event in events:
        seen.append(event)  # noqa: PERF401 - a comprehension would keep nothing of what came before


@pytest.mark.parametrize("error", [ProviderError("lost"), TimeoutError(), KeyError("x")])
def test_an_error_comes_after_what_waits(error: Exception):
    async def main() -> None:
        seen: list[Any] = []
        stream = Stream(START, A, B, error=error)
        with pytest.raises(type(error)) as raised:
            await until_error(coalesce(seconds=9)(stream), seen)
        assert raised.value is error
        assert (seen, stream.closed) == ([START, A, B], 1)

    run(main)


def test_a_stream_that_is_cancelled_inside_is_cut_after_what_waits():
    async def main() -> None:
        seen: list[Any] = []
        with pytest.raises(StreamCutError, match="left before its end"):
            await until_error(coalesce(seconds=9)(Stream(START, A, B, error=asyncio.CancelledError())), seen)
        assert seen == [START, A, B]

    run(main)


def test_one_task_reads_all_and_closes():
    async def main() -> None:
        stream = Stream(START, A, 1, B, 10, C, END)
        assert len([event async for event in coalesce(seconds=5)(stream)]) == 5
        assert (len(stream.tasks), stream.closed) == (1, 1)

    run(main)


@pytest.mark.parametrize("read", [0, 1, 2])
def test_a_loop_that_closes_closes_the_stream_and_leaves_nothing(read: int):
    async def main() -> None:
        stream = Stream(START, A, B, endless=True)
        events = coalesce(seconds=9)(stream)
        for _ in range(read):
            await anext(events)
        await asyncio.sleep(1)
        for _ in range(2):
            await events.aclose()
            assert stream.closed == 1
        assert [event async for event in events] == []

    run(main)


def test_a_read_that_is_cancelled_closes_the_stream_however_often():
    async def main() -> None:
        stream = Stream(START, A, B, endless=True)
        events = coalesce(seconds=9)(stream)
        seen: list[Any] = []
        task = asyncio.create_task(until_error(events, seen))
        await asyncio.sleep(1)
        for _ in range(3):  # as servers do whose cancellation holds for a whole scope
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.wait({task})
        await asyncio.sleep(0)
        assert (task.cancelled(), stream.closed, seen) == (True, 1, [START, A])
        with pytest.raises(StreamCutError, match="a read was cancelled"):
            await anext(events)

    run(main)


def test_a_time_limit_around_the_loop_ends_it():
    async def main() -> None:
        stream = Stream(START, A, B, 20, C, 20, END)
        seen: list[Any] = []
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await until_error(coalesce(seconds=9)(stream), seen)
        assert (seen, stream.closed) == ([START, A, B, C], 1)

    run(main)


def test_a_loop_that_is_forgotten_closes_the_stream():
    async def main() -> Stream:
        stream = Stream(START, A, B, endless=True)
        async for event in coalesce(seconds=9)(stream):
            if event is A:
                break
        return stream

    assert run(main).closed == 1


def test_what_fails_after_the_loop_was_left_is_logged_without_its_message(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "penstock")

    async def failing() -> AsyncIterator[Any]:
        try:
            yield START
            await asyncio.Event().wait()
        finally:
            message = "secret"
            raise ValueError(message)

    async def main() -> None:
        events = coalesce(seconds=9)(failing())
        await anext(events)
        await asyncio.sleep(1)
        await events.aclose()

    run(main)
    assert "reader had left failed: ValueError" in caplog.text
    assert "secret" not in caplog.text


def test_a_slow_loop_slows_the_stream_down_and_gets_larger_pieces():
    async def main() -> None:
        stream = Stream(START, *[A, 0.1] * 1000, END)
        events = coalesce(seconds=1)(stream)
        lengths: list[int] = []
        for number in range(10):
            event = await anext(events)
            await asyncio.sleep(60)
            lengths.append(len(getattr(event, "delta", "")))
            # The START, the first text, and for each later piece what came in its second.
            assert stream.asked <= 2 + 12 * number
        assert lengths[:2] == [0, 1]
        assert min(lengths[2:]) >= 10
        await events.aclose()

    run(main)


def test_a_stream_that_never_pauses_is_read_no_farther_than_may_wait():
    async def main() -> None:
        stream = Stream(START, *[A] * 1000, END)
        events = coalesce(chars=10)(stream)
        for number in range(20):
            await anext(events)
            await asyncio.sleep(1)
            assert stream.asked <= 2 + 10 * number
        await events.aclose()
        assert stream.closed == 1

    run(main)


def test_two_streams_at_once_share_nothing():
    step = coalesce(seconds=5)

    async def read(pause: float) -> list[Any]:
        stream = Stream(START, A, pause, B, pause, C, pause, END)
        return [getattr(event, "delta", "") async for event in step(stream)]

    async def main() -> list[list[Any]]:
        return [*await asyncio.gather(read(1), read(10))]

    assert run(main) == [["", "a", "bc", ""], ["", "a", "b", "c", ""]]


def test_a_stream_that_can_be_cancelled_is_cancelled_through_it():
    async def main() -> None:
        class WithCancel(Stream):
            def cancel(self, reason: str) -> str:
                return reason

        assert coalesce(chars=1)(WithCancel()).cancel("enough") == "enough"

    run(main)


@pytest.mark.parametrize("is_asked", [False, True], ids=["while nobody asks", "while a reader waits"])
def test_a_stream_that_cannot_be_cancelled_is_left_and_what_waits_still_comes(is_asked: bool):
    async def main() -> None:
        stream = Stream(*AB[:-1], endless=True)
        events = coalesce(seconds=50)(stream)
        seen = [await anext(events), await anext(events)]
        reading = asyncio.create_task(until_error(events, seen)) if is_asked else None
        await asyncio.sleep(1)
        events.cancel("enough")
        events.cancel("again")
        with pytest.raises(StreamCutError, match="cancelled: enough"):
            await (reading or until_error(events, seen))
        assert "".join(getattr(each, "delta", "") for each in seen) == "abc"
        assert stream.closed == 1

    run(main)


def test_one_that_is_cancelled_before_it_is_read_asks_for_nothing():
    async def main() -> None:
        stream = Stream(*AB)
        events = coalesce(seconds=50)(stream)
        events.cancel("enough")
        with pytest.raises(StreamCutError, match="enough"):
            await anext(events)
        assert (stream.asked, stream.closed) == (0, 1)

    run(main)


def test_an_iterable_that_is_no_iterator_is_closed_too():
    async def main() -> None:
        iterator = Stream(*AB)

        class Response(Stream):
            def __aiter__(self) -> Any:
                return iterator

        response = Response()
        assert len([event async for event in coalesce(chars=9)(response)]) == 4
        assert (iterator.closed, response.closed) == (1, 1)

    run(main)


# Plain streams


class Plain:
    """Events as a plain stream that knows whether it was closed."""

    def __init__(self, *events: Any, error: Exception | None = None) -> None:
        self.closed = 0
        self._events = iter(events)
        self._error = error

    def __iter__(self) -> Iterator[Any]:
        yield from self._events
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        self.closed += 1


def test_a_plain_stream_is_closed_at_its_end():
    stream = Plain(*AB)
    assert [getattr(event, "delta", event) for event in coalesce(chars=9)(stream)] == [START, "a", "bc", END]
    assert stream.closed == 1
    assert [*coalesce(chars=9)([])] == []


def test_an_error_of_a_plain_stream_comes_after_what_waits():
    stream = Plain(START, A, B, C, error=KeyError("x"))
    seen: list[Any] = []
    with pytest.raises(KeyError):
        seen.extend(coalesce(chars=9)(stream))
    assert [getattr(event, "delta", event) for event in seen] == [START, "a", "bc"]
    assert stream.closed == 1


def test_a_plain_loop_that_is_left_closes_its_stream():
    stream = Plain(*AB)
    events: Any = coalesce(chars=9)(stream)
    assert next(events) is START
    events.close()
    assert stream.closed == 1


def test_a_plain_loop_that_never_begins_closes_its_stream():
    plain = Plain()
    events: Any = coalesce(chars=9)(plain)
    events.close()
    assert plain.closed == 1


def test_it_takes_what_drive_gives():
    chunks = [ChunkResponse(content=each) for each in "tide"]
    events = coalesce(chars=2)(drive(chunks, to_segments()))
    assert [event.delta for event in events if isinstance(event, SegmentContent)] == ["t", "id", "e"]


def test_the_reader_is_not_woken_by_pieces_that_wait():
    def calls(pieces: int) -> int:
        async def main() -> None:
            stream = Stream(START, A, *[0.001, B] * pieces, END)
            assert len([event async for event in coalesce(seconds=60)(stream)]) == 4

        return counted(lambda: virtual_time.run(main()))

    a_piece = (calls(1100) - calls(100)) / 1000
    assert a_piece < 110  # 158 if it is
