"""`astream` gives the events of one read in one turn of the event loop, with steps and without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from sse_stream import one_by_one

from penstock.pipeline import Pipeline, call_tools
from penstock.sinks import to_sse

EVENT = b'data: {"id": "r1", "choices": [{"index": 0, "delta": {"content": "abcd"}}]}\n\n'
READS, IN_ONE = 20, 16


def add(a: int) -> int:
    return a


def subtract(a: int) -> int:
    return -a


class Paced(httpx2.AsyncByteStream):
    """A body whose pieces come in turns of the loop of their own."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            await asyncio.sleep(0)
            yield piece


def response(pieces: list[bytes]) -> httpx2.Response:
    request = httpx2.Request("POST", "http://here/v1/chat/completions")
    return httpx2.Response(200, stream=Paced(pieces), request=request)


WAYS: dict[str, Any] = {
    "alone": lambda source: Pipeline(turn_id="t").astream(source),
    "with a step": lambda source: Pipeline(turn_id="t", steps=[call_tools([add])]).astream(source),
    "with two steps": lambda source: Pipeline(turn_id="t", steps=[call_tools([add]), call_tools([subtract])]).astream(
        source
    ),
    "as frames": lambda source: one_by_one(to_sse(Pipeline(turn_id="t").astream(source))),
}


async def turns(events: AsyncIterator[Any]) -> tuple[list[Any], int]:
    """Return the events, and how many turns the loop made for them."""
    loop, is_on, count = asyncio.get_running_loop(), True, 0

    def tick() -> None:
        nonlocal count
        count += 1
        if is_on:
            loop.call_soon(tick)

    tick()
    seen = [event async for event in events]
    is_on = False
    return seen, count


@pytest.mark.parametrize("way", WAYS)
def test_the_loop_turns_for_reads_and_not_for_each_event(way: str):
    events, count = asyncio.run(turns(WAYS[way](response([EVENT * IN_ONE] * READS))))
    assert len(events) > READS * IN_ONE
    assert count <= 6 * READS


@pytest.mark.parametrize("way", WAYS)
def test_the_events_are_the_same_however_many_come_in_each_read(way: str):
    one, _ = asyncio.run(turns(WAYS[way](response([EVENT] * READS * IN_ONE))))
    many, _ = asyncio.run(turns(WAYS[way](response([EVENT * IN_ONE] * READS))))
    assert many == one


def test_a_run_says_whether_more_of_the_last_read_waits():
    async def main() -> list[bool]:
        run = Pipeline(turn_id="t").astream(response([EVENT * 3, EVENT]))
        assert not run.has_waiting
        return [run.has_waiting async for _ in run]

    waiting = asyncio.run(main())  # START and three pieces, one piece, then the end: END and AnswerEnd
    assert waiting == [True, True, True, False, False, True, False]


def test_a_loop_that_leaves_in_the_middle_of_a_read_closes_the_response():
    body = response([EVENT * IN_ONE] * READS)

    async def main() -> None:
        async with Pipeline(turn_id="t", steps=[call_tools([add])]).astream(body) as run:
            async for _ in run:
                break

    asyncio.run(main())
    assert body.is_closed


MUTANTS = {
    "a step waits for its reader after each event of a read": ("turns", ("sinks/acting/step.py", '"has_waiting", False)', '"has_waited", False)')),
}  # fmt: skip
