"""The command `penstock` as its user meets it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from importlib import metadata

import pytest
from cli_command import (
    CODE,
    COMMANDS,
    ENVIRONMENT,
    ONE_CALL,
    PLAIN,
    ROOT,
    STREAMS,
    Penstock,
    command,
    penstock,
    read_terminal,
    run,
    started,
)
from looped import looped
from typer.testing import CliRunner

from penstock.operators.machines.json_machine import IS_NATIVE
from penstock.studio.cli import cli_commands

TWIN = "C" if IS_NATIVE else "Python"
__all__ = ["penstock"]  # the fixture


def test_help_names_the_commands_and_shows_examples(penstock: Penstock) -> None:
    code, out, err = penstock("--help")
    assert (code, err) == (0, "")
    assert "  inspect " in out
    assert "  demo " in out
    assert "Examples:\n    penstock demo\n" in out
    assert [name for name in COMMANDS if f"\n  {name} " not in out] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_commands_help_shows_examples_that_run(penstock: Penstock, name: str) -> None:
    code, out, err = penstock(name, "--help")
    assert (code, err) == (0, "")
    examples = [line for line in out.partition("Examples:\n")[2].splitlines() if line.strip()]
    assert examples
    for line in examples:
        assert f"penstock {name}" in line or "penstock run" in line or "penstock record" in line
        own = line.partition(f"penstock {name}")[2].partition(" | ")[0]
        for word in own.split():
            assert not word.startswith("--") or word in out.partition("Examples:")[0]


def test_without_a_command_it_shows_the_help(penstock: Penstock) -> None:
    assert penstock() == penstock("--help")


def test_version_is_the_installed_one(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: {"penstock": "7.8.9"}[name])
    assert penstock("--version") == (0, f"penstock 7.8.9, readers in {TWIN}\n", "")


def test_version_of_a_checkout_says_that_it_is_one(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    assert penstock("--version") == (0, f"penstock from a checkout that is not installed, readers in {TWIN}\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["inspect", "nowhere.sse"], ["nowhere.sse", "No such file"]),
        (["inspect", str(ROOT)], ["directory"]),
        (["inspect", __file__], ["test_cli.py", "--api", "openai-chat"]),
        (["inspect", "--api", "opnai", ONE_CALL], ["'opnai'", "'openai-chat'"]),
        (["inspect", "--strategy", "hermess", ONE_CALL], ["'hermess'", "did you mean 'hermes'?"]),
        (["inspect", "--via", "air", ONE_CALL], ["--via", "'air'", "'wire'", "'sdk'"]),
        (["inspect"], ["FILE"]),
        (["inspect", "--jsn", ONE_CALL], ["--jsn"]),
        (["inspekt"], ["inspekt", "Did you mean 'inspect'?"]),
        (["replay", "--paec", "1", ONE_CALL], ["--paec", "--pace"]),
        (["demo", "--pace", "fast"], ["--pace", "number"]),
        (["demo", "--pace", "-1"], ["--pace", "-1"]),
        (["demo", "--pace", "nan"], ["--pace", "nan"]),
        (["inspect", "a\x1b[31mb\nc"], [r"a\x1b[31mb\nc"]),
    ],
)
def test_what_the_user_can_mend_is_said_in_one_line(
    penstock: Penstock,
    arguments: list[str],
    words: list[str],
) -> None:
    code, out, err = penstock(*arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("penstock: ")
    assert [word for word in words if word not in line] == []
    assert "Value error" not in line


def test_a_bad_file_does_not_keep_the_others_from_being_shown(penstock: Penstock) -> None:
    code, out, err = penstock("inspect", "--json", ONE_CALL, "nowhere.sse", PLAIN)
    assert code == 2
    assert [json.loads(line)["file"] for line in out.splitlines()] == [ONE_CALL, PLAIN]
    assert len(err.splitlines()) == 1


def test_an_error_that_was_recorded_is_no_failure_of_the_command(penstock: Penstock) -> None:
    code, out, err = penstock("inspect", "--json", str(STREAMS / "error_in_stream.sse"))
    assert (code, err) == (0, "")
    assert json.loads(out)["error"]["status"] == 503


@pytest.mark.parametrize("via", ["wire", "sdk"])
def test_json_is_one_object_a_line_and_file_is_as_given(
    penstock: Penstock,
    monkeypatch: pytest.MonkeyPatch,
    via: str,
) -> None:
    monkeypatch.chdir(STREAMS)
    code, out, err = penstock("inspect", "--json", "--via", via, "one_call.sse", "./halves_of_characters.sse")
    assert (code, err) == (0, "")
    first, second = map(json.loads, out.splitlines())
    assert (first["file"], first["calls"][0]["name"]) == ("one_call.sse", "get_weather")
    assert (second["file"], second["api"]) == ("./halves_of_characters.sse", "openai-chat")


def test_the_environments_strategy_is_the_one(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_STREAM_PARSER", "nonsense")
    for name in ("inspect", "replay"):
        code, out, err = penstock(name, ONE_CALL)
        assert (code, out) == (2, "")
        assert "unknown strategy 'nonsense'" in err
        assert penstock(name, "--strategy", "api_tool_call", ONE_CALL)[0] == 0


def test_without_json_it_prints_a_table(penstock: Penstock) -> None:
    code, out, err = penstock("inspect", ONE_CALL, PLAIN)
    assert (code, err) == (0, "")
    assert "get_weather" in out
    assert "Good morning" in out
    assert "\x1b" not in out


def test_the_commands_run_in_typers_own_runner_too() -> None:
    done = CliRunner().invoke(cli_commands.app, ["inspect", "--json", PLAIN])
    assert (done.exit_code, json.loads(done.output)["finish_reason"]) == (0, "stop")


@pytest.mark.parametrize("missing", ["typer", "rich", "typer rich"])
def test_without_the_extra_it_says_in_one_line_what_to_install(missing: str) -> None:
    wanted = (
        'the command line needs two more packages; pip install "penstock[cli]", or in a clone pip install ".[cli]"\n'
    )
    assert run("demo", without=missing) == (2, "", wanted)


def test_a_library_of_our_own_that_is_missing_is_no_missing_extra() -> None:
    code, _, err = run("demo", without="reactivex")
    assert code == 1
    assert "ModuleNotFoundError" in err


def test_a_reader_that_leaves_early_is_no_error() -> None:
    # More than a pipe holds, so that the writer meets the closed end for certain.
    files = [str(STREAMS / "write_file.sse")] * 60
    with subprocess.Popen(
        command("inspect", "--json", *files), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"{"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 1


@looped("arguments", [("inspect", "--json", "one_call.sse"), ("replay", "nowhere.sse")])
def test_a_forked_command_says_and_returns_what_one_that_starts_does(arguments: tuple[str, ...]) -> None:
    environment = {**ENVIRONMENT, "COLUMNS": "50"}
    done = subprocess.run(command(*arguments), capture_output=True, env=environment, cwd=STREAMS, check=False)
    with started(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=STREAMS) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (done.returncode, done.stdout, done.stderr)


def test_a_forked_command_that_is_killed_says_so_and_one_in_a_session_leads_it() -> None:
    with started("parse", stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.poll() is None
        assert os.getsid(process.pid) == process.pid
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
        assert process.stdout is not None
        assert process.stdout.read() == b""


def tab_behind(shell: str, *words: str) -> dict[str, str]:
    """Return what a shell adds to the environment when Tab is pressed behind these words."""
    asked = {
        "bash": {"COMP_WORDS": "\n".join(("penstock", *words)), "COMP_CWORD": str(len(words))},
        "zsh": {"_TYPER_COMPLETE_ARGS": " ".join(("penstock", *words))},
    }[shell]
    return {**asked, "_PENSTOCK_COMPLETE": f"complete_{shell}"}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["re"], ["record", "replay"]),
        (["run", "--provider", "openai"], ["openai", "openai-responses", "openai-assistants"]),
        (["run", "--tool", "w"], ["write_file"]),
        (["replay", "--strategy", "pass"], ["pass_through"]),
        (["parse", "--dialect", "qwen3"], ["qwen3_coder"]),
        (["replay", "--emit", "s"], ["segments"]),
        (["inspect", "--api", "g"], ["gemini", "gemini-interactions"]),
        (["strategies", "api"], ["api_tool_call"]),
        (["schema", "ToolCall"], ["ToolCallDelta", "ToolCallArgumentProgress", "ToolCallUpdate", "ToolCallStatus"]),
        (["schema", "Answer"], ["AnswerEnd"]),
    ],
)
def test_a_shell_completes_commands_and_names(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, words: list[str], offered: list[str]
) -> None:
    for name, value in tab_behind("bash", *words).items():
        monkeypatch.setenv(name, value)
    code, out, err = penstock()
    assert (code, out.splitlines(), err) == (0, offered, "")


def test_a_shell_is_told_by_a_process() -> None:
    environment = {**ENVIRONMENT, **tab_behind("zsh", "run", "--provider", "anth")}
    done = subprocess.run(command(), capture_output=True, encoding="utf-8", env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    assert '"anthropic"' in line


@pytest.mark.parametrize(("shell", "word"), [("bash", "complete -o default -F"), ("zsh", "#compdef penstock")])
def test_the_completion_script_is_shown(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, shell: str, word: str
) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    code, out, err = penstock("--show-completion", shell)
    assert (code, err) == (0, "")
    assert word in out


HEAVY = ("openai", "anthropic", "google.genai", "mistralai", "ollama", "rich", "starlette", "uvicorn")
OF_A_RUN = ("reactivex", "pydantic", "pydantic_settings", "penstock.pipeline.pipeline", "penstock.studio.cli.cli_run")


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["--version"], (*HEAVY, *OF_A_RUN, "typer", "msgspec")),
        (["--help"], (*HEAVY, *OF_A_RUN)),
        ([], (*HEAVY, *OF_A_RUN)),
        (["run", "--help"], HEAVY),
    ],
    ids=" ".join,
)
def test_what_only_explains_itself_imports_nothing_of_a_run(arguments: list[str], unneeded: tuple[str, ...]) -> None:
    code = f"""
