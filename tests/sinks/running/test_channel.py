from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.events import UsageError
from penstock.sinks.running.channel import Channel, NoReaderError, StreamCutError, as_error


def on_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def joined(thread: threading.Thread) -> bool:
    thread.join(20)
    return not thread.is_alive()


def asleep(channel: Channel) -> bool:
    """Wait until somebody waits for the channel."""
    deadline = threading.Event()
    timer = threading.Timer(20, deadline.set)
    timer.start()
    while not (channel._sleepers or channel._tasks or deadline.is_set()):
        deadline.wait(0.001)
    timer.cancel()
    return not deadline.is_set()


async def writes(channel: Channel, items: list[Any]) -> None:
    for item in items:
        await channel.aput(item)
    channel.end()


def write(channel: Channel, items: list[Any]) -> None:
    for item in items:
        channel.put(item)
    channel.end()


async def reads(channel: Channel) -> list[Any]:
    return [item async for item in channel]


def by_threads(channel: Channel, items: list[Any]) -> list[Any]:
    thread = on_thread(lambda: write(channel, items))
    read = list(channel)
    assert joined(thread)
    return read


def by_tasks(channel: Channel, items: list[Any]) -> list[Any]:
    async def main() -> list[Any]:
        return (await asyncio.gather(reads(channel), writes(channel, items)))[0]

    return asyncio.run(main())


def from_task_to_thread(channel: Channel, items: list[Any]) -> list[Any]:
    thread = on_thread(lambda: asyncio.run(writes(channel, items)))
    read = list(channel)
    assert joined(thread)
    return read


def from_thread_to_task(channel: Channel, items: list[Any]) -> list[Any]:
    thread = on_thread(lambda: write(channel, items))
    read = asyncio.run(reads(channel))
    assert joined(thread)
    return read


def between_loops(channel: Channel, items: list[Any]) -> list[Any]:
    thread = on_thread(lambda: asyncio.run(writes(channel, items)))
    read = asyncio.run(reads(channel))
    assert joined(thread)
    return read


WAYS = (by_threads, by_tasks, from_task_to_thread, from_thread_to_task, between_loops)


@looped("way", WAYS)
@looped("maxsize", [1, 3, 1000])
@looped("number", [0, 1, 200])
def test_everything_arrives_once_and_in_order(way: Callable[..., list[Any]], maxsize: int, number: int):
    assert way(Channel(maxsize), list(range(number))) == list(range(number))


@given(st.lists(st.sampled_from(("put", "get")), max_size=30), st.integers(1, 4))
def test_it_never_holds_more_than_its_size(moves: list[str], maxsize: int):
    channel, held, number = Channel(maxsize), 0, 0
    for move in moves:
        if move == "put":
            had_room = channel.offer(number)
            assert had_room == (held < maxsize)
            held, number = held + had_room, number + had_room
        elif held:
            assert next(channel) == number - held
            held -= 1


def test_what_was_put_comes_before_the_error():
    channel = Channel(2)
    channel.put(1)
    error = OSError("lost")
    channel.end(error)
    channel.end()
    assert next(channel) == 1
    with pytest.raises(OSError, match="lost") as raised:
        next(channel)
    assert raised.value is error

    async def main() -> None:
        with pytest.raises(OSError, match="lost"):
            await anext(channel)

    asyncio.run(main())


def test_writing_after_the_end_is_the_writers_mistake():
    channel = Channel(1)
    channel.end()
    with pytest.raises(UsageError, match="ended"):
        channel.put(1)


@pytest.mark.parametrize("maxsize", [0, -1, 1.5, None, True])
def test_a_size_that_is_no_number_of_events_is_refused(maxsize: Any):
    with pytest.raises(UsageError, match=f"maxsize must be at least 1, got {maxsize!r}"):
        Channel(maxsize)


def test_a_reader_that_leaves_wakes_a_writer_that_waits_on_its_thread():
    channel = Channel(1)
    told: list[str] = []

    def writer() -> None:
        try:
            write(channel, [1, 2, 3])
        except NoReaderError:
            told.append("left")

    thread = on_thread(writer)
    assert asleep(channel)
    channel.close()
    assert joined(thread)
    assert told == ["left"]
    assert list(channel) == []


def test_a_reader_that_leaves_wakes_a_writer_that_waits_in_its_task():
    async def main() -> None:
        channel = Channel(1)
        writing = asyncio.create_task(writes(channel, [1, 2]))
        await asyncio.sleep(0)
        assert not writing.done()
        await channel.aclose()
        with pytest.raises(NoReaderError):
            await writing

    asyncio.run(main())


@pytest.mark.parametrize("error", [None, OSError("lost")])
def test_the_end_wakes_a_reader_on_a_thread_and_one_on_another_loop(error: Exception | None):
    for read in (lambda channel: next(channel, "end"), lambda channel: asyncio.run(reads(channel)) or "end"):
        channel = Channel(1)
        got: list[Any] = []

        def reader(read: Any = read, channel: Channel = channel, got: list[Any] = got) -> None:
            try:
                got.append(read(channel))
            except OSError as lost:
                got.append(lost)

        thread = on_thread(reader)
        assert asleep(channel)
        channel.end(error)
        assert joined(thread)
        assert got == ["end" if error is None else error]


def test_a_reader_whose_loop_was_closed_does_not_disturb_the_writer():
    channel = Channel(1)

    waiting = channel.__anext__()

    async def begins_to_wait() -> None:
        waiting.send(None)

    asyncio.run(begins_to_wait())
    assert channel._tasks, "what waited in the closed loop is still noted"
    channel.put(1)
    assert next(channel) == 1
    waiting.close()


@pytest.mark.parametrize("side", ["reader", "writer"])
def test_of_who_waits_no_longer_nothing_is_kept(side: str):
    async def main() -> None:
        channel = Channel(1)
        if side == "writer":
            channel.put(0)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.001):
                    await (anext(channel) if side == "reader" else channel.aput(1))
            assert channel._tasks == []

    asyncio.run(main())


def test_a_cancelled_reader_loses_nothing():
    async def main() -> None:
        channel = Channel(2)
        waiting = asyncio.create_task(reads(channel))
        await asyncio.sleep(0)
        channel.put(1)
        waiting.cancel()  # it was woken already, and has not taken it yet
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await anext(channel) == 1

    asyncio.run(main())


def test_a_reader_that_was_cancelled_does_not_disturb_the_writer():
    async def main() -> None:
        channel = Channel(2)
        waiting = asyncio.create_task(reads(channel))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        channel.put(1)
        assert await anext(channel) == 1

    asyncio.run(main())


@pytest.mark.parametrize("cause", [KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit(), SystemExit(1)])
def test_what_stops_one_thread_or_task_is_an_error_to_the_others(cause: BaseException):
    error = as_error(cause)
    assert isinstance(error, StreamCutError)
    assert error.__cause__ is cause
    assert str(error) == f"the stream was left before its end ({type(cause).__name__})"


def test_an_error_is_itself():
    error = OSError()
    assert as_error(error) is error
    assert as_error(None) is None


def test_a_writer_that_is_released_waits_no_longer():
    channel = Channel(1)
    channel.put("a")
    writer = threading.Thread(target=channel.put, args=("b",))
    writer.start()
    channel.release()
    writer.join()
    assert channel.offer("c")
    channel.end()
    assert list(channel) == ["a", "b", "c"]
