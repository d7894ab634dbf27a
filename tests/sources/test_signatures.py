"""Signatures and encrypted reasoning in the middle of a visible text: the text is one segment, in every API that can do it."""

from __future__ import annotations

import json
from typing import Any

from looped import looped
from pydantic import BaseModel

from penstock import Pipeline
from penstock.events import AnswerEnd, Output, SegmentEnd, SegmentStart


class Tea(BaseModel):
    name: str


HALVES = '{"name": "Gre', 'en"}'


def chat(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
    ends: tuple[dict[str, Any], str] = ({}, "stop")
    return [
        {"choices": [{"index": 0, "delta": d, "finish_reason": f}]} for d, f in (*((d, None) for d in deltas), ends)
    ]


def gemini(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    said = [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]
    return [*said, {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}]


def anthropic(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "message_start", "message": {"id": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]


def bedrock(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
    said = [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}} for delta in deltas]
    return [{"messageStart": {"role": "assistant"}}, *said, {"messageStop": {"stopReason": "end_turn"}}]


def interactions(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        *({"event_type": "step.delta", "index": 0, "delta": delta} for delta in deltas),
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": {"id": "i", "status": "completed"}},
    ]


def responses(first: str, item: dict[str, Any], last: str) -> list[dict[str, Any]]:
    delta = {"type": "response.output_text.delta", "item_id": "msg", "output_index": 0, "content_index": 0}
    message = {"type": "message", "id": "msg"}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": message},
        {**delta, "delta": first},
        {"type": "response.output_item.done", "output_index": 1, "item": item},
        {**delta, "delta": last},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]


FIRST, LAST = HALVES
DETAIL = {"type": "reasoning.encrypted", "data": "SECRET", "index": 0}
SIGNED = {"type": "reasoning.text", "signature": "SECRET", "index": 0}
STREAMS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "chat, beside a text": (
        "openai-chat",
        chat({"content": FIRST[:4]}, {"content": FIRST[4:], "reasoning_details": [DETAIL]}, {"content": LAST}),
    ),
    "chat, alone": ("openai-chat", chat({"content": FIRST}, {"reasoning_details": [SIGNED]}, {"content": LAST})),
    "gemini, on the text": ("gemini", gemini({"text": FIRST, "thoughtSignature": "SECRETx="}, {"text": LAST})),
    "gemini, on an empty text": (
        "gemini",
        gemini({"text": FIRST}, {"text": "", "thoughtSignature": "SECRETx="}, {"text": LAST}),
    ),
    "anthropic": (
        "anthropic-messages",
        anthropic(
            {"type": "text_delta", "text": FIRST},
            {"type": "signature_delta", "signature": "SECRET"},
            {"type": "text_delta", "text": LAST},
        ),
    ),
    "bedrock, signed": (
        "bedrock-converse",
        bedrock({"text": FIRST}, {"reasoningContent": {"signature": "SECRET"}}, {"text": LAST}),
    ),
    "bedrock, redacted": (
        "bedrock-converse",
        bedrock({"text": FIRST}, {"reasoningContent": {"redactedContent": "SECRET"}}, {"text": LAST}),
    ),
    "interactions": (
        "gemini-interactions",
        interactions(
            {"type": "text", "text": FIRST},
            {"type": "thought_signature", "signature": "SECRET"},
            {"type": "text", "text": LAST},
        ),
    ),
    "responses": (
        "openai-responses",
        responses(FIRST, {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "SECRET"}, LAST),
    ),
}


@looped("name", STREAMS)
def test_a_signature_inside_a_text_ends_nothing(name: str) -> None:
    api, items = STREAMS[name]
    events: list[Any] = list(Pipeline(api=api, output_type=Tea).stream(items))
    assert [event.segment_type for event in events if isinstance(event, SegmentStart)] == ["text"]
    assert [event.value for event in events if isinstance(event, Output)] == [Tea(name="Green")]
    (end,) = (event for event in events if isinstance(event, SegmentEnd))
    assert "SECRET" in json.dumps(end.metadata)
    (last,) = (event for event in events if isinstance(event, AnswerEnd))
    assert "SECRET" in json.dumps(last.message)
