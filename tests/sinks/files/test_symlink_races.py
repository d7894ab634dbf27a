"""Symbolic links that another process makes and removes meanwhile never lead out of the root."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from depth import scaled
from file_calls import invocation, result

from penstock.sinks.edits.hunk import RefusedError
from penstock.sinks.files.file_drafts import commit_files
from penstock.sinks.files.file_plan import FilePlan, file_changes
from penstock.sinks.files.file_tool import FileEdit, ReplaceText, WriteFile
from penstock.sinks.files.root_folder import RootFolder

SECRET = "the secret 1"
LINK = "symbolic link"


@contextmanager
def swapped(name: Path, target: Path) -> Iterator[None]:
    """Let a process swap a name with a link to the target."""
    link = name.with_name(f"{name.name}.link")
    link.symlink_to(target)
    script = Path(__file__).parents[2] / "support/swapping_links.py"
    with subprocess.Popen([sys.executable, script, name, link], stdin=-1, stdout=-1) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        yield
        process.stdin.close()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text(SECRET)
    (tmp_path / "root/folder").mkdir(parents=True)
    (tmp_path / "root/folder/file").write_text("mine 1")
    return tmp_path / "outside"


def carry_out(root: RootFolder, *edits: FileEdit) -> str:
    """Carry out a call as `write_files` does, and return its diffs or its error."""
    try:
        files = FilePlan(root, {}).files(edits)
        commit_files(root, files, None, lambda: None)
        return "".join(change.diff or "" for change in file_changes(files, 1000))
    except RefusedError as error:
        return str(error)


@pytest.mark.laws
@pytest.mark.parametrize("swap", ["folder", "folder/file"])
def test_a_link_that_is_made_meanwhile_leads_nowhere(outside: Path, swap: str):
    root = RootFolder(outside.parent / "root")
    names = ("folder", "file")
    edits = ReplaceText(names, "mine", "mine"), ReplaceText(names, "e", "E", every=True)
    was_met = was_written = False
    target = outside if swap == "folder" else outside / "file"
    with swapped(outside.parent / "root" / swap, target):
        for number in range(20_000):
            if number >= max(100, scaled(800)) and was_met and was_written:
                break
            for edit in (WriteFile(names, f"mine {number}"), *edits):
                told = carry_out(root, edit)
                was_met, was_written = was_met or LINK in told, was_written or "+mine" in told
                assert "secret" not in told
                assert "sEcrEt" not in told
    root.close()
    assert {each.name: each.read_text() for each in outside.iterdir()} == {"file": SECRET}
    assert was_met, "the race was never met"
    assert was_written, "nothing was ever written"


def test_one_who_only_looks_first_loses_this_race(outside: Path):
    """The race above is a real one: a check of the whole path, and then a write, goes through the link."""
    path = outside.parent / "root/folder/file"
    with swapped(path.parent, outside):
        for _ in range(200_000):
            with suppress(OSError):
                if path.resolve().is_relative_to(outside.parent / "root"):
                    path.write_text("lost")
                if (outside / "file").read_text() != SECRET:
                    break
    assert (outside / "file").read_text() != SECRET


def test_a_link_in_place_of_the_folder_between_the_question_and_the_answer(outside: Path):
    root = outside.parent / "root"

    def approve(_: object) -> bool:
        (root / "folder").rename(root / "moved")
        (root / "folder").symlink_to(outside)
        return True

    call = invocation("write_file", path="folder/file", content="x")
    found = result(root, call.name, **call.arguments, options={"approve": approve})
    assert "symbolic link" in (found.error or "")
    assert (outside / "file").read_text() == SECRET
    assert not list(outside.parent.rglob("*.tmp"))
