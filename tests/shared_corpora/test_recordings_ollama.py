"""All recorded streams of Ollama's own format, by wire and through its SDK, against the truth of their index."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from body_server import BodyServer
from chat_client import Run, acollected, collected, plain
from chunk_grammar import checked
from framed_wire import by_ollama_wire
from provider_client import cut_at_random

from penstock.events import ChunkResponse
from penstock.sources.framing.ndjson import NdjsonDecoder
from penstock.sources.sdk_sources import from_ollama


@pytest.fixture(scope="module")
def recordings(shared: Path) -> list[tuple[dict[str, Any], bytes]]:
    folder = shared / "recordings"
    entries = json.loads((folder / "index.json").read_text())
    return [(entry, (folder / entry["file"]).read_bytes()) for entry in entries if entry["family"] == "ollama"]


def test_every_recording_gives_its_truth_by_wire_however_it_is_cut(
    recordings: list[tuple[dict[str, Any], bytes]],
) -> None:
    assert len(recordings) >= 5
    random_ = random.Random(7)
    for entry, body in recordings:
        whole, ends = by_ollama_wire([body])
        assert by_ollama_wire(cut_at_random(body, random_)) == (whole, ends), entry["file"]
        assert ends == ["completed"], entry["file"]
        assert_truth(entry, whole, [call["id"] for call in entry["tool_calls"]])


def assert_truth(entry: dict[str, Any], chunks: list[ChunkResponse], ids: list[str]) -> None:
    name = entry["file"]
    answer = checked(chunks)
    wanted = entry["tool_calls"]
    assert [call.name for call in answer.calls] == [call["name"] for call in wanted], name
    assert [call.arguments for call in answer.calls] == [call["arguments"] for call in wanted], name
    assert [call.call_id for call in answer.calls] == ids, name
    assert len(answer.content) == entry["text_len"], name
    assert hashlib.sha256(answer.content.encode()).hexdigest() == entry["text_sha256"], name
    assert len(answer.reasoning) == entry["reasoning_len"], name
    assert answer.finish_raw == entry["finish"], name


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_every_recording_gives_the_same_through_the_real_sdk_but_for_the_ids_it_drops(
    recordings: list[tuple[dict[str, Any], bytes]],
    monkeypatch: pytest.MonkeyPatch,
    is_async: bool,
) -> None:
    ollama = pytest.importorskip("ollama", reason="needs ollama")
    wanted = [by_ollama_wire([body])[0] for _, body in recordings]

    def unused(*_: Any) -> Any:
        message = "the wire decoder ran in a stream of the SDK"
        raise AssertionError(message)

    monkeypatch.setattr(NdjsonDecoder, "feed", unused)

    async def by_async_sdk(url: str) -> Run:
        client = ollama.AsyncClient(host=url)
        run = await acollected(from_ollama(lambda: client.chat(model="m", messages=[], stream=True), turn_id="t"))
        await client.close()
        return run

    def by_sdk(url: str) -> Run:
        client = ollama.Client(host=url)
        run = collected(from_ollama(lambda: client.chat(model="m", messages=[], stream=True), turn_id="t"))
        client.close()
        return run

    for (entry, body), wire in zip(recordings, wanted, strict=True):
        with BodyServer(body, pieces=1400, content_type="application/x-ndjson") as server:
            if is_async:
                sdk, ends = asyncio.run(by_async_sdk(server.url))
            else:
                sdk, ends = by_sdk(server.url)
        assert ends == ["completed"], entry["file"]
        assert_truth(entry, sdk, [f"t:call_{number}" for number in range(len(entry["tool_calls"]))])
        assert without_ids(plain(sdk)) == without_ids(plain(wire)), entry["file"]


def without_ids(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for chunk in chunks:
        for call in chunk.get("tool_calls", ()):
            call.pop("call_id", None)
    return chunks
