"""All recorded Gemini streams, by wire and through Google's SDK, against the truth of their index."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from body_server import BodyServer
from chat_client import plain
from chunk_grammar import checked
from framed_wire import FramedWire, by_gemini_wire
from gemini_client import by_async_sdk, by_sdk
from provider_client import cut_at_random

from penstock.events import ChunkResponse
from penstock.sources.gemini.wire import GeminiDecoder


@pytest.fixture(scope="module")
def recordings(shared: Path) -> list[tuple[dict[str, Any], bytes]]:
    folder = shared / "recordings"
    entries = json.loads((folder / "index.json").read_text())
    return [(entry, (folder / entry["file"]).read_bytes()) for entry in entries if entry["family"] == "gemini"]


def test_every_recording_gives_its_truth_by_wire_however_it_is_cut(
    recordings: list[tuple[dict[str, Any], bytes]],
) -> None:
    assert len(recordings) >= 34
    random_ = random.Random(7)
    for entry, body in recordings:
        whole, ends = by_gemini_wire([body])
        assert by_gemini_wire(cut_at_random(body, random_)) == (whole, ends), entry["file"]
        assert ends == ["completed"], entry["file"]
        assert_truth(entry, whole)


def assert_truth(entry: dict[str, Any], chunks: list[ChunkResponse]) -> None:
    name = entry["file"]
    answer = checked(chunks)
    by_provider = {
        delta.index for chunk in chunks for delta in chunk.tool_calls if delta.executed_by == "provider"
    }  # the truth leaves them out
    calls = [call for call in answer.calls if call.index not in by_provider]
    wanted = entry["tool_calls"]
    assert [call.name for call in calls] == [call["name"] for call in wanted], name
    assert [call.arguments for call in calls] == [call["arguments"] for call in wanted], name
    assert [call.call_id for call in calls] == [
        truth["id"] or f"t:call_{call.index}" for call, truth in zip(calls, wanted, strict=True)
    ], name
    assert all(call.done for call in answer.calls), name
    assert len(answer.content) == entry["text_len"], name
    assert hashlib.sha256(answer.content.encode()).hexdigest() == entry["text_sha256"], name
    assert len(answer.reasoning) == entry["reasoning_len"], name
    assert answer.finish_raw == [str(reason) for reason in entry["finish"]], name
    if wanted:
        assert answer.finish == {0: "tool_calls"}, name
    if "part:executableCode" in entry["notable"]:
        assert by_provider, name


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_every_recording_gives_the_same_through_the_real_sdk_as_by_wire(
    recordings: list[tuple[dict[str, Any], bytes]],
    monkeypatch: pytest.MonkeyPatch,
    is_async: bool,
) -> None:
    replayed = [(entry, body) for entry, body in recordings if entry["sdk_ok"]]
    assert len(replayed) >= 31
    wanted = [by_gemini_wire([body]) for _, body in replayed]

    def unused(*_: Any) -> Any:
        message = "the wire decoder ran in a stream of the SDK"
        raise AssertionError(message)

    monkeypatch.setattr(GeminiDecoder, "feed", unused)
    monkeypatch.setattr(FramedWire, "feed", unused)
    for (entry, body), (wire, ends) in zip(replayed, wanted, strict=True):
        with BodyServer(body, pieces=1400) as server:
            sdk, sdk_ends = (by_async_sdk if is_async else by_sdk)(server.url)
        assert plain(sdk) == plain(wire), entry["file"]
        assert sdk_ends == ends == ["completed"], entry["file"]
        assert_truth(entry, sdk)
