"""Arguments that a server sends whole again, at the end or with each piece, are one text; nothing else is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock import InvocationFailed, Pipeline, ToolInvocation
from penstock.events import AnswerEnd
from penstock.operators import drive
from penstock.operators.engine.limits import Limits
from penstock.sources import decode_wire
from penstock.sources.base.call_keys import ArgumentPieces

ARGUMENTS = {"path": "notes/ä.md", "deep": {"path": [{"path": "{"}, {}]}, "n": 12}
WHOLE = json.dumps(ARGUMENTS)
objects = st.dictionaries(
    st.text(max_size=4), st.recursive(st.integers() | st.text(max_size=8), lambda each: st.dictionaries(st.text(max_size=3), each)),
    min_size=1,
)  # fmt: skip


def answer(pieces: list[str], *, by_wire: bool = True) -> tuple[list[Any], list[str], Any]:
    """Return the arguments of the invocations, the reasons of the failures, and the call in the kept message."""
    calls = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    calls[0] |= {"id": "c", "function": {"name": "read", "arguments": pieces[0]}}
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()
    source = drive([body], decode_wire("openai-chat", turn_id="t", keep_message=True)) if by_wire else chunks
    seen = list(Pipeline(turn_id="t", api=None if by_wire else "openai-chat").stream(source))
    message: Any = next(event.message for event in seen if isinstance(event, AnswerEnd))
    return (
        [event.arguments for event in seen if isinstance(event, ToolInvocation)],
        [event.reason for event in seen if isinstance(event, InvocationFailed)],
        message["tool_calls"][0]["function"]["arguments"],
    )


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


SAID_AGAIN = {
    "with each character": [WHOLE[:end] for end in range(1, len(WHOLE) + 1)],
    "with each piece": [WHOLE[:end] for end in range(3, len(WHOLE), 9)] + [WHOLE],
    "an empty head, then with each piece": ["", *(WHOLE[:end] for end in range(1, len(WHOLE), 5)), WHOLE],
    "whole, twice": [WHOLE, WHOLE],
    "whole, four times": [WHOLE] * 4,
    "in pieces, then whole": [*cut(WHOLE, 4), WHOLE],
    "in many pieces, then whole twice": [*cut(WHOLE, 1), WHOLE, WHOLE],
    "with each piece, and the last one twice": [*(WHOLE[:end] for end in range(1, len(WHOLE) + 1)), WHOLE, "\n"],
}


@looped("by_wire", [True, False])
@looped("name", SAID_AGAIN)
def test_arguments_that_are_said_again_are_one_text(name: str, by_wire: bool):
    arguments, failed, kept = answer(SAID_AGAIN[name], by_wire=by_wire)
    assert (arguments, failed, json.loads(kept)) == ([ARGUMENTS], [], ARGUMENTS)


def anthropic(pieces: list[str]) -> list[dict[str, Any]]:
    block = {"type": "tool_use", "id": "c", "name": "read", "input": {}}
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]


def bedrock(pieces: list[str]) -> list[dict[str, Any]]:
    deltas = ({"toolUse": {"input": piece}} for piece in pieces)
    return [
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "c", "name": "read"}}}},
        *({"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}} for delta in deltas),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "tool_use"}},
    ]


def cohere(pieces: list[str]) -> list[dict[str, Any]]:
    def call(**function: Any) -> dict[str, Any]:
        return {"message": {"tool_calls": {"id": "c", "type": "function", "function": function}}}

    return [
        {"type": "tool-call-start", "index": 0, "delta": call(name="read", arguments="")},
        *({"type": "tool-call-delta", "index": 0, "delta": call(arguments=piece)} for piece in pieces),
        {"type": "tool-call-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}},
    ]


def interactions(pieces: list[str]) -> list[dict[str, Any]]:
    step = {"type": "function_call", "id": "c", "name": "read"}
    deltas = ({"type": "arguments_delta", "arguments": piece} for piece in pieces)
    return [
        {"event_type": "step.start", "index": 0, "step": step},
        *({"event_type": "step.delta", "index": 0, "delta": delta} for delta in deltas),
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": {"id": "i", "status": "requires_action"}},
    ]


def responses(pieces: list[str]) -> list[dict[str, Any]]:
    item = {"id": "f", "type": "function_call", "call_id": "c", "name": "read", "arguments": ""}
    delta = {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "f"}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({**delta, "delta": piece} for piece in pieces),
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}},
    ]


APIS = {
    "anthropic-messages": anthropic,
    "bedrock-converse": bedrock,
    "cohere": cohere,
    "gemini-interactions": interactions,
    "openai-responses": responses,
}


@looped("api", APIS)
@looped("name", SAID_AGAIN)
def test_in_every_api_they_are_one_text_and_once_in_the_kept_message(api: str, name: str):
    items = APIS[api](SAID_AGAIN[name])
    seen = list(Pipeline(turn_id="t", api=api).stream(items))
    assert [event.arguments for event in seen if isinstance(event, ToolInvocation)] == [ARGUMENTS]
    [message] = [event.message for event in seen if isinstance(event, AnswerEnd)]
    assert json.dumps(message).count("notes") == 1
    other = APIS[api](['{"n": 1}', '{"n": 2}'])
    assert not [event for event in Pipeline(api=api).stream(other) if isinstance(event, ToolInvocation)]


NOT_AGAIN = {
    "another object": (['{"n": 1}', '{"n": 2}'], "malformed"),
    "another object behind pieces": ([*cut('{"n": 1}', 2), '{"n": 2}'], "malformed"),
    "a longer one that begins otherwise": (['{"n": 1', '{"m": 1}'], "malformed"),
    "braces that the model wrote twice": (["{", '{"n": 1}', "}"], "contradiction"),
    "a snapshot that takes something back": (['{"n": ', '{"n": 1', '{"m": 1}'], "malformed"),
    "a snapshot after which the text goes on by itself": (['{"n', '{"n": 1', ', "m": 2}'], "contradiction"),
    "one that is cut": (['{"n', '{"n": 1'], "truncated"),
}


@pytest.mark.parametrize("name", NOT_AGAIN)
def test_what_contradicts_the_arguments_is_never_run(name: str):
    pieces, reason = NOT_AGAIN[name]
    for by_wire in (True, False):
        assert answer(pieces, by_wire=by_wire)[:2] == ([], [reason])


@pytest.mark.parametrize(
    "pieces",
    [
        ['{"a": ', '{"a": 1}', "}"],
        ['{"a": [', '{"a": [', "]}", "]}"],
        ['{"a": [{"a": 1}, ', '{"a": 1}', "]}"],
        ['{"a"', ': {"a"', ": 1}}"],
    ],
)
def test_an_object_inside_that_begins_as_the_whole_is_a_value(pieces: list[str]):
    assert answer(pieces)[:2] == ([json.loads("".join(pieces))], [])


@given(objects, st.lists(st.integers(0, 80), max_size=6))
def test_pieces_of_an_object_pass_as_they_are(value: dict[str, Any], places: list[int]):
    text = json.dumps(value, ensure_ascii=False)
    bounds = sorted(min(place, len(text)) for place in places)
    pieces, said = [text[a:b] for a, b in zip([0, *bounds], [*bounds, len(text)], strict=True)], ArgumentPieces()
    assert [said.new_of(piece, Limits()) for piece in pieces if piece] == [piece for piece in pieces if piece]


@given(objects, st.lists(st.integers(1, 80), max_size=6))
def test_snapshots_of_an_object_give_it_once_or_contradict_nothing(value: dict[str, Any], places: list[int]):
    text = json.dumps(value, ensure_ascii=False)
    said, given_out = ArgumentPieces(), ""
    for end in sorted({1, *(min(place, len(text)) for place in places), len(text)}):
        new = said.new_of(text[:end], Limits())
        assert new is not None
        given_out += new
    assert given_out == text


def test_many_pieces_take_the_room_of_a_few():
    said = ArgumentPieces()
    for piece in ['{"a": "', *["x"] * 10_000]:
        said.new_of(piece, Limits())
    assert len(said.pieces) <= 64
    assert said.new_of('{"a": "' + "x" * 10_000 + '"}', Limits()) == '"}'
