"""`to_langchain`: the sum of the chunks is what the answer says."""

from __future__ import annotations

import asyncio
import sys
from functools import reduce
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from langchain_core.messages import AIMessageChunk
from law_oracles import loaded, without_halves
from looped import looped
from retold import OWN, Heard, heard, heard_body, heard_chunks, said, same_value
from strategies.answers import answers

from penstock.events import AnswerEnd, ChunkResponse, ProviderError, ToolCallDelta, UsageError
from penstock.events.chunk_response import TokenUsage
from penstock.operators import drive, to_invocations, to_segments
from penstock.operators.engine.stage import Completed, Failed
from penstock.pipeline import Pipeline
from penstock.sinks import to_langchain

INVOKED = to_invocations(keep_segments=True)


def raising(stream: Heard) -> Any:
    yield from stream.events
    if isinstance(stream.how, Failed):
        raise stream.how.error


def summed(stream: Heard) -> AIMessageChunk:
    """Return the sum of all chunks, also of those before an exception."""
    chunks = [AIMessageChunk(content="")]
    try:
        chunks.extend(to_langchain(raising(stream)))
    except ProviderError:
        assert isinstance(stream.how, Failed)
    else:
        assert isinstance(stream.how, Completed)
    return reduce(add, chunks)


def text_of(message: AIMessageChunk) -> str:
    content = message.content if isinstance(message.content, list) else [message.content]
    return "".join(each if isinstance(each, str) else each.get("text", "") for each in content)


def assert_same(stream: Heard) -> None:
    whole, message = said(stream), summed(stream)
    refusal = message.additional_kwargs.get("refusal", "")
    assert sorted(text_of(message) + refusal) == sorted(whole.text)
    assert message.additional_kwargs.get("reasoning_content", "") == whole.reasoning
    raw = {chunk["id"]: (chunk["name"], chunk["args"] or "") for chunk in message.tool_call_chunks}
    assert len(raw) == len(message.tool_call_chunks)
    parsed = {call["id"]: call["args"] for call in message.tool_calls}
    for call_id, (name, arguments) in whole.calls.items():
        assert raw[call_id][0] == name
        if raw[call_id][1].strip() not in ("", "null"):
            assert same_value(loaded(raw[call_id][1]), arguments)
            assert same_value(without_halves(parsed[call_id]), arguments)
    for call_id, (name, arguments) in whole.failed.items():
        assert raw[call_id][0] == name
        if not raw[call_id][1].startswith('{"input"'):
            assert raw[call_id][1] == arguments
    if whole.end is not None:
        failed = message.response_metadata.get("failed_tool_calls", {})
        assert failed.keys() == whole.failed.keys()
    if whole.usage is not None and isinstance(stream.how, Completed):
        usage = message.usage_metadata
        assert usage is not None
        assert (usage["input_tokens"], usage["output_tokens"]) == (whole.usage.prompt, whole.usage.completion)


@looped("api, path", OWN, ids=lambda each: getattr(each, "stem", each))
def test_every_own_stream_is_the_sum_of_its_chunks(api: str, path: Path):
    assert_same(heard_body(api, path.read_bytes()))


@given(answers())
def test_any_answer_is_the_sum_of_its_chunks(chunks: list[ChunkResponse]):
    assert_same(heard_chunks([chunk for chunk in chunks if chunk.choice == 0], Completed()))


