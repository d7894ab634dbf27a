"""All recordings of Bedrock Converse, Cohere and Gemini Interactions, by wire and through their SDKs, against the truth."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from chat_client import Run, collected
from chunk_grammar import checked
from further_sdks import FURTHER_SDKS, FurtherSdk
from provider_client import cut_at_random

from penstock.events import AnswerEnd
from penstock.operators import drive, to_segments
from penstock.sources import from_stream, from_wire
from penstock.sources.bedrock.wire import event_stream

FAMILIES = {
    "bedrock": ("bedrock-converse", 8),
    "cohere2": ("cohere", 6),
    "interactions": ("gemini-interactions", 4),
}
UNREAD = {
    "bedrock-converse/ai.amazon-bedrock-tool-no-args.sse": "hand-made: boto3 refuses a block that starts as nothing",
}
"""Recordings that the SDK itself does not read."""
COUNTS = ("prompt", "completion", "total", "cached", "reasoning")


class Recorded(NamedTuple):
    """One recording: its entries in index.json and in answers.json."""

    entry: dict[str, Any]
    answer: dict[str, Any]
    body: bytes

    @property
    def api(self) -> str:
        return FAMILIES[self.entry["family"]][0]

    def assert_truth(self, run: Run) -> None:
        chunks, ends = run
        name, found = self.entry["file"], checked(chunks)
        assert ends == ["completed"], name
        runners = {delta.index: delta.executed_by for chunk in chunks for delta in chunk.tool_calls}
        calls = [call for call in found.calls if runners[call.index] == "client" or self.api != "gemini-interactions"]
        wanted = [(call["id"], call["name"], call["arguments"]) for call in self.entry["tool_calls"]]
        assert [(call.call_id, call.name, call.arguments) for call in calls] == wanted, name
        for call, told in zip(calls, self.entry["tool_calls"], strict=True):
            assert (runners[call.index] == "provider") == (told["kind"] == "server_tool_use"), name
        assert hashlib.sha256(found.content.encode()).hexdigest() == self.entry["text_sha256"], name
        assert len(found.reasoning) == self.entry["reasoning_len"], name
        assert found.messages == {0: self.answer["message"]}, name
        assert found.raw == [], name
        [end] = [event for event in drive(chunks, to_segments()) if isinstance(event, AnswerEnd)]
        assert end.usage is not None, name
        assert {count: getattr(end.usage, count) for count in COUNTS} == self.answer["usage"], name
        for field in ("finish_reason", "finish_reason_raw", "model", "response_id"):
            assert getattr(end, field) == self.answer[field], name


@pytest.fixture(scope="module")
def recorded(shared: Path) -> list[Recorded]:
    folder = shared / "recordings"
    entries = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    answers = {each["file"]: each for each in json.loads((folder / "answers.json").read_text(encoding="utf-8"))}
    return [
        Recorded(entry, answers[entry["file"]], (folder / entry["file"]).read_bytes())
        for entry in entries
        if entry["family"] in FAMILIES
    ]


def test_every_recording_gives_its_truth_by_wire_however_it_is_cut(recorded: list[Recorded]):
    counts = {family: sum(each.entry["family"] == family for each in recorded) for family in FAMILIES}
    assert counts == {family: count for family, (_, count) in FAMILIES.items()}
    random = Random(7)
    for each in recorded:
        for body in (each.body, event_stream(each.body)) if each.api == "bedrock-converse" else (each.body,):
            for pieces in ([body], cut_at_random(body, random)):
                each.assert_truth(collected(from_wire(each.api, pieces, turn_id="t", keep_message=True)))


@pytest.mark.slow
@pytest.mark.parametrize("sdk", FURTHER_SDKS, ids=[sdk.api for sdk in FURTHER_SDKS])
def test_every_recording_gives_its_truth_through_the_real_sdk(recorded: list[Recorded], sdk: FurtherSdk):
    for each in recorded:
        if each.api == sdk.api and each.entry["file"] not in UNREAD:
            with sdk.served(each.body) as server, sdk.client(server.url) as start:
                each.assert_truth(collected(from_stream(start, turn_id="t", keep_message=True)))
