"""`ResponseEvents`: the events themselves, their numbers, and what the API has no place for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from looped import looped
from reemitted import body_of, broken, by_responses_helper, data_of, named, own_streams, reemitted, wire_chunks
from strategies.answers import answers

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    ProviderError,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    ToolResult,
)
from penstock.events.chunk_response import TokenUsage
from penstock.operators import adrive, to_segments
from penstock.operators.to_invocations import to_invocations

OWN = [pytest.param(api, path, id=named(path)) for api, path in own_streams()]
CALL = ToolCallDelta(0, "call_1", "f", '{"a"')
REST = ToolCallDelta(0, arguments_delta=": 1}", done=True)
DELTAS = {
    "response.output_text.delta": ("response.output_text.done", "text"),
    "response.refusal.delta": ("response.refusal.done", "refusal"),
    "response.reasoning_summary_text.delta": ("response.reasoning_summary_text.done", "text"),
    "response.function_call_arguments.delta": ("response.function_call_arguments.done", "arguments"),
    "response.custom_tool_call_input.delta": ("response.custom_tool_call_input.done", "input"),
}
TERMINALS = frozenset(("response.completed", "response.incomplete", "response.failed"))


async def events_of(*events: Any) -> Any:
    for event in events:
        yield event


def sent_of(*chunks: ChunkResponse, error: ProviderError | None = None, **options: Any) -> list[Any]:
    chain = (to_segments(turn_id="t"), to_invocations(keep_segments=True))
    return data_of(body_of(adrive(broken(chunks, error), *chain), "openai-responses", **options))


def kinds_of(sent: list[Any]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in sent]


def assert_grammar(body: bytes) -> None:
    """Assert the numbers, the order and the places of a response's events."""
    sent = data_of(body)
    names = [line.removeprefix("event: ") for line in body.decode().split("\n") if line.startswith("event: ")]
    assert names == [event["type"] for event in sent]
    assert [event["sequence_number"] for event in sent] == [*range(len(sent))]
    assert names[:2] == ["response.created", "response.in_progress"]
    assert [name for name in names if name in TERMINALS] == names[-1:]
    response = sent[-1]["response"]
    assert {event["response"]["id"] for event in (*sent[:2], sent[-1])} == {response["id"]}
    items: dict[int, Any] = {}
    ended: dict[int, Any] = {}
    texts: dict[int, str] = {}
    for event in sent[2:-1]:
        place = event["output_index"]
        if event["type"] == "response.output_item.added":
            assert place == len(items)
            items[place], texts[place] = event["item"], ""
            continue
        assert place not in ended
        if event["type"] == "response.output_item.done":
            assert event["item"]["id"] == items[place]["id"]
            ended[place] = event["item"]
            continue
        assert event["item_id"] == items[place]["id"]
        if event["type"] in DELTAS:
            assert event["delta"]
            texts[place] += event["delta"]
        for done, key in DELTAS.values():
            if event["type"] == done:
                assert event[key] == texts[place]
    assert len({item["id"] for item in items.values()}) == len(items)
    assert response["output"] == [ended[place] for place in sorted(ended)]
    if names[-1] == "response.completed":
        assert ended.keys() == items.keys()


@looped("api, path", OWN)
def test_every_own_stream_keeps_the_grammar(api: str, path: str):
    assert_grammar(reemitted(*wire_chunks(api, Path(path).read_bytes()), "openai-responses"))


@given(answers())
def test_any_answer_keeps_the_grammar(chunks: list[ChunkResponse]):
    assert_grammar(reemitted(chunks, None, "openai-responses"))


def test_a_call_is_an_item_whose_end_has_all_arguments():
    sent = sent_of(
        ChunkResponse(tool_calls=(CALL,)), ChunkResponse(tool_calls=(REST,)), ChunkResponse(finish_reason="tool_calls")
    )
    item = {"id": "fc_t_0", "type": "function_call", "call_id": "call_1", "name": "f"}
    place = {"item_id": "fc_t_0", "output_index": 0}
    whole = {**item, "arguments": '{"a": 1}', "status": "completed"}
    assert [{key: value for key, value in event.items() if key != "sequence_number"} for event in sent[2:-1]] == [
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "arguments": "", "status": "in_progress"},
        },
        {"type": "response.function_call_arguments.delta", **place, "delta": '{"a"'},
        {"type": "response.function_call_arguments.delta", **place, "delta": ": 1}"},
        {"type": "response.function_call_arguments.done", **place, "arguments": '{"a": 1}'},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
    ]
    assert (sent[-1]["type"], sent[-1]["response"]["output"]) == ("response.completed", [whole])


