from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import pytest

from penstock.gateway.operating.request_turns import BusyError, Turns


async def pass_through(turns: Turns) -> None:
    async with turns.turn({}):
        pass


def test_requests_work_in_the_order_in_which_they_came():
    async def main() -> list[str]:
        turns, done, free = Turns(2, 9, 60.0), [], asyncio.Event()

        async def work(name: str) -> None:
            async with turns.turn({}):
                done.append(name)
                await free.wait()

        async with asyncio.TaskGroup() as group:
            for name in "abcd":
                group.create_task(work(name))
            await asyncio.sleep(0)
            assert (done, turns.waiting) == (["a", "b"], 2)
            free.set()
        assert turns.waiting == 0
        return done

    assert asyncio.run(main()) == [*"abcd"]


def test_there_are_so_many_places_and_those_that_are_left_are_free_again():
    turns = Turns(1, 2, 60.0)
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(turns.place())
        with pytest.raises(BusyError, match="too many requests at once"), turns.place():
            pass
    with turns.place():
        pass


def test_a_turn_that_does_not_come_in_time_is_given_up_and_one_that_is_cancelled_goes_to_the_next():
    async def main() -> None:
        turns: Turns = Turns(1, 9, 0.01)
        notes: dict[str, Any] = {}
        async with turns.turn({}):
            with pytest.raises(BusyError, match="too many requests at once"):
                async with turns.turn(notes):
                    pass
            assert notes["waited"] >= 0.01
            left = asyncio.ensure_future(pass_through(turns))
            await asyncio.sleep(0)
            left.cancel()
            await asyncio.wait({left})
            assert turns.waiting == 0
        notes.clear()
        async with turns.turn(notes):
            assert notes == {}, "it has not waited"

    asyncio.run(main())


def test_after_the_end_new_requests_and_those_that_wait_are_refused():
    async def main() -> None:
        turns = Turns(1, 9, 60.0)
        async with turns.turn({}):
            waiting = asyncio.ensure_future(pass_through(turns))
            await asyncio.sleep(0)
            turns.is_over = True
            with pytest.raises(BusyError, match="the gateway is stopping"), turns.place():
                pass
        with pytest.raises(BusyError, match="the gateway is stopping"):
            await waiting

    asyncio.run(main())
