"""Comparing what a source gave with the truth that lies beside a stream of our own."""

from __future__ import annotations

from typing import Any

from chunk_grammar import Answer, checked

from penstock.events import ChunkResponse, ProviderError


def assert_truth(truth: dict[str, Any], chunks: list[ChunkResponse], ends: list[Exception | str]) -> None:
    answer = checked(chunks)
    assert answer.content == truth["text"]
    assert len(answer.reasoning) == truth["reasoning_len"]
    assert answer.refusal == truth.get("refusal", "")
    assert answer.finish_raw == truth["finish"]
    if "finish_ours" in truth:
        assert answer.finish == {0: truth["finish_ours"]}
    assert answer.usage == truth.get("usage")
    assert found_calls(answer, chunks) == truth["calls"]
    for field, name in (("image_urls", "images"), ("audio_urls", "audio"), ("video_urls", "video")):
        assert [url for chunk in chunks for url in getattr(chunk, field)] == truth.get(name, [])
    assert [chunk.native for chunk in chunks if chunk.native] == truth.get("native", [])
    assert_end(truth, answer, ends)


def found_calls(answer: Answer, chunks: list[ChunkResponse]) -> list[dict[str, Any]]:
    by_provider = {
        (chunk.choice, delta.index) for chunk in chunks for delta in chunk.tool_calls if delta.executed_by == "provider"
    }
    calls: list[dict[str, Any]] = []
    for call in answer.calls:
        found: dict[str, Any] = {"id": call.call_id, "name": call.name, "arguments": call.arguments}
        found |= {"kind": call.kind, "choice": call.choice, "done": call.done}
        if call.native:
            found["native"] = call.native
        if (call.choice, call.index) in by_provider:
            found["executed_by"] = "provider"
        calls.append(found)
    return calls


def assert_end(truth: dict[str, Any], answer: Answer, ends: list[Exception | str]) -> None:
    """`error` ends the stream; `error_value` only says that the answer is bad."""
    error, value = truth.get("error"), truth.get("error_value")
    assert answer.errors == [each for each in (error, value) if each]
    if error is None:
        assert ends == ["completed"]
        return
    [end] = ends
    assert isinstance(end, ProviderError)
    assert {"detail": end.detail, "type": end.type, "code": end.code, "status": end.status} == {
        key: error.get(key) for key in ("detail", "type", "code", "status")
    }
