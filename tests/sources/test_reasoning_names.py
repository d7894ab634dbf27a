"""Reasoning under the names of several providers: its text is reasoning, and what must be sent back is `native` and kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chat_client import collected
from chunk_grammar import checked

from penstock.sources import from_stream, from_wire


def chat(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]


def databricks(text: str, **signed: str) -> dict[str, Any]:
    return {"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": text, **signed}]}]}


def bedrock(*given: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": each}}} for each in given]


STREAMS: dict[str, tuple[str, list[dict[str, Any]], dict[str, Any] | None, Any]] = {
    "chat, Copilot": (
        "openai-chat",
        chat({"reasoning_text": "Thin"}, {"reasoning_text": "king"}, {"reasoning_opaque": "SIG"}),
        {"reasoning_opaque": "SIG"},
        {"role": "assistant", "reasoning_text": "Thinking", "reasoning_opaque": "SIG"},
    ),
    "chat, the same under two names": (
        "openai-chat",
        chat({"reasoning": "Thinking", "reasoning_content": "Thinking", "reasoning_text": "Thinking"}),
        None,
        {
            "role": "assistant",
            "reasoning": "Thinking",
            "reasoning_content": "Thinking",
            "reasoning_text": "Thinking",
        },
    ),
    "chat, Databricks": (
        "openai-chat",
        chat(databricks("Thin"), databricks("king")),
        None,
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Thinking"}]}],
        },
    ),
    "chat, Databricks, signed": (
        "openai-chat",
        chat(databricks("Thinking"), databricks("", signature="SIG")),
        {"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "", "signature": "SIG"}]}]},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "signature": "SIG", "text": "Thinking"}]}
            ],
        },
    ),
    "bedrock, nested": (
        "bedrock-converse",
        bedrock({"reasoningText": {"text": "Thin"}}, {"reasoningText": {"text": "king", "signature": "SIG"}}),
        {"type": "reasoningContent", "signature": "SIG"},
        {
            "role": "assistant",
            "content": [{"reasoningContent": {"reasoningText": {"text": "Thinking", "signature": "SIG"}}}],
        },
    ),
    "bedrock, redacted as Anthropic says it": (
        "bedrock-converse",
        [*bedrock({"text": "Thinking"}), *bedrock({"data": "UkVE"})],
        {"type": "reasoningContent", "redactedContent": "UkVE"},
        {"role": "assistant", "content": [{"reasoningContent": {"redactedContent": "UkVE"}}]},
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_reasoning_is_read_under_every_name(name: str) -> None:
    api, items, native, message = STREAMS[name]
    chunks = collected(from_stream(items, api, keep_message=True))[0]
    answer = checked(chunks)
    assert (answer.reasoning, answer.content, answer.raw, answer.events) == ("Thinking", "", [], [])
    assert [chunk.native for chunk in chunks if chunk.native] == ([native] if native else [])
    assert chunks[-1].message == message
    if api == "openai-chat":
        body = "".join(f"data: {json.dumps(item)}\n\n" for item in items).encode()
        assert collected(from_wire(api, [body], keep_message=True))[0] == chunks
        assert collected(from_wire(api, [body]))[0] == chunks[:-1]


def test_a_text_under_an_unknown_key_is_joined_in_the_kept_message_and_reaches_the_chunks() -> None:
    deltas = [{"role": "assistant", "musing": "Thin"}, {"role": "assistant", "musing": "king", "channel": "final"}]
    chunks = collected(from_stream(chat(*deltas, {"channel": "final"}), "openai-chat", keep_message=True))[0]
    assert chunks[-1].message == {"role": "assistant", "musing": "Thinking", "channel": "final"}
    assert [raw for chunk in chunks for raw in chunk.raw] == [{"musing": "Thin"}, {"musing": "king"}]
