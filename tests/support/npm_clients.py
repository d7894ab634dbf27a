"""The official clients of npm, which read what the sinks send: `make clients` installs them."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "tests" / "clients"
FOLDER = Path(os.environ.get("CLIENTS", ROOT / "build" / "clients"))
"""Where the packages are installed; the node of npm beside them is the one that all of them run on."""
SECONDS = 240


def installed(name: str) -> Path:
    """Return a command of the clients; skip the test where they are not installed."""
    path = FOLDER / "node_modules" / ".bin" / name
    if not path.exists():
        pytest.skip("needs the official clients of npm: make clients")
    return path


def client_answers(script: str, requests: Sequence[dict[str, Any]], *, alone: bool = False) -> list[dict[str, Any]]:
    """Let a script of `tests/clients` read requests as lines of JSON; return its answers, one for each request.

    The first who asks starts the script, and it answers until the tests end: its packages take half a second to import.

    - `alone`: whether the script is started for these requests only, because what it imports changes.

    Skips the test where the clients are not installed.
    """
    client = _Client(script) if alone else _started(script)
    # What hangs is ended: the answer that is waited for does not come then.
    end = threading.Timer(SECONDS, client.process.kill)
    end.start()
    try:
        return [client.answer(each) for each in requests]
    finally:
        end.cancel()
        end.join()
        if alone:
            client.close()


class _Client:
    """A script that runs; it ends with its input, so also if the tests are killed."""

    def __init__(self, script: str) -> None:
        node = installed("node")
        # A module finds its packages from where it lies.
        placed = shutil.copy(SCRIPTS / script, FOLDER / script)
        self._said = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed with the script
        self.process = subprocess.Popen(
            [node, placed], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, encoding="utf-8"
        )

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):  # if it has ended, there is no answer
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            _started.cache_clear()  # who asks next starts another one
            self.process.wait(SECONDS)
            self._said.seek(0)
            pytest.fail(self._said.read()[-4000:])
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        self.process.communicate(timeout=SECONDS)
        self._said.close()


@cache
def _started(script: str) -> _Client:
    client = _Client(script)
    atexit.register(client.close)
    return client


def bundle(page: Path, target: Path) -> None:
    """Make one script of a React page and its packages, as `make page` does; skip where they are not installed."""
    packages = {**os.environ, "NODE_PATH": str(FOLDER / "node_modules")}
    command: list[str | Path] = [
        installed("esbuild"),
        page,
        "--bundle",
        "--jsx=automatic",
        "--log-level=warning",
        f"--outfile={target}",
    ]
    ran = subprocess.run(command, capture_output=True, check=False, encoding="utf-8", env=packages, timeout=SECONDS)
    assert (ran.returncode, ran.stderr) == (0, "")
