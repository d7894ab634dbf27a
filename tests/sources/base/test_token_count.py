"""Counts of tokens are totals so far: a later 0 is no count, and usage in pieces adds up, in every API that can say it twice."""

from __future__ import annotations

from typing import Any

import pytest
from chat_client import collected
from looped import looped

from penstock.events.chunk_response import TokenUsage
from penstock.sources import from_stream
from penstock.sources.base.response import token_count
from penstock.sources.openai_chat.parts import chat_usage


def chat(usage: dict[str, Any]) -> dict[str, Any]:
    return {"id": "r", "choices": [{"index": 0, "delta": {"content": "Hi"}}], "usage": usage}


def gemini(usage: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}], "usageMetadata": usage}


def begun(usage: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "m", "usage": usage}}


def ended(usage: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}


def step(usage: dict[str, Any]) -> dict[str, Any]:
    return {"event_type": "step.stop", "index": 0, "usage": usage}


STREAMS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "chat, the prompt first": (
        "openai-chat",
        [chat({"prompt_tokens": 25, "total_tokens": 25}), chat({"completion_tokens": 15, "total_tokens": 15})],
    ),
    "chat, with zeros": (
        "openai-chat",
        [
            chat({"prompt_tokens": 25, "completion_tokens": 15, "total_tokens": 40}),
            chat({"prompt_tokens": 25, "completion_tokens": 0, "total_tokens": 25}),
        ],
    ),
    "anthropic, with zeros": (
        "anthropic-messages",
        [begun({"input_tokens": 25, "output_tokens": 1}), ended({"input_tokens": 0, "output_tokens": 15})],
    ),
    "anthropic, the output twice": (
        "anthropic-messages",
        [begun({"input_tokens": 0}), ended({"input_tokens": 25, "output_tokens": 15}), ended({"output_tokens": 0})],
    ),
    "gemini, the prompt first": (
        "gemini",
        [gemini({"promptTokenCount": 25}), gemini({"candidatesTokenCount": 15})],
    ),
    "bedrock, the input first": (
        "bedrock-converse",
        [{"metadata": {"usage": {"inputTokens": 25}}}, {"metadata": {"usage": {"inputTokens": 0, "outputTokens": 15}}}],
    ),
    "interactions, the output last": (
        "gemini-interactions",
        [step({"total_input_tokens": 25, "total_tokens": 25}), step({"total_output_tokens": 15})],
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_later_zero_replaces_no_count_and_pieces_add_up(name: str) -> None:
    api, items = STREAMS[name]
    usages = [chunk.usage for chunk in collected(from_stream(items, api))[0] if chunk.usage is not None]
    assert usages[-1] == TokenUsage(25, 15, 40)


def test_what_was_cached_and_thought_stays_too() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 20}, "completion_tokens_details": {"reasoning_tokens": 5}}
    whole = {"prompt_tokens": 25, "completion_tokens": 15, "total_tokens": 40}
    items = [chat(whole | details), chat(whole), chat(whole | {"total_tokens": 41})]
    usages = [chunk.usage for chunk in collected(from_stream(items, "openai-chat"))[0] if chunk.usage is not None]
    assert usages == [TokenUsage(25, 15, 40, 20, 5), TokenUsage(25, 15, 41, 20, 5)]


def test_a_smaller_count_corrects_a_larger_one() -> None:
    items = [chat({"prompt_tokens": 30, "completion_tokens": 2}), chat({"prompt_tokens": 25, "completion_tokens": 3})]
    assert collected(from_stream(items, "openai-chat"))[0][-1].usage == TokenUsage(25, 3, 28)


def test_a_second_message_of_anthropic_has_counts_of_its_own() -> None:
    first = begun({"input_tokens": 25, "cache_read_input_tokens": 20, "output_tokens": 9})
    second = begun({"input_tokens": 5, "cache_read_input_tokens": 0, "output_tokens": 1})
    usages = [chunk.usage for chunk in collected(from_stream([first, second], "anthropic"))[0] if chunk.usage]
    assert usages == [TokenUsage(45, 9, 54, 20), TokenUsage(5, 1, 6)]


@looped("value", [True, False, None, "", [], {}, -1, float("nan"), float("inf"), 1e300])
def test_what_is_no_number_of_tokens_is_none(value: Any) -> None:
    assert token_count({"n": value}, "n") == 0
    usage = chat_usage({"prompt_tokens": value, "completion_tokens": 2, "total_tokens": value})
    assert usage is not None
    assert (usage.prompt, usage.completion, usage.total) == (0, 2, 2)
