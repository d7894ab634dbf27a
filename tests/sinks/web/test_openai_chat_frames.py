"""`ChatChunks`: the chunks themselves, and what the API has no place for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from reemitted import body_of, broken, by_chat_helper, client_of, data_of

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    ProviderError,
    ProviderEvent,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    ToolResult,
    UsageError,
)
from penstock.events.chunk_response import TokenUsage
from penstock.operators import adrive, guard, to_segments
from penstock.operators.engine.stage import Interrupted
from penstock.operators.policies import InsideRoot
from penstock.operators.to_invocations import to_invocations
from penstock.sinks.remote_readers import sse_headers, to_sse
from penstock.sinks.web.protocols import UiFrames

CALL = ToolCallDelta(0, "call_1", "f", '{"a"')
REST = ToolCallDelta(0, arguments_delta=": 1}", done=True)


async def events_of(*events: Any) -> Any:
    for event in events:
        yield event


def chunks_of(*chunks: ChunkResponse, error: ProviderError | None = None, **options: Any) -> list[Any]:
    chain = (to_segments(turn_id="t"), to_invocations(keep_segments=True))
    return data_of(body_of(adrive(broken(chunks, error), *chain), "openai-chat", **options))


def deltas_of(chunks: list[Any]) -> list[Any]:
    return [choice["delta"] for chunk in chunks for choice in chunk.get("choices", ())]


def words_of(chunks: list[Any]) -> list[str]:
    return [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"] if choice["finish_reason"]]


def text(segment_id: str, said: str, turn_id: str = "t") -> list[Any]:
    return [
        SegmentStart(segment_id, "text", turn_id=turn_id),
        SegmentContent(segment_id, "text", said, turn_id=turn_id),
        SegmentEnd(segment_id, "text", "complete", turn_id=turn_id),
    ]


def test_a_call_begins_with_its_id_its_type_and_its_name_and_goes_on_with_its_arguments():
    sent = chunks_of(
        ChunkResponse(tool_calls=(CALL,)), ChunkResponse(tool_calls=(REST,)), ChunkResponse(finish_reason="tool_calls")
    )
    assert deltas_of(sent) == [
        {
            "role": "assistant",
            "tool_calls": [
                {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}
            ],
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]},
        {},
    ]
    assert words_of(sent) == ["tool_calls"]


def test_every_chunk_has_what_the_api_demands_and_the_stream_its_last_data():
    body = body_of(events_of(*text("s", "Hi"), AnswerEnd("t", finish_reason="stop")), "openai-chat", model="m-1")
    assert body.endswith(b"\n\ndata: [DONE]\n\n")
    assert b"event:" not in body
    sent = data_of(body)
    assert [{**chunk, "created": 0, "choices": []} for chunk in sent] == 2 * [
        {"id": "t", "object": "chat.completion.chunk", "created": 0, "model": "m-1", "choices": []}
    ]
    assert [chunk["choices"] for chunk in sent] == [
        [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": "stop"}],
    ]
    assert sse_headers("openai-chat")["content-type"] == "text/event-stream"


def test_the_model_is_known_at_the_end_unless_it_is_given():
    end = AnswerEnd("t", finish_reason="stop", model="wire", usage=TokenUsage(3, 4, 7, 1, 2))
    sent = data_of(body_of(events_of(*text("s", "Hi"), end), "openai-chat"))
    assert [chunk["model"] for chunk in sent] == ["", "wire", "wire"]
    assert (sent[-1]["choices"], sent[-1]["usage"]) == (
        [],
        {
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "total_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 1},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    )
    sent = data_of(body_of(events_of(*text("s", "Hi"), end), "openai-chat", model="mine", include_usage=False))
    assert [(chunk["model"], "usage" in chunk) for chunk in sent] == [("mine", False), ("mine", False)]


def test_a_cut_call_is_sent_as_it_came():
    sent = chunks_of(ChunkResponse(tool_calls=(CALL,)), ChunkResponse(finish_reason="length", is_complete=True))
    assert deltas_of(sent)[1:] == [{"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]}, {}]
    assert words_of(sent) == ["length"]


@pytest.mark.parametrize("delta", [ToolCallDelta(0, "a", "f"), ToolCallDelta(0, "a", "f", "ls", kind="text")])
def test_the_end_of_the_answer_says_that_a_call_was_cut_whose_text_does_not_show_it(delta: ToolCallDelta):
    end = ChunkResponse(finish_reason="stop", is_complete=True, is_cut=True)
    assert words_of(chunks_of(ChunkResponse(tool_calls=(delta,)), end)) == ["length"]


def test_the_end_of_the_answer_says_that_the_provider_contradicted_a_call():
    contradicted = ToolCallDelta(0, "a", "f", "{}", done=True, contradiction={"delta": "{}", "whole": "[]"})
    end = ChunkResponse(finish_reason="tool_calls", is_complete=True)
    assert words_of(chunks_of(ChunkResponse(tool_calls=(contradicted,)), end)) == ["length"]


@pytest.mark.parametrize("arguments", [['{"path"', ': "/etc"'], ['{"path": "/etc"}', " "], ['{"path": "/etc"}']])
@pytest.mark.parametrize("holds", ["nothing", "call"])
def test_the_end_of_the_answer_says_that_a_call_was_dropped_of_which_a_client_might_run_what_came(
    arguments: list[str], holds: Any
):
    pieces = [ToolCallDelta(0, arguments_delta=each) for each in arguments]
    chunks = [ChunkResponse(tool_calls=(each,)) for each in (ToolCallDelta(0, "a", "f"), *pieces)]
    guarding = guard(InsideRoot("/work", holds=holds), then="drop")
    chain = (to_segments(turn_id="t"), guarding, to_invocations(keep_segments=True))
    end = ChunkResponse(finish_reason="tool_calls")
    sent = data_of(body_of(adrive(broken([*chunks, end], None), *chain), "openai-chat"))
    written = "".join(
        call["function"].get("arguments", "") for delta in deltas_of(sent) for call in delta.get("tool_calls", ())
    )
    assert words_of(sent) == (["tool_calls"] if written == '{"path"' else ["length"])


def broken_off(why: str) -> dict[str, Any]:
    message = f"the answer was broken off: {why}"
    return {"error": {"message": message, "type": "server_error", "param": None, "code": None}}


NO_FINISH = broken_off("the provider sent no finish reason")


def test_a_stream_that_is_broken_off_ends_with_an_error():
    sent = chunks_of(ChunkResponse(content="Hi"), ChunkResponse(tool_calls=(CALL,)))
    assert sent[-1] == NO_FINISH
    assert words_of(sent[:-1]) == []


def test_a_finish_that_is_no_end_is_an_error_in_the_words_of_the_provider():
    sent = chunks_of(ChunkResponse(content="Hi", finish_reason="other", finish_reason_raw="abort", is_cut=True))
    assert sent[-1] == broken_off("the provider said 'abort'")
    assert words_of(sent[:-1]) == []


def test_one_answer_of_several_that_is_broken_off_is_an_error_behind_the_end_of_the_others():
    sent = chunks_of(ChunkResponse(content="a", finish_reason="stop"), ChunkResponse(content="b", choice=1))
    assert sent[-1] == NO_FINISH
    assert words_of(sent[:-1]) == ["stop"]


def test_a_stream_that_is_cancelled_says_why():
    frames = UiFrames("openai-chat")
    sent = [frame for event in text("s", "Hi") for frame in frames.feed(event)]
    sent += frames.close(Interrupted("enough"))
    assert json.loads(sent[-1]) == broken_off("enough")


def test_a_complete_call_without_arguments_has_an_empty_object_and_a_cut_one_has_nothing():
    call = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", done=True, status="completed"),))
    assert deltas_of(chunks_of(call))[1:] == [{"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}]
    cut = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f"),), finish_reason="length")
    assert deltas_of(chunks_of(cut))[1:] == [{}]


def test_an_error_is_the_last_object():
    error = ProviderError("try later", code="slow", type="overloaded", status=529)
    sent = chunks_of(ChunkResponse(content="Hi"), error=error)
    assert sent[-1] == {"error": {"message": "try later", "type": "overloaded", "param": None, "code": "slow"}}
    assert words_of(sent[:-1]) == []


def test_what_an_error_of_the_program_says_is_not_told():
    async def failing() -> Any:
        for event in text("s", "Hi"):
            yield event
        message = "secret"
        raise ValueError(message)

    chunks: list[bytes] = []

    async def main() -> None:
        async for chunk in to_sse(failing(), protocol="openai-chat"):
            chunks.append(chunk)  # noqa: PERF401 - a comprehension would keep nothing of what came before

    with pytest.raises(ValueError, match="secret"):
        asyncio.run(main())
    assert data_of(b"".join(chunks))[-1]["error"]["message"] == "ValueError"


def test_an_answer_that_the_provider_ended_with_an_error_ends_with_one():
    sent = chunks_of(ChunkResponse(content="Hi", finish_reason="error", finish_reason_raw="MALFORMED"))
    assert sent[-1]["error"]["message"] == "the provider ended the answer with MALFORMED"


def test_calls_that_the_provider_runs_results_and_what_only_it_has_are_left_out():
    call = ToolCallDelta(0, "ws", "web_search", "{}", executed_by="provider", done=True)
    citation = ProviderEvent("citation", {"url": "u"}, "gemini")
    sent = chunks_of(
        ChunkResponse(tool_calls=(call,)),
        ChunkResponse(provider_events=(citation,), image_urls=("data:image/png;base64,AA==",)),
        ChunkResponse(content="Hi", finish_reason="stop"),
    )
    assert deltas_of(sent) == [{"role": "assistant", "content": "Hi"}, {}]
    assert words_of(sent) == ["stop"]


def test_the_turns_of_an_agent_loop_are_one_completion_with_the_last_finish_and_all_tokens():
    events = [
        ToolInvocation("c", "t1", "f", {"a": 1}),
        AnswerEnd("t1", finish_reason="tool_calls", usage=TokenUsage(1, 2, 3)),
        ToolResult("c", turn_id="t1", value=5),
        *text("s", "Five.", "t2"),
        AnswerEnd("t2", finish_reason="stop", usage=TokenUsage(10, 20, 30)),
    ]
    body = body_of(events_of(*events), "openai-chat")
    sent = data_of(body)
    assert {chunk["id"] for chunk in sent} == {"t1"}
    assert words_of(sent) == ["stop"]
    assert sent[-1]["usage"]["total_tokens"] == 33
    completion = by_chat_helper(body)
    assert completion.choices[0].message.content == "Five."
    assert completion.choices[0].message.tool_calls[0].function.arguments == '{"a": 1}'


def test_choices_begin_in_their_order_whichever_speaks_first():
    sent = chunks_of(
        ChunkResponse(content="b", choice=1),
        ChunkResponse(content="a"),
        ChunkResponse(finish_reason="stop", choice=1),
        ChunkResponse(finish_reason="length"),
    )
    assert [choice["index"] for chunk in sent for choice in chunk["choices"]] == [0, 1, 0, 0, 1]
    assert deltas_of(sent)[:3] == [{"role": "assistant"}, {"role": "assistant", "content": "b"}, {"content": "a"}]
    assert words_of(sent) == ["length", "stop"]


def test_a_choice_of_a_number_that_no_request_can_ask_for_begins_alone():
    sent = chunks_of(
        ChunkResponse(content="b", choice=2_000_000), ChunkResponse(finish_reason="stop", choice=2_000_000)
    )
    assert [choice["index"] for chunk in sent for choice in chunk["choices"]] == [2_000_000, 2_000_000]


def test_a_dictionary_is_sent_as_it_is():
    assert data_of(body_of(events_of({"mine": 1}), "openai-chat")) == [{"mine": 1}]


def test_an_empty_stream_has_only_an_error_and_its_last_data():
    body = body_of(events_of(), "openai-chat")
    assert data_of(body) == [NO_FINISH]
    assert body.endswith(b"\n\ndata: [DONE]\n\n")


def test_the_sdk_reads_the_stream_while_it_comes():
    body = body_of(events_of(*text("s", "Hi"), AnswerEnd("t", finish_reason="stop")), "openai-chat")
    with client_of(body) as client:
        stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "-"}], stream=True)
        assert [chunk.choices[0].delta.content for chunk in stream] == ["Hi", None]


def test_an_option_of_another_protocol_is_refused():
    with pytest.raises(UsageError, match="its options are: model=, include_usage=, created="):
        to_sse(events_of(), protocol="openai-chat", message_id="m")


MUTANTS = {
    "a cut call is whole in chat": ("", ("sinks/web/openai_chat_frames.py", '        return "length" if self._is_cut and word in _WHOLE else word\n', "        return word\n")),
}  # fmt: skip
