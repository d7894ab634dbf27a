"""The `penstock` command as a user runs it, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from warm_command import WarmCommand

from penstock.studio.cli import cli, cli_commands

ROOT = Path(__file__).parents[2]
STREAMS = ROOT / "tests/streams/openai_chat"
ONE_CALL = str(STREAMS / "one_call.sse")
PLAIN = str(STREAMS / "plain_text.sse")
CODE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a shell runs in the background
from types import ModuleType
sys.modules["penstock"] = ModuleType("penstock")
sys.modules["penstock"].__path__ = [sys.argv.pop(1)]
for name in sys.argv.pop(1).split():
    sys.modules[name] = None
from penstock.studio.cli.cli import main
main()
"""
NOT_PASSED_ON = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONDONTWRITEBYTECODE")
"""What would change what a command says, or let each process compile the library anew."""
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON}
COMMANDS = tuple(cli_commands.COMMANDS)
Penstock = Callable[..., tuple[int, str, str]]


def command(*arguments: str, without: str = "") -> list[str]:
    return [sys.executable, "-c", CODE, str(ROOT), without, *arguments]


def run(*arguments: str, without: str = "") -> tuple[int, str, str]:
    """Run the command in a process of its own; give its exit code, output and complaints."""
    done = subprocess.run(
        command(*arguments, without=without), capture_output=True, encoding="utf-8", env=ENVIRONMENT, check=False
    )
    return done.returncode, done.stdout, done.stderr


def started(*arguments: str, **options: Any) -> subprocess.Popen[Any]:
    """Start the command without the time that Python needs for its imports; `options` are those of `Popen`.

    Files, signals and the exit code are those of a process of its own, which it is. What asks about the start itself,
    or needs another Python, takes `command`.
    """
    options = {"env": ENVIRONMENT, **options}
    if sys.platform == "linux":
        return WarmCommand(arguments, **options)
    return subprocess.Popen(command(*arguments), **options)


@pytest.fixture
def penstock(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Penstock:
    """Run the command in this process."""

    def run_here(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["penstock", *arguments])
        with pytest.raises(SystemExit) as leaving:
            cli.main()
        output = capsys.readouterr()
        assert isinstance(leaving.value.code, int)
        return leaving.value.code, output.out, output.err

    return run_here


def read_terminal(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other side of a terminal is closed
        return b""
