from __future__ import annotations

from typing import Any

import pytest

from penstock.sources.ollama.request import OllamaMessage


def message_of(*chunks: Any) -> Any:
    message = OllamaMessage()
    for chunk in chunks:
        message.feed(chunk)
    return message.messages().get(0)


def said(**message: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", **message}, "done": False}


CALL = {"id": "c", "function": {"index": 0, "name": "f", "arguments": {"a": None}}}


def test_texts_are_joined_and_calls_follow_one_another():
    chunks = [
        said(content="", thinking="so"),
        said(content="Hel"),
        said(content="lo", tool_calls=[CALL]),
        said(tool_calls=[CALL]),
    ]
    assert message_of(*chunks) == {
        "role": "assistant",
        "content": "Hello",
        "thinking": "so",
        "tool_calls": [CALL, CALL],
    }


def test_a_generate_stream_has_a_message_too():
    chunks = [{"thinking": "so", "response": "", "done": False}, {"response": "Hi", "done": True}]
    assert message_of(*chunks) == {"role": "assistant", "thinking": "so", "content": "Hi"}


def test_the_sdks_objects_give_the_wires_message():
    ollama = pytest.importorskip("ollama", reason="needs ollama")
    call = {"function": {"name": "f", "arguments": {"a": None}}}
    chunks = [said(content="Hi", tool_calls=[call]), said(content="!")]
    assert message_of(*map(ollama.ChatResponse.model_validate, chunks)) == message_of(*chunks)


def test_nothing_has_no_message():
    assert message_of({"error": "-"}, {"done": True}, None, [1]) is None
