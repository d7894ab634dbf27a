"""Every recording told again as Anthropic's stream: the same for our source, and read by its SDK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from anthropic.lib.streaming._messages import accumulate_event
from anthropic_retold import checked
from retold import heard_body

FAMILIES = {
    "chat": "openai-chat",
    "responses": "openai-responses",
    "anthropic": "anthropic-messages",
    "gemini": "gemini",
    "ollama": "ollama",
}


def test_every_recording_told_again_is_the_same_and_the_sdk_reads_it(shared: Path):
    folder = shared / "recordings"
    told = 0
    for entry in json.loads((folder / "index.json").read_text()):
        if (api := FAMILIES.get(entry["family"])) is None:
            continue
        stream = heard_body(api, (folder / entry["file"]).read_bytes())
        try:
            frame: Any
            snapshot: Any = None
            buffers: dict[int, bytes] = {}
            for frame in checked(stream):
                if frame["type"] != "error":
                    snapshot = accumulate_event(event=frame, current_snapshot=snapshot, json_bufs=buffers)
        except Exception as error:
            error.add_note(entry["file"])
            raise
        told += 1
    assert told >= 240
