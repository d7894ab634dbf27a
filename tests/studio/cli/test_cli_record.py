"""`penstock record` as its user meets it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from chat_client import collected
from cli_command import ENVIRONMENT, STREAMS, Penstock, command, penstock, started

from penstock.events import UsageError
from penstock.sources import from_recording, from_wire
from penstock.sources.streams.taps import Tap
from penstock.studio.reading import read_input
from penstock.studio.testing import ReplayServer

__all__ = ["penstock"]  # the fixture
BODY = (STREAMS / "one_call.sse").read_bytes()
ANTHROPIC = (STREAMS.parent / "anthropic_messages/write_file.sse").read_bytes()


class Unwritten:
    def write(self, item: object, /) -> None: ...
    def end(self, error: Exception | None = None, *, is_closed: bool = False) -> None: ...
    def discard(self) -> None: ...


def piped(body: bytes, *arguments: str | Path) -> tuple[int, str, str]:
    with started("record", *map(str, arguments), stdin=-1, stdout=-1, stderr=-1) as process:
        out, err = process.communicate(body)
    return process.returncode, out.decode(), err.decode()


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_piped_body_is_shown_and_recorded(penstock: Penstock, tmp_path: Path):
    path = tmp_path / "answer.jsonl"
    done = subprocess.run(
        command("record", "-o", str(path)), input=BODY, capture_output=True, env=ENVIRONMENT, check=False
    )
    out = done.stdout.decode()
    assert (done.returncode, done.stderr.decode()) == (0, f"recorded in {path}\n")
    assert "→ get_weather(city='Zürich', days=3)" in out
    assert collected(from_recording(path, turn_id="t")) == collected(from_wire("chat", [BODY], turn_id="t"))
    for command_line in (["replay", "--pace", "original"], ["replay"]):
        assert penstock(*command_line, str(path)) == (0, out, "")
    assert "get_weather" in penstock("inspect", str(path))[1]


@pytest.mark.parametrize("tail", [[], ["--api", "anthropic"]])
def test_the_events_are_printed_as_json(tail: list[str], tmp_path: Path):
    code, out, _ = piped(ANTHROPIC, "-o", tmp_path, "--json", *tail)
    assert code == 0
    assert json.loads(out.splitlines()[-1])["type"] == "ANSWER_END"
    [path] = tmp_path.iterdir()
    assert lines_of(path)[0]["api"] == "anthropic-messages"


def test_a_model_is_asked_and_its_answer_recorded(penstock: Penstock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "answer.jsonl"
    with ReplayServer({"a.sse": BODY}) as server:
        options = ["--provider", "openai", "--model", "m", "--base-url", server.url, "Hi"]
        code, out, err = penstock("record", "-o", str(path), *options)
    assert (code, err) == (0, f"recorded in {path}\n")
    meta, *items, end = lines_of(path)
    assert (meta["api"], meta["sdk"], end["end"]) == ("openai-chat", "openai", "complete")
    assert items
    assert penstock("replay", str(path)) == (0, out, "")


def test_recordings_are_served_again(penstock: Penstock, tmp_path: Path):
    piped(BODY, "-o", tmp_path / "wire.jsonl")
    with ReplayServer(tmp_path, pace="original") as server:
        options = ["--provider", "openai", "--model", "m", "--base-url", server.url, "Hi"]
        code, out, _ = penstock("record", "-o", str(tmp_path / "items.jsonl"), *options)
        assert (code, "get_weather" in out) == (0, True)
    (tmp_path / "wire.jsonl").unlink()
    with ReplayServer(tmp_path) as server:
        assert penstock("run", *[each.replace(options[5], server.url) for each in options])[1] == out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "there.jsonl"], "there.jsonl exists already; choose another --output, a folder, or pass --overwrite"),
        (["-o", "missing/a.jsonl"], "the folder missing of the recording a.jsonl does not exist"),
        (["-o", "a.jsonl", "a prompt"], "to ask a model pass --provider and --model"),
        (["-o", "a.jsonl", "--provider", "openai", "Hi"], "--provider needs --model"),
        (["-o", "a.jsonl", "--api", "nobody"], "known are"),
        (["-o", "a.jsonl", "--provider", "openai", "--model", "m", "--api", "chat", "Hi"], "--api is for a body"),
        (["-o", "a.jsonl", "--tool", "write_file"], "--tool is for asking a model; pass --provider and --model, or"),
        (["-o", "a.jsonl", "--base-url", "http://a"], "--base-url is for asking a model"),
        (["-o", "a.jsonl", "--max-tokens", "7"], "--max-tokens is for asking a model"),
        (["-o", "-"], "--output needs a file or a folder; the output shows the answer"),
        (["-o", "/dev/null", "--overwrite"], "/dev/null is not a regular file; choose another --output, or a folder"),
        ([], "Missing option '-o' / '--output'"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    penstock: Penstock, arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("there.jsonl").write_text("before")
    code, out, err = penstock("record", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert [path.name for path in tmp_path.iterdir()] == ["there.jsonl"]
    assert Path("there.jsonl").read_text() == "before"


@pytest.mark.parametrize(
    ("body", "words"),
    [(b"", "it is empty"), (b"<html>", "it is HTML"), (b'{"error": {"message": "no key"}}', "it is an error response")],
)
def test_what_is_no_stream_is_refused_and_leaves_no_file(body: bytes, words: str, tmp_path: Path):
    code, out, err = piped(body, "-o", tmp_path / "a.jsonl")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("body", [b"", b"\n\n \n"])
def test_an_empty_body_is_refused_also_if_its_api_is_named(body: bytes, tmp_path: Path):
    code, out, err = piped(body, "-o", tmp_path / "a.jsonl", "--api", "anthropic")
    assert (code, out, err) == (2, "", "penstock: it is empty; record the body of a streamed answer\n")
    assert not list(tmp_path.iterdir())


def test_a_body_that_is_refused_leaves_the_recording_that_it_was_to_replace(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    assert piped(BODY, "-o", path)[0] == 0
    before = path.read_bytes()
    assert piped(b"hello\n\nworld\n\n", "-o", path, "--overwrite")[0] == 2
    assert path.read_bytes() == before


def test_a_long_body_without_an_api_is_looked_at_again_when_it_has_doubled(monkeypatch: pytest.MonkeyPatch):
    looked: list[int] = []

    def no_api(body: bytes) -> Iterator[str]:
        looked.append(len(body))
        return iter(())

    monkeypatch.setattr(read_input, "apis_of_body", no_api)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * (4 * 1024 * 1024))))
    with pytest.raises(UsageError, match="cannot tell which API this is"):
        read_input.PipedBody(lambda pieces: Tap(pieces, Unwritten())).begin()
    assert sum(looked) < 3 * 4 * 1024 * 1024


def test_the_advice_to_code_is_one_to_who_types_a_command(tmp_path: Path):
    code, _, err = piped(BODY, "-o", tmp_path / "a.jsonl", "--api", "anthropic")
    assert (code, err.count("\n")) == (2, 2)
    assert err.startswith(f"recorded in {tmp_path / 'a.jsonl'}\n")
    assert err.endswith("it looks like openai-chat; name that one with --api or --provider\n")


def test_overwrite_replaces_a_file(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_text("before" * 10_000)
    assert piped(BODY, "-o", path, "--overwrite")[0] == 0
    assert lines_of(path)[-1]["end"] == "complete"


def test_ctrl_c_leaves_a_recording_of_what_came(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    process = started("record", "-o", str(path), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(BODY[: len(BODY) // 2])
    process.stdin.flush()
    os.read(process.stdout.fileno(), 1)
    process.send_signal(signal.SIGINT)
    process.stdin.close()
    process.stdout.read()
    process.stdout.close()
    assert process.wait(timeout=60) == 130
    *_, end = lines_of(path)
    assert end["end"] == "closed"


def test_the_schema_of_the_lines_is_shown(penstock: Penstock, tmp_path: Path):
    piped(BODY, "-o", tmp_path / "a.jsonl")
    code, out, _ = penstock("schema", "recording")
    assert code == 0
    validator = jsonschema.Draft202012Validator(json.loads(out))
    for line in lines_of(tmp_path / "a.jsonl"):
        validator.validate(line)


LAZY = {
    "gemini": ("GEMINI_API_KEY", STREAMS.parent / "gemini/one_call.sse"),
    "ollama": ("OLLAMA_API_KEY", STREAMS.parent / "ollama/calls_over_chunks.ndjson"),
}


@pytest.mark.parametrize("provider", LAZY)
def test_a_refused_request_is_told_and_can_be_repeated(
    penstock: Penstock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str
):
    variable, body = LAZY[provider]
    monkeypatch.setenv(variable, "x")
    path = tmp_path / "a.jsonl"
    options = ["-o", str(path), "--provider", provider, "--model", "m", "Hi", "--base-url"]
    with ReplayServer({body.name: body.read_bytes()}, fault="status:401") as server:
        code, out, err = penstock("record", *options, server.url)
    assert (code, out, err.count("\n"), "401" in err) == (2, "", 1, True)
    assert not list(tmp_path.iterdir())
    with ReplayServer({body.name: body.read_bytes()}) as server:
        code, _, err = penstock("record", *options, server.url)
    assert (code, err) == (0, f"recorded in {path}\n")


@pytest.mark.parametrize("in_a_folder", [False, True])
def test_after_an_error_in_the_stream_it_is_said_where_the_recording_is(
    penstock: Penstock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_a_folder: bool
):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    output = tmp_path if in_a_folder else tmp_path / "a.jsonl"
    with ReplayServer({"a.sse": BODY}, fault="error:3") as server:
        options = ["--provider", "openai", "--model", "m", "--base-url", server.url, "Hi"]
        code, _, err = penstock("record", "-o", str(output), *options)
    [path] = tmp_path.iterdir()
    assert (code, err.splitlines()[0], err.count("\n")) == (2, f"recorded in {path}", 2)


@pytest.mark.parametrize("fault", [None, "reset:300", "error:3"])
@pytest.mark.parametrize(
    ("provider", "variable", "body", "path"),
    [("openai", "OPENAI_API_KEY", BODY, "/v1"), ("anthropic", "ANTHROPIC_API_KEY", ANTHROPIC, "")],
)
def test_no_header_no_key_and_no_prompt_is_in_a_recording(
    penstock: Penstock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    variable: str,
    body: bytes,
    path: str,
    fault: str | None,
):
    monkeypatch.setenv(variable, "hidden-in-the-environment")
    file = tmp_path / "a.jsonl"
    with ReplayServer({"a.sse": body}, fault=fault) as server:
        url = server.url.replace("http://", "http://me:hidden-in-the-url@") + path
        options = ["--provider", provider, "--model", "m", "--base-url", url, "--system", "hidden-in-the-body"]
        code, out, err = penstock("record", "-o", str(file), *options, "hidden-in-the-prompt")
    written = file.read_bytes()
    assert (code, json.loads(written.splitlines()[-1])["end"]) == ((0, "complete") if fault is None else (2, "error"))
    for secret in ("hidden", "authorization", "x-api-key", "bearer"):
        assert secret.encode() not in written.lower()
        assert secret not in (out + err).lower()
