"""A process that is killed while it writes: the old file or the whole new one, never anything else."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from depth import scaled
from killed_writer import PIECE, PIECES

RUNS = 200
TEMPORARY = re.compile(r"\.penstock-[0-9a-f]{16}\.tmp")


class Writers:
    """The processes that write, forked from one that has imported everything."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        self._asks, self._told = process.stdin, process.stdout

    def begin(self, root: Path, count: int) -> int:
        self._asks.write(f"{root} {count}\n")
        self._asks.flush()
        return int(self._told.readline())

    def end(self) -> int:
        return int(self._told.readline())


@pytest.fixture(scope="module")
def writers() -> Iterator[Writers]:
    script = Path(__file__).parents[2] / "support/killed_writer.py"
    with subprocess.Popen([sys.executable, script], stdin=-1, stdout=-1, text=True) as process:
        yield Writers(process)
        assert process.stdin
        process.stdin.close()


@pytest.mark.laws
def test_killed_at_random_moments_it_leaves_the_old_file_or_a_whole_new_one(writers: Writers, tmp_path: Path):
    random = Random(16)
    seen: set[str] = set()
    least = max(12, scaled(RUNS))
    for run in range(20 * least):
        if run >= least and seen >= {"new", "temporary"}:
            break
        (tmp_path / "a").write_text("old")
        pid = writers.begin(tmp_path, -1)
        time.sleep(random.uniform(0.002, 0.08) * (1 + run / least))  # any moment will do, on a busy machine a later one
        os.kill(pid, signal.SIGKILL)
        assert writers.end() == -signal.SIGKILL
        content = (tmp_path / "a").read_text()
        assert content == "old" or content == content[0] * PIECE * PIECES, (run, len(content))
        seen.add(content[0] if content == "old" else "new")
        for left in tmp_path.iterdir():
            if left.name != "a":
                assert TEMPORARY.fullmatch(left.name), left
                seen.add("temporary")
                left.unlink()
    assert seen >= {"new", "temporary"}


@pytest.mark.laws
def test_killed_before_any_call_of_the_system_each_file_is_old_or_new(writers: Writers, tmp_path: Path):
    step = 1 if scaled(100) == 100 else 7
    outcomes: set[tuple[str, ...]] = set()
    for count in range(0, 10_000, step):
        root = tmp_path / str(count)
        root.mkdir()
        for name in "abd":
            (root / name).write_text("old\n")
        writers.begin(root, count)
        status = writers.end()
        assert status in (0, -signal.SIGKILL)
        outcomes.add(_checked(root))
        if status == 0:
            break
    assert outcomes >= {("old", "old", "gone", "old"), ("new", "new", "new", "gone")}
    assert outcomes & {("new", "old", "gone", "old")}


def _checked(root: Path) -> tuple[str, ...]:
    """Return whether each of the four files is old, new or gone, which is all that may be."""
    whole = {"a": "new" * PIECE * 2, "b": "new\n", "made/c": "new\n", "d": ""}
    found: list[str] = []
    for name, new in whole.items():
        path = root / name
        content = path.read_text() if path.exists() else None
        assert content in ("old\n", new, None), (name, content)
        found.append({None: "gone", "old\n": "old"}.get(content, "new"))
    for left in root.rglob("*"):
        name = left.relative_to(root).as_posix()
        assert name in whole or name == "made" or TEMPORARY.fullmatch(left.name), name
    return tuple(found)


MUTANTS = {
    "a file is written into the old one": ("before_any_call", ("sinks/files/root_folder.py", "        os.rename(self._name, name, src_dir_fd=self._folder, dst_dir_fd=folder)\n", "        held = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666, dir_fd=folder)\n        for at in range(0, self._size, 512):\n            os.write(held, os.pread(self._file, 512, at))\n        os.close(held)\n        os.unlink(self._name, dir_fd=self._folder)\n")),
}  # fmt: skip
