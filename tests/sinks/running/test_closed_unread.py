"""Who closes a stream before its first item closes the source, too: it may be an open connection."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from every_sdk import all_have_ended
from looped import looped
from otel_recorder import Recorder

from penstock.events import Notice
from penstock.sinks import coalesce, to_acp, to_json_lines, to_langchain, to_pydantic_ai, to_sse

NOTICE = Notice("n", "d")


class Open:
    """A stream that is open before anybody reads it."""

    def __init__(self) -> None:
        self.closed = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return NOTICE

    def close(self) -> None:
        self.closed += 1


class OpenAsync:
    def __init__(self) -> None:
        self.asked = self.closed = 0

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        self.asked += 1
        return NOTICE

    async def aclose(self) -> None:
        for _ in range(3):  # as the closing of a connection, which a cancellation could break off
            await asyncio.sleep(0)
        self.closed += 1


def observed(events: Any) -> Any:
    return Recorder().observe()(events)


BOTH: list[Callable[..., Any]] = [
    to_langchain,
    to_pydantic_ai,
    lambda events: to_acp(events, "session"),
    observed,
    coalesce(chars=9),
]
ASYNC: list[Callable[..., Any]] = [*BOTH, to_sse, to_json_lines]


@looped("opened", BOTH)
@looped("is_forgotten", [False, True])
def test_a_plain_stream_is_closed(opened: Callable[..., Any], is_forgotten: bool):
    source = Open()
    events = opened(source)
    if not is_forgotten:
        events.close()
    del events
    gc.collect()
    assert source.closed == 1


@pytest.mark.parametrize("opened", ASYNC)
def test_an_async_stream_is_closed_once_and_nothing_is_read(opened: Callable[..., Any]):
    async def main() -> None:
        source = OpenAsync()
        events = opened(source)
        await events.aclose()
        await events.aclose()
        assert (source.asked, source.closed) == (0, 1)
        with pytest.raises(StopAsyncIteration):
            await anext(events)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


@pytest.mark.parametrize("opened", [to_sse, to_langchain, observed])
def test_an_exception_that_is_thrown_into_it_closes_it(opened: Callable[..., Any]):
    async def main() -> None:
        source = OpenAsync()
        with pytest.raises(KeyError):
            await opened(source).athrow(KeyError("x"))
        assert (source.asked, source.closed) == (0, 1)

    asyncio.run(main())


@pytest.mark.parametrize("opened", [to_sse, to_json_lines])
def test_it_may_be_made_before_there_is_a_loop_and_forgotten_in_the_middle(opened: Callable[..., Any]):
    source = OpenAsync()
    made = [opened(source)]

    async def main() -> None:
        await anext(made[0])
        made.clear()
        gc.collect()
        await asyncio.sleep(0)
        await all_have_ended()
        assert source.closed == 1

    asyncio.run(main())


def test_nothing_breaks_the_closing_off():
    async def main() -> None:
        source = OpenAsync()
        closing = asyncio.create_task(to_sse(source).aclose())
        for _ in range(3):
            await asyncio.sleep(0)
            closing.cancel()
        await asyncio.wait({closing})
        await all_have_ended()
        assert source.closed == 1

    asyncio.run(main())
