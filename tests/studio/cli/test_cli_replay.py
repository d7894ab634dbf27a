"""`penstock replay` as its user meets it."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_command import ENVIRONMENT, ONE_CALL, PLAIN, STREAMS, Penstock, command, penstock, read_terminal, started
from cli_recordings import events_of, recorded

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
from penstock.studio.reading.play_recording import Player
from penstock.studio.reading.recorded import read_recorded

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
        (["nowhere.sse", "--api", "chat"], ["nowhere.sse", "No such file"]),
        ([ONE_CALL.replace("one_call", "one_cal")], ["did you mean", "one_call.sse'?"]),
        ([str(STREAMS)], ["Is a directory", "name a file in it"]),
        (["--pace", "fast", ONE_CALL], ["'fast'", "original"]),
        (["--pace", "0", ONE_CALL], ["'0'", "a factor above 0"]),
        (["--pace", "original", ONE_CALL], ["one_call.sse has no times", "--every 0.05"]),
        (["--pace", "2", ONE_CALL], ["one_call.sse has no times", "--every 0.05"]),
        (["--every", "-1", ONE_CALL], ["--every must be a number of seconds"]),
        (["--every", "1", "--pace", "2", ONE_CALL], ["--every", "without --pace"]),
        (["--interaction", "1", ONE_CALL], ["--interaction", "cassette"]),
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

    def found(*, timed: bool = True) -> tuple[bool, list[tuple[float, int]]]:
        recorded = read_recorded(str(file), timed=timed)
        assert b"".join(each.item for each in recorded.items) == body
        return recorded.has_times, [(at, len(piece)) for at, piece in recorded.items]

    untimed = found()
    assert (untimed[0], {at for at, _ in untimed[1]}) == (False, {0.0})
    timing = {"network_chunk_sizes": [100, len(body) - 100], "network_chunk_times": [3, 3.25]}
    (tmp_path / "index.json").write_text(json.dumps([{"file": "other.sse"}, {"file": "answer.sse", **timing}]))
    assert found() == (True, [(0.0, 100), (0.25, len(body) - 100)])
    (tmp_path / "answer.timing.json").write_text(json.dumps({"network_chunk_sizes": [len(body)]}))
    assert found() == (False, [(0.0, len(body))])
    assert found(timed=False) == untimed


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


@pytest.mark.parametrize("arguments", [["--pace", "original"], ["--pace", "10"], ["--every", "0.2"]])
def test_ctrl_c_between_two_pieces_ends_what_is_open_as_interrupted(tmp_path: Path, arguments: list[str]) -> None:
    body = Path(PLAIN).read_bytes()
    file = tmp_path / "answer.sse"
    file.write_bytes(body)
    if arguments == ["--pace", "original"]:
        timing = {"network_chunk_sizes": [900, len(body) - 900], "network_chunk_times": [0, 600]}
        (tmp_path / "answer.timing.json").write_text(json.dumps(timing))
    elif "--pace" in arguments:
        recorded(file, [(0, body[:900].decode()), (6000, body[900:].decode())], 6000)
    with started(
        "replay",
        *arguments,
        "--json",
        str(file),
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


@pytest.mark.parametrize("pace", [[], ["--pace", "instant"], ["--pace", "original"], ["--pace", "0.5"]])
def test_a_recording_plays_as_its_body_at_any_pace(penstock: Penstock, tmp_path: Path, pace: list[str]) -> None:
    first, rest = events_of(ONE_CALL)
    file = recorded(tmp_path / "a.jsonl", [(0.001, first), (0.002, rest)], 0.003)
    assert penstock("replay", *pace, file) == penstock("replay", ONE_CALL)
    assert penstock("replay", *pace, "--json", "--chunk", "9", file) == penstock("replay", "--json", ONE_CALL)


def test_the_pace_is_a_factor_of_the_recorded_times(penstock: Penstock, tmp_path: Path) -> None:
    first, rest = events_of(ONE_CALL)
    file = recorded(tmp_path / "a.jsonl", [(1e6, first), (2e6, rest)], 3e6)  # a month, which nobody waits for
    assert penstock("replay", "--pace", "1e9", file) == penstock("replay", ONE_CALL)
    assert penstock("replay", file) == penstock("replay", ONE_CALL)  # no terminal, so at once


def test_each_event_of_a_body_waits_for_the_seconds_of_every(penstock: Penstock, monkeypatch: pytest.MonkeyPatch):
    waits: list[float] = []

    def waited(_player: Player, seconds: float) -> bool:
        waits.append(seconds)
        return False

    monkeypatch.setattr(Player, "_is_stopped_within", waited)
    monkeypatch.setattr("penstock.studio.reading.play_recording.monotonic", lambda: 100.0)
    assert penstock("replay", "--every", "0.5", "--emit", "deltas", ONE_CALL)[0] == 0
    events = Path(ONE_CALL).read_bytes().count(b"\n\n")
    assert waits[:events] == [number * 0.5 for number in range(1, events + 1)]


def test_a_recording_that_was_broken_off_plays_up_to_its_last_whole_line(penstock: Penstock, tmp_path: Path) -> None:
    first, _ = events_of(PLAIN)
    code, out, err = penstock("replay", "--json", recorded(tmp_path / "a.jsonl", [(0, first)], None))
    assert (code, err) == (0, "")
    assert json.loads(out.splitlines()[-1])["status"] == "truncated"


def test_an_error_that_ended_the_recorded_stream_ends_the_replay(penstock: Penstock, tmp_path: Path) -> None:
    first, _ = events_of(PLAIN)
    error: dict[str, Any] = {"end": "error", "error": {"detail": "the connection is lost", "transport": True}}
    file = recorded(tmp_path / "a.jsonl", [(0, first)], 0, **error)
    code, out, err = penstock("replay", "--json", file)
    assert (code, err.splitlines()) == (1, [f"penstock: {file}: connection lost: the connection is lost"])
    assert json.loads(out.splitlines()[-1])["status"] == "interrupted"


def test_texts_chunks_and_the_items_of_an_sdk_play_too(penstock: Penstock, tmp_path: Path) -> None:
    chunk = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    forms: dict[str, Any] = {
        "texts": "Hi",
        "chunks": {"type": "CHUNK_RESPONSE", "content": "Hi", "finish_reason": "stop"},
        "items": chunk,
    }
    for form, raw in forms.items():
        file = recorded(tmp_path / f"{form}.jsonl", [(0.001, raw)], 0.001, form)
        assert penstock("replay", "--pace", "original", file) == (0, "Hi\n", ""), form
        code, _, err = penstock("replay", "--chunk", "3", file)
        assert (code, "has none; leave it out" in err) == (2, True)


def test_the_items_of_bedrock_which_has_no_text_form_play_too(penstock: Penstock, tmp_path: Path) -> None:
    items = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi"}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    file = recorded(tmp_path / "a.jsonl", [(0, item) for item in items], 0, "items")
    assert penstock("replay", file) == (0, "Hi\n", "")


def test_a_cassette_plays_and_says_that_it_has_no_times(penstock: Penstock, tmp_path: Path) -> None:
    body = Path(ONE_CALL).read_text(encoding="utf-8")
    interactions = [{"response": {"body": {"string": each}}} for each in ("{}", body)]
    file = tmp_path / "a.yaml"
    file.write_text(yaml.safe_dump({"interactions": interactions, "version": 1}, allow_unicode=True), encoding="utf-8")
    assert penstock("replay", str(file)) == penstock("replay", ONE_CALL)
    assert penstock("replay", "--interaction", "1", str(file)) == penstock("replay", ONE_CALL)
    code, _, err = penstock("replay", "--pace", "original", str(file))
    assert (code, "a.yaml has no times" in err) == (2, True)
    code, _, err = penstock("replay", "--interaction", "7", str(file))
    assert (code, "the cassette has 2 interactions, so --interaction must be less" in err) == (2, True)


def test_on_a_terminal_a_recording_plays_at_its_own_pace_until_ctrl_c(tmp_path: Path) -> None:
    body = Path(PLAIN).read_text(encoding="utf-8")
    file = recorded(tmp_path / "a.jsonl", [(0, body[:900]), (600, body[900:])], 600)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command("replay", file), stdout=theirs, stderr=subprocess.PIPE, env=ENVIRONMENT, start_new_session=True
    ) as process:
        os.close(theirs)
        shown = b""
        while b"Good" not in shown:  # the rest would come in ten minutes
            shown += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        while piece := read_terminal(ours):
            shown += piece
        assert process.stderr is not None
        assert (process.wait(timeout=60), process.stderr.read()) == (130, b"")
    assert b"Traceback" not in shown
    assert b"interrupted" in shown
