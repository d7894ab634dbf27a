"""Ctrl-C at any time, also while the command is still loaded: the exit code 130, and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from itertools import product
from pathlib import Path

import pytest
from cli_command import ENVIRONMENT, ROOT, started
from depth import some_of

STREAMS = ROOT / "tests/streams/openai_chat"
ONE_CALL = str(STREAMS / "one_call.sse")
INSTALLED = Path(sysconfig.get_path("scripts")) / "penstock"
ASK = ("run", "--provider", "openai", "--model", "m")


HOOK = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a shell runs in the background

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.stderr.write("interrupted\\n")
            sys.stderr.flush()
            if os.environ["INTERRUPT_BY"] == "signal":
                os.kill(os.getpid(), signal.SIGINT)
            else:
                raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
"""


def interrupted_at(folder: Path, module: str, by: str, start: list[str], *arguments: str) -> tuple[int, str, str]:
    (folder / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(folder), ENVIRONMENT.get("PYTHONPATH"))))
    environment = {**ENVIRONMENT, "PYTHONPATH": path, "INTERRUPT_AT": module, "INTERRUPT_BY": by, "OPENAI_API_KEY": "x"}
    done = subprocess.run(
        [*start, *arguments], capture_output=True, encoding="utf-8", env=environment, timeout=120, check=False
    )
    return done.returncode, done.stdout, done.stderr


BY_NAME = "import sys; sys.path.insert(0, sys.argv.pop(1)); from checkout import ROOT; from penstock.__main__ import main; main()"
START = [sys.executable, "-c", BY_NAME, str(ROOT / "tests/support")]
OFFLINE = ("--base-url", "http://127.0.0.1:9", "Hi")


IMPORTED = [
    ("penstock.studio", ("--help",)),
    ("penstock.studio.cli.cli", ("--help",)),
    ("penstock.studio.cli.cli_commands", ("--help",)),
    ("reactivex", ("inspect", ONE_CALL)),
    ("pydantic", ("inspect", ONE_CALL)),
    ("typer", ("--help",)),
    ("typer.main", ("--help",)),
    ("penstock.studio.cli.cli_pages", ("serve-recordings", str(STREAMS))),
    ("rich", ("inspect", ONE_CALL)),
    ("rich.table", ("inspect", ONE_CALL)),
    ("openai", (*ASK, *OFFLINE)),
    ("starlette", ("serve-recordings", str(STREAMS))),
    ("uvicorn", ("serve-recordings", str(STREAMS))),
    ("penstock.sinks.plain_view", ("replay", ONE_CALL)),
]


@pytest.mark.laws
@pytest.mark.parametrize(
    ("imported", "by"),
    some_of(product(IMPORTED, ("signal", "exception")), 3),
    ids=lambda each: each if isinstance(each, str) else each[0],
)
def test_ctrl_c_while_something_is_imported_ends_it_without_a_word(
    tmp_path: Path, imported: tuple[str, tuple[str, ...]], by: str
):
    module, arguments = imported
    code, out, err = interrupted_at(tmp_path, module, by, START, *arguments)
    if "interrupted\n" not in err:
        pytest.skip(f"{module} is imported before or never")
    assert (code, out, err) == (130, "", "interrupted\n")


@pytest.mark.skipif(not INSTALLED.is_file(), reason="needs the installed command")
def test_the_installed_command_is_the_one_that_looks_after_ctrl_c(tmp_path: Path):
    for module in ("penstock.studio", "typer"):
        assert interrupted_at(tmp_path, module, "signal", [str(INSTALLED)], "--help") == (130, "", "interrupted\n")


def test_ctrl_c_that_is_ignored_stays_ignored(tmp_path: Path):
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *START]
    (tmp_path / "sitecustomize.py").write_text(HOOK.replace("signal.default_int_handler)", "signal.SIG_IGN)"))
    environment = {
        **ENVIRONMENT,
        "PYTHONPATH": str(tmp_path),
        "INTERRUPT_AT": "penstock.studio",
        "INTERRUPT_BY": "signal",
    }
    done = subprocess.run(
        [*ignoring, "--version"], capture_output=True, encoding="utf-8", env=environment, timeout=120, check=False
    )
    assert (done.returncode, set(done.stderr.splitlines())) == (0, {"interrupted"})
    assert done.stdout.startswith("penstock ")


def test_ctrl_c_after_the_end_is_no_traceback(tmp_path: Path):
    # What runs at the very end of the process, when the command has long said what it had to.
    program = BY_NAME.replace(
        "from penstock",
        "import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.SIGINT); signal.signal(signal.SIGINT, signal.default_int_handler); from penstock",
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT / "tests/support"), "--version"],
        capture_output=True, encoding="utf-8", env=ENVIRONMENT, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "")
    assert done.stdout.startswith("penstock ")


WAITING = [
    ("replay", "-"),
    ("inspect", "-"),
    ("parse",),
    ("diff", ONE_CALL, "-"),
    ("convert", "-", "-", "--to", "body"),
    ("marbles", "-", "-o", "-"),
]


@pytest.mark.laws
@pytest.mark.parametrize("arguments", some_of([*WAITING, ASK], 3), ids=" ".join)
def test_ctrl_c_while_the_input_is_awaited(arguments: tuple[str, ...]):
    with started(
        *arguments,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**ENVIRONMENT, "OPENAI_API_KEY": "x"},
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(b" " * 200_000)  # more than a pipe holds: when it has gone, the command reads
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        assert (process.returncode, err) == (130, b"")
        assert out.decode().strip() in ("", "✗ interrupted")


MUTANTS = {
    "the commands are imported while Ctrl-C raises and is caught by nobody": ("imported", ("penstock/__main__.py", "signal.signal(signal.SIGINT, _leave)\n        from", "pass\n        from"), ("penstock/__main__.py", "except KeyboardInterrupt:", "except EOFError:")),
    "Ctrl-C behind the last command raises": ("after_the_end", ("penstock/__main__.py", "signal.signal(signal.SIGINT, _leave)\n    except", "pass\n    except")),
}  # fmt: skip
