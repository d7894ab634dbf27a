"""`FramePump`: one task reads and closes, whatever happens to the reader and when."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import Any

import pytest

from penstock.events import Notice, ProviderError, SegmentStart
from penstock.sinks.web.protocols import FramePump, UiFrames

STREAM_END = b'{"type":"STREAM_END"}'

START = SegmentStart("s", "text")


class Connection:
    """Events of which one comes per `allow()`; its closing takes several turns of the loop."""

    def __init__(self, *events: Any) -> None:
        self.allowed = asyncio.Semaphore(0)
        self.closing = asyncio.Event()
        self.happened: list[str] = []
        self._events = iter(events)

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        self.happened.append("asked")
        await self.allowed.acquire()
        for event in self._events:
            return event
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.happened.append("closing")
        self.closing.set()
        for _ in range(3):
            await asyncio.sleep(0)
        self.happened.append("closed")


async def rest(pump: FramePump) -> list[bytes]:
    frames: list[bytes] = []
    while await pump.wait() and (frame := pump.take()) is not None:
        frames.append(frame)
    return frames


def test_left_before_the_first_item_was_asked_for_the_events_are_closed_unasked():
    async def main() -> None:
        events = Connection()
        pump = FramePump(events, UiFrames())
        await pump.aclose()
        assert events.happened == ["closing", "closed"]

    asyncio.run(main())


def test_cancelled_before_the_first_item_was_asked_for_only_the_terminal_comes():
    async def main() -> None:
        events = Connection(START)
        pump = FramePump(events, UiFrames())
        await pump.cancel("never mind")
        assert await rest(pump) == [STREAM_END]
        assert events.happened == ["closing", "closed"]

    asyncio.run(main())


@pytest.mark.parametrize("what", ["left", "cancelled", "cancelled twice and left"])
def test_nothing_breaks_the_closing_off(what: str):
    async def main() -> None:
        events = Connection()
        events.allowed.release()
        pump = FramePump(events, UiFrames())
        await events.closing.wait()
        if "cancelled" in what:
            await pump.cancel("late")
        if "twice" in what:
            await pump.cancel("later")
        if "left" in what:
            await pump.aclose()
            assert not await rest(pump)
        else:
            assert await rest(pump) == [STREAM_END]
        assert events.happened == ["asked", "closing", "closed"]

    asyncio.run(main())


def test_cancelled_in_the_middle_what_is_open_ends_as_interrupted():
    async def main() -> None:
        events = Connection(START)
        events.allowed.release()
        pump = FramePump(events, UiFrames())
        assert await pump.wait()
        await pump.cancel("enough")
        await pump.cancel("once more")
        start, end, terminal = await rest(pump)
        assert b"SEGMENT_START" in start
        assert b'"payload":{"status":"interrupted","reason":"enough"}' in end
        assert terminal == STREAM_END
        await pump.aclose()
        assert events.happened.count("closed") == 1

    asyncio.run(main())


def test_a_cancellation_inside_the_events_leaves_no_reader_waiting():
    async def main() -> None:
        class Cancelled(Connection):
            async def __anext__(self) -> Any:
                raise asyncio.CancelledError

        pump = FramePump(Cancelled(), UiFrames())
        assert await rest(pump) == [STREAM_END]

    asyncio.run(main())


def test_an_iterator_and_what_gave_it_are_both_closed():
    async def main() -> None:
        class Response(Connection):
            def __aiter__(self) -> Any:
                return iterator

        iterator = Connection(Notice("n", ""))
        response = Response()
        iterator.allowed.release()
        pump = FramePump(response, UiFrames())
        assert await pump.wait()
        await pump.aclose()
        assert (iterator.happened[-1], response.happened) == ("closed", ["closing", "closed"])

    asyncio.run(main())


def test_a_closing_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture):
    async def main() -> None:
        class Broken(Connection):
            async def aclose(self) -> None:
                raise OSError

        events = Broken()
        events.allowed.release()
        assert await rest(FramePump(events, UiFrames())) == [STREAM_END]

    with caplog.at_level(logging.DEBUG, "penstock"):
        asyncio.run(main())
    assert [record.getMessage() for record in caplog.records] == ["closing a stream failed"]


def test_the_end_of_the_loop_ends_it_and_nothing_is_said_of_a_task():
    async def main() -> Connection:
        events = Connection(START)
        pump = FramePump(events, UiFrames())
        events.allowed.release()
        assert await pump.wait()
        return events

    events = asyncio.run(main())
    gc.collect()  # a task that was lost would warn, and warnings are errors here
    assert events.happened[-1] == "closed"


@pytest.mark.parametrize("failure", [OSError("lost"), ProviderError("overloaded")])
def test_a_description_that_cannot_be_made_is_raised_after_the_terminal(failure: Exception):
    def describe(error: Exception) -> Any:
        raise KeyError(str(error))

    async def main() -> None:
        class Failing(Connection):
            async def __anext__(self) -> Any:
                for event in self._events:
                    return event
                raise failure

        pump = FramePump(Failing(START), UiFrames(describe_error=describe))
        frames = [pump.take() or b"" for _ in range(3) if await pump.wait()]
        assert [b"START" in frames[0], b"END" in frames[1], b"STREAM_ERROR" in frames[2]] == [True] * 3
        with pytest.raises(KeyError) as raised:
            pump.take()
        assert raised.value.__context__ is failure

    asyncio.run(main())
