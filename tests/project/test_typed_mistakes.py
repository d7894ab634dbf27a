"""The mistakes in `typed_mistakes.py` are told by strict checkers, and what is right there is not."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import ROOMS

pytestmark = pytest.mark.tooling
ROOT = Path(__file__).parents[2]
CODE = ROOT / "tests/project/typed_mistakes.py"
PARTS = ("penstock/__init__.py", "penstock/py.typed", *ROOMS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the user's code, and beside it Penstock under its installed name."""
    (tmp_path / "types/penstock").mkdir(parents=True)
    for part in PARTS:
        (tmp_path / "types/penstock" / Path(part).name).symlink_to(ROOT / part)
    shutil.copy(CODE, tmp_path / "user.py")
    return tmp_path


def wrong_lines() -> list[int]:
    lines = CODE.read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith("# wrong")]


def test_mypy_tells_each_mistake_and_nothing_else(folder: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "user.py"]
    done = subprocess.run(
        [*command, "--cache-dir", str(ROOT / ".mypy_cache/mistakes")],
        cwd=folder,
        env={**os.environ, "MYPYPATH": "types"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = re.findall(r"^user\.py:(\d+): error: ", done.stdout, re.MULTILINE)
    assert sorted({int(line) for line in told}) == wrong_lines(), done.stdout + done.stderr


def test_pyright_tells_each_mistake_and_nothing_else(folder: Path) -> None:
    settings = {"include": ["user.py"], "extraPaths": ["types"], "typeCheckingMode": "strict", "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)["generalDiagnostics"]
    lines = {each["range"]["start"]["line"] + 1 for each in told if each["severity"] == "error"}
    assert sorted(lines) == wrong_lines(), done.stdout
