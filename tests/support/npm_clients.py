"""The official clients of npm, which read what the sinks send: `make clients` installs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
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


def client_answers(script: str, requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run a script of `tests/clients` with requests as lines of JSON; return its answers, one for each request.

    Skips the test where the clients are not installed.
    """
    node = installed("node")
    # A module finds its packages from where it lies.
    placed = shutil.copy(SCRIPTS / script, FOLDER / script)
    ran = subprocess.run(
        [node, placed],
        input="".join(json.dumps(each) + "\n" for each in requests),
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return [json.loads(line) for line in ran.stdout.split("\n") if line]  # JSON may have other line ends in its texts


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
