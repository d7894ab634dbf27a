"""A disk that is full, a file that is too long, a folder that is not ours: the result of that call, and of no other."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from file_calls import carried_out, invocation, on_disk, result, results, streamed

SCRIPT = Path(__file__).parents[2] / "support/limited_writer.py"
LONG = "x" * 600_000


def limited(root: Path, *calls: tuple[str, str], limit: int = -1, user: int = -1) -> dict[str, str | None]:
    """Return the error of each call, or None, when they stream at a time."""
    done = subprocess.run(
        [sys.executable, SCRIPT, root, str(limit), str(user)],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_is_the_result_of_that_call_and_the_others_are_written(small_disk: Path):
    (small_disk / "old").write_text("kept")
    (small_disk / "long").write_text("old")
    found = limited(small_disk, ("a", "a" * 50_000), ("long", LONG * 2), ("src/b", "b" * 50_000))
    assert found == {"a": None, "long": "'long' cannot be written: No space left on device", "src/b": None}
    expected = {"a": b"a" * 50_000, "long": b"old", "old": b"kept", "src/b": b"b" * 50_000}
    assert on_disk(small_disk) == expected


def test_on_a_disk_with_no_room_at_all_nothing_changes(small_disk: Path):
    (small_disk / "a").write_text("old")
    with (small_disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(b"x" * 4096)
    found = limited(small_disk, ("a", "new"), ("folder/b", "new"))
    assert all("No space left on device" in (error or "") for error in found.values())
    assert {each.name for each in small_disk.iterdir()} == {"a", "filler"}
    assert (small_disk / "a").read_text() == "old"


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
def test_a_file_that_is_longer_than_the_system_allows(tmp_path: Path):
    (tmp_path / "long").write_text("old")
    found = limited(tmp_path, ("a", "a" * 50_000), ("long", LONG), ("b", "b" * 50_000), limit=300_000)
    assert found == {"a": None, "long": "'long' cannot be written: File too large", "b": None}
    assert on_disk(tmp_path) == {"a": b"a" * 50_000, "b": b"b" * 50_000, "long": b"old"}


def test_what_is_not_ours_to_write():
    with TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o777)
        for name, mode in (("theirs", 0o755), ("hidden", 0o700), ("ours", 0o777)):
            (root / name).mkdir()
            (root / name / "old").write_text("old")
            (root / name / "old").chmod(0o644)
            (root / name).chmod(mode)
        user = 65534 if os.geteuid() == 0 else -1
        if user < 0:
            for name in ("theirs", "hidden"):
                (root / name).chmod(0o555 if name == "theirs" else 0)
            (root / "ours/old").chmod(0o444)
        calls = [(f"{name}/{file}", "new") for name in ("theirs", "hidden", "ours") for file in ("new", "old")]
        found = limited(root, *calls, user=user)
        for name in ("theirs", "hidden"):
            (root / name).chmod(0o755)
        denied = "cannot be written: Permission denied"
        assert found == {
            "theirs/new": f"'theirs/new' {denied}",
            "theirs/old": f"'theirs/old' {denied}",
            "hidden/new": f"'hidden/new': 'hidden' {denied}",
            "hidden/old": f"'hidden/old': 'hidden' {denied}",
            "ours/new": None,
            "ours/old": "'ours/old' is read-only",
        }
        assert on_disk(root) == dict.fromkeys(("theirs/old", "hidden/old", "ours/old"), b"old") | {"ours/new": b"new"}


@pytest.mark.parametrize("failing", ["rename", "unlink", "fsync"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_patch_that_fails_half_way_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, at: int):
    """The files of the first step are in place already when a later one fails."""
    for name in "abcd":
        (tmp_path / name).write_text(f"{name}\n")
    before = on_disk(tmp_path)
    calls = 0
    act = getattr(os, failing)

    def fails_once(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise OSError(errno.EIO, "Input/output error")
        return act(*arguments, **options)

    monkeypatch.setattr(os, failing, fails_once)
    patch = (
        "*** Begin Patch\n*** Update File: a\n@@\n-a\n+x\n*** Add File: made/new\n+x\n*** Update File: b\n@@\n-b\n+x\n"
        "*** Delete File: c\n*** Delete File: d\n*** End Patch"
    )
    found = result(tmp_path, "apply_patch", input=patch)
    monkeypatch.undo()
    if failing == "unlink" and at == 3:  # there are two
        assert found.error is None
        return
    assert "cannot be written: Input/output error" in (found.error or "")
    assert on_disk(tmp_path) == before
    assert not (tmp_path / "made").exists()


def test_what_cannot_be_put_back_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").write_text("a\n")
    calls = 0
    act = os.rename

    def fails_from_then_on(*arguments: Any, **options: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise OSError(errno.EIO, "Input/output error")
        act(*arguments, **options)

    monkeypatch.setattr(os, "rename", fails_from_then_on)
    patch = "*** Begin Patch\n*** Update File: a\n@@\n-a\n+x\n*** Add File: b\n+x\n*** End Patch"
    found = result(tmp_path, "apply_patch", input=patch)
    assert found.error == "'b' cannot be written: Input/output error; and these could not be put back: a"
    monkeypatch.undo()
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_draft_that_fails_is_no_failure_if_the_file_can_be_written_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    calls = 0
    act = os.write

    def fails_once(*arguments: Any) -> int:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return act(*arguments)

    monkeypatch.setattr(os, "write", fails_once)
    assert results(carried_out(tmp_path, *streamed("a", "x", "y", "z")))[0].error is None
    assert on_disk(tmp_path) == {"a": b"xyz"}


def test_a_write_of_the_system_may_take_only_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    act = os.write
    monkeypatch.setattr(os, "write", lambda file, content: act(file, bytes(content[:3])))
    assert result(tmp_path, "write_file", path="a", content="0123456789").error is None
    assert on_disk(tmp_path) == {"a": b"0123456789"}


def test_one_call_that_fails_is_one(tmp_path: Path):
    calls = [invocation("write_file", str(at), path=f"f/{at}" if at % 2 else "..", content="x") for at in range(8)]
    found = {each.id: each.error is None for each in results(carried_out(tmp_path, *calls))}
    assert found == {str(at): bool(at % 2) for at in range(8)}
    assert len(on_disk(tmp_path)) == 4


MUTANTS = {
    "a patch that fails half way stays half": ("half_way", ("sinks/files/file_drafts.py", "lost = [file for file in reversed(done) if not _undone(root, file)]", "lost = []")),
}  # fmt: skip
