"""What servers stream as chat that no description of the API has: each has one decided meaning, by wire and as items."""

from __future__ import annotations

import json
from typing import Any

import pytest
from body_server import BodyServer
from chat_client import collected, sync_client
from looped import looped

from penstock import InvocationFailed, Pipeline, SegmentContent, ToolInvocation
from penstock.events import AnswerEnd, ProviderError, ProviderEvent
from penstock.operators import drive
from penstock.sources import decode_wire, from_wire


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **of_choice: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish, **of_choice}
    return {"id": "r", "object": "chat.completion.chunk", "choices": [choice]}


def call(arguments: str, **head: Any) -> dict[str, Any]:
    name = {"name": "read"} if head else {}
    return {"tool_calls": [{"index": 0, **head, "function": {**name, "arguments": arguments}}]}


def wire(*items: dict[str, Any] | str) -> bytes:
    lines = (item if isinstance(item, str) else f"data: {json.dumps(item)}\n\n" for item in items)
    return "".join(lines).encode()


def by_wire(api: str, body: bytes, *, by_byte: bool = False) -> list[Any]:
    pieces = [body[at : at + 1] for at in range(len(body))] if by_byte else [body]
    return list(Pipeline(turn_id="t").stream(drive(pieces, decode_wire(api, turn_id="t", keep_message=True))))


def in_every_way(*items: dict[str, Any]) -> list[Any]:
    """Return the events of chunks, which are the same by wire, by byte, and as items."""
    events = list(Pipeline(turn_id="t", api="openai-chat").stream([*items]))
    assert by_wire("openai-chat", wire(*items)) == events
    assert by_wire("openai-chat", wire(*items, "data: [DONE]\n\n"), by_byte=True) == events
    return events


def text_of(events: list[Any], kind: str = "text") -> str:
    return "".join(each.delta for each in events if isinstance(each, SegmentContent) and each.segment_type == kind)


def calls_of(events: list[Any]) -> list[dict[str, Any]]:
    return [event.arguments for event in events if isinstance(event, ToolInvocation)]


def end_of(events: list[Any]) -> AnswerEnd:
    [end] = [event for event in events if isinstance(event, AnswerEnd)]
    return end


# Events


@looped(
    "noise",
    [
        "data: ping\n\n",
        "data: [PING]\n\n",
        "data: keep-alive\n\n",
        "data: heartbeat\r\n\r\n",
        "data: : OPENROUTER PROCESSING\n\n",
        "data: :\n\n",
        "data:\n\n",
        "data\n\n",
        "event: ping\ndata: {}\n\n",
        "event: keepalive\ndata: now\n\n",
        "event: heartbeat\ndata: 5\n\n",
        ": comment\n\n",
    ],
)
def test_a_keep_alive_or_a_comment_in_a_data_line_is_skipped(noise: str):
    body = wire(noise, chunk({"content": "Hi"}), noise, chunk({}, "stop"), noise, "data: [DONE]\n\n")
    for by_byte in (False, True):
        events = by_wire("openai-chat", body, by_byte=by_byte)
        assert text_of(events) == "Hi"
        assert end_of(events).status == "complete"


@pytest.mark.parametrize("noise", ["data: ping\n\n", "data: : wait\n\n", "event: ping\ndata: x\n\n"])
def test_keep_alives_alone_are_an_empty_answer(noise: str):
    assert collected(from_wire("openai-chat", [wire(noise, noise)]))[1] == ["completed"]


@pytest.mark.parametrize("done", ["[DONE]", "[done]", "[Done]", '"[DONE]"', "[DONE] "])
def test_behind_the_sign_for_the_end_in_any_spelling_nothing_is_read(done: str):
    body = wire(chunk({"content": "Hi"}, "stop"), f"data: {done}\n\n", chunk({"content": "more"}), "data: {oops\n\n")
    for by_byte in (False, True):
        assert text_of(by_wire("openai-chat", body, by_byte=by_byte)) == "Hi"


def test_a_gateway_for_anthropic_that_leaves_the_names_of_events_out_is_read_by_their_types():
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "c", "name": "read"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    named = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
    wanted = by_wire("anthropic-messages", named)
    assert calls_of(wanted) == [{"a": 1}]
    for by_byte in (False, True):
        assert by_wire("anthropic-messages", wire(*events), by_byte=by_byte) == wanted
        assert by_wire("anthropic-messages", wire(*events, "data: [DONE]\n\n"), by_byte=by_byte) == wanted


# Chunks


def test_calls_behind_a_finish_of_stop_are_run_if_their_arguments_are_whole():
    head = {"id": "c", "type": "function"}
    for later in ([], [chunk({}, "tool_calls")]):
        events = in_every_way(chunk({"content": "Hi"}), chunk({}, "stop"), chunk(call('{"a": 1}', **head)), *later)
        assert calls_of(events) == [{"a": 1}]
        assert (end_of(events).status, end_of(events).finish_reason) == ("complete", "stop")
    cut = in_every_way(chunk({}, "stop"), chunk(call('{"a": ', **head)))
    assert calls_of(cut) == []
    assert [event.reason for event in cut if isinstance(event, InvocationFailed)] == ["truncated"]


