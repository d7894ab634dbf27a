"""All recorded streams, read as every API: their own understands them, every other says whose they are."""

from __future__ import annotations

import json
from pathlib import Path

from api_families import FAMILIES
from chat_client import collected

from penstock.events import ProviderError, UsageError
from penstock.sources import from_recording
from penstock.sources.cohere.machine import COHERE_V1
from penstock.sources.recognition.apis import APIS

# They have nothing but an error, or one outside of events, which other APIs' machines read as one, too.
ERRORS = {
    "gpustack-chat/ruby_llm.chat_with_extended_thinking_gpustack_qwen3_streams_thinking_content_when_available.sse",
    "groq-chat/pydantic-ai.test_tool_use_failed_error_streaming.sse",
    "openai-responses/ai.openai-error.1.sse",
}


def test_every_recording_is_understood_as_its_own_and_an_error_as_any_other(shared: Path) -> None:
    folder = shared / "recordings"
    entries = json.loads((folder / "index.json").read_text())
    known = [entry for entry in entries if entry["family"] in FAMILIES]
    assert len(known) >= 270
    for entry in known:
        name, own = entry["file"], FAMILIES[entry["family"]]
        for api in APIS:
            _, [end] = collected(from_recording(folder / name, api.name, choices="all"))
            if api.name == own:
                assert not isinstance(end, UsageError), name
            elif name in ERRORS:
                assert isinstance(end, UsageError | ProviderError), name
            else:
                assert isinstance(end, UsageError), (name, api.name)
                said = f"it looks like {own}; pass api={own!r}" if own else COHERE_V1
                assert said in str(end), (name, api.name)
