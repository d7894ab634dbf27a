"""The recorded streams of the tests that the wire and the SDK both read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import chat_streams
import gemini_streams
import pytest
from chat_client import Run
from every_sdk import STREAMS
from framed_wire import by_gemini_wire, by_ollama_wire
from provider_client import ANTHROPIC, RESPONSES

# Chat's own tests compare with `from_wire` itself.
WIRES: dict[str, tuple[str, Callable[..., Run]]] = {
    "openai-responses": ("openai_responses", RESPONSES.by_wire),
    "anthropic-messages": ("anthropic_messages", ANTHROPIC.by_wire),
    "gemini": ("gemini", by_gemini_wire),
    "ollama": ("ollama", by_ollama_wire),
}
OWN = [
    pytest.param(api, path.stem, path.read_bytes(), id=f"{api}-{path.stem}")
    for api, folder in [("openai-chat", "openai_chat"), *((api, wire[0]) for api, wire in WIRES.items())]
    for path in sorted((STREAMS / folder).iterdir())
    if path.suffix != ".json"
]


def options_of(api: str, name: str) -> dict[str, Any]:
    of = {"openai-chat": chat_streams.options_of, "gemini": gemini_streams.options_of}.get(api)
    return of(name) if of else {}
