"""`StepStream`: events pass in order, work runs beside them, and whatever ends the one ends the other."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest
import virtual_time

from penstock.events import AnswerEnd
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted
from penstock.sinks.acting.approval import in_thread
from penstock.sinks.acting.step import StepStream, TaskGroup


class Numbers:
    """Passes numbers on, and emits each again, negative, after as many seconds."""

    def __init__(self, work: TaskGroup) -> None:
        self.work = work
        self.cancelled: list[tuple[int, str]] = []
        self.how: list[How] = []

    def feed(self, event: Any) -> Awaitable[None] | None:
        self.work.emit(event)
        if isinstance(event, int):
            self.work.start(
                self.job(event), turn_id="t", cancelled=lambda reason: self.cancelled.append((event, reason))
            )
        return None

    def close(self, how: How) -> None:
        self.how.append(how)

    async def job(self, number: int) -> None:
        await asyncio.sleep(number)
        if number == 13:
            message = "thirteen"
            raise ValueError(message)
        self.work.emit(-number)


class Made:
    """Keeps the actor of a stream."""

    actor: Numbers

    def __call__(self, work: TaskGroup) -> Numbers:
        self.actor = Numbers(work)
        return self.actor


async def source(*events: Any, closed: list[str] | None = None) -> AsyncIterator[Any]:
    try:
        for event in events:
            if isinstance(event, float):
                await asyncio.sleep(event)
            elif isinstance(event, BaseException):
                raise event
            else:
                yield event
    finally:
        if closed is not None:
            closed.append("closed")


async def read(stream: StepStream, seen: list[Any]) -> None:
    async for event in stream:
        seen.append(event)  # noqa: PERF401 - what came before an error counts


def test_nothing_in_nothing_out():
    made, seen = Made(), list[Any]()
    virtual_time.run(read(StepStream(source(), made), seen))
    assert seen == []
    assert made.actor.how == [Completed()]


def test_work_is_between_the_events_and_behind_them():
    seen: list[Any] = []
    virtual_time.run(read(StepStream(source(3, 1, 2.0, "x"), Made()), seen))
    assert seen == [3, 1, -1, "x", -3]


def test_nothing_is_read_while_an_event_waits():
    taken: list[int] = []

    async def counted() -> AsyncIterator[str]:
        for number in range(9):
            taken.append(number)
            yield f"{number}"

    async def main() -> None:
        stream = StepStream(counted(), Made())
        await anext(stream)
        await asyncio.sleep(60)
        assert len(taken) == 2
        await stream.aclose()

    virtual_time.run(main())


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_exception_of_the_stream_cancels_the_work_and_is_raised_last(place: int):
    made, seen = Made(), list[Any]()
    events: list[Any] = [5, 6]
    events.insert(place, ValueError("cut"))
    with pytest.raises(ValueError, match="cut"):
        virtual_time.run(read(StepStream(source(*events), made), seen))
    assert seen == [5, 6][:place]
    assert made.actor.cancelled == [(number, "the stream failed") for number in seen]
    assert [type(how) for how in made.actor.how] == [Failed]


def test_an_exception_of_the_work_ends_the_stream():
    made, seen = Made(), list[Any]()
    with pytest.raises(ValueError, match="thirteen"):
        virtual_time.run(read(StepStream(source(13, 20, 30.0, "late"), made), seen))
    assert seen == [13, 20]
    assert made.actor.cancelled == [(20, "the stream was left")]


@pytest.mark.parametrize("status", ["interrupted", "failed"])
def test_an_answer_that_breaks_off_cancels_the_work_of_its_turn_alone(status: Any):
    made, seen = Made(), list[Any]()
    events = (5, AnswerEnd("other", status=status), 1.0, AnswerEnd("t", status=status))
    virtual_time.run(read(StepStream(source(*events), made), seen))
    assert [number for number, _ in made.actor.cancelled] == [5]
    assert [type(how) for how in made.actor.how] == [Completed]


def test_leaving_closes_the_stream_and_the_work():
    made = Made()
    closed: list[str] = []

    async def main() -> None:
        stream = StepStream(source(5, 6.0, closed=closed), made)
        assert await anext(stream) == 5
        await stream.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert asyncio.get_running_loop().time() == 0

    virtual_time.run(main())
    assert closed == ["closed"]
    assert made.actor.cancelled == [(5, "the stream was left")]
    assert [type(how) for how in made.actor.how] == [Interrupted]


def test_a_stream_that_is_dropped_is_closed():
    closed: list[str] = []

    async def main() -> None:
        stream = StepStream(source(5, 6.0, closed=closed), Made())
        await anext(stream)
        del stream
        gc.collect()
        await asyncio.sleep(1)
        assert closed == ["closed"]

    virtual_time.run(main())


def test_one_that_never_began_closes_its_source():
    class Source:
        closed = False

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> Any:
            raise StopAsyncIteration

        async def aclose(self) -> None:
            self.closed = True

    events = Source()
    asyncio.run(StepStream(events, Made()).aclose())
    assert events.closed


@pytest.mark.parametrize("seconds", [0, 1, 7])
def test_cancel_ends_the_stream_in_order(seconds: int):
    made, seen = Made(), list[Any]()
    closed: list[str] = []

    async def main() -> None:
        stream = StepStream(source(5, 3.0, "x", closed=closed), made)
        asyncio.get_running_loop().call_later(seconds, stream.cancel, "enough")
        await read(stream, seen)

    virtual_time.run(main())
    assert made.actor.cancelled == ([] if seconds > 5 else [(5, "enough")] if seen else [])
    assert len(closed) <= 1


def test_cancel_before_the_first_read_begins_nothing():
    made, seen = Made(), list[Any]()

    async def main() -> None:
        stream = StepStream(source(5), made)
        stream.cancel("enough")
        await read(stream, seen)

    virtual_time.run(main())
    assert (seen, made.actor.cancelled) == ([], [])


def test_a_thread_answers_a_loop_that_is_closed_without_a_word(recwarn: pytest.WarningsRecorder):
    begun, done = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def work() -> None:
        threads.append(threading.current_thread())
        begun.set()
        done.wait(10)

    async def main() -> None:
        task = asyncio.create_task(in_thread(work))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(main())
    done.set()
    threads[0].join(10)
    assert not threads[0].is_alive()
    assert [str(each.message) for each in recwarn.list] == []


MUTANTS = {
    "a broken answer leaves its tools running": ("breaks_off", ("sinks/acting/step.py", 'if isinstance(event, AnswerEnd) and event.status in ("interrupted", "failed"):', "if False:")),
}  # fmt: skip
