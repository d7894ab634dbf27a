"""`from_wire` on every stream of our own: what each source's own tests compare its SDK with, however it is cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import test_from_wire
import test_gemini
from chat_client import Run, collected
from every_sdk import STREAMS
from framed_wire import by_gemini_wire, by_ollama_wire
from provider_client import ANTHROPIC, RESPONSES

from penstock.sources import from_wire

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
    of = {"openai-chat": test_from_wire.options_of, "gemini": test_gemini.options_of}.get(api)
    return of(name) if of else {}


@pytest.mark.parametrize(("api", "name", "body"), OWN)
def test_whole_and_byte_by_byte_it_gives_what_the_sources_tests_compare_with(api: str, name: str, body: bytes):
    options = options_of(api, name)
    whole = collected(from_wire(api, [body], turn_id="t", **options))
    pieces = [body[at : at + 1] for at in range(len(body))]
    by_bytes = collected(from_wire(api, pieces, turn_id="t", **options))
    assert (by_bytes[0], str(by_bytes[1])) == (whole[0], str(whole[1]))
    if api in WIRES:
        wanted = WIRES[api][1]([body], **options)
        assert (whole[0], str(whole[1])) == (wanted[0], str(wanted[1]))
