from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from penstock import ChunkResponse, Pipeline, ProviderError, SegmentContent, ToolCallDelta, ToolResult, UsageError

CALL = ToolCallDelta(0, "call_1", "now", "{}")
CHUNKS = [ChunkResponse(content="Hi"), ChunkResponse(tool_calls=(CALL,), finish_reason="tool_calls")]


def test_a_run_has_its_answer_once_the_loop_is_over():
    run = Pipeline().stream(CHUNKS)
    for _ in run:
        with pytest.raises(UsageError, match="the answer is there once the loop over this run has ended"):
            run.answer  # noqa: B018
    assert (run.answer.text, run.answer.status) == ("Hi", "complete")
    assert run.answer is run.answer
    assert [entry["role"] for entry in run.answer.to_messages("openai", [ToolResult("call_1")])] == [
        "assistant",
        "tool",
    ]


def test_a_run_that_was_left_has_what_came():
    with Pipeline().stream(CHUNKS) as run:
        for event in run:
            if isinstance(event, SegmentContent):
                break
    assert (run.answer.text, run.answer.status) == ("Hi", "interrupted")
    assert run.answer.to_messages("openai") == [{"role": "assistant", "content": "Hi"}]


def test_a_run_that_never_began_has_an_empty_answer():
    run = Pipeline().stream(CHUNKS)
    run.close()
    assert run.answer.to_messages("openai") == []


def test_a_run_that_was_cancelled_or_failed_has_its_answer():
    run = Pipeline().stream(CHUNKS)
    next(run)
    run.cancel()
    list(run)
    assert run.answer.status == "interrupted"

    def broken() -> Iterator[ChunkResponse]:
        yield CHUNKS[0]
        message = "the server is gone"
        raise OSError(message)

    failed = Pipeline().stream(broken())
    with pytest.raises(ProviderError, match="the server is gone"):
        list(failed)
    assert (failed.answer.text, failed.answer.status) == ("Hi", "interrupted")
    assert "the server is gone" in str(failed.answer.end.error)


def test_a_pipeline_may_keep_no_answers():
    run = Pipeline(keep_answer=False).stream(CHUNKS)
    list(run)
    with pytest.raises(UsageError, match="this pipeline does not keep its answers; make it with keep_answer=True"):
        run.answer  # noqa: B018


def test_an_async_run_has_it_too():
    async def chunks() -> AsyncIterator[ChunkResponse]:
        for chunk in CHUNKS:
            yield chunk

    async def whole() -> str:
        run = Pipeline().astream(chunks())
        with pytest.raises(UsageError):
            run.answer  # noqa: B018
        async for _ in run:
            pass
        left = Pipeline().astream(chunks())
        async with left:
            await anext(left)
        assert left.answer.status == "interrupted"
        return run.answer.text

    assert asyncio.run(whole()) == "Hi"