import sys
from penstock.__main__ import main
try:
    main()
finally:
    print(*(name for name in {unneeded} if name in sys.modules), file=sys.stderr)
"""
    program = CODE.replace("from penstock.studio.cli.cli import main\nmain()", code)
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT), "", *arguments],
        capture_output=True,
        encoding="utf-8",
        env=ENVIRONMENT,
        check=False,
    )
    assert (done.returncode, done.stderr.split()) == (0, [])
    assert "penstock" in done.stdout


@pytest.mark.parametrize("name", cli_commands.COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(penstock: Penstock, name: str) -> None:
    _, out, _ = penstock(name, "--help")
    said = " ".join(out.partition("\n\n")[2].partition("\n\n")[0].split())
    assert said == cli_commands.COMMANDS[name].about


def test_an_output_without_utf8_gets_what_it_can_show() -> None:
    done = subprocess.run(
        command("inspect", PLAIN),
        capture_output=True,
        env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Good morning, Zo\\xeb!" in done.stdout


@pytest.mark.parametrize(("no_color", "has_color"), [(None, True), ("1", False)])
def test_a_terminal_gets_colour_unless_it_asks_for_none(no_color: str | None, has_color: bool) -> None:
    environment = {**ENVIRONMENT, "TERM": "xterm-256color"} | ({"NO_COLOR": no_color} if no_color else {})
    ours, theirs = pty.openpty()
    with started("inspect", ONE_CALL, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        output = b""
        while piece := read_terminal(ours):
            output += piece
        assert process.wait(30) == 0
    os.close(ours)
    assert b"get_weather" in output
    assert (b"\x1b[32m" in output) == has_color
