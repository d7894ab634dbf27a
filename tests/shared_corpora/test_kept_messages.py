"""The kept message of every recorded stream, both ways, against what the providers' own SDKs accumulate."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from body_server import BodyServer
from chat_client import Run, collected
from chunk_grammar import checked
from every_sdk import ANTHROPIC_SDK, CHAT, GEMINI, OLLAMA, RESPONSES_SDK, Sdk
from provider_client import cut_at_random

from penstock.sources import from_openai_chat, from_wire

FAMILIES = {"chat": CHAT, "responses": RESPONSES_SDK, "anthropic": ANTHROPIC_SDK, "gemini": GEMINI, "ollama": OLLAMA}
SEVERAL = ("chat", "gemini")


class Recorded(NamedTuple):
    """One recording: its entry in answers.json, its body, and the message of each choice."""

    answer: dict[str, Any]
    body: bytes
    messages: dict[int, Any]

    @property
    def sdk(self) -> Sdk:
        return FAMILIES[self.answer["family"]]

    @property
    def options(self) -> dict[str, Any]:
        several = {"choices": "all"} if self.answer["family"] in SEVERAL else {}
        return {"turn_id": "t", "keep_message": True, **several}

    def by_wire(self, pieces: Any) -> Run:
        return collected(from_wire(self.sdk.api, pieces, **self.options))


@pytest.fixture(scope="module")
def recorded(shared: Path) -> list[Recorded]:
    folder = shared / "recordings"
    answers = json.loads((folder / "answers.json").read_text())
    return [
        Recorded(each, (folder / each["file"]).read_bytes(), messages_of(each))
        for each in answers
        if each["family"] in FAMILIES and "CONTESTED" not in each["by"]
    ]


def messages_of(answer: dict[str, Any]) -> dict[int, Any]:
    several = answer.get("choices") or [{"index": 0, "message": answer["message"]}]
    return {each["index"]: each["message"] for each in several}


def test_the_message_of_every_recording_is_the_sdks_by_wire_however_it_is_cut(recorded: list[Recorded]) -> None:
    assert len(recorded) >= 250
    random_ = random.Random(13)
    for each in recorded:
        for pieces in ([each.body], cut_at_random(each.body, random_)):
            chunks, _ = each.by_wire(pieces)
            assert checked(chunks).messages == each.messages, each.answer["file"]
            assert {chunk.api for chunk in chunks if chunk.message is not None} == {each.sdk.api}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_message_of_every_recording_is_the_sdks_from_its_objects(recorded: list[Recorded], family: str) -> None:
    for each in recorded:
        if each.answer["family"] == family and not is_unread(each):
            kind = "application/x-ndjson" if family == "ollama" else "text/event-stream"
            with BodyServer(each.body, pieces=1400, content_type=kind) as server, each.sdk.client(server.url) as client:
                source = each.sdk.source(lambda client=client, sdk=each.sdk: sdk.create(client), **each.options)
                messages = checked(collected(source)[0]).messages
            assert messages == as_the_sdk_reads(each), each.answer["file"]


@pytest.mark.slow
def test_the_message_of_every_recording_of_mistral_is_its_sdks(recorded: list[Recorded]) -> None:
    mistral = pytest.importorskip("mistralai.client", reason="needs mistralai")
    for each in recorded:
        if each.answer["file"].startswith("mistral-chat/"):
            with (
                BodyServer(each.body, pieces=1400) as server,
                mistral.Mistral(api_key="-", server_url=server.url) as sdk,
            ):
                stream = sdk.chat.stream(model="m", messages=[{"role": "user", "content": "-"}])
                chunks, _ = collected(from_openai_chat(stream, **each.options))
            assert checked(chunks).messages == each.messages, each.answer["file"]


def is_unread(each: Recorded) -> bool:
    """Return whether the SDK does not read the stream at all: Google's does not read an array."""
    return each.body.lstrip().startswith(b"[")


def as_the_sdk_reads(each: Recorded) -> dict[int, Any]:
    """Return the messages without what an SDK drops: Ollama's drops the ids and indexes of calls."""
    if each.sdk is not OLLAMA:
        return each.messages
    message = json.loads(json.dumps(each.messages[0]))
    for call in message.get("tool_calls", ()):
        call.pop("id", None)
        call["function"].pop("index", None)
    return {0: message}
