"""Hundreds and thousands of calls in one answer: each has one result, whatever the API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from answered import answered
from depth import is_deep

from penstock.events import InvocationFailed, ToolInvocation
from penstock.operators import drive, to_invocations, to_segments
from penstock.sources import decode_sdk

Events = Iterator[dict[str, Any]]


def chat(number: int) -> Events:
    for index in range(number):
        call = {"index": index, "id": f"call_{index}", "function": {"name": "f", "arguments": json.dumps({"n": index})}}
        yield {"choices": [{"delta": {"tool_calls": [call]}}]}
    yield {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}


def chat_in_one_chunk(number: int) -> Events:
    calls = [
        {"index": index, "id": f"call_{index}", "function": {"name": "f", "arguments": json.dumps({"n": index})}}
        for index in range(number)
    ]
    yield {"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}


def chat_free_form(number: int) -> Events:
    for index in range(number):
        call = {"index": index, "id": f"call_{index}", "type": "custom", "custom": {"name": "f", "input": str(index)}}
        yield {"choices": [{"delta": {"tool_calls": [call]}}]}
    yield {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}


def chat_without_arguments(number: int) -> Events:
    for index in range(number):
        call = {"index": index, "id": f"call_{index}", "function": {"name": "f", "arguments": ""}}
        yield {"choices": [{"delta": {"tool_calls": [call]}}]}
    yield {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}


def responses(number: int) -> Events:
    for index in range(number):
        item = {"type": "function_call", "id": f"fc_{index}", "call_id": f"call_{index}", "name": "f", "arguments": ""}
        place = {"output_index": index}
        text = json.dumps({"n": index})
        yield {"type": "response.output_item.added", "item": item, **place}
        yield {"type": "response.function_call_arguments.delta", "delta": text, **place}
        yield {"type": "response.output_item.done", "item": {**item, "arguments": text}, **place}
    yield {"type": "response.completed", "response": {"status": "completed"}}


def anthropic(number: int) -> Events:
    for index in range(number):
        block = {"type": "tool_use", "id": f"call_{index}", "name": "f", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"n": index})}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}


def gemini(number: int) -> Events:
    for index in range(number):
        part = {"functionCall": {"id": f"call_{index}", "name": "f", "args": {"n": index}}}
        yield {"candidates": [{"content": {"parts": [part]}}]}
    yield {"candidates": [{"content": {}, "finishReason": "STOP"}]}


def ollama(number: int) -> Events:
    for index in range(number):
        call = {"id": f"call_{index}", "function": {"name": "f", "arguments": {"n": index}}}
        yield {"message": {"tool_calls": [call]}, "done": False}
    yield {"message": {}, "done": True, "done_reason": "stop"}


ANSWERS: dict[str, tuple[str, Callable[[int], Events]]] = {
    "chat": ("openai-chat", chat),
    "chat, in one chunk": ("openai-chat", chat_in_one_chunk),
    "chat, free-form": ("openai-chat", chat_free_form),
    "chat, without arguments": ("openai-chat", chat_without_arguments),
    "responses": ("openai-responses", responses),
    "anthropic": ("anthropic-messages", anthropic),
    "gemini": ("gemini", gemini),
    "ollama": ("ollama", ollama),
}


def results(name: str, number: int) -> list[Any]:
    api, answer = ANSWERS[name]
    return answered(answer(number), decode_sdk(api), to_segments(), to_invocations())


@pytest.mark.laws
@pytest.mark.parametrize("number", [300, 5000 if is_deep() else 1000])
@pytest.mark.parametrize("name", ANSWERS)
def test_each_of_many_calls_has_one_result(name: str, number: int):
    given = results(name, number)
    assert [type(each) for each in given] == [ToolInvocation] * number
    assert [each.id for each in given] == [f"call_{index}" for index in range(number)]


def test_calls_that_are_written_at_the_same_time_have_one_result_each_over_the_limit_too():
    def interleaved() -> Events:
        for piece in ('{"n": ', "1}"):
            for index in range(300):
                head = {"id": f"call_{index}"} if piece[0] == "{" else {}
                name = {"name": "f"} if head else {}
                call = {"index": index, **head, "function": {**name, "arguments": piece}}
                yield {"choices": [{"delta": {"tool_calls": [call]}}]}
        yield {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}

    given = list(drive(interleaved(), decode_sdk("openai-chat"), to_segments(), to_invocations()))
    failed = [each for each in given if isinstance(each, InvocationFailed)]
    assert len([each for each in given if isinstance(each, ToolInvocation)]) == 256
    assert [each.reason for each in failed] == ["limit"] * 44
    assert len({each.id for each in given if isinstance(each, ToolInvocation | InvocationFailed)}) == 300


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("depth", [300, 3000])
@pytest.mark.parametrize("name", ["responses", "anthropic", "gemini", "gemini, in leaves", "ollama"])
def test_arguments_that_come_as_an_object_too_deep_fail_their_call_and_nothing_else(name: str, depth: int):
    deep = nested(depth)
    part = {"name": "f", "args": deep}
    leaves = {"functionCall": {**part, "willContinue": True}}
    operation = {"type": "apply_patch_call", "call_id": "c", "status": "completed", "operation": deep}
    block = {"type": "tool_use", "id": "c", "name": "f", "input": deep}
    answers: dict[str, tuple[str, list[dict[str, Any]]]] = {
        "responses": (
            "openai-responses",
            [{"type": "response.output_item.done", "output_index": 0, "item": operation}],
        ),
        "anthropic": (
            "anthropic-messages",
            [
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_stop", "index": 0},
            ],
        ),
        "gemini": ("gemini", [{"candidates": [{"content": {"parts": [{"functionCall": part}]}}]}]),
        "gemini, in leaves": ("gemini", [{"candidates": [{"content": {"parts": [leaves]}, "finishReason": "STOP"}]}]),
        "ollama": (
            "ollama",
            [{"message": {"tool_calls": [{"function": {"name": "f", "arguments": deep}}]}, "done": False}],
        ),
    }
    api, events = answers[name]
    (result,) = answered(events, decode_sdk(api), to_segments(), to_invocations())
    assert isinstance(result, InvocationFailed)


MUTANTS = {
    "calls that have ended count as open": ("many", ("operators/calls/native_calls.py", "if len(self.growing) > self._limits.open_calls:", "if len(self._ended) + len(self.open) > self._limits.open_calls:")),
}  # fmt: skip
