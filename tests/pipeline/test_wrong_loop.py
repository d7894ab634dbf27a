"""A loop of the wrong kind says what to write, and nothing takes a stream for one of the other kind."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import Any

import pytest

from penstock import ChunkResponse, Pipeline, SegmentContent, UsageError, call_tools, collect, turns
from penstock.operators.engine.pump import is_async_stream
from penstock.sinks import coalesce

ANSWER = [ChunkResponse(content="Hi", finish_reason="stop", is_complete=True)]


def work() -> None:
    pass


async def events() -> AsyncIterator[Any]:
    yield Pipeline


ASYNC: list[tuple[Callable[[], Any], str]] = [
    (lambda: Pipeline().astream(ANSWER), r"async for event in \.\.\.` in a coroutine, or loop over stream\(\.\.\.\)"),
    (lambda: turns(Pipeline(), lambda _: ANSWER, "anthropic", messages=[]), r"loop over turns\(\.\.\.\)\.blocking\(\)"),
    (lambda: coalesce(chars=9)(events()), r"async for event in \.\.\.` in a coroutine$"),
    (lambda: call_tools([work])(events()), r"async for event in \.\.\.` in a coroutine$"),
]


@pytest.mark.parametrize(("stream", "said"), ASYNC)
def test_a_plain_loop_over_an_async_stream_says_what_to_write(stream: Callable[[], Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        list(stream())


@pytest.mark.parametrize(("stream", "said"), ASYNC)
def test_an_async_stream_is_still_no_iterable(stream: Callable[[], Any], said: str) -> None:
    made = stream()
    assert said
    assert isinstance(made, AsyncIterable)
    assert not isinstance(made, Iterable)


def test_an_async_loop_over_a_plain_run_says_what_to_write() -> None:
    async def loop() -> None:
        run: Any = Pipeline().stream(ANSWER)
        async for _ in run:
            pass

    with pytest.raises(UsageError, match=r"write `for event in \.\.\.`, or .* pipeline\.astream\(\.\.\.\)"):
        asyncio.run(loop())


def test_a_plain_run_is_plain_for_all_that_takes_both() -> None:
    def run() -> Any:
        return Pipeline().stream(ANSWER)

    async def in_a_loop() -> list[str]:
        texts = (event.delta for event in run() if isinstance(event, SegmentContent))
        again = Pipeline().astream(texts)
        return [event.delta async for event in again if isinstance(event, SegmentContent)]

    assert collect(run()).text == collect(coalesce(chars=9)(run())).text == "Hi"
    assert asyncio.run(in_a_loop()) == ["Hi"]
    with pytest.raises(UsageError, match="must be called with an async stream"):
        call_tools([work])(run())
    assert not is_async_stream(run())