def test_a_text_is_a_message_with_one_part():
    sent = sent_of(ChunkResponse(content="H"), ChunkResponse(content="i"), ChunkResponse(finish_reason="stop"))
    assert kinds_of(sent) == [
        *("created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    assert sent[-1]["response"]["output"] == [
        {
            "id": "msg_t_0",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": "Hi"}],
            "status": "completed",
        }
    ]


def test_reasoning_is_a_summary_and_what_has_no_text_has_no_part():
    sent = sent_of(
        ChunkResponse(reasoning="so", native={"type": "reasoning", "encrypted_content": "secret"}),
        ChunkResponse(native={"signature": "secret"}),
        ChunkResponse(finish_reason="stop"),
    )
    assert [item["summary"] for item in sent[-1]["response"]["output"]] == [
        [{"type": "summary_text", "text": "so"}],
        [],
    ]
    assert "secret" not in str(sent)


def test_a_cut_call_is_sent_as_it_came_and_the_response_says_why_it_is_incomplete():
    sent = sent_of(ChunkResponse(tool_calls=(CALL,)), ChunkResponse(finish_reason="length", is_complete=True))
    response = sent[-1]["response"]
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    [call] = response["output"]
    assert (call["arguments"], call["status"]) == ('{"a"', "incomplete")


def test_a_call_that_nobody_ended_is_not_ended_by_an_error():
    whole = ToolCallDelta(0, "call_1", "f", '{"a": 1}')
    sent = sent_of(ChunkResponse(tool_calls=(whole,)), error=ProviderError("gone", transport=True))
    assert kinds_of(sent)[2:] == ["output_item.added", "function_call_arguments.delta", "failed"]
    response = sent[-1]["response"]
    assert (response["status"], response["output"]) == ("failed", [])
    assert response["error"] == {"code": "server_error", "message": "gone"}


def test_the_namespace_of_a_call_stays():
    call = ToolCallDelta(0, "c", "close", "{}", done=True, native={"namespace": "agents"})
    sent = sent_of(ChunkResponse(tool_calls=(call,)), ChunkResponse(finish_reason="tool_calls"))
    items = [event["item"] for event in sent if event["type"].startswith("response.output_item")]
    assert [(item["name"], item["namespace"]) for item in items] == [("close", "agents")] * 2


def test_an_error_has_the_providers_code_and_type():
    sent = sent_of(ChunkResponse(content="Hi"), error=ProviderError("wait", code="slow", type="overloaded"))
    assert sent[-1]["response"]["error"] == {"code": "slow", "message": "wait", "type": "overloaded"}


def test_a_stream_that_is_broken_off_fails():
    sent = sent_of(ChunkResponse(content="Hi"))
    response = sent[-1]["response"]
    assert (sent[-1]["type"], response["status"], response["incomplete_details"]) == ("response.failed", "failed", None)
    message = "the answer was broken off: the provider sent no finish reason"
    assert response["error"] == {"code": "server_error", "message": message}


def test_the_turns_of_an_agent_loop_are_one_response_with_the_results():
    events = [
        ToolInvocation("c", "t1", "f", {"a": 1}),
        AnswerEnd("t1", finish_reason="tool_calls", usage=TokenUsage(1, 2, 3), model="m"),
        ToolResult("c", turn_id="t1", value={"n": 5}),
        SegmentStart("s", "text", turn_id="t2"),
        SegmentContent("s", "text", "Five.", turn_id="t2"),
        SegmentEnd("s", "text", "complete", turn_id="t2"),
        AnswerEnd("t2", finish_reason="stop", usage=TokenUsage(10, 20, 30), model="m"),
    ]
    body = body_of(events_of(*events), "openai-responses")
    assert_grammar(body)
    response = by_responses_helper(body).response
    assert [item.type for item in response.output] == ["function_call", "function_call_output", "message"]
    assert (response.output[1].call_id, response.output[1].output) == ("c", '{"n":5}')
    assert (response.id, response.model, response.usage.total_tokens) == ("t1", "m", 33)


def test_a_turn_that_was_tried_again_leaves_no_item_open():
    call = SegmentStart("c", "tool_call", {"tool_name": "f"}, turn_id="t")
    broken_off = SegmentEnd("c", "tool_call", "interrupted", turn_id="t")
    again = [AnswerEnd("t", status="interrupted"), AnswerEnd("t#2", finish_reason="stop")]
    body = body_of(events_of(call, broken_off, *again), "openai-responses")
    assert_grammar(body)
    [item] = by_responses_helper(body).response.output
    assert (item.arguments, item.status) == ("", "incomplete")


def test_of_several_answers_the_first_that_speaks_is_sent():
    sent = sent_of(
        ChunkResponse(content="b", choice=1),
        ChunkResponse(content="a"),
        ChunkResponse(finish_reason="length"),
        ChunkResponse(finish_reason="stop", choice=1),
    )
    [message] = sent[-1]["response"]["output"]
    assert (message["content"][0]["text"], sent[-1]["type"]) == ("b", "response.completed")


def test_images_are_items_and_other_media_and_calls_of_the_provider_are_left_out():
    run = ToolCallDelta(0, "ws", "web_search", "{}", executed_by="provider", done=True)
    sent = sent_of(
        ChunkResponse(tool_calls=(run,)),
        ChunkResponse(image_urls=("data:image/png;base64,AA==", "https://example.org/a.png")),
        ChunkResponse(audio_urls=("data:audio/pcm;base64,AA==",), finish_reason="stop"),
    )
    assert sent[-1]["response"]["output"] == [
        {
            "id": "ig_t_0",
            "type": "image_generation_call",
            "status": "completed",
            "result": "AA==",
            "output_format": "png",
        }
    ]


def test_an_empty_stream_is_a_response_too():
    body = body_of(events_of(), "openai-responses", model="m")
    assert_grammar(body)
    assert data_of(body)[-1]["response"]["model"] == "m"
    assert data_of(body)[-1]["response"]["id"].startswith("resp_")


def test_a_dictionary_is_sent_as_it_is():
    assert b'event: mine\ndata: {"type":"mine"}\n\n' in body_of(events_of({"type": "mine"}), "openai-responses")
