"""The command lines of the README, the pages and the help are ones that the command takes."""

from __future__ import annotations

import http.client
import json
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cli_command import ENVIRONMENT, ROOT, Penstock, command, penstock
from looped import looped
from typer.exceptions import TyperException

from penstock.studio.cli.cli_commands import COMMANDS, EXAMPLES, imported
from penstock.studio.testing import ReplayServer

__all__ = ["penstock"]  # the fixture
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
LINE = re.compile(r"^(?: {2,4}|\$ )(?=\S)(?=.*\bpenstock\b)(?P<line>.+)$", re.MULTILINE)
INLINE = re.compile(r"`(?P<line>penstock [^`\n]+)`")
REMARK = re.compile(r" {3,}.*")
BEFORE_A_COMMAND = re.compile(r"\w+=\S+|[|;&]+")


def commands_in(line: str) -> Iterator[list[str]]:
    """Yield the arguments of each `penstock` of a shell's line."""
    words = shlex.shlex(REMARK.sub("", line), posix=True, punctuation_chars="|;&<>")
    words.whitespace_split = True
    words.commenters = ""
    found: list[str] | None = None
    is_first, is_file = True, False
    for word in words:
        if is_first and word == "penstock":
            found = []
        elif set(word) <= set("|;&"):
            if found is not None:
                yield found
            found = None
        elif set(word) <= set("<>"):
            is_file = True
            continue
        elif found is not None and not is_file:
            found.append(word)
        is_first, is_file = BEFORE_A_COMMAND.fullmatch(word) is not None, False
    if found is not None:
        yield found


def complaint_about(arguments: list[str]) -> str | None:
    """Return what the parser of the options says of a command line; None if it takes it."""
    if not arguments or arguments[0].startswith("-"):
        return None
    name, *rest = arguments
    if name not in COMMANDS:
        return f"no command {name}"
    try:
        imported(name).make_context(name, rest)
    except TyperException as error:
        return error.format_message()
    return None


def lines_of(pattern: re.Pattern[str], text: str) -> list[list[str]]:
    joined = re.sub(r" \\\n *", " ", text)
    return [each for found in pattern.finditer(joined) for each in commands_in(found["line"])]


def told(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    lines = lines_of(pattern, text)
    return {shlex.join(each): said for each in lines if (said := complaint_about(each)) is not None}


def test_wrong_command_lines_are_found() -> None:
    page = (
        "\n    penstock record a.jsonl --provider openai\n    A=1 penstock replay a.sse --emit all | penstock inspekt\n"
    )
    assert list(told(LINE, page).values()) == [
        "Missing option '-o' / '--output'.",
        "Invalid value for '--emit': Value error, 'all' is not one of 'deltas', 'fragments', 'segments', 'updates', 'invocations'.",
        "no command inspekt",
    ]


def test_a_line_that_goes_on_in_the_next_one_is_one_command() -> None:
    assert lines_of(LINE, "    penstock replay a.sse \\\n        --emit deltas\n") == [
        ["replay", "a.sse", "--emit", "deltas"]
    ]


def test_a_pipe_a_file_and_a_remark_are_not_arguments() -> None:
    line = 'git diff | penstock run --system "a | b" --json < in.txt | jq .name; penstock demo   shows files'
    assert list(commands_in(line)) == [["run", "--system", "a | b", "--json"], ["demo"]]


def test_the_pages_have_command_lines() -> None:
    assert {each[0] for page in PAGES for each in lines_of(LINE, page.read_text("utf-8"))} == set(COMMANDS)


@looped("page", PAGES, ids=lambda page: page.name)
def test_the_command_takes_each_line_of_a_page(page: Path) -> None:
    text = page.read_text("utf-8")
    assert told(LINE, text) == {}
    # In a sentence a command may be named without the file that it needs.
    assert {line: said for line, said in told(INLINE, text).items() if not said.startswith("Missing ")} == {}


@looped("name", ["", *COMMANDS])
def test_the_command_takes_each_example_of_a_help(name: str) -> None:
    command_of = COMMANDS.get(name)
    examples = EXAMPLES if command_of is None else str(imported(name).epilog)
    assert lines_of(LINE, examples)
    assert told(LINE, examples) == {}


def test_the_readmes_three_commands_lead_from_nothing_to_a_stream_that_is_explored(
    penstock: Penstock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    record = next(each for each in lines_of(LINE, text) if each[0] == "record")
    explore = next(each for each in lines_of(LINE, text) if each[0] == "explore")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    with ReplayServer({"a.sse": (ROOT / "tests/streams/openai_chat/write_file.sse").read_bytes()}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        code, out, _ = penstock(*record)
    assert (code, "write_file" in out) == (0, True)
    with subprocess.Popen(
        command(*explore, "--no-browser"), stdout=subprocess.PIPE, encoding="utf-8", env=ENVIRONMENT, cwd=tmp_path
    ) as process:
        try:
            assert process.stdout is not None
            address = urlsplit(next(line.strip() for line in process.stdout if "http" in line))
            connection = http.client.HTTPConnection(str(address.hostname), address.port or 0, timeout=30)
            token = address.fragment.removeprefix("token=")
            connection.request("GET", "/api/explored", headers={"Authorization": f"Bearer {token}"})
            with connection.getresponse() as answer:
                shown = json.load(answer)
            connection.close()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 130
        finally:
            process.kill()
    assert "answer.jsonl" in json.dumps(shown)
