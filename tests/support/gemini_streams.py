"""The recorded streams of Gemini, and their truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.sources.gemini.wire import GeminiDecoder

STREAMS = Path(__file__).parents[1] / "streams" / "gemini"
NAMES = sorted(path.stem for path in STREAMS.glob("*.sse"))


def body_of(name: str) -> bytes:
    return (STREAMS / f"{name}.sse").read_bytes()


def truth_of(name: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((STREAMS / f"{name}.json").read_text())
    return truth


def options_of(name: str) -> dict[str, Any]:
    return {"choices": truth_of(name).get("choices", 0)}


def events_of(body: bytes) -> list[Any]:
    decoder = GeminiDecoder()
    return [json.loads(event.data) for event in [*decoder.feed(body), *decoder.close()]]


def candidate(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, **more}]}
