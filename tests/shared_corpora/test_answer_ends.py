"""How every recorded answer ends: usage, model, id and finish reason as the providers' own SDKs accumulate them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from body_server import BodyServer
from chat_client import Run, collected
from every_sdk import SDKS, Sdk
from provider_client import cut_at_random

from penstock.events import AnswerEnd
from penstock.operators.engine.stage import Completed, Failed, stage
from penstock.operators.to_segments import to_segments
from penstock.sources import from_wire

FAMILIES = {
    "openai-chat": ("chat", 124),
    "openai-responses": ("responses", 48),
    "anthropic-messages": ("anthropic", 40),
    "gemini": ("gemini", 34),
    "ollama": ("ollama", 5),
}
FIELDS = ("finish_reason", "finish_reason_raw", "usage", "model", "response_id")
CONTESTED = {
    "anthropic-messages/ai.spliced-message-start.sse": "two messages: the SDK keeps the first one's id, model and usage",
}
"""Recordings whose accumulated answer is contested, with the reason."""


class Recorded(NamedTuple):
    """One recording, and how its answer ends."""

    name: str
    body: bytes
    wanted: dict[str, Any]
    plays: bool
    """Whether the SDK can read it."""


@pytest.fixture(scope="module", params=SDKS, ids=[sdk.api for sdk in SDKS])
def sdk(request: pytest.FixtureRequest) -> Sdk:
    found: Sdk = request.param
    return found


@pytest.fixture(scope="module")
def recordings(shared: Path, sdk: Sdk) -> list[Recorded]:
    family, count = FAMILIES[sdk.api]
    folder = shared / "recordings"
    plays = {entry["file"]: entry["sdk_ok"] is not False for entry in json.loads((folder / "index.json").read_text())}
    answers = json.loads((folder / "answers.json").read_text())
    found = [
        Recorded(answer["file"], (folder / answer["file"]).read_bytes(), answer, plays[answer["file"]])
        for answer in answers
        if answer["family"] == family
    ]
    assert len(found) == count
    return found


def end_of(run: Run) -> dict[str, Any]:
    """Return the fields of the first answer's end; there is one for each answer, and nothing follows them."""
    chunks, [how] = run
    chain = stage(to_segments())
    events = [event for chunk in chunks for event in chain.feed(chunk)]
    assert not [event for event in events if isinstance(event, AnswerEnd)]
    last = list(chain.close(Failed(how) if isinstance(how, Exception) else Completed()))
    ends = [event for event in last if isinstance(event, AnswerEnd)]
    assert [end.choice for end in ends] == list(range(len(ends)))
    end = ends[0]
    usage = end.usage and {name: getattr(end.usage, name) for name in end.usage.__struct_fields__}
    return {name: getattr(end, name) for name in FIELDS} | {"usage": usage}


def wanted_of(recorded: Recorded) -> dict[str, Any]:
    return {name: recorded.wanted[name] for name in FIELDS}


def test_every_answer_ends_as_its_provider_says_whole_and_cut(sdk: Sdk, recordings: list[Recorded]) -> None:
    options: dict[str, Any] = {"choices": "all"} if sdk.api in ("openai-chat", "gemini") else {}
    wrong: dict[str, Any] = {}
    for number, recorded in enumerate(recordings):
        end = end_of(collected(from_wire(sdk.api, recorded.body, **options)))
        cut = list(cut_at_random(recorded.body, Random(number)))
        assert end_of(collected(from_wire(sdk.api, cut, **options))) == end, recorded.name
        if end != wanted_of(recorded):
            wrong[recorded.name] = (end, wanted_of(recorded))
    assert wrong.keys() == {recorded.name for recorded in recordings} & CONTESTED.keys(), wrong


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_every_answer_ends_so_through_the_sdk_too(sdk: Sdk, recordings: list[Recorded], *, is_async: bool) -> None:
    for recorded in recordings:
        if recorded.name in CONTESTED or not recorded.plays:
            continue
        with BodyServer(recorded.body, pieces=1400, content_type=content_type_of(sdk)) as server:
            run = sdk.by_async_sdk(server.url) if is_async else sdk.by_sdk(server.url)
        assert end_of(run) == wanted_of(recorded), recorded.name


def content_type_of(sdk: Sdk) -> str:
    return "application/x-ndjson" if sdk.api == "ollama" else "text/event-stream"
