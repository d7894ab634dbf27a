from __future__ import annotations

from typing import Any

import pytest

from penstock.sources.openai_chat.message import ChatMessages


def chunk(delta: Any, index: int = 0) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta}]}


def message_of(*deltas: Any) -> Any:
    messages = ChatMessages()
    for delta in deltas:
        messages.feed(chunk(delta))
    [message] = messages.messages().values()
    return message


def thinking(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}


def test_texts_are_joined_and_the_role_counts_once():
    deltas = [{"role": "assistant", "content": "Hel", "reasoning": "so"}, {"role": "assistant", "content": "lo"}]
    assert message_of(*deltas) == {"role": "assistant", "content": "Hello", "reasoning": "so"}
    assert message_of({"content": "Hi", "role": ""})["role"] == "assistant"


def test_of_other_fields_the_last_value_counts_and_lists_and_objects_grow():
    deltas = [
        {"channel": "a", "images": [1], "data": {"x": 1}, "n": None},
        {"channel": "b", "images": [2], "data": {"y": 2}},
    ]
    assert message_of(*deltas) == {"role": "assistant", "channel": "b", "images": [1, 2], "data": {"x": 1, "y": 2}}


def test_mistrals_parts_are_joined_by_kind():
    deltas = [
        {"content": ""},
        {"content": [thinking("I "), thinking("think.")]},
        {"content": [thinking("", closed=True), {"type": "text", "text": "So "}]},
        {"content": "it is."},
        {"content": [{"type": "reference", "reference_ids": [1]}]},
        {"content": " End."},
    ]
    assert message_of(*deltas)["content"] == [
        thinking("I think.", closed=True),
        {"type": "text", "text": "So it is."},
        {"type": "reference", "reference_ids": [1]},
        {"type": "text", "text": " End."},
    ]


def test_a_text_before_the_parts_is_the_first_part():
    assert message_of({"content": "A"}, {"content": [thinking("b")]})["content"] == [
        {"type": "text", "text": "A"},
        thinking("b"),
    ]


def test_mistrals_sdk_wraps_chunks_and_marks_what_is_not_set():
    models = pytest.importorskip("mistralai.client.models", reason="needs mistralai")
    messages, wire = ChatMessages(), ChatMessages()
    for delta in ({"role": "assistant", "content": [thinking("a", signature="s")]}, {"content": "b"}):
        event = {"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        messages.feed(models.CompletionEvent(data=models.CompletionChunk.model_validate(event)))
        wire.feed({"data": event})
    assert messages.messages() == wire.messages()
    assert messages.messages()[0]["content"] == [thinking("a", signature="s"), {"type": "text", "text": "b"}]


def test_reasoning_details_are_joined_by_index_and_type():
    text, summary = {"type": "reasoning.text", "index": 0}, {"type": "reasoning.summary", "index": 0}
    details = message_of(
        {"reasoning_details": [{**text, "text": "a", "format": "f"}]},
        {"reasoning_details": [{**text, "text": "b", "format": "f", "signature": "s"}, {**summary, "summary": "c"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 0, "id": "1", "data": "x"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 0, "id": "2", "data": "y"}]},
    )["reasoning_details"]
    assert details == [
        {**text, "format": "f", "signature": "s", "text": "ab"},
        {**summary, "summary": "c"},
        {"type": "reasoning.encrypted", "index": 0, "id": "1", "data": "x"},
        {"type": "reasoning.encrypted", "index": 0, "id": "2", "data": "y"},
    ]


def test_speech_is_joined():
    deltas = [{"audio": {"id": "a1", "data": "AA", "transcript": "he"}}, {"audio": {"data": "EC", "transcript": "y"}}]
    assert message_of(*deltas)["audio"] == {"id": "a1", "data": "AAEC", "transcript": "hey"}


def test_a_whole_message_counts_where_no_delta_came():
    messages = ChatMessages()
    messages.feed({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]})
    messages.feed({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]})
    assert messages.messages() == {0: {"role": "assistant", "content": "Hi"}}


def test_only_the_wanted_choices_are_kept():
    for wanted, numbers in ((0, [0]), (1, [1]), ("all", [0, 1])):
        messages = ChatMessages(wanted)  # type: ignore[arg-type]
        messages.feed({"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]})
        assert list(messages.messages()) == numbers
