"""What `protected=` keeps from every call: names, paths and globs as in `.gitignore`; and what can never match is told."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from depth import scaled
from file_calls import begun, carried_out, invocation, on_disk, result, results
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.events import InvocationFailed, Notice, UsageError
from penstock.sinks import write_files
from penstock.sinks.files.path_rules import ProtectedPaths

CUT = InvocationFailed("c", "t", "write_file", "{", "truncated")


@pytest.mark.parametrize(
    ("patterns", "protected", "free"),
    [
        ((".env",), (".env", "a/.env", ".ENV", ".env/x", "a/.Env/b", "ENV~1"), (".envs", "env", ".env.local")),
        (
            ("config/secrets.yml",),
            ("config/secrets.yml", "CONFIG/Secrets.YML"),
            ("secrets.yml", "a/config/secrets.yml"),
        ),
        (("./.env",), (".env", ".ENV"), ("a/.env",)),
        (("/.env",), (".env", ".env/a"), ("a/.env",)),
        (("././config/x",), ("config/x",), ("a/config/x",)),
        ((".env/",), (".env/a", "a/.env/b/c"), (".env", "a/.env")),
        ((".env*",), (".env", ".env.local", "a/.ENV.prod", ".envrc/x"), ("env", "a.env")),
        (("*.pem", "keys/**"), ("a.pem", "b/c.PEM", "keys/a", "keys/b/c"), ("a.pem.txt", "a/keys/b", "keysx")),
        (("**/private/*.key",), ("private/a.key", "x/y/private/a.key"), ("private/b/a.key",)),
        (("*.yml", "!ok.yml"), ("a.yml", "b/c.yml"), ("ok.yml", "b/OK.yml")),
        (("secrets/", "!secrets/ok.yml"), ("secrets/a", "secrets/ok.yml"), ("secrets",)),
        (("[a-c].txt", "?x"), ("a.txt", "B.txt", "yx"), ("d.txt", "x")),
        ((r"\#notes", r"\!x"), ("#notes", "!x"), ("notes", "x")),
        ((".env  ",), (".env",), ("env",)),
        (("café.md",), ("cafe\u0301.md", "CAFÉ.md"), ("cafe.md",)),
        (("*",), ("a", "b/c"), ()),
        ((), (".git/config",), ()),
    ],
)
def test_patterns_are_those_of_gitignore_in_whatever_case(
    tmp_path: Path, patterns: tuple[str, ...], protected: tuple[str, ...], free: tuple[str, ...]
):
    options = {"protected": patterns}
    for path in protected if patterns else ():
        found = result(tmp_path, "write_file", path=path, content="x", options=options)
        assert "is protected" in (found.error or ""), path
        assert on_disk(tmp_path) == {}
    for path in free if patterns else protected:
        found = result(tmp_path, "write_file", path=path, content="x", options=options | {"dry_run": True})
        assert found.error is None, path


@pytest.mark.parametrize(
    "patterns",
    [
        ("",), ("  ",), (".",), ("./",), ("/",), ("//",), ("..",), ("../a",), ("a/../b",), ("a//b",), ("a/./b",), ("#a",),
        ("!a",), ("!a", ".git"), ("!",), ("[",), ("a[b",), ("[z-a]",), ("\\",), ("a\\",), ("config\\secrets.yml",),
        ("[[:alpha:]]",), ("C:/a",), ("a.",), ("*.",), ("a\nb",), ("NUL",), ("~/a",), ("a\u200b",), ("x" * 300,),
        (".git", ""),
    ],
)  # fmt: skip
def test_what_can_never_match_is_told_at_once(tmp_path: Path, patterns: tuple[str, ...]):
    with pytest.raises(UsageError, match=r"protected= has .*, which can never match: "):
        write_files(tmp_path, protected=patterns)


def test_names_need_no_package_and_patterns_say_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pathspec", None)
    found = result(tmp_path, "write_file", path="a/.ENV", content="x", options={"protected": (".env", "b c")})
    assert "'.ENV' is protected" in (found.error or "")
    for pattern in (".env*", "./.env", "a/b", ".env/", "!a"):
        with pytest.raises(UsageError, match=r'need pathspec; .*pip install "\.\[files\]"'):
            write_files(tmp_path, protected=(".git", "a", pattern))


PATCHES = [
    "*** Begin Patch\n*** Update File: free\n*** Move to: {}\n*** End Patch",
    "*** Begin Patch\n*** Update File: {}\n*** Move to: new\n*** End Patch",
    "*** Begin Patch\n*** Delete File: {}\n*** End Patch",
    "diff --git a/free b/{0}\nsimilarity index 100%\ncopy from free\ncopy to {0}\n",
    "diff --git a/{0} b/new\nsimilarity index 100%\ncopy from {0}\ncopy to new\n",
    "diff --git a/{0} b/new\nsimilarity index 100%\nrename from {0}\nrename to new\n",
    "diff --git a/{0} b/{0}\nold mode 100644\nnew mode 100755\n",
    "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-x\n+y\n",
]


@pytest.mark.parametrize("path", ["config/secrets.yml", "CONFIG/secrets.YML"])
@pytest.mark.parametrize("patch", PATCHES)
def test_no_copy_and_no_move_leads_around_it(tmp_path: Path, patch: str, path: str):
    (tmp_path / "config").mkdir()
    for name in ("config/secrets.yml", "free"):
        (tmp_path / name).write_text("x\n")
    before = on_disk(tmp_path)
    found = result(tmp_path, "apply_patch", input=patch.format(path), options={"protected": ("config/*.yml",)})
    assert "is protected" in (found.error or "")
    assert on_disk(tmp_path) == before


@pytest.mark.parametrize("protected", [(".env",), ("/.env",), (".env.partial",), ("*.partial",)])
def test_what_is_protected_protects_its_partial(tmp_path: Path, protected: tuple[str, ...]):
    for path in (".env.partial", ".ENV.Partial", ".env.partial.partial")[: 3 if "partial" not in protected[0] else 2]:
        found = result(tmp_path, "write_file", path=path, content="x", options={"protected": protected})
        assert "is protected" in (found.error or "")
    assert (
        result(tmp_path, "write_file", path="b.partials", content="x", options={"protected": protected}).error is None
    )


def test_a_part_is_kept_under_no_protected_name(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    options = {"keep_partial": True, "protected": ("kept/*.partial",)}
    (tmp_path / "kept").mkdir()
    events = [*begun("kept/a", "x"), CUT]
    assert not [each for each in carried_out(tmp_path, *events, **options) if isinstance(each, Notice)]
    assert on_disk(tmp_path) == {}
    assert "is protected" in caplog.text
    assert [each for each in carried_out(tmp_path, *begun("a", "x"), CUT, **options) if isinstance(each, Notice)]
    assert on_disk(tmp_path) == {"a.partial": b"x"}


def test_a_part_takes_the_place_of_no_file(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "a.partial").write_text("mine")
    events = carried_out(tmp_path, *begun("a", "x"), CUT, keep_partial=True)
    assert not [each for each in events if isinstance(each, Notice)]
    assert on_disk(tmp_path) == {"a.partial": b"mine"}
    assert "could not be kept" in caplog.text


def test_a_part_is_kept_with_the_permissions_of_its_file(tmp_path: Path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o600)
    carried_out(tmp_path, *begun("a", "x"), CUT, keep_partial=True)
    assert on_disk(tmp_path) == {"a": b"old", "a.partial": b"x"}
    assert (tmp_path / "a.partial").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "a.partial").stat().st_nlink == 1


PARTS = st.sampled_from(["a", "b", "*", "**", "?", "a*", "[ab]", ".c"])
PATTERN = st.builds(
    lambda no, root, parts, end: no + root + "/".join(parts) + end,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "/"]),
    st.lists(PARTS, min_size=1, max_size=3),
    st.sampled_from(["", "/"]),
)
PATHS = st.lists(st.sampled_from(["a", "b", "ab", ".c"]), min_size=1, max_size=3).map("/".join)


@pytest.mark.laws
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@settings(max_examples=scaled(30), deadline=None)
@given(patterns=st.lists(PATTERN, min_size=1, max_size=3), path=PATHS)
def test_git_ignores_what_is_protected(tmp_path_factory: pytest.TempPathFactory, patterns: list[str], path: str):
    try:
        protected = ProtectedPaths(patterns)
    except UsageError:
        return
    folder = tmp_path_factory.mktemp("ignored")
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / ".gitignore").write_text("".join(f"{each}\n" for each in patterns))
    command = ["git", "-C", str(folder), "check-ignore", "-q", "--no-index", path]
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("")
    is_ignored = subprocess.run(command, check=False).returncode == 0
    assert (protected.part_of(path.split("/")) is not None) == is_ignored


def test_a_folder_is_listed_once_for_all_files_of_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import os  # noqa: PLC0415 - what is counted

    (tmp_path / "a/b").mkdir(parents=True)
    for number in range(100):
        (tmp_path / f"a/b/{number}").write_text("x\n")
    listdir = os.listdir
    listed: list[Any] = []

    def note(folder: Any) -> list[str]:
        names = listdir(folder)
        listed.append(sorted(names))
        return names

    monkeypatch.setattr(os, "listdir", note)
    assert result(tmp_path, "write_file", path="a/b/new", content="x").error is None
    assert len(listed) == 3
    listed.clear()
    given = "".join(f"--- a/a/b/{at}\n+++ b/a/b/{at}\n@@ -1 +1 @@\n-x\n+y\n" for at in range(50))
    (found,) = results(carried_out(tmp_path, invocation("apply_patch", input=given)))
    assert found.error is None
    assert len(listed) == 3


MUTANTS = {
    "what came of a file replaces another": ("a_part", ("sinks/files/root_folder.py", "os.link(self._name, name, src_dir_fd=self._folder, dst_dir_fd=folder, follow_symlinks=False)", "os.replace(self._name, name, src_dir_fd=self._folder, dst_dir_fd=folder)")),
}  # fmt: skip
