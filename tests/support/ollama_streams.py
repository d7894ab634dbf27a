"""The recorded streams of Ollama, and their truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STREAMS = Path(__file__).parents[1] / "streams" / "ollama"
NAMES = sorted(path.stem for path in STREAMS.glob("*.ndjson"))


def body_of(name: str) -> bytes:
    return (STREAMS / f"{name}.ndjson").read_bytes()


def truth_of(name: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((STREAMS / f"{name}.json").read_text())
    return truth
