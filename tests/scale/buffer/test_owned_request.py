"""`OwnedRequest` and `LiveBody`: what ends an answer, and what a client that is slow still gets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx2
import pytest
from buffers import in_loop, until
from looped import looped

from penstock.scale import LogWriter, MemoryLog
from penstock.scale.buffer.kept_answer import Asked as Request
from penstock.scale.buffer.kept_answer import End, find, frame
from penstock.scale.buffer.owned_request import LiveBody, OwnedRequest

NAME = "a"


async def owned(log: MemoryLog, ask: Callable[[], Any], beat: float = 10.0) -> OwnedRequest:
    state = await log.claim(NAME)
    asked = Request(method="POST", path="/v1/messages", digest="d", owner="b1", at="")
    last = await log.append(NAME, [frame(asked)], state.fence, after=0)
    return OwnedRequest(LogWriter(log, NAME, state._replace(last=last), joined=True), ask, [], beat)


async def never() -> httpx2.Response:
    await asyncio.Event().wait()
    raise AssertionError


def raising(error: Exception) -> Callable[[], Any]:
    async def ask() -> httpx2.Response:
        raise error

    return ask


@looped(
    "error, reason",
    [
        (httpx2.ReadTimeout("late"), "timeout"),
        (httpx2.ConnectError("gone"), "connection_lost"),
        (ValueError("a bug"), "failed"),
    ],
)
def test_what_ends_an_answer_is_in_the_log(error: Exception, reason: str, caplog: pytest.LogCaptureFixture):
    async def main() -> None:
        log = MemoryLog()
        request = await owned(log, raising(error))
        assert await request.run() == End("interrupted", reason)
        found = await find(log, NAME)
        assert found is not None
        assert (found.end, found.state.is_closed) == (End("interrupted", reason), True)
        assert ("a bug" in caplog.text) == (reason == "failed")

    asyncio.run(main())


@in_loop
async def test_one_that_is_cancelled_before_it_begins_asks_nobody():
    request = await owned(MemoryLog(), raising(AssertionError("it was asked")))
    request.cancel("stopped")
    assert await request.run() == End("interrupted", "stopped")


class Counted(MemoryLog):
    """Counts how often nothing was appended."""

    beats = 0

    async def append(self, stream: str, items: Sequence[bytes], fence: int, *, after: int) -> int:
        self.beats += not items
        return await super().append(stream, items, fence, after=after)


@in_loop
async def test_one_that_waits_for_its_provider_gives_signs_of_life_and_learns_that_it_is_fenced():
    log = Counted()
    request = await owned(log, never, beat=0.01)
    running = asyncio.create_task(request.run())
    await until(lambda: log.beats > 5)
    await log.claim(NAME)
    assert await running == End("interrupted", "fenced")
    assert request.is_fenced
    found = await find(log, NAME)
    assert found is not None
    assert found.end is None


async def all_of(body: AsyncIterator[bytes]) -> list[bytes]:
    return [piece async for piece in body]


@in_loop
async def test_a_body_holds_back_so_much_and_no_more_for_a_client():
    body = LiveBody()
    for _ in range(30):
        body.put(bytes(100_000))
    body.finish()
    assert body.is_behind
    assert len(await all_of(aiter(body))) == 11


@in_loop
async def test_a_body_that_is_closed_takes_nothing():
    body = LiveBody()
    body.put(b"1")
    body.close()
    body.put(b"2")
    body.finish()
    assert await all_of(aiter(body)) == []
