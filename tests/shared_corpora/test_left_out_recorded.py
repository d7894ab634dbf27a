"""Every value in every recorded stream reaches the chunks, or stands on the list of what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from wire_account import steps_of, unaccounted

FAMILIES = {
    "chat": ("openai-chat", 124),
    "responses": ("openai-responses", 48),
    "anthropic": ("anthropic-messages", 40),
    "gemini": ("gemini", 34),
    "ollama": ("ollama", 5),
    "bedrock": ("bedrock-converse", 8),
    "cohere2": ("cohere", 6),
    "interactions": ("gemini-interactions", 4),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_value_of_every_recording_is_accounted_for(shared: Path, family: str) -> None:
    api, count = FAMILIES[family]
    folder = shared / "recordings"
    entries = json.loads((folder / "index.json").read_text())
    names = [entry["file"] for entry in entries if entry["family"] == family]
    assert len(names) == count
    for name in names:
        assert unaccounted(api, steps_of(api, (folder / name).read_bytes())) == [], name
        with_logprobs = steps_of(api, (folder / name).read_bytes(), logprobs=True)
        assert unaccounted(api, with_logprobs, logprobs=True) == [], name
