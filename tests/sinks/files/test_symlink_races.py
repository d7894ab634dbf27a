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

from penstock.sinks.files.commit_files import commit_files
from penstock.sinks.files.disk.root_folder import RootFolder
from penstock.sinks.files.edits.refused import RefusedError
from penstock.sinks.files.file_edits import FileEdit, ReplaceText, WriteFile
from penstock.sinks.files.file_plan import FilePlan, file_changes

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
    told: set[str] = set()
    target = outside if swap == "folder" else outside / "file"
    with swapped(outside.parent / "root" / swap, target):
        for number in range(20_000):
            if number >= max(100, scaled(800)) and any(LINK in each for each in told) and "+mine" in "".join(told):
                break
            told.add(carry_out(root, WriteFile(names, f"mine {number}")))
            told.add(carry_out(root, ReplaceText(names, "mine", "mine")))
            told.add(carry_out(root, ReplaceText(names, "e", "E", every=True)))
    root.close()
    assert {each.name: each.read_text() for each in outside.iterdir()} == {"file": SECRET}
    assert not any("secret" in each or "sEcrEt" in each for each in told)
    assert any(LINK in each for each in told), "the race was never met"
    assert "+mine" in "".join(told), "nothing was ever written"


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
