"""A run is for one loop: a second one is told so."""

import asyncio
from typing import Any

import pytest

from penstock import ChunkResponse, Pipeline, UsageError
from penstock.sinks import acollect, collect

ANSWER = [ChunkResponse(content="Hi", finish_reason="stop", is_complete=True)]


def test_a_second_loop_over_a_run_says_that_it_was_used():
    run = Pipeline().stream(ANSWER)
    assert collect(run).text == "Hi"
    with pytest.raises(UsageError, match="this run was used"):
        list(run)
    assert run.answer.text == "Hi"


def test_a_run_that_was_closed_is_used_too():
    run = Pipeline().stream(ANSWER)
    run.close()
    with pytest.raises(UsageError, match="this run was used"):
        next(iter(run))


def test_a_second_loop_may_go_on_where_the_first_was_left():
    run = Pipeline().stream(ANSWER)
    first = next(iter(run))
    rest: list[Any] = list(run)
    assert [type(each).__name__ for each in (first, *rest)][-1] == "AnswerEnd"


def test_a_second_async_loop_says_it_too():
    async def twice() -> None:
        run = Pipeline().astream(ANSWER)
        assert (await acollect(run)).text == "Hi"
        with pytest.raises(UsageError, match="this run was used"):
            await acollect(run)

    asyncio.run(twice())
