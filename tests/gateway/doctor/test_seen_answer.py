"""`seen_answer`: an answer as a client joins it, and what is wrong with its form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scripted_upstream import body_of, chunk, text_chunks

from penstock.gateway.doctor.seen_answer import SeenAnswer, SeenCall, seen_answer

NOW = {"name": "now", "arguments": ""}
CALL = {"index": 0, "id": "a", "type": "function", "function": NOW}
MORE = {"index": 0, "function": {"arguments": "{}"}}


def streamed(*chunks: Any, finish: str | None = "tool_calls") -> SeenAnswer:
    ends = [] if finish is None else [chunk({}, finish)]
    return seen_answer(b"".join(body_of([*chunks, *ends])), is_streamed=True)


def calls(*pieces: dict[str, Any]) -> list[dict[str, Any]]:
    return [chunk({"tool_calls": [piece]}) for piece in pieces]


def whole(message: dict[str, Any], finish: str | None = "stop") -> SeenAnswer:
    body = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    return seen_answer(json.dumps(body).encode(), is_streamed=False)


def test_a_stream_is_joined():
    seen = streamed(
        chunk({"reasoning_content": "Hm"}), chunk({"content": "I "}), *text_chunks(["will"])[1:], *calls(CALL, MORE)
    )
    assert seen == SeenAnswer("I will", "Hm", (SeenCall("a", "now", "{}"),), "tool_calls", 11, 7)


def test_a_whole_answer_is_the_same():
    function = {"name": "now", "arguments": "{}"}
    seen = whole(
        {"content": "I will", "reasoning": "Hm", "tool_calls": [{"id": "a", "function": function}]}, "tool_calls"
    )
    assert seen == SeenAnswer("I will", "Hm", (SeenCall("a", "now", "{}"),), "tool_calls")


@pytest.mark.parametrize(
    ("pieces", "wrong", "found"),
    [
        ((CALL, MORE), (), ["{}"]),
        ((CALL, {**CALL, "id": "b"}), ("two calls have one index",), ["", ""]),
        (({**CALL, "id": ""}, MORE), ("a call has no id",), ["{}"]),
        (({**CALL, "function": {"arguments": "{}"}},), ("a call begins without its name",), ["{}"]),
        (({**CALL, "function": {"name": "now", "arguments": {}}},), ("arguments are an object, not a text",), ["{}"]),
        (({"id": "a", "function": NOW},), ("a piece of a call has no index",), [""]),
    ],
)
def test_what_is_wrong_with_a_call_is_told(pieces: tuple[Any, ...], wrong: tuple[str, ...], found: list[str]):
    seen = streamed(*calls(*pieces))
    assert (seen.wrong, [call.arguments for call in seen.calls]) == (wrong, found)


@pytest.mark.parametrize(
    ("finish", "wrong"),
    [
        (None, "the answer ends without a finish reason"),
        ("eos", "the finish reason is 'eos', which clients do not know"),
        ("stop", "an answer with calls ends as 'stop'"),
    ],
)
def test_what_is_wrong_with_an_end_is_told(finish: str | None, wrong: str):
    assert streamed(*calls(CALL, MORE), finish=finish).wrong == (wrong,)


def test_chunks_that_clients_cannot_read_are_told():
    assert streamed({"id": "c"}, finish="stop").wrong == ("a chunk has no choices",)
    assert streamed({"choices": []}, finish="stop").wrong == ()
    assert seen_answer(b"data: {\n\n" + b"".join(body_of(text_chunks(["Hi"]))), is_streamed=True).wrong == (
        "a chunk is no JSON",
    )
    assert seen_answer(b"<html>", is_streamed=False).wrong[0] == "the answer is no JSON"


def test_an_answer_that_is_not_streamed_is_told_and_read():
    body = json.dumps({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}).encode()
    seen = seen_answer(body, is_streamed=True)
    assert (seen.text, seen.wrong) == ("Hi", ("the answer is not streamed",))


def test_an_error_in_the_middle_is_a_refusal():
    seen = streamed(chunk({"content": "Hi"}), {"error": {"message": "out of memory"}}, finish=None)
    assert (seen.text, seen.refused, seen.wrong) == ("Hi", "out of memory", ())


def test_only_the_first_choice_counts():
    other = {"choices": [{"index": 1, "delta": {"content": "No"}, "finish_reason": "eos"}]}
    assert streamed(other, chunk({"content": "Yes"}), finish="stop") == SeenAnswer("Yes", finish="stop")
