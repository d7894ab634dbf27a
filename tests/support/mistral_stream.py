"""A stream of Mistral."""

from __future__ import annotations

import json
from typing import Any


def mistral_body(*deltas: dict[str, Any]) -> list[bytes]:
    chunks = [
        {
            "id": "r1",
            "object": "chat.completion.chunk",
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        }
        for delta in deltas
    ]
    return [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
