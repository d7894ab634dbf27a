"""All recorded chat streams, both ways, against the truth of their index."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from body_server import BodyServer
from chat_client import Run, by_async_sdk, by_sdk, by_wire, plain
from chunk_grammar import checked
from recording_checks import UNFRAMED_ERRORS, has_error

from penstock.events import ChunkResponse, ProviderError
from penstock.sources import from_recording
from penstock.sources.framing.sse import SseDecoder
from penstock.sources.from_wire import WireMachine

# The truth counts `reasoning` and `reasoning_content` only; this one has its reasoning in `reasoning_details` alone.
REASONING_ELSEWHERE = {"snowflake-chat/pydantic-ai.test_snowflake_thinking_streaming.sse": 13}


@pytest.fixture(scope="module")
def recordings(shared: Path) -> list[tuple[dict[str, Any], bytes]]:
    folder = shared / "recordings"
    entries = json.loads((folder / "index.json").read_text())
    return [(entry, (folder / entry["file"]).read_bytes()) for entry in entries if entry["family"] == "chat"]


def cut_at_random(body: bytes, random_: random.Random) -> Iterator[bytes]:
    start = 0
    while start < len(body):
        size = random_.choice((1, 2, 7, 40, 333, 5000))
        yield body[start : start + size]
        start += size


def test_every_recording_gives_its_truth_by_wire_however_it_is_cut(
    recordings: list[tuple[dict[str, Any], bytes]],
) -> None:
    assert len(recordings) >= 124
    random_ = random.Random(7)
    for entry, body in recordings:
        is_multiple = "multi-choice" in entry["notable"]
        choices = "all" if is_multiple else 0
        whole, ends = by_wire([body], choices=choices)
        cut, cut_ends = by_wire(cut_at_random(body, random_), choices=choices)
        name = entry["file"]
        assert cut == whole, name
        assert [str(end) for end in cut_ends] == [str(end) for end in ends], name
        assert_truth(entry, whole, ends)


def assert_truth(entry: dict[str, Any], chunks: list[ChunkResponse], ends: list[Exception | str]) -> None:
    name = entry["file"]
    answer = checked(chunks)
    if has_error(entry):
        assert isinstance(ends[0], ProviderError), name
        assert answer.errors, name
    else:
        assert ends == ["completed"], name
    wanted = entry["tool_calls"]
    assert [call.name for call in answer.calls] == [call["name"] for call in wanted], name
    assert [call.arguments for call in answer.calls] == [call["arguments"] for call in wanted], name
    for call, truth in zip(answer.calls, wanted, strict=True):
        assert call.call_id == (truth["id"] or f"t:call_{call.index}"), name
    assert len(answer.content) == entry["text_len"], name
    assert hashlib.sha256(answer.content.encode()).hexdigest() == entry["text_sha256"], name
    assert len(answer.reasoning) == REASONING_ELSEWHERE.get(name, entry["reasoning_len"]), name
    assert answer.finish_raw == (entry["finish"] if "multi-choice" in entry["notable"] else entry["finish"][:1]), name


def test_every_recording_is_recognised_and_plays_from_its_file(shared: Path) -> None:
    folder = shared / "recordings"
    for entry in json.loads((folder / "index.json").read_text()):
        if entry["family"] == "chat":
            chunks: list[ChunkResponse] = []
            from_recording(folder / entry["file"], chunk_size=997, turn_id="t").subscribe(chunks.append, lambda _: None)
            assert chunks == by_wire([(folder / entry["file"]).read_bytes()])[0], entry["file"]


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_every_recording_gives_the_same_through_the_real_sdk_as_by_wire(
    recordings: list[tuple[dict[str, Any], bytes]],
    monkeypatch: pytest.MonkeyPatch,
    is_async: bool,
) -> None:
    wanted = [by_wire([body], choices="all") for _, body in recordings]

    def unused(*_: Any) -> Any:
        message = "the wire decoder ran in a stream of the SDK"
        raise AssertionError(message)

    monkeypatch.setattr(SseDecoder, "feed", unused)
    monkeypatch.setattr(WireMachine, "feed", unused)
    bodies = [body for _, body in recordings]
    runs = asyncio.run(all_by_async_sdk(bodies)) if is_async else all_by_sdk(bodies)
    for (entry, _), (wire, wire_ends), (sdk, sdk_ends) in zip(recordings, wanted, runs, strict=True):
        name = entry["file"]
        if name in UNFRAMED_ERRORS:
            assert plain(sdk) == [each for each in plain(wire) if "error" not in each], name
            assert len(plain(sdk)) == len(plain(wire)) - 1, name
        else:
            assert plain(sdk) == plain(wire), name
            assert [str(end) for end in sdk_ends] == [str(end) for end in wire_ends], name
        checked(sdk)
        if entry["sdk_ok"]:
            assert sdk_ends == ["completed"], name


def all_by_sdk(bodies: list[bytes]) -> list[Run]:
    runs: list[Run] = []
    for body in bodies:
        with BodyServer(body, pieces=1400) as server:
            runs.append(by_sdk(server.url, choices="all"))
    return runs


async def all_by_async_sdk(bodies: list[bytes]) -> list[Run]:
    runs: list[Run] = []
    for body in bodies:
        with BodyServer(body, pieces=1400) as server:
            runs.append(await by_async_sdk(server.url, choices="all"))
    return runs
