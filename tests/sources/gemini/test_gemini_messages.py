from __future__ import annotations

from typing import Any

import pytest

from penstock.sources.gemini.message import GeminiMessages


def parts_of(*chunks: Any) -> Any:
    messages = GeminiMessages()
    for parts in chunks:
        messages.feed({"candidates": [{"content": {"role": "model", "parts": parts}}]})
    [message] = messages.messages().values()
    assert message["role"] == "model"
    return message["parts"]


def call(**fields: Any) -> dict[str, Any]:
    return {"functionCall": fields}


def leaf(path: str, **value: Any) -> dict[str, Any]:
    return {"jsonPath": path, **value}


def test_neighbouring_texts_of_one_kind_are_one_part():
    chunks = [
        [{"text": "a"}],
        [{"text": ""}, {"text": "b"}, {"text": "c", "thought": True}],
        [{"text": "d", "thought": True}],
    ]
    assert parts_of(*chunks) == [{"text": "ab"}, {"text": "cd", "thought": True}]


def test_signed_texts_stay_apart_also_empty_ones():
    assert parts_of(
        [{"text": "a"}, {"text": "b", "thoughtSignature": "_-8"}, {"text": "c"}],
        [{"text": "", "thoughtSignature": "eA=="}],
    ) == [
        {"text": "a"},
        {"text": "b", "thoughtSignature": "/+8="},
        {"text": "c"},
        {"text": "", "thoughtSignature": "eA=="},
    ]


def test_other_parts_are_kept_without_nulls_but_in_arguments():
    blob = {"inlineData": {"mimeType": "image/png", "data": "iVBO", "displayName": None}}
    tool = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"q": None}, "id": None}}
    assert parts_of([blob, tool, call(name="f", args={"a": None}, id=None)]) == [
        {"inlineData": {"mimeType": "image/png", "data": "iVBO"}},
        {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"q": None}}},
        call(name="f", args={"a": None}),
    ]


def test_streamed_arguments_are_put_together():
    first = {**call(name="w", willContinue=True, id="c"), "thoughtSignature": "eA=="}
    assert parts_of(
        [first],
        [call(partialArgs=[leaf("$.to[0]", stringValue="An", willContinue=True)], willContinue=True)],
        [call(partialArgs=[leaf("$.to[0]", stringValue="n"), leaf("$.n", numberValue=1.0)], willContinue=True)],
        [call(partialArgs=[leaf("$.x.y", nullValue="NULL_VALUE"), leaf("$.b", boolValue=True)], willContinue=True)],
        [call()],
        [call(name="g", args={})],
    ) == [
        {
            **call(name="w", id="c", args={"to": ["Ann"], "n": 1, "x": {"y": None}, "b": True}),
            "thoughtSignature": "eA==",
        },
        call(name="g", args={}),
    ]


def test_the_sdks_objects_give_the_wires_message():
    types = pytest.importorskip("google.genai.types", reason="needs google-genai")
    wire: list[list[Any]] = [
        [{"text": "a", "thought": True, "thoughtSignature": "eA=="}, {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}],
        [call(name="f", args={"a": [None]})],
        [{"executableCode": {"language": "PYTHON", "code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}],
    ]  # fmt: skip
    objects = [[types.Part.model_validate(part) for part in parts] for parts in wire]
    assert parts_of(*objects) == parts_of(*wire)


def test_each_wanted_candidate_has_its_message():
    chunk = {"candidates": [{"content": {"parts": [{"text": "a"}]}}, {"index": 1, "finishReason": "STOP"}]}
    for wanted, numbers in ((0, [0]), (1, [1]), ("all", [0, 1])):
        messages = GeminiMessages(wanted)  # type: ignore[arg-type]
        messages.feed([chunk])
        assert list(messages.messages()) == numbers
    assert messages.messages()[1] == {"role": "model", "parts": []}
