"""The recorded chat streams, and their truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STREAMS = Path(__file__).parents[1] / "streams" / "openai_chat"
NAMES = sorted(path.stem for path in STREAMS.glob("*.sse"))


def body_of(name: str) -> bytes:
    return (STREAMS / f"{name}.sse").read_bytes()


def truth_of(name: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((STREAMS / f"{name}.json").read_text())
    return truth


def options_of(name: str) -> dict[str, Any]:
    return {"choices": truth_of(name).get("choices", 0)}


def event(delta: dict[str, Any] | None = None, finish: str | None = None, **top: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return b"data: " + json.dumps({"id": "r", "choices": choices, **top}).encode() + b"\n\n"
