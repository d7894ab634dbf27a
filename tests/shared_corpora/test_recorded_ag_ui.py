"""Every recorded stream as a run of AG-UI: its frames keep the rules, and the official clients read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ag_ui_clients import CLIENTS, assert_read, read_by
from ag_ui_rules import checked
from ag_ui_runs import FIELDS, PLAIN, Run, frames_of, run_of

APIS = {"chat": "openai-chat", "responses": "openai-responses", "anthropic": "anthropic-messages"} | {
    name: name for name in ("gemini", "ollama")
}


@pytest.fixture(scope="module")
def entries(shared: Path) -> list[tuple[str, str, bytes]]:
    folder = shared / "recordings"
    listed: list[dict[str, Any]] = json.loads((folder / "index.json").read_text())
    found = [
        (APIS[each["family"]], each["file"], (folder / each["file"]).read_bytes())
        for each in listed
        if each["family"] in APIS
    ]
    assert len(found) >= 250
    return found


def runs_of(entries: list[tuple[str, str, bytes]], *chain: Any) -> list[Run]:
    return [run_of(api, body, *chain, name=name) for api, name, body in entries]


@pytest.mark.parametrize("options", [{}, {"interleave": False}, {"profile": "0.0.35"}])
def test_the_frames_of_every_recording_keep_the_rules(entries: list[tuple[str, str, bytes]], options: Any):
    rules = {"one_at_a_time": bool(options), "is_0_0_35": "profile" in options}
    for run in runs_of(entries, *FIELDS):
        checked(frames_of(run, **options), **rules)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_ends_up_with_what_was_recorded(entries: list[tuple[str, str, bytes]], client: str):
    every = runs_of(entries, *PLAIN)
    for some in (every[place : place + 60] for place in range(0, len(every), 60)):
        for run, got in zip(some, read_by(client, some), strict=True):
            assert_read(run, got)
            deltas = sum(event["type"] == "TOOL_CALL_ARGS" for event in got["events"])
            assert deltas >= run.deltas, run.name
