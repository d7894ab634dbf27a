"""`EventPump`: its one timer, which outlives short waits and fires for the last one only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import virtual_time

from penstock.sinks.running.event_pump import EventPump


class Source:
    """Events that come when they are let."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Any] = asyncio.Queue()

    async def events(self) -> AsyncIterator[Any]:
        while (event := await self.queue.get()) is not None:
            yield event


def timers() -> int:
    loop: Any = asyncio.get_running_loop()
    return sum(not handle.cancelled() for handle in loop._scheduled)


def new_pump(source: Source) -> EventPump:
    return EventPump(source.events(), lambda event: [event], lambda _: [], ahead=9)


def test_waits_that_an_item_ends_share_one_timer():
    async def main() -> None:
        source = Source()
        pump = new_pump(source)
        for number in range(5):
            source.queue.put_nowait(number)
            assert await pump.changed(15.0)
            assert pump.take() == number
            assert timers() == 1
        await pump.aclose()
        assert timers() == 0

    virtual_time.run(main())


def test_a_wait_ends_after_its_own_time_whatever_the_timer_was_set_to():
    async def main() -> None:
        source = Source()
        pump = new_pump(source)
        now = asyncio.get_running_loop().time
        source.queue.put_nowait("one")
        assert await pump.changed(10.0)
        await asyncio.sleep(4.0)
        begin = now()
        assert not await pump.changed(10.0), "the timer of the first wait came at 10, this one's time is 14"
        assert now() - begin == 10.0
        begin = now()
        assert not await pump.changed(1.0), "sooner than the timer before"
        assert now() - begin == 1.0
        await pump.aclose()

    virtual_time.run(main())


def test_a_wait_without_a_time_is_not_ended_by_the_timer_of_one_before():
    async def main() -> None:
        source = Source()
        pump = new_pump(source)
        source.queue.put_nowait("one")
        assert await pump.changed(1.0)
        asyncio.get_running_loop().call_later(50.0, source.queue.put_nowait, "two")
        assert await pump.changed()
        assert list(pump.items) == ["one", "two"]
        await pump.aclose()

    virtual_time.run(main())


def test_wake_at_sets_the_time_of_a_wait_that_has_begun():
    async def main() -> None:
        pump = new_pump(Source())
        loop = asyncio.get_running_loop()
        loop.call_later(2.0, pump.wake_at, 5.0)
        assert not await pump.changed()
        assert loop.time() == 5.0
        await pump.aclose()

    virtual_time.run(main())


def test_the_end_of_the_events_leaves_no_timer():
    async def main() -> None:
        source = Source()
        pump = new_pump(source)
        source.queue.put_nowait(None)
        assert await pump.changed(15.0)
        assert pump.is_over
        assert timers() == 0
        await pump.aclose()

    virtual_time.run(main())
