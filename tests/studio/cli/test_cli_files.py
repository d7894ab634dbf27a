"""What the commands for streams say of a file that they cannot read, and of options that cannot matter for it."""

from __future__ import annotations

import gzip
import json
import os
import pty
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_command import ENVIRONMENT, ONE_CALL, PLAIN, Penstock, penstock, read_terminal, started
from cli_recordings import recorded

from penstock.events import AnswerEnd
from penstock.studio.explorer.explored_stream import read_stream
from penstock.studio.reading.play_recording import Player
from penstock.studio.reading.recorded import read_recorded

__all__ = ["penstock"]  # the fixture
BODY = Path(ONE_CALL).read_bytes()
CHUNK = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}}]}
COMMANDS = {
    "replay": ["FILE"],
    "inspect": ["FILE"],
    "diff": ["FILE", ONE_CALL],
    "marbles": ["FILE", "-o", "out.svg"],
    "convert": ["FILE", "out.jsonl", "--to", "OTHER"],
    "explore": ["FILE", "--no-browser"],
}


def cassette(path: Path, *bodies: bytes) -> str:
    interactions = [{"response": {"body": {"string": each}}} for each in bodies]
    path.write_text(yaml.safe_dump({"interactions": interactions}), encoding="utf-8")
    return str(path)


def line_for(name: str, file: str) -> list[str]:
    other = "body" if file.endswith(".jsonl") else "recording"
    return [name, *({"FILE": file, "OTHER": other}.get(word, word) for word in COMMANDS[name])]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recorded(Path("wire.jsonl"), [(0, BODY.decode())], 0)
    recorded(Path("items.jsonl"), [(0, CHUNK)], 0, "items")
    recorded(Path("texts.jsonl"), [(0, "Hi")], 0, "texts")
    Path("body.sse.gz").write_bytes(gzip.compress(BODY))
    cassette(Path("two.yaml"), BODY, Path(PLAIN).read_bytes())


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("file", "options", "words"),
    [
        ("wire.jsonl", ["--interaction", "1"], "--interaction chooses from a cassette of VCR.py; leave it out"),
        (ONE_CALL, ["--interaction", "1"], "--interaction chooses from a cassette of VCR.py; leave it out"),
        ("two.yaml", [], "choose one with --interaction, from 0 to 1"),
        ("wire.jsonl", ["--api", "anthropic"], "its events are those of openai-chat, so leave --api out"),
        ("items.jsonl", ["--api", "anthropic"], "its items are those of openai-chat, so leave --api out"),
        ("body.sse.gz", [], "it is packed with gzip; unpack it with gunzip"),
    ],
)
def test_it_is_told_in_one_line(penstock: Penstock, name: str, file: str, options: list[str], words: str):
    code, out, err = penstock(*line_for(name, file), *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert not list(Path.cwd().glob("out.*"))


@pytest.mark.parametrize("name", ["replay", "inspect", "diff", "marbles", "explore"])
def test_texts_are_of_no_api(penstock: Penstock, name: str):
    code, out, err = penstock(*line_for(name, "texts.jsonl"), "--api", "openai-chat")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "this recording has texts, which are of no API; leave --api out" in err


def test_the_api_of_a_recording_may_be_named(penstock: Penstock):
    for file in ("wire.jsonl", "items.jsonl"):
        assert penstock("replay", file, "--api", "openai-chat") == penstock("replay", file)


def test_two_responses_of_a_cassette_are_compared(penstock: Penstock):
    code, out, err = penstock("diff", "two.yaml", "--interaction", "0", "--interaction", "1", "--json")
    found: dict[str, Any] = json.loads(out)
    assert (code, err, found["a"]["interaction"], found["b"]["interaction"]) == (1, "", 0, 1)
    assert penstock("diff", "two.yaml", "two.yaml", "--interaction", "1") == (0, "", "")
    assert (
        "A is two.yaml, response 0 (" in penstock("diff", "two.yaml", *["--interaction", "0", "--interaction", "1"])[1]
    )
    assert "or a --strategy or a --chunk-size" in penstock("diff", "two.yaml", "--interaction", "1")[2]


def test_a_response_of_a_cassette_is_explored():
    assert b"".join(read_stream("two.yaml", interaction=0).items) == BODY


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("second", "words"),
    [
        (10**410, "line 3 of the recording is wrong: Expected `int` <="),
        (10**18 + 1, "line 3 of the recording is wrong: Expected `int` <="),
        (-1, "line 3 of the recording is wrong: Expected `int` >= 0"),
        (6, "line 3 of the recording is wrong: its time is before that of the line above"),
    ],
    ids=["beyond a float", "beyond thirty years", "below zero", "set back"],
)
def test_a_time_that_cannot_be_is_told_with_its_line(penstock: Penstock, name: str, second: int, words: str):
    file = recorded(Path("times.jsonl"), [(0, "data: 1\n\n"), (0, "data: 2\n\n")], None)
    meta, *lines, cut = Path(file).read_text().split("\n")
    timed = [json.dumps({**json.loads(line), "t_ns": at}) for line, at in zip(lines, (7, second), strict=True)]
    Path(file).write_text("\n".join([meta, *timed, cut]))
    code, out, err = penstock(*line_for(name, file))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


@pytest.mark.parametrize("options", [{"every": 1e300}, {"speed": 1e-300}, {"speed": 1e-320}])
def test_what_no_system_can_wait_for_is_waited_for_until_it_is_stopped(options: dict[str, Any]):
    file = recorded(Path("slow.jsonl"), [(1, BODY.decode())], 2)
    player = Player(read_recorded(file, timed=True), **options)
    player.stop("enough")
    assert [each for each in player.play("api_tool_call") if not isinstance(each, AnswerEnd)] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_does_not_come_is_waited_for_with_a_bar_until_ctrl_c(name: str, tmp_path: Path):
    os.mkfifo("nobody-writes")
    ours, theirs = pty.openpty()
    arguments = [{"OTHER": "recording"}.get(each, each) for each in line_for(name, "nobody-writes")]
    with started(*arguments, stdout=subprocess.PIPE, stderr=theirs, env={**ENVIRONMENT, "TERM": "xterm"}) as process:
        os.close(theirs)
        shown = b""
        while b"nobody-writes" not in shown and (piece := read_terminal(ours)):
            shown += piece
        process.send_signal(signal.SIGINT)
        while piece := read_terminal(ours):
            shown += piece
        out = process.communicate()[0]
    os.close(ours)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in shown
    assert not list(tmp_path.glob("out.*"))