@pytest.mark.parametrize("role", ["tool", "function"])
def test_what_a_tool_of_the_servers_returned_is_no_text_of_the_answer(role: str):
    result = {"role": role, "tool_call_id": "c", "content": "5 files"}
    say = {"role": "assistant", "content": "There are five."}
    events = in_every_way(chunk({"content": "Let me look. "}), chunk(result), chunk(say, "stop"))
    assert text_of(events) == "Let me look. There are five."
    [told] = [event for event in events if isinstance(event, ProviderEvent)]
    assert (told.kind, told.data, told.segment_id) == ("tool_result", result, "c")
    assert end_of(events).message == {"role": "assistant", "content": "Let me look. There are five."}


def test_thinking_under_its_own_name_is_reasoning_and_is_kept_under_it():
    events = in_every_way(chunk({"thinking": "So "}), chunk({"thinking": "be it."}), chunk({"content": "Yes"}, "stop"))
    assert (text_of(events, "reasoning"), text_of(events)) == ("So be it.", "Yes")
    message = end_of(events).message
    assert isinstance(message, dict)
    assert message["thinking"] == "So be it."


def message(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": finish}
    return {"id": "r", "object": "chat.completion.chunk", "choices": [choice]}


def whole_call(arguments: Any, **more: Any) -> dict[str, Any]:
    return {**more, "type": "function", "function": {"name": "read", "arguments": arguments}}


def test_messages_that_grow_in_place_of_deltas_give_each_character_once():
    events = in_every_way(
        message(reasoning_content="So"),
        message(reasoning_content="So be it", content=""),
        message(reasoning_content="So be it", content="Y\ud83d\ude00"),
        message(reasoning_content="So be it", content="Y\ud83d\ude00es"),
        message("stop", reasoning_content="So be it", content="Y\ud83d\ude00es"),
    )
    assert (text_of(events, "reasoning"), text_of(events)) == ("So be it", "Y\U0001f600es")
    assert end_of(events).message == {
        "role": "assistant",
        "reasoning_content": "So be it",
        "content": "Y\U0001f600es",
    }


@pytest.mark.parametrize("ids", [{"id": "c"}, {"id": "c", "index": 0}, {"index": 0}, {}])
def test_calls_of_messages_that_grow_are_run_once(ids: dict[str, Any]):
    growing = ["", "{", '{"a"', '{"a": 1', '{"a": 1}', '{"a": 1}']
    events = in_every_way(
        *(message(content="Look", tool_calls=[whole_call(text, **ids)]) for text in growing),
        message("tool_calls", content="Look", tool_calls=[whole_call('{"a": 1}', **ids)]),
    )
    assert (text_of(events), calls_of(events)) == ("Look", [{"a": 1}])
    kept = end_of(events).message
    assert isinstance(kept, dict)
    assert [call["function"]["arguments"] for call in kept["tool_calls"]] == ['{"a": 1}']


def test_messages_that_are_pieces_are_joined():
    events = in_every_way(message(content="Hel"), message(content="lo "), message("stop", content="you"))
    assert text_of(events) == "Hello you"


def test_a_message_that_takes_back_what_was_shown_adds_nothing():
    events = in_every_way(message(content="Hel"), message(content="Hello"), message("stop", content="Hallo there"))
    assert text_of(events) == "Hello"


def test_a_message_beside_deltas_is_a_repetition():
    events = in_every_way(chunk({"content": "Hel"}), chunk({"content": "lo"}, "stop", message={"content": "Hello"}))
    assert text_of(events) == "Hello"


# Completions of a prompt


def completion(text: str, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
    return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice], **more}


USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
COMPLETION = (completion("Hel"), completion("lo \ud83d"), completion("\ude00", "length"), completion("", usage=USAGE))


def test_a_completion_of_a_prompt_is_read_as_a_chat():
    events = in_every_way(*COMPLETION)
    end = end_of(events)
    assert (text_of(events), end.finish_reason) == ("Hello \U0001f600", "length")
    assert (end.usage and end.usage.total, end.model, end.response_id) == (5, "m", "cmpl-1")
    assert end.message == {"role": "assistant", "content": "Hello \U0001f600"}
    assert [*Pipeline(turn_id="t").stream([*COMPLETION])] == events


def test_openais_sdk_streams_the_same_completion_of_a_prompt():
    with BodyServer(wire(*COMPLETION, "data: [DONE]\n\n")) as server, sync_client(server.url) as client:
        stream = client.completions.create(model="m", prompt="Say it.", stream=True)
        events = [*Pipeline(turn_id="t", keep_answer=False).stream(stream)]
    assert events == [*Pipeline(turn_id="t", keep_answer=False).stream([*COMPLETION])]


def test_an_error_ends_a_completion_of_a_prompt_too():
    with pytest.raises(ProviderError, match="busy"):
        in_every_way(completion("Hel"), {"error": {"message": "busy", "type": "server_error"}})
