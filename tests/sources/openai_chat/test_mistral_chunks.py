"""Mistral's SDK streams events around chat chunks, with marks of its own for what is missing."""

from __future__ import annotations

from typing import Any

import pytest
from chat_client import collected, plain
from chunk_grammar import checked

from penstock.sources.sdk_sources import from_openai_chat


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id": "r1",
        "object": "chat.completion.chunk",
        "model": "mistral-test",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **more,
    }


def call(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "I think. "}]}
CHUNKS = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": [THINKING]}),
    chunk({"content": [THINKING, {"type": "text", "text": "So "}]}),
    chunk({"content": "it is."}),
    chunk({"tool_calls": [call("first", {"a": [1, "ü"]}, id="null", index=0), call("second", '{"b": 2}', id="ab", index=1)]}),
    chunk({"tool_calls": [call("third", "{}", id="cd")]}, "tool_calls", usage={"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}),
]  # fmt: skip


def assert_truth(chunks: list[Any]) -> None:
    answer = checked(chunks)
    assert answer.content == "So it is."
    assert answer.reasoning == "I think. I think. "
    assert [(each.call_id, each.name, each.arguments) for each in answer.calls] == [
        ("t:call_0", "first", '{"a":[1,"ü"]}'),
        ("ab", "second", '{"b": 2}'),
        ("cd", "third", "{}"),
    ]
    assert answer.finish == {0: "tool_calls"}
    assert answer.usage
    assert answer.usage["total"] == 7


def test_plain_chunks_give_their_truth():
    assert_truth(collected(from_openai_chat(CHUNKS, turn_id="t"))[0])


@pytest.mark.parametrize(
    "is_wrapped",
    [False, True],
    ids=["chunks", "events"],
)
def test_the_sdks_objects_give_what_plain_chunks_give(is_wrapped: bool):
    models = pytest.importorskip("mistralai.client.models", reason="needs mistralai")
    objects = [models.CompletionChunk.model_validate(each) for each in CHUNKS]
    if is_wrapped:
        objects = [models.CompletionEvent(data=each) for each in objects]
    chunks, ends = collected(from_openai_chat(objects, turn_id="t"))
    assert ends == ["completed"]
    assert_truth(chunks)
    assert plain(chunks) == plain(collected(from_openai_chat(CHUNKS, turn_id="t"))[0])