def test_the_chunks_have_what_langchain_wants():
    usage = TokenUsage(prompt=9, completion=4, total=13, cached=2, reasoning=1)
    deltas = (ToolCallDelta(0, "a", "f", '{"x": 1}'), ToolCallDelta(1, "b", "g", '{"y": "cu'))
    stream = heard(
        [
            ChunkResponse(reasoning="Hm", model="m"),
            ChunkResponse(content="Hi", tool_calls=deltas),
            ChunkResponse(finish_reason="length", finish_reason_raw="max_tokens", is_complete=True, usage=usage),
        ]
    )
    *_, last = chunks = list(to_langchain(stream.events))
    assert {chunk.id for chunk in chunks} == {"t"}
    assert [chunk.tool_call_chunks for chunk in chunks if chunk.tool_call_chunks][:2] == [
        [{"name": "f", "args": "", "id": "a", "index": 0, "type": "tool_call_chunk"}],
        [{"name": None, "args": '{"x": 1}', "id": None, "index": 0, "type": "tool_call_chunk"}],
    ]
    assert last.chunk_position == "last"
    assert last.usage_metadata == {
        "input_tokens": 9,
        "output_tokens": 4,
        "total_tokens": 13,
        "input_token_details": {"cache_read": 2},
        "output_token_details": {"reasoning": 1},
    }
    assert last.response_metadata["finish_reason"] == "max_tokens"
    assert last.response_metadata["model_name"] == "m"
    assert [*last.response_metadata["failed_tool_calls"]] == ["b"]
    message = reduce(add, chunks)
    assert [block["type"] for block in message.content_blocks] == ["reasoning", "text", "tool_call", "tool_call"]


def test_each_turn_is_a_message_of_its_own():
    call = ToolCallDelta(0, "a", "f", "{}")
    finish = ChunkResponse(tool_calls=(call,), finish_reason="tool_calls", is_complete=True)
    turns = [list(drive([finish], to_segments(turn_id=turn), INVOKED)) for turn in ("one", "two")]
    chunks = list(to_langchain(chain(*turns)))
    messages = [reduce(add, (chunk for chunk in chunks if chunk.id == turn)) for turn in ("one", "two")]
    assert [[each["id"] for each in message.tool_calls] for message in messages] == [["a"], ["two:a"]]
    assert [message.tool_call_chunks[0]["index"] for message in messages] == [0, 0]


def test_the_text_of_a_free_form_tool_is_json():
    call = ToolCallDelta(0, "a", "patch", '*** "x"\n', kind="text", status="completed", done=True)
    message = summed(heard([ChunkResponse(tool_calls=(call,), finish_reason="tool_calls", is_complete=True)]))
    assert [call["args"] for call in message.tool_calls] == [{"input": '*** "x"\n'}]


def test_async_events_make_an_async_stream_and_leaving_it_closes_them():
    async def main() -> list[AIMessageChunk]:
        source = [ChunkResponse(content=each, response_id="r") for each in "ab"]
        async with Pipeline().astream(source) as run:
            chunks = to_langchain(run)
            first = [await anext(aiter(chunks))]
            await chunks.aclose()  # type: ignore[attr-defined]
        return first

    assert [chunk.content for chunk in asyncio.run(main())] == ["a"]


def test_what_is_no_stream_is_refused():
    with pytest.raises(UsageError, match="got int, not a stream of events"):
        to_langchain(7)  # type: ignore[call-overload]


def test_without_langchain_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "langchain_core", None)
    monkeypatch.setitem(sys.modules, "langchain_core.messages", None)
    with pytest.raises(UsageError, match=r'pip install "\.\[langchain\]"'):
        to_langchain([])


def test_of_several_answers_the_first_is_the_message_and_no_failure_gets_lost():
    chunks = [
        ChunkResponse(content="Paris", choice=0),
        ChunkResponse(content="London", choice=1),
        ChunkResponse(finish_reason="stop", is_complete=True, choice=0),
        ChunkResponse(finish_reason="stop", is_complete=True, choice=1),
    ]
    message = summed(heard(chunks))
    assert (message.content, message.response_metadata["finish_reason"]) == ("Paris", "stop")
    cut = heard([ChunkResponse(tool_calls=(ToolCallDelta(0, "a", "f", '{"x": 1'),))])
    without_end = Heard([event for event in cut.events if not isinstance(event, AnswerEnd)], Completed())
    [reason] = summed(without_end).response_metadata["failed_tool_calls"].values()
    assert reason.startswith("truncated")
