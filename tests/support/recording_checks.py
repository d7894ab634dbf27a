"""Recorded streams of one API against the truth of their index."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import pytest
from body_server import BodyServer
from chat_client import Run, plain
from chunk_grammar import Answer, checked
from provider_client import Provider, cut_at_random, forbid_wire

Recording: TypeAlias = tuple[dict[str, Any], bytes]

UNFRAMED_ERRORS = {
    "gpustack-chat/ruby_llm.chat_with_extended_thinking_gpustack_qwen3_streams_thinking_content_when_available.sse": (
        "it ends with llama.cpp's line `error: ...`, which SDKs skip, and of which the index says nothing"
    ),
}
"""Recordings with an error that the index does not have, each with the reason."""


def has_error(entry: dict[str, Any]) -> bool:
    """Return whether a chat stream tells an error."""
    return "error-in-stream" in entry["notable"] or entry["file"] in UNFRAMED_ERRORS


def recordings_of(shared: Path, family: str) -> list[Recording]:
    folder = shared / "recordings"
    entries = json.loads((folder / "index.json").read_text())
    return [(entry, (folder / entry["file"]).read_bytes()) for entry in entries if entry["family"] == family]


def run_by_wire(provider: Provider, recordings: list[Recording]) -> list[tuple[dict[str, Any], Answer, Run]]:
    """Run each whole and under random cuts, which have to give the same."""
    random = Random(7)
    runs: list[tuple[dict[str, Any], Answer, Run]] = []
    for entry, body in recordings:
        whole, ends = provider.by_wire([body])
        cut, cut_ends = provider.by_wire(cut_at_random(body, random))
        assert cut == whole, entry["file"]
        assert [str(end) for end in cut_ends] == [str(end) for end in ends], entry["file"]
        runs.append((entry, checked(whole), (whole, ends)))
    return runs


def assert_truth(entry: dict[str, Any], answer: Answer, calls: list[Any], reasoning_len: int) -> None:
    name = entry["file"]
    wanted = [(call["id"], call["name"], call["arguments"]) for call in entry["tool_calls"]]
    assert [(call.call_id, call.name, call.arguments) for call in calls] == wanted, name
    assert len(answer.content) == entry["text_len"], name
    assert hashlib.sha256(answer.content.encode()).hexdigest() == entry["text_sha256"], name
    assert len(answer.reasoning) == reasoning_len, name


def assert_sdk_gives_the_same(
    provider: Provider,
    recordings: list[Recording],
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_async: bool,
) -> None:
    wanted = [provider.by_wire([body]) for _, body in recordings]
    forbid_wire(monkeypatch)
    bodies = [body for _, body in recordings]
    runs = asyncio.run(_all_by_async_sdk(provider, bodies)) if is_async else _all_by_sdk(provider, bodies)
    for (entry, _), (wire, wire_ends), (sdk, sdk_ends) in zip(recordings, wanted, runs, strict=True):
        assert plain(sdk) == plain(wire), entry["file"]
        assert [str(end) for end in sdk_ends] == [str(end) for end in wire_ends], entry["file"]
        checked(sdk)
        if entry["sdk_ok"]:
            assert sdk_ends == ["completed"], entry["file"]


def _all_by_sdk(provider: Provider, bodies: list[bytes]) -> list[Run]:
    runs: list[Run] = []
    for body in bodies:
        with BodyServer(body, pieces=1400) as server:
            runs.append(provider.by_sdk(server.url))
    return runs


async def _all_by_async_sdk(provider: Provider, bodies: list[bytes]) -> list[Run]:
    runs: list[Run] = []
    for body in bodies:
        with BodyServer(body, pieces=1400) as server:
            runs.append(await provider.by_async_sdk(server.url))
    return runs
