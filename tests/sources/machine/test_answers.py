"""Chunks of the whole response belong to an answer that was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.events import AnswerEnd, ProviderError, ProviderEvent, SegmentContent
from penstock.operators import drive, to_segments
from penstock.sources import decode_sdk


def said(number: int, finish: str | None = None) -> dict[str, Any]:
    return {"index": number, "delta": {"content": "ab"[number]}, "finish_reason": finish}


CHAT = [
    {"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
    {"id": "r", "choices": [said(0, "stop"), said(1, "stop")]},
    {"id": "r", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
]
GEMINI = [
    {
        "candidates": [{"index": n, "content": {"parts": [{"text": "ab"[n]}]}, "finishReason": "STOP"} for n in (0, 1)],
        "modelStatus": {"stage": "stable"},
        "usageMetadata": {"promptTokenCount": 3},
    }
]


@pytest.mark.parametrize(("api", "items"), [("openai-chat", CHAT), ("gemini", GEMINI)])
@pytest.mark.parametrize("choice", [0, 1])
def test_one_answer_of_several_has_one_end_and_what_is_of_the_whole_response(api: str, items: list[Any], choice: int):
    events = list(drive(items, decode_sdk(api, choices=choice, turn_id="t"), to_segments(turn_id="t")))
    assert [each.delta for each in events if isinstance(each, SegmentContent)] == ["ab"[choice]]
    assert [each.choice for each in events if isinstance(each, ProviderEvent)] == [choice]
    (end,) = (each for each in events if isinstance(each, AnswerEnd))
    assert (end.choice, end.status) == (choice, "complete")
    assert end.usage is not None


def test_an_error_ends_the_one_answer_that_is_read():
    items = [{"id": "r", "choices": [said(0), said(1)]}, {"error": {"message": "boom"}}]
    events: list[Any] = []
    with pytest.raises(ProviderError, match="boom"):
        events.extend(drive(items, decode_sdk("openai-chat", choices=1), to_segments()))
    assert [(each.choice, each.status) for each in events if isinstance(each, AnswerEnd)] == [(1, "failed")]
