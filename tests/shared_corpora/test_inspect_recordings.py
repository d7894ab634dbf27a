"""`penstock inspect --json` over all recorded chat streams, against the truth of their index."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cli_command import CODE, ENVIRONMENT, ROOT
from recording_checks import has_error

from penstock.sources.base.endings import CHAT_FINISHES, finish_of

REASONING_ELSEWHERE = {"snowflake-chat/pydantic-ai.test_snowflake_thinking_streaming.sse": 13}
"""The index counts no reasoning where it comes in `reasoning_details` alone; the stream has it."""
SAMPLE = 12

Entry = dict[str, Any]


@pytest.fixture(scope="module")
def truth(shared: Path) -> dict[str, Entry]:
    """Return the index of the chat recordings, by path."""
    folder = shared / "recordings"
    entries = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return {str(folder / entry["file"]): entry for entry in entries if entry["family"] == "chat"}


def inspected(paths: list[str], *options: str) -> list[Entry]:
    command = [sys.executable, "-c", CODE, str(ROOT), "", "inspect", "--json", *options, *paths]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_true(entry: Entry, answer: Entry) -> None:
    name = entry["file"]
    assert answer["api"] == "openai-chat", name
    text = answer["text"]
    assert (len(text), hashlib.sha256(text.encode()).hexdigest()) == (entry["text_len"], entry["text_sha256"]), name
    assert answer["reasoning_chars"] == REASONING_ELSEWHERE.get(name, entry["reasoning_len"]), name
    wanted = entry["tool_calls"]
    assert [(call["name"], call["arguments"]) for call in answer["calls"]] == [
        (call["name"], call["arguments"]) for call in wanted
    ], name
    for number, (call, true_call) in enumerate(zip(answer["calls"], wanted, strict=True)):
        assert call["index"] == number, name
        assert call["choice"] == true_call.get("choice", 0), name
        assert call["wire_kind"] == true_call["kind"], name
        assert call["id"] == true_call["id"] or (not true_call["id"] and call["id"].endswith(f":call_{number}")), name
    finish = [finish_of(CHAT_FINISHES, reason).reason for reason in entry["finish"]]
    assert answer["finish_reason"] == (finish[0] if finish else None), name
    assert (answer["error"] is not None) == has_error(entry), name
    complete = [call["status"] == "complete" for call in answer["calls"]]
    assert complete == [_is_whole(call["arguments"], finish) for call in wanted], name


def _is_whole(text: str, finish: Sequence[str]) -> bool:
    """Return whether arguments are JSON to their end; none at all are whole where the answer was not cut."""
    if not text:
        return bool(finish) and finish[0] in ("tool_calls", "stop")
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_every_chat_recording_is_inspected_as_its_index_says(truth: dict[str, Entry]) -> None:
    assert len(truth) >= 124
    answers = inspected(list(truth))
    assert [answer["file"] for answer in answers] == list(truth)
    for answer in answers:
        assert_true(truth[answer["file"]], answer)


def test_a_sample_comes_through_the_real_sdk_the_same(truth: dict[str, Entry]) -> None:
    playable = [path for path, entry in truth.items() if entry["sdk_ok"]]
    sample = playable[:: max(1, len(playable) // SAMPLE)][:SAMPLE]
    assert len(sample) == SAMPLE
    by_sdk = inspected(sample, "--via", "sdk")
    assert by_sdk == inspected(sample)
    for answer in by_sdk:
        assert_true(truth[answer["file"]], answer)
