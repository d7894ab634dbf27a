"""What only a provider has comes through as events of a kind, on the streams of our own and through the SDKs' objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_client import collected
from every_sdk import SDKS, STREAMS
from looped import looped

from penstock.events import ChunkResponse
from penstock.sources import from_wire

OWN = [
    pytest.param(sdk.api, path, id=f"{sdk.api}-{path.stem}")
    for sdk in SDKS
    for path in sorted((STREAMS / sdk.folder).iterdir())
    if path.suffix != ".json"
]


def events_of(chunks: list[ChunkResponse]) -> list[dict[str, Any]]:
    return [
        {"kind": event.kind, "data": event.data} | ({"segment_id": event.segment_id} if event.segment_id else {})
        for chunk in chunks
        for event in chunk.provider_events
    ]


@looped("api, path", OWN)
def test_a_stream_gives_its_events_and_no_others(api: str, path: Path) -> None:
    truth = json.loads(path.with_suffix(".json").read_text())
    options = {"choices": truth["choices"]} if "choices" in truth else {}
    chunks, _ = collected(from_wire(api, path.read_bytes(), turn_id="t", **options))
    assert events_of(chunks) == truth.get("provider_events", [])


def test_the_streams_have_every_kind_but_one() -> None:
    kinds = {
        event["kind"]
        for sdk in SDKS
        for path in (STREAMS / sdk.folder).glob("*.json")
        for event in json.loads(path.read_text()).get("provider_events", [])
    }
    assert kinds == {"tool_result", "citation", "grounding", "file", "safety", "compaction", "other"}
