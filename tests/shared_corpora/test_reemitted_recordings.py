"""Every recorded stream as OpenAI's: read back by our own sources, and by the real SDK, it says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from reemitted import TARGETS, Target, read, read_back, reemitted, wire_chunks
from reemitted_checks import assert_same, check_chat_helper, check_responses_helper

from penstock.events import ChunkResponse, ProviderError

APIS = {
    "chat": "openai-chat",
    "responses": "openai-responses",
    "anthropic": "anthropic-messages",
    "gemini": "gemini",
    "ollama": "ollama",
}


class Recorded(NamedTuple):
    name: str
    chunks: list[ChunkResponse]
    error: ProviderError | None


@pytest.fixture(scope="module", params=APIS)
def recordings(shared: Path, request: pytest.FixtureRequest) -> list[Recorded]:
    folder, family = shared / "recordings", str(request.param)
    names = [entry["file"] for entry in json.loads((folder / "index.json").read_text()) if entry["family"] == family]
    assert names
    return [Recorded(name, *wire_chunks(APIS[family], (folder / name).read_bytes())) for name in names]


@pytest.mark.parametrize("target", TARGETS)
def test_every_recording_is_read_back(recordings: list[Recorded], target: Target):
    failed: dict[str, AssertionError] = {}
    for name, chunks, error in recordings:
        try:
            assert_same(read_back(reemitted(chunks, error, target), target), read(chunks, error), target)
        except AssertionError as wrong:
            failed[name] = wrong
    assert failed == {}


@pytest.mark.slow
def test_every_recording_is_put_together_by_the_sdks_helpers(recordings: list[Recorded]):
    failed: dict[str, AssertionError] = {}
    for name, chunks, error in recordings:
        for check in (check_chat_helper, check_responses_helper):
            try:
                check(chunks, error)
            except AssertionError as wrong:
                failed[f"{name} {check.__name__}"] = wrong
    assert failed == {}
