from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from looped import looped
from openai.types.chat import ChatCompletionChunk

from penstock.events import ChunkResponse
from penstock.sources.recordings.recording_format import raw_form


class Word(StrEnum):
    STOP = "STOP"


@looped(
    "item, wanted",
    [
        (None, None),
        (True, True),
        ("a\ud83d", "a\ud83d"),
        (b"\xff", "/w=="),
        (Word.STOP, "STOP"),
        ((1, [2.5]), [1, [2.5]]),
        ({1: "a"}, {"1": "a"}),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (ChunkResponse(content="a"), {"type": "CHUNK_RESPONSE", "content": "a"}),
    ],
)
def test_values(item: Any, wanted: Any):
    found = raw_form(item)
    if isinstance(item, ChunkResponse):
        assert found.items() >= {"content": "a"}.items()
    else:
        assert found == wanted
    json.dumps(found)


def test_of_an_sdks_object_what_was_set_under_the_wires_names():
    plain: Any = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": None}, "more": [1]}]}
    assert raw_form(ChatCompletionChunk.construct(**plain)) == plain


def test_googles_names_are_the_wires_and_headers_are_left_out():
    from google.genai.types import GenerateContentResponse, HttpResponse  # noqa: PLC0415 - it takes seconds, and few tests need it

    item = GenerateContentResponse(model_version="m", sdk_http_response=HttpResponse(headers={"x-key": "secret"}))
    assert raw_form(item) == {"modelVersion": "m"}
