"""Both queues: the same questions, whoever writes and whoever reads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any

import pytest
import reactivex
from looped import looped

from penstock.events import UsageError
from penstock.sinks.running.channel import StreamCutError
from penstock.sinks.running.queues import AsyncQueue, EventQueue, ThreadQueue, async_queue, thread_queue

QUEUES = [async_queue, thread_queue]
STREAMS = ["plain", "async"]


class Stream:
    """A stream that counts what was asked of it, and knows whether it was closed."""

    def __init__(self, *items: Any) -> None:
        self.items = items
        self.asked = 0
        self.is_closed = False

    def plain(self) -> Generator[Any, None, None]:
        try:
            for item in self.items:
                self.asked += 1
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self.is_closed = True

    async def asynchronous(self) -> AsyncIterator[Any]:
        with contextlib.closing(self.plain()) as items:
            for item in items:
                yield item


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


class Writing:
    """A stream that runs into a queue on a thread of its own."""

    def __init__(self, queue: EventQueue, stream: Stream, kind: str) -> None:
        self.result: Any = "not yet"
        self._queue, self._stream, self._kind = queue, stream, kind
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            if self._kind == "plain":
                self.result = self._queue(self._stream.plain())
            else:
                self.result = asyncio.run(_awaited(self._queue(self._stream.asynchronous())))
        except BaseException as error:  # noqa: BLE001 - the result, to be looked at
            self.result = error

    def ended(self) -> Any:
        self._thread.join(20)
        assert not self._thread.is_alive(), "the stream waits for ever"
        return self.result


def read(queue: Any, take: Callable[[Any], bool] = lambda _: True) -> list[Any]:
    """Read until the end, or until `take` says no; the exception of the stream comes last."""
    got: list[Any] = []

    async def aread() -> None:
        async for event in queue:
            if not take(event):
                break
            got.append(event)

    try:
        if isinstance(queue, AsyncQueue):
            asyncio.run(aread())
        else:
            for event in queue:
                if not take(event):
                    break
                got.append(event)
    except Exception as error:  # noqa: BLE001 - what the reader's loop raised, to be looked at
        got.append(error)
    return got


@looped("kind", STREAMS)
@looped("new_queue", QUEUES)
@looped("number", [0, 1, 100])
def test_the_reader_gets_every_event_and_its_loop_ends_with_the_stream(new_queue: Any, kind: str, number: int):
    queue = new_queue(3)
    writing = Writing(queue, Stream(*range(number)), kind)
    assert read(queue) == list(range(number))
    assert writing.ended() is None


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("new_queue", QUEUES)
def test_the_streams_exception_is_raised_in_the_readers_loop_after_what_came_and_by_the_sink(new_queue: Any, kind: str):
    queue, error = new_queue(), OSError("lost")
    writing = Writing(queue, Stream(1, 2, error), kind)
    assert read(queue) == [1, 2, error]
    assert writing.ended() is error


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("new_queue", QUEUES)
def test_ctrl_c_of_the_stream_is_an_error_to_the_reader(new_queue: Any, kind: str):
    queue = new_queue()
    writing = Writing(queue, Stream(1, KeyboardInterrupt()), kind)
    one, cut = read(queue)
    assert one == 1
    assert isinstance(cut, StreamCutError)
    assert isinstance(writing.ended(), KeyboardInterrupt)


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("new_queue", QUEUES)
def test_the_stream_is_never_further_than_the_queue_is_long(new_queue: Any, kind: str):
    queue, stream = new_queue(4), Stream(*range(100))
    writing = Writing(queue, stream, kind)
    # 4 wait, the reader has one, and one waits for room.
    assert read(queue, lambda event: stream.asked <= event + 6) == list(range(100))
    writing.ended()


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("new_queue", QUEUES)
def test_a_reader_that_leaves_its_loop_ends_the_sink_and_closes_the_stream(new_queue: Any, kind: str):
    queue, stream = new_queue(1), Stream(*range(1000))
    writing = Writing(queue, stream, kind)
    assert read(queue, lambda event: event < 3) == [0, 1, 2]
    assert writing.ended() is None
    assert stream.is_closed
    assert stream.asked < 1000


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("new_queue", QUEUES)
def test_a_queue_that_is_closed_lets_its_stream_go(new_queue: Any, kind: str):
    queue, stream = new_queue(1), Stream(*range(1000))
    writing = Writing(queue, stream, kind)
    queue.close()
    assert writing.ended() is None
    assert stream.is_closed
    assert read(queue) == []


@pytest.mark.parametrize("new_queue", QUEUES)
def test_a_second_stream_and_a_second_reader_are_refused_and_the_first_ones_go_on(new_queue: Any):
    queue = new_queue()
    writing = Writing(queue, Stream(1, 2), "plain")
    assert writing.ended() is None
    with pytest.raises(UsageError, match="was already used; make a new queue"):
        queue([3])
    reader = aiter(queue) if isinstance(queue, AsyncQueue) else iter(queue)
    with pytest.raises(UsageError, match="already has a reader"):
        aiter(queue) if isinstance(queue, AsyncQueue) else iter(queue)

    async def rest() -> list[Any]:
        return [event async for event in reader]

    assert (asyncio.run(rest()) if isinstance(queue, AsyncQueue) else list(reader)) == [1, 2]  # type: ignore[arg-type]


@pytest.mark.parametrize("new_queue", QUEUES)
def test_an_observable_runs_into_it(new_queue: Any):
    queue = new_queue()
    queue(reactivex.of(1, 2))
    assert read(queue) == [1, 2]


@pytest.mark.parametrize("new_queue", QUEUES)
@pytest.mark.parametrize("maxsize", [0, -3, "4"])
def test_a_size_that_is_none_is_refused(new_queue: Any, maxsize: Any):
    with pytest.raises(UsageError, match="maxsize must be at least 1"):
        new_queue(maxsize)


def test_stream_and_reader_may_be_tasks_of_one_loop():
    async def main() -> None:
        queue, stream = async_queue(2), Stream(*range(50))
        writing = asyncio.create_task(queue(stream.asynchronous()))
        assert [event async for event in queue] == list(range(50))
        await writing

    asyncio.run(main())


def test_a_cancelled_reader_leaves_its_stream_alone():
    async def main() -> None:
        queue, stream = async_queue(1), Stream(*range(1000))
        gate, came = asyncio.Event(), asyncio.Event()

        async def reader() -> None:
            async for event in queue:
                if event == 3:
                    came.set()
                    await gate.wait()

        reading = asyncio.create_task(reader())
        writing = asyncio.create_task(queue(stream.asynchronous()))
        await came.wait()
        assert not writing.done()
        reading.cancel()
        await asyncio.wait([reading, writing])
        assert writing.result() is None
        assert stream.is_closed

    asyncio.run(main())


def test_a_cancelled_stream_is_a_cut_one_to_its_reader():
    async def main() -> None:
        queue, gate = async_queue(), asyncio.Event()

        async def events() -> AsyncIterator[int]:
            yield 1
            await gate.wait()

        writing = asyncio.create_task(queue(events()))
        reader = aiter(queue)
        assert await anext(reader) == 1
        writing.cancel()
        with pytest.raises(StreamCutError):
            await anext(reader)
        with pytest.raises(asyncio.CancelledError):
            await writing

    asyncio.run(main())


def test_an_async_stream_that_waits_for_a_thread_does_not_block_its_loop():
    async def main() -> None:
        queue, stream = thread_queue(1), Stream(1, 2, 3)
        writing = asyncio.create_task(queue(stream.asynchronous()))
        for _ in range(10):
            await asyncio.sleep(0)
        assert (stream.asked, writing.done()) == (2, False)
        assert await asyncio.to_thread(list, queue) == [1, 2, 3]
        await writing

    asyncio.run(main())


def test_a_plain_stream_on_the_loops_thread_is_told_that_it_cannot_wait_for_a_task():
    async def main() -> None:
        queue, stream = async_queue(2), Stream(1, 2, 3)
        with pytest.raises(UsageError, match=r"use astream\(\.\.\.\), or run it on a thread"):
            queue(stream.plain())
        assert stream.is_closed
        reader = aiter(queue)
        assert [await anext(reader), await anext(reader)] == [1, 2]
        with pytest.raises(UsageError, match="astream"):
            await anext(reader)

    asyncio.run(main())


def test_the_two_kinds_are_read_in_one_way_each():
    assert not hasattr(AsyncQueue, "__iter__")
    assert not hasattr(ThreadQueue, "__aiter__")


def test_a_queue_shows_what_it_is():
    assert (repr(async_queue(3)), repr(thread_queue())) == ("AsyncQueue(maxsize=3)", "ThreadQueue(maxsize=64)")


def test_a_read_that_timed_out_loses_nothing_of_what_comes_later():
    async def main() -> None:
        queue, gate = async_queue(), asyncio.Event()

        async def events() -> AsyncIterator[int]:
            yield 1
            await gate.wait()
            yield 2

        writing = asyncio.create_task(queue(events()))
        reader = aiter(queue)
        assert await anext(reader) == 1
        for _ in range(2):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.001):
                    await anext(reader)
        assert not writing.done()
        gate.set()
        assert [event async for event in reader] == [2]
        await writing

    asyncio.run(main())


def test_a_reader_that_is_closed_or_that_nobody_holds_leaves():
    async def main() -> None:
        for is_closed in (True, False):
            queue = async_queue(1)
            writing = asyncio.create_task(queue(Stream(*range(100)).asynchronous()))
            reader: Any = aiter(queue)
            assert await anext(reader) == 0
            if is_closed:
                await reader.aclose()
                assert [event async for event in reader] == []
            del reader
            await writing

    asyncio.run(main())


def test_a_reader_that_nobody_else_holds_still_gets_what_it_waits_for():
    async def main() -> None:
        queue = async_queue(1)
        waiting = asyncio.ensure_future(anext(aiter(queue)))
        await asyncio.sleep(0)
        queue([7])
        assert await waiting == 7

    asyncio.run(main())


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("new_queue", QUEUES)
def test_a_stream_that_is_released_does_not_wait_for_its_reader_who_misses_nothing(new_queue: Any, kind: str):
    queue = new_queue(1)
    writing = Writing(queue, Stream(*range(10)), kind)
    queue.release()
    assert writing.ended() is None
    assert read(queue) == list(range(10))
    assert repr(queue).endswith("(maxsize=1)")
