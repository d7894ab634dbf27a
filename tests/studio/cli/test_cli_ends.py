"""However a command's input, output and keyboard are: one line, no traceback, and an exit code that says it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sysconfig
import tempfile
import tracemalloc
from itertools import product
from pathlib import Path

import pytest
from cli_command import COMMANDS, ENVIRONMENT, ROOT, Penstock, command, penstock, started
from depth import some_of
from looped import looped

from penstock.events import SegmentContent, SegmentStart
from penstock.sinks import plain_view
from penstock.sources.streams import bounded_read
from penstock.sources.streams.bounded_read import LONGEST, LONGEST_TEXT
from penstock.studio.cli import cli

__all__ = ["penstock"]  # the fixture

STREAMS = ROOT / "tests/streams/openai_chat"
ONE_CALL = str(STREAMS / "one_call.sse")
INSTALLED = Path(sysconfig.get_path("scripts")) / "penstock"
ASK = ("run", "--provider", "openai", "--model", "m")
WORKING = {
    "help": ("--help",),
    "version": ("--version",),
    "demo": ("demo", "--pace", "0"),
    "replay": ("replay", ONE_CALL),
    "replay emit": ("replay", "--emit", "segments", ONE_CALL),
    "parse": ("parse", ONE_CALL),
    "parse json": ("parse", "--json", ONE_CALL),
    "inspect": ("inspect", ONE_CALL),
    "inspect json": ("inspect", "--json", ONE_CALL),
    "diff": ("diff", ONE_CALL, str(STREAMS / "plain_text.sse")),
    "diff json": ("diff", "--json", ONE_CALL, "--chunk-size", "7"),
    "convert": ("convert", ONE_CALL, "-", "--to", "recording"),
    "marbles": ("marbles", ONE_CALL, "-o", "-"),
    "strategies": ("strategies",),
    "strategies name": ("strategies", "hermes"),
    "schema": ("schema",),
    "serve-recordings": ("serve-recordings", str(STREAMS)),
    "app": ("app", str(STREAMS), "--no-browser"),
    "gateway": ("gateway", "--upstream", "http://127.0.0.1:1", "--port", "0"),
    "buffer": ("buffer", "--upstream", "http://127.0.0.1:1", "--log", "memory:", "--port", "0"),
    "explore": ("explore", ONE_CALL, "--no-browser"),
    "batch": ("batch", ONE_CALL, tempfile.mkdtemp()),
}
OUTPUTS = some_of(product(WORKING, ("a full disk", "a reader that has left")), 5)
READING = {
    "replay": ("replay", "-"),
    "parse": ("parse",),
    "inspect": ("inspect", "-"),
    "diff": ("diff", ONE_CALL, "-"),
    "convert": ("convert", "-", os.devnull, "--to", "recording", "--overwrite"),
    "marbles": ("marbles", "-", "-o", os.devnull, "--overwrite"),
    "record": ("record", "--json", "-o", tempfile.gettempdir()),
    "run": ASK,
    "run -": (*ASK, "-"),
}
LIMIT = 600_000
"""KiB of memory that no command needs."""


def in_a_shell(redirection: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run a command in a process of its own with its files as a shell makes them; give its exit code and complaints."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *command(*arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**ENVIRONMENT, **environment},
        timeout=300,
        check=False,
    )
    return done.returncode, done.stderr


def working_for(output: str) -> list[str]:
    return [name for name, each in OUTPUTS if each == output]


def test_every_command_is_tried():
    tried = (*WORKING.values(), *READING.values())
    assert {words[0] for words in tried if not words[0].startswith("-")} == set(COMMANDS)


@looped("name", WORKING)
def test_a_closed_output_is_told(name: str):
    assert in_a_shell(">&-", *WORKING[name]) == (2, f"{cli.OUTPUT_IS_CLOSED}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.laws
@pytest.mark.parametrize("name", working_for("a full disk"))
def test_a_full_disk_is_told(name: str):
    assert in_a_shell(">/dev/full", *WORKING[name]) == (2, "penstock: No space left on device\n")


@pytest.mark.laws
@pytest.mark.parametrize("name", working_for("a reader that has left"))
def test_a_reader_that_has_left_is_no_error_worth_a_word(name: str):
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "wb") as nobody, started(*WORKING[name], stdout=nobody, stderr=subprocess.PIPE) as process:
        _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (1, b"")


@pytest.mark.laws
@pytest.mark.parametrize("name", some_of(READING, 3))
def test_a_closed_input_is_told(name: str):
    code, told = in_a_shell("<&-", *READING[name], OPENAI_API_KEY="x")
    assert (code, len(told.splitlines())) == (2, 1)
    assert "the input is closed" in told


def test_without_an_error_output_the_exit_code_is_left():
    assert in_a_shell("2>&-", "inspect", "nowhere.sse") == (2, "")
    assert in_a_shell(">&- 2>&-", "--version") == (2, "")


@pytest.mark.laws
@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
@pytest.mark.parametrize(
    ("redirection", "arguments"),
    some_of(
        [
            ("", ("replay", "/dev/zero")),
            ("", ("inspect", "/dev/zero")),
            ("", ("parse", "--json", "/dev/zero")),
            ("</dev/zero", ("replay", "--api", "gemini", "-")),
            ("</dev/zero", ("parse", "--emit", "invocations")),
            ("</dev/zero", ASK),
        ],
        2,
    ),
)
def test_an_input_without_an_end_is_told_and_takes_no_memory(redirection: str, arguments: tuple[str, ...]):
    done = subprocess.run(
        ["sh", "-c", f'ulimit -d {LIMIT}; exec "$@" {redirection}', "sh", *command(*arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**ENVIRONMENT, "OPENAI_API_KEY": "x"},
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "it is longer than" in line
    assert "MiB, the most that is read" in line


class Counting(io.StringIO):
    """A file that keeps nothing but the number of its characters."""

    count = 0

    def write(self, text: str) -> int:
        self.count += len(text)
        return len(text)


def test_the_plain_view_of_a_long_line_takes_no_more_room_than_a_few_lines():
    start = SegmentStart("t", "text")
    content = SegmentContent("t", "text", "\0" * 300_000)
    file = Counting()
    tracemalloc.start()
    plain_view(file)([start, content])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert file.count == 4 * 300_000 + 1
    assert peak < 12_000_000  # escaped at once it is twice as much


def test_what_is_as_long_as_the_bound_is_read(monkeypatch: pytest.MonkeyPatch):
    assert bounded_read.read_bounded(io.BytesIO(b"four"), 4) == b"four"
    with pytest.raises(Exception, match="it is longer than 3 bytes"):
        bounded_read.read_bounded(io.BytesIO(b"four"), 3)
    assert (LONGEST, LONGEST_TEXT) == (64 * 1024**2, 16 * 1024**2)


@pytest.mark.parametrize("api", [[], ["--api", "gemini"], ["--api", "chat"]])
@pytest.mark.parametrize("name", ["replay", "inspect"])
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "it is empty"),
        (b"<!doctype html>\n<html></html>\n", "HTML"),
        (b'{"error": {"message": "bad key", "type": "invalid_request_error"}}', "bad key"),
        (b"Bad Gateway\n", "--api"),
        (b"\x7fELF\0\0", "--api"),
    ],
)
def test_a_body_without_a_stream_is_told(
    penstock: Penstock, tmp_path: Path, name: str, body: bytes, words: str, api: list[str]
):
    file = tmp_path / "answer.sse"
    file.write_bytes(body)
    code, out, err = penstock(name, *api, str(file))
    assert (code, out) == (2, "")
    [line] = err.splitlines()
    assert str(file) in line
    assert words in line


@pytest.mark.parametrize(
    "arguments", [["replay"], ["replay", "--emit", "deltas", "--json"], ["inspect"], ["inspect", "--via", "sdk"]]
)
def test_a_recording_of_another_api_is_told(penstock: Penstock, arguments: list[str]):
    code, out, err = penstock(*arguments, "--api", "gemini", ONE_CALL)
    assert (code, out) == (2, "")
    assert err.endswith("it has no event of gemini; its events are those of openai-chat, so leave --api out\n")
    assert len(err.splitlines()) == 1


def test_a_body_without_a_stream_does_not_keep_the_others_from_being_shown(penstock: Penstock, tmp_path: Path):
    empty = tmp_path / "empty.sse"
    empty.touch()
    code, out, err = penstock("inspect", "--json", str(empty), ONE_CALL)
    assert (code, len(err.splitlines())) == (2, 1)
    assert [json.loads(line)["file"] for line in out.splitlines()] == [ONE_CALL]


@pytest.mark.parametrize(
    "timing",
    [
        "[" * 100_000,
        "[1, 2]",
        '[{"file": "a.sse", "network_chunk_sizes": [1.5]}]',
        '[{"file": "a.sse", "network_chunk_sizes": [%d], "network_chunk_times": [1%s]}]',
    ],
)
def test_a_timing_that_is_none_is_told(penstock: Penstock, tmp_path: Path, timing: str):
    body = Path(ONE_CALL).read_bytes()
    (tmp_path / "a.sse").write_bytes(body)
    (tmp_path / "index.json").write_text(timing % (len(body), "0" * 400) if "%d" in timing else timing)
    code, _, err = penstock("replay", "--pace", "original", str(tmp_path / "a.sse"))
    assert (code, len(err.splitlines())) == (2, 1)
    assert ("has no times" in err) == (timing == "[1, 2]")


MUTANTS = {
    "a command reads whatever comes": ("without_an_end", ("sources/streams/bounded_read.py", "file.read(longest + 1)", "file.read()")),
    "text is read whatever comes": ("without_an_end", ("studio/reading/read_input.py", "if self._left < 0:", "if False:")),
    "the plain view escapes a long line at once": ("plain_view", ("sinks/plain_view.py", "_SLICE = 65536", "_SLICE = 1 << 40")),
    "a closed output is written to": ("closed_output", ("studio/cli/cli.py", "if sys.stdout is None:", "if False:")),
    "a closed input is read": ("closed_input", ("studio/reading/read_input.py", "if sys.stdin is None:", "if False:")),
}  # fmt: skip
