"""Every recorded stream in the AI SDK's protocol: by its rules, and read by its official clients over real HTTP."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from ai_sdk_rules import message_of
from ai_sdk_served import argument_deltas, assert_same, assert_settled, calls_in, events_of, every_version, sent

from penstock.events import AnswerEnd
from penstock.operators import stream_fields, to_invocations, to_segments
from penstock.operators.engine.stage import Completed, Failed, Interrupted
from penstock.sinks.web.protocols import UiFrames
from penstock.sources.from_wire import decode_wire

APIS = {
    "chat": "openai-chat",
    "responses": "openai-responses",
    "anthropic": "anthropic-messages",
    "gemini": "gemini",
    "ollama": "ollama",
}
FIELDS = (to_segments(turn_id="t"), stream_fields(), to_invocations(keep_segments=True))
BARE = (to_segments(turn_id="t"), to_invocations(keep_segments=True))


class Recorded:
    """The recordings of the APIs that are read here: their names and bodies."""

    def __init__(self, folder: Path) -> None:
        entries: list[dict[str, Any]] = json.loads((folder / "index.json").read_text())
        self.entries = {each["file"]: each for each in entries if each["family"] in APIS}
        self.bodies = {name: (folder / name).read_bytes() for name in self.entries}

    def read(self, name: str, *chain: Any) -> tuple[list[Any], Exception | None]:
        api = APIS[self.entries[name]["family"]]
        return events_of([self.bodies[name]], decode_wire(api, turn_id="t"), *chain)


@pytest.fixture(scope="module")
def recorded(shared: Path) -> Recorded:
    return Recorded(shared / "recordings")


def test_every_recording_keeps_the_rules_whole_and_cut_anywhere(recorded: Recorded) -> None:
    for number, name in enumerate(recorded.bodies):
        events, error = recorded.read(name, *FIELDS)
        for how, last in (
            (Failed(error) if error else Completed(), len(events)),
            *((how, Random(number).randint(0, len(events))) for how in (Interrupted("x"), Failed(OSError()))),
        ):
            frames = UiFrames("ai-sdk")
            encoded = [frame for event in events[:last] for frame in frames.feed(event)]
            message_of(json.loads(frame) for frame in [*encoded, *frames.close(how)])


@pytest.mark.parametrize("chain", [FIELDS, BARE], ids=["with files", "bare"])
def test_the_official_clients_read_every_recording(recorded: Recorded, chain: Any) -> None:
    read = {name: recorded.read(name, *chain) for name in recorded.bodies}
    answers = every_version({name: partial(sent, *each) for name, each in read.items()})
    assert len(answers) >= 3 * 250
    for name, version, answer in answers:
        events, error = read[name]
        end = next((event for event in events if isinstance(event, AnswerEnd)), None)
        failed = error is not None or (end is not None and end.status == "failed")
        assert len(answer["errors"]) == failed, (name, version, answer["errors"])
        if "message" in answer:
            assert_settled(answer["message"])
            assert_same(answer["message"], events)
        if chain is BARE:
            assert sum(answer["deltas"].values()) >= argument_deltas(recorded.read(name)[0]), (name, version)
        truth = recorded.entries[name]
        if error is None and "message" in answer:
            calls = calls_in(answer["message"]).values()
            # The index has not all built-in tools; the events, with which the message was compared, do.
            wanted = Counter(call["name"] for call in truth["tool_calls"])
            assert wanted <= Counter(call["toolName"] for call in calls), (name, version)
