"""`penstock replay` as its user meets it."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_cli import ENVIRONMENT, ONE_CALL, PLAIN, STREAMS, Penstock, command, penstock

from penstock.events import (
    AnswerEnd,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
    ToolInvocation,
    UsageError,
    from_json,
    to_json,
)
from penstock.pipeline.recordings.recorded import read_recorded

__all__ = ["penstock"]  # the fixture

EMITS = {
    "deltas": {"CHUNK_RESPONSE"},
    "fragments": {"TOOL_CALL_ARGUMENT_PROGRESS"},
    "segments": {"SEGMENT_START", "SEGMENT_CONTENT", "SEGMENT_END"},
    "updates": {"assistant_streaming_tool_call"},
    "invocations": {"TOOL_INVOCATION"},
}


def types(out: str) -> set[str]:
    return {json.loads(line)["type"] for line in out.splitlines()}


def test_it_shows_the_answer(penstock: Penstock) -> None:
    shown = ["get_weather", '    {"city": "Zürich", "days": 3}', "→ get_weather(city='Zürich', days=3)", ""]
    assert penstock("replay", ONE_CALL) == (0, "\n".join(shown), "")


@pytest.mark.parametrize("emit", EMITS)
def test_one_kind_of_event_alone_is_given_as_lines(penstock: Penstock, emit: str) -> None:
    code, out, err = penstock("replay", "--emit", emit, "--json", ONE_CALL)
    assert (code, err) == (0, "")
    assert types(out) == EMITS[emit]
    code, short, err = penstock("replay", "--emit", emit, ONE_CALL)
    assert (code, err) == (0, "")
    assert len(short.splitlines()) == len(out.splitlines())
    assert "get_weather" in short


def test_json_alone_gives_everything_and_every_line_is_an_event_in_ascii(penstock: Penstock) -> None:
    code, out, err = penstock("replay", "--json", ONE_CALL)
    assert (code, err, out.isascii()) == (0, "", True)
    events = [from_json(line) for line in out.splitlines()]
    assert isinstance(events[0], SegmentEvent)
    *_, call, answer = events
    assert isinstance(call, ToolInvocation)
    assert call.arguments == {"city": "Zürich", "days": 3}
    assert isinstance(answer, AnswerEnd)
    assert (answer.status, answer.finish_reason, answer.message) == ("complete", "tool_calls", None)


def test_each_answer_that_is_not_complete_has_its_line_where_it_ended(penstock: Penstock, tmp_path: Path) -> None:
    events: list[Any] = []
    for turn in ("one", "two"):
        events += [
            SegmentStart(turn, "text"),
            SegmentContent(turn, "text", turn),
            SegmentEnd(turn, "text", "truncated"),
        ]
        events.append(AnswerEnd(turn, status="truncated"))
    stored = tmp_path / "stored.jsonl"
    stored.write_bytes(b"".join(to_json(event) + b"\n" for event in events))
    code, out, err = penstock("replay", str(stored))
    assert (code, err) == (0, "")
    told = ["[text: truncated]", "! the answer is truncated"]
    assert out.splitlines() == ["one", *told, "two", *told]


@pytest.mark.parametrize("chunk", ["1", "7", "event"])
def test_how_it_is_cut_does_not_matter(penstock: Penstock, chunk: str) -> None:
    cut = penstock("replay", "--emit", "invocations", "--chunk", chunk, ONE_CALL)
    assert cut == penstock("replay", "--emit", "invocations", ONE_CALL)


@pytest.mark.parametrize("emit", [*(each for each in EMITS if each != "deltas"), None])
def test_stored_events_play_as_the_recording_they_came_from(
    penstock: Penstock, tmp_path: Path, emit: str | None
) -> None:
    only = ["--emit", emit] if emit else []
    for kind in ([], ["--emit", "deltas"]):
        stored = tmp_path / "stored.jsonl"
        stored.write_text(penstock("replay", *kind, "--json", ONE_CALL)[1], encoding="utf-8")
        code, out, err = penstock("replay", *only, str(stored))
        assert (code, err) == (0, "")
        whole = penstock("replay", *only, ONE_CALL)[1]
        # What is made of stored arguments is made of their text, not of their pieces.
        assert out == whole or (emit in ("fragments", "updates") and out.splitlines()[-1] == whole.splitlines()[-1])


def test_it_reads_the_input(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(ONE_CALL).read_bytes())))
    assert penstock("replay", "-", "--emit", "invocations")[1].startswith("→ get_weather(")


def test_a_cut_recording_is_no_failure_and_an_error_in_it_is(penstock: Penstock, tmp_path: Path) -> None:
    cut = tmp_path / "cut.sse"
    cut.write_bytes(Path(ONE_CALL).read_bytes()[:900])
    code, out, err = penstock("replay", str(cut))
    assert (code, err) == (0, "")
    assert "get_weather is not run: truncated" in out
    code, out, err = penstock("replay", str(STREAMS / "error_in_stream.sse"))
    assert code == 1
    assert "is not run: provider_error" in out
    assert "the answer failed" not in out  # the line of the error says so
    (line,) = err.splitlines()
    assert "error_in_stream.sse: provider error (503" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.sse"], ["nowhere.sse", "No such file"]),
        ([__file__], ["--api", "openai-chat"]),
        (["--api", "opnai", ONE_CALL], ["'opnai'"]),
        (["--pace", "fast", ONE_CALL], ["'fast'", "original"]),
        (["--chunk", "0", ONE_CALL], ["'0'", "bytes"]),
        (["--emit", "all", ONE_CALL], ["'all'", "'deltas'"]),
        (["--strategy", "xmm", ONE_CALL], ["'xmm'", "did you mean 'xml'?"]),
        ([], ["FILE"]),
    ],
)
def test_what_the_user_can_mend_is_said_in_one_line(penstock: Penstock, arguments: list[str], words: list[str]) -> None:
    code, out, err = penstock("replay", *arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert [word for word in words if word not in line] == []


def test_a_line_that_is_no_event_is_told_with_its_number(tmp_path: Path) -> None:
    stored = tmp_path / "stored.jsonl"
    stored.write_bytes(b'{"type":"NOTICE","code":"c","detail":"d"}\n\n{"type":"X"}\n')
    with pytest.raises(UsageError, match=r"stored\.jsonl cannot be read: line 3: not the JSON form of an event"):
        read_recorded(str(stored))


def test_the_original_pace_is_read_from_what_lies_beside(tmp_path: Path) -> None:
    body = Path(PLAIN).read_bytes()
    file = tmp_path / "answer.sse"
    file.write_bytes(body)
    assert read_recorded(str(file), timed=True).timing is None
    timing = {"network_chunk_sizes": [100, len(body) - 100], "network_chunk_times": [0, 0.25]}
    (tmp_path / "index.json").write_text(json.dumps([{"file": "other.sse"}, {"file": "answer.sse", **timing}]))
    assert read_recorded(str(file), timed=True).timing == ((100, len(body) - 100), (0.0, 0.25))
    (tmp_path / "answer.timing.json").write_text(json.dumps({"network_chunk_sizes": [len(body)]}))
    assert read_recorded(str(file), timed=True).timing == ((len(body),), None)
    assert read_recorded(str(file)).timing is None


@pytest.mark.parametrize(
    "wrong",
    ["{", "[]", '{"network_chunk_sizes": [1]}', '{"network_chunk_sizes": "x"}', '{"network_chunk_sizes": []}'],
)
def test_a_wrong_timing_is_told(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "answer.sse"
    file.write_bytes(Path(PLAIN).read_bytes())
    (tmp_path / "answer.timing.json").write_text(wrong)
    with pytest.raises(UsageError, match=r"answer\.sse cannot be read"):
        read_recorded(str(file), timed=True)


def test_ctrl_c_between_two_pieces_ends_what_is_open_as_interrupted(tmp_path: Path) -> None:
    body = Path(PLAIN).read_bytes()
    file = tmp_path / "answer.sse"
    file.write_bytes(body)
    timing = {"network_chunk_sizes": [900, len(body) - 900], "network_chunk_times": [0, 600]}
    (tmp_path / "answer.timing.json").write_text(json.dumps(timing))
    with subprocess.Popen(
        command("replay", "--pace", "original", "--json", str(file)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=ENVIRONMENT,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, err) == (130, "")
    *_, last, answer = map(json.loads, [first, *out.splitlines()])
    assert (last["type"], last["payload"]) == ("SEGMENT_END", {"status": "interrupted", "reason": "Ctrl-C"})
    assert (answer["type"], answer["status"]) == ("ANSWER_END", "interrupted")
