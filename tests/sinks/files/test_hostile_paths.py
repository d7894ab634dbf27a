"""Paths that must not be written, each with the reason that the model is told."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_calls import carried_out, on_disk, result, results, streamed
from looped import looped

from penstock.sinks.edits.hunk import RefusedError
from penstock.sinks.files.path_rules import confined_path

LEXICAL = [
    ("", "empty"),
    ("   ", "empty"),
    (".", "names no file"),
    ("./", "names a folder"),
    ("/", "relative to the root"),
    ("/etc/passwd", "relative to the root"),
    ("//server/share/a", "relative to the root"),
    ("/proc/self/environ", "relative to the root"),
    ("~/.ssh/authorized_keys", "'~'"),
    ("~root/a", "'~'"),
    ("..", "'..'"),
    ("../a", "'..'"),
    ("a/../../b", "'..'"),
    ("a/..", "'..'"),
    ("./../a", "'..'"),
    ("a/b/../c", "'..'"),
    ("src/", "names a folder"),
    ("a\0b", "U+0000"),
    ("a.py\0.txt", "U+0000"),
    ("a\nb", "U+000A"),
    ("a\x1b[2Jb", "U+001B"),
    ("a\x7f", "U+007F"),
    ("a\u202egnp.exe", "U+202E"),
    ("a\u200b.py", "U+200B"),
    (".g\u200cit/config", "U+200C"),
    (".git\ufe0f/config", "protected"),
    (".g\u034fit", "protected"),
    ("a/\u115f.git/b", "protected"),
    (".gi\u3164t/x", "protected"),
    ("\u3164", "another path where names are normalised"),
    ("a\ufeff", "U+FEFF"),
    ("a\u2028b", "U+2028"),
    ("a\ud800", "surrogate"),
    ("..\\a", "backslash"),
    ("a\\..\\b", "backslash"),
    ("\\\\server\\share", "backslash"),
    ("C:/Windows/a", "colon"),
    ("C:a", "colon"),
    ("a.txt:stream", "colon"),
    ("a.txt::$DATA", "colon"),
    ("file:///etc/passwd", "colon"),
    ("CON", "device"),
    ("con.txt", "device"),
    ("src/NUL", "device"),
    ("aux.tar.gz", "device"),
    ("PRN ", "ends in a dot or a blank"),
    ("COM1", "device"),
    ("com\u00b9.log", "device"),
    ("lpt9.txt", "device"),
    ("CONIN$", "device"),
    ("a.", "ends in a dot or a blank"),
    ("a ", "ends in a dot or a blank"),
    ("dir./a", "ends in a dot or a blank"),
    ("...", "ends in a dot or a blank"),
    ("\u2025/a", "normalised"),
    ("a\u2100b", "normalised"),
    ("x" * 256, "255 bytes"),
    ("\u00e9" * 128, "255 bytes"),
    ("a/" * 65 + "b", "64 folders"),
    ("abcdefgh/" * 500 + "b", "4096 bytes"),
    (".git/config", "protected"),
    (".GIT/hooks/pre-commit", "protected"),
    ("sub/.Git/config", "protected"),
    ("GIT~1/config", "protected"),
    ("\uff0egit/config", "protected"),
    (".penstock-0123456789abcdef.tmp", "temporary"),
    (".PENSTOCK-0123456789ABCDEF.tmp", "temporary"),
]
ON_DISK = [
    ("link", "symbolic link"),
    ("link_to_nothing", "symbolic link"),
    ("link_inside", "symbolic link"),
    ("folder_link/a", "symbolic link"),
    ("folder_link_inside/a", "symbolic link"),
    ("folder/folder_link/x/y", "symbolic link"),
    ("folder", "a folder"),
    ("file/a", "a file, not a folder"),
    ("fifo", "a pipe"),
    ("fifo/a", "a pipe, not a folder"),
    ("socket", "a socket"),
    ("FILE", "other letters"),
    ("Folder/a", "other letters"),
    ("fi\u017fo", "other letters"),
    ("re\u0301sume\u0301", "other letters"),
    ("link/", "names a folder"),
]


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    outside, root = tmp_path / "outside", tmp_path / "root"
    for each in (outside, root / "folder"):
        each.mkdir(parents=True)
    (outside / "secret").write_text("kept")
    (root / "file").write_text("kept")
    (root / "fiso").write_text("kept")
    (root / "r\u00e9sum\u00e9").write_text("kept")
    (root / "link").symlink_to(outside / "secret")
    (root / "link_to_nothing").symlink_to(outside / "new")
    (root / "link_inside").symlink_to("file")
    (root / "folder_link").symlink_to(outside)
    (root / "folder_link_inside").symlink_to("folder")
    (root / "folder/folder_link").symlink_to(outside)
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        here = Path.cwd()
        os.chdir(root)  # the name of a socket must be short
        bound.bind("socket")
        os.chdir(here)
        yield root


def test_sixty_paths_are_refused_and_more():
    assert len({path for path, _ in (*LEXICAL, *ON_DISK)}) >= 60


@looped("path, why", [*LEXICAL, *ON_DISK])
def test_a_hostile_path_is_refused_with_the_reason_and_nothing_is_written(root: Path, path: str, why: str):
    before = on_disk(root.parent)
    (found,) = results(carried_out(root, *streamed(path, "x", "y")))
    assert found.error is not None
    assert why in found.error
    assert found.files == ()
    assert on_disk(root.parent) == before


IN_A_LINE = [(path, why) for path, why in LEXICAL if path.strip() == path and len(path.splitlines()) == 1]


@looped("path, why", IN_A_LINE)
@pytest.mark.parametrize("form", ["*** Add File: {}\n+x", "*** Update File: file\n*** Move to: {}\n@@\n-kept\n+x"])
def test_so_it_is_in_a_patch(root: Path, path: str, why: str, form: str):
    before = on_disk(root.parent)
    found = result(root, "apply_patch", input=f"*** Begin Patch\n{form.format(path)}\n*** End Patch")
    assert why in (found.error or "")
    assert on_disk(root.parent) == before


@pytest.mark.parametrize(
    "path", ["a", "./a", "a//b", "src/é.py", "a b", ".env", "..a", "a..b", "a~", "nul_", "😀", "co.n"]
)
def test_other_paths_are_not(root: Path, path: str):
    found = result(root, "write_file", path=path, content="x")
    assert found.error is None
    assert root.joinpath(path).read_text() == "x"


def test_a_path_is_a_text(root: Path):
    with pytest.raises(RefusedError, match="must be a string, not int"):
        confined_path(7)
    (found,) = results(carried_out(root, *streamed(7, "x")))  # type: ignore[arg-type]
    assert found.error == "the call is not carried out: 'path' must be a string, not int"


def test_protected_names_are_an_option(root: Path):
    assert result(root, "write_file", path=".git/config", content="x", options={"protected": ()}).error is None
    found = result(root, "write_file", path="a/.ENV", content="x", options={"protected": (".env",)})
    assert "protected" in (found.error or "")


def test_absolute_paths_below_the_root_are_an_option(root: Path):
    found = result(root, "write_file", path=str(root / "a"), content="x", options={"absolute_paths": True})
    assert [change.path for change in found.files] == ["a"]
    for path in (str(root), f"{root}/../a", f"{root}x/a", "/etc/passwd", str(root.parent / "a")):
        found = result(root, "write_file", path=path, content="x", options={"absolute_paths": True})
        assert "refused" in (found.error or ""), path


def test_a_hard_link_leaves_the_other_file_as_it_is(root: Path):
    (root / "hard").hardlink_to(root.parent / "outside/secret")
    assert result(root, "write_file", path="hard", content="x").error is None
    assert (root / "hard").read_text() == "x"
    assert (root.parent / "outside/secret").read_text() == "kept"


MUTANTS = {
    "a folder that is a symbolic link is entered": ("", ("sinks/files/root_folder.py", 'getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)', 'getattr(os, "O_DIRECTORY", 0)')),
    "a name in other letters is another file": ("", ("sinks/files/root_folder.py", "if others and names[-1] not in others:", "if not others and there is None:")),
}  # fmt: skip
