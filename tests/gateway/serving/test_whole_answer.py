"""`whole_answer`: of any answer, the whole body says what the SDK puts together of the stream."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reemitted import by_chat_helper, by_responses_helper
from retold import heard_chunks, is_failed
from strategies.answers import answers

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.gateway.neutral import Api
from penstock.gateway.serving.whole_answer import failure_in, whole_answer
from penstock.operators.engine.stage import Completed
from penstock.sinks.web.protocols import encoder_of


def frames_of(api: Api, chunks: list[ChunkResponse]) -> list[dict[str, Any]]:
    stream = heard_chunks(chunks, Completed())
    encoder = encoder_of(api, {"interleave": False} if api == "anthropic-messages" else {})
    return [*(frame for event in stream.events for frame in encoder.feed(event)), *encoder.close(Completed(), {})]


@given(answers(), st.sampled_from(["openai-chat", "openai-responses", "anthropic-messages"]))
def test_any_answer_is_a_body_that_the_sdk_reads_or_a_failure(drawn: list[ChunkResponse], api: Api):
    chunks = [chunk for chunk in drawn if chunk.choice == 0]
    frames = frames_of(api, chunks)
    if is_failed(heard_chunks(chunks, Completed())):
        assert failure_in(frames[-1])
        return
    assert failure_in(frames[-1]) is None
    body = whole_answer(api, frames)
    if api == "openai-chat":
        openai.types.chat.ChatCompletion.model_validate(body, strict=True)
    elif api == "openai-responses":
        assert openai.types.responses.Response.construct(**body).status in ("completed", "incomplete")
    else:
        anthropic.types.Message.model_validate(body)


CALLS = [
    ChunkResponse(reasoning="Hm."),
    ChunkResponse(content="On it."),
    ChunkResponse(tool_calls=(ToolCallDelta(0, "a", "f", '{"x": '), ToolCallDelta(1, "b", "g", '{"y": '))),
    ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta="1}"), ToolCallDelta(1, arguments_delta="2}"))),
    ChunkResponse(finish_reason="tool_calls", is_complete=True),
]


def body_of(frames: list[dict[str, Any]], *, named: bool) -> bytes:
    import json  # noqa: PLC0415 - of this helper alone

    return b"".join(
        (b"event: %b\n" % frame["type"].encode() if named else b"") + b"data: %b\n\n" % json.dumps(frame).encode()
        for frame in frames
    )


def test_the_whole_body_is_what_the_sdks_helper_makes_of_the_chunks():
    frames = frames_of("openai-chat", CALLS)
    [choice] = whole_answer("openai-chat", frames)["choices"]
    [helped] = by_chat_helper(body_of(frames, named=False)).choices
    calls = [(call.id, call.function.name, call.function.arguments) for call in helped.message.tool_calls]
    assert [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in choice["message"]["tool_calls"]
    ] == calls
    assert calls == [("a", "f", '{"x": 1}'), ("b", "g", '{"y": 2}')]
    assert (choice["message"]["content"], choice["finish_reason"]) == (helped.message.content, "tool_calls")
    assert choice["message"]["reasoning_content"] == "Hm."


def test_the_whole_response_is_that_of_the_last_event():
    frames = frames_of("openai-responses", CALLS)
    helped = by_responses_helper(body_of(frames, named=True)).response
    body = whole_answer("openai-responses", frames)
    assert [item["type"] for item in body["output"]] == [item.type for item in helped.output]


def test_a_whole_message_has_its_blocks_in_order_and_no_input_of_a_cut_call():
    body = whole_answer("anthropic-messages", frames_of("anthropic-messages", CALLS))
    assert [block.get("input") for block in body["content"]] == [None, None, {"x": 1}, {"y": 2}]
    assert body["stop_reason"] == "tool_use"
    cut = [CALLS[2], ChunkResponse(finish_reason="length", is_complete=True)]
    body = whole_answer("anthropic-messages", frames_of("anthropic-messages", cut))
    assert (body["stop_reason"], [block["input"] for block in body["content"]]) == ("max_tokens", [{}, {}])


@pytest.mark.parametrize(
    ("frame", "failure"),
    [
        ({"choices": []}, None),
        ({"error": {"message": "x"}}, {"message": "x"}),
        ({"type": "response.failed", "response": {"error": {"message": "x"}}}, {"message": "x"}),
        ({"type": "response.completed", "response": {"error": None}}, None),
    ],
)
def test_a_failure_is_found_in_the_frame_of_any_api(frame: dict[str, Any], failure: Any):
    assert failure_in(frame) == failure
