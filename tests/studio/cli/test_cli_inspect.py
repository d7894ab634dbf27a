"""`penstock inspect` as its user meets it; more of it is in test_cli.py and test_inspect_recording.py."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import yaml
from cli_command import ENVIRONMENT, ONE_CALL, STREAMS, Penstock, penstock, read_terminal, started
from cli_recordings import events_of, recorded

__all__ = ["penstock"]  # the fixture


def calls(out: str) -> list[dict[str, object]]:
    return list(json.loads(out)["calls"])


def test_a_recording_has_times_and_a_body_has_counted_chunks(penstock: Penstock, tmp_path: Path):
    body = Path(ONE_CALL).read_text(encoding="utf-8")
    events = [f"{each}\n\n" for each in body.split("\n\n") if each]
    file = recorded(tmp_path / "a.jsonl", [(0.5 * n + 1, each) for n, each in enumerate(events)], 9)
    code, out, err = penstock("inspect", "--json", file)
    assert (code, err) == (0, "")
    [call] = calls(out)
    of_body = calls(penstock("inspect", "--json", ONE_CALL)[1])[0]
    keys = ("first_byte", "first_field", "sealed")
    timing, counted = call.pop("timing"), of_body.pop("timing")
    assert call == of_body
    assert isinstance(timing, dict)
    assert isinstance(counted, dict)
    assert [timing[key] for key in keys] == [0.5 * counted[key] + 0.5 for key in keys]
    assert (timing["characters"], timing["chunks"]) == (counted["characters"], counted["chunks"])
    assert "when (seconds since the request) and at what rate" in penstock("inspect", file)[1]
    table = penstock("inspect", ONE_CALL)[1]
    assert "when (the chunk; no times were recorded) and at what rate" in table
    assert table.splitlines()[-2].split() == ["0", "1", "4", "8", "29", "6", "█████▇"]


def test_a_recording_that_was_broken_off_is_inspected_up_to_its_last_whole_line(penstock: Penstock, tmp_path: Path):
    first, _ = events_of(ONE_CALL)
    code, out, err = penstock("inspect", "--json", recorded(tmp_path / "a.jsonl", [(0, first)], None))
    assert (code, err) == (0, "")
    assert calls(out)[0]["status"] == "truncated"


def test_the_error_that_ended_a_recorded_stream_is_part_of_the_answer(penstock: Penstock, tmp_path: Path):
    first, _ = events_of(ONE_CALL)
    error: dict[str, Any] = {"end": "error", "error": {"detail": "lost", "transport": True}}
    code, out, _ = penstock("inspect", "--json", recorded(tmp_path / "a.jsonl", [(0, first)], 0, **error))
    assert (code, json.loads(out)["error"]["detail"]) == (0, "lost")


def test_items_and_texts_are_inspected_too(penstock: Penstock, tmp_path: Path):
    chunk = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    for form, raw in {"items": chunk, "texts": "Hi"}.items():
        file = recorded(tmp_path / f"{form}.jsonl", [(0.25, raw)], 0.5, form)
        code, out, err = penstock("inspect", "--json", file)
        assert (code, err) == (0, "")
        assert (json.loads(out)["text"], json.loads(out)["seconds"]) == ("Hi", 0.25)
    assert penstock("inspect", "--via", "sdk", str(tmp_path / "items.jsonl"))[0] == 0


def test_a_cassettes_response_is_inspected(penstock: Penstock, tmp_path: Path):
    body = Path(ONE_CALL).read_text(encoding="utf-8")
    file = tmp_path / "a.yaml"
    interactions = [{"response": {"body": {"string": body}}}] * 2
    file.write_text(yaml.safe_dump({"interactions": interactions}, allow_unicode=True), encoding="utf-8")
    code, out, err = penstock("inspect", str(file))
    assert (code, out, "choose one with --interaction, from 0 to 1" in err) == (2, "", True)
    code, out, err = penstock("inspect", "--json", "--interaction", "1", str(file))
    assert (code, err) == (0, "")
    assert calls(out) == calls(penstock("inspect", "--json", ONE_CALL)[1])


def test_a_bar_on_the_terminal_shows_how_far_a_long_work_is(tmp_path: Path):
    fifo = tmp_path / "body"
    os.mkfifo(fifo)
    ours, theirs = pty.openpty()
    with started(
        "inspect",
        "--json",
        str(fifo),
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**ENVIRONMENT, "TERM": "xterm"},
    ) as process:
        os.close(theirs)
        with fifo.open("wb") as writer:
            shown = b""
            while b"body" not in shown:  # it waits for the body, so that the name is shown after a while
                shown += read_terminal(ours)
            writer.write((STREAMS / "one_call.sse").read_bytes())
        while piece := read_terminal(ours):
            shown += piece
        assert process.stdout is not None
        assert len(calls(process.stdout.read().decode())) == 1
    assert process.returncode == 0
    os.close(ours)
