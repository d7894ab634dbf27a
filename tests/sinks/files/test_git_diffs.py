"""What git's headers say is carried out or refused: copies, renames, modes, names in quotes; as git itself does it."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from depth import scaled
from file_calls import carried_out, invocation, on_disk, result, results
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.sinks import ApprovalRequest

TEXT = "one\ntwo\nthree\n"


def header(old: str, new: str, *lines: str) -> str:
    return "".join(f"{line}\n" for line in (f"diff --git a/{old} b/{new}", *lines))


def copied(new: str, old: str = "a", *more: str) -> str:
    return header(old, new, *more, "similarity index 100%", f"copy from {old}", f"copy to {new}")


def renamed(new: str, old: str = "a", *more: str) -> str:
    return header(old, new, *more, "similarity index 100%", f"rename from {old}", f"rename to {new}")


def hunk(old: str, new: str, before: str = "two", after: str = "TWO") -> str:
    return f"--- a/{old}\n+++ b/{new}\n@@ -1,3 +1,3 @@\n one\n-{before}\n+{after}\n three\n"


def edited(name: str = "a", before: str = "two", after: str = "TWO") -> str:
    return header(name, name, "index 1234567..89abcde 100644") + hunk(name, name, before, after)


DELETED = header("a", "a", "deleted file mode 100644") + "--- a/a\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n"
ADDED = header("a", "a", "new file mode 100644") + "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+new\n"
NEW = TEXT.replace("two", "TWO")


def apply(root: Path, diff: str, **options: Any) -> Any:
    return result(root, "apply_patch", input=diff, options=options)


def modes(root: Path) -> dict[str, bool]:
    return {name: bool((root / name).stat().st_mode & stat.S_IXUSR) for name in on_disk(root)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text(TEXT)
    (tmp_path / "b").write_text("other\n")
    return tmp_path


@pytest.mark.parametrize(
    ("diff", "files"),
    [
        (copied("c"), {"a": TEXT, "c": TEXT}),
        (copied("c") + copied("d/e"), {"a": TEXT, "c": TEXT, "d/e": TEXT}),
        (copied("c") + hunk("a", "c"), {"a": TEXT, "c": NEW}),
        (edited() + copied("c"), {"a": NEW, "c": TEXT}),
        (copied("c") + edited(), {"a": NEW, "c": TEXT}),
        (copied("c") + renamed("d"), {"c": TEXT, "d": TEXT}),
        (renamed("d") + copied("c") + hunk("a", "c"), {"c": NEW, "d": TEXT}),
        (DELETED + copied("c"), {"c": TEXT}),
        (copied("c") + DELETED, {"c": TEXT}),
        (renamed("c"), {"c": TEXT}),
        (renamed("c") + hunk("a", "c"), {"c": NEW}),
        (ADDED + renamed("c"), {"a": "new\n", "c": TEXT}),
        (renamed("c") + ADDED, {"a": "new\n", "c": TEXT}),
        (renamed("b") + renamed("a", "b"), {"a": "other\n", "b": TEXT}),
        (renamed("b") + renamed("c", "b"), {"b": TEXT, "c": "other\n"}),
        (copied("b") + renamed("c", "b"), {"a": TEXT, "b": TEXT, "c": "other\n"}),
        (edited() + edited("a", "TWO", "2"), {"a": NEW.replace("TWO", "2")}),
        (header("e", "e", "new file mode 100644", "index 0000000..e69de29"), {"a": TEXT, "e": ""}),
        (edited() + "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-other\n+1\n", {"a": NEW, "b": "1\n"}),
    ],
)
def test_copies_copy_and_renames_move_what_was_there_before_in_any_order(root: Path, diff: str, files: dict[str, str]):
    found = apply(root, diff)
    assert found.error is None
    assert on_disk(root) == {name: text.encode() for name, text in ({"b": "other\n"} | files).items()}


ON, OFF = ("old mode 100644", "new mode 100755"), ("old mode 100755", "new mode 100644")


@pytest.mark.parametrize(
    ("diff", "said"),
    [
        (copied("b"), "'a': it cannot be copied to 'b', which is there already"),
        (copied("a"), "which is there already"),
        (copied("c") + copied("c"), "which is there already"),
        (renamed("b"), "it cannot be moved to 'b', which is there already"),
        (renamed("c") + renamed("d"), "moves or deletes it twice"),
        (renamed("c") + DELETED, "moves or deletes it twice"),
        (renamed("c") + edited(), "'a': the file does not exist"),
        (copied("c", "nothing"), "'nothing': the file does not exist"),
        (copied("c", ".git/config"), "'.git' is protected"),
        (copied(".GIT/hooks/x"), "'.GIT' is protected"),
        (copied("../c"), "leads out of a folder"),
        (copied("A"), "'a' is there, with other letters"),
        (copied("c", "link"), "a symbolic link"),
        (renamed("link2", "link"), "a symbolic link"),
        (header("a", "c", "copy from a"), "more than one thing, or half of one"),
        (header("a", "c", "copy from a", "rename to c"), "more than one thing"),
        (header("a", "c", "copy from a", "copy to c", "rename from a", "rename to c"), "more than one thing"),
        (header("a", "a", "old mode 100644"), "half of one"),
        (header("a", "a", "old mode 100644", "new mode 120000"), "'120000'"),
        (header("a", "a", "old mode 100644", "new mode 104755"), "'104755'"),
        (header("c", "c", "new file mode 120000") + "--- /dev/null\n+++ b/c\n@@ -0,0 +1 @@\n+a\n", "'120000'"),
        (header("c", "c", "new file mode 160000"), "'160000'"),
        (header("a", "a", "index 1234567..89abcde 120000") + hunk("a", "a"), "'120000'"),
        (header("a", "a", "new mode 100755", "new mode 100644"), "says again"),
        (header("a", "a", "strange header"), "no line of a git header"),
        (
            header("a", "a", "index 1..2", "GIT binary patch", "literal 3", "KcmZQzWMT#Y01f~L") + "\n",
            "not a diff of text",
        ),
        (header("a", "a", "index 1..2", "Binary files a/a and b/a differ"), "not a diff of text"),
        (header("a", "c"), "names two files"),
        (header("a", "a"), "changes nothing"),
        (header("a", "a") + hunk("a", "c"), "the header of the diff is of"),
        (copied("c") + hunk("a", "d"), "the header of the diff is of"),
        (copied("c") + hunk("a", "a"), "the header of the diff is of"),
        ("old mode 100644\nnew mode 100755\n" + hunk("a", "a"), "is in no hunk"),
        (header("a", "a", "", *ON), "'old mode 100644', stands behind an empty line"),
        ("--- /dev/null\n\n--- /dev/null\n", "line 1 of the diff, '--- /dev/null', is in no hunk"),
        ("--- a/b\n" + hunk("a", "a"), "line 1 of the diff, '--- a/b', is in no hunk"),
        (hunk("a", "c"), "the diff names other files in '+++' than in '---'"),
        (hunk("b", "a"), "the diff names other files in '+++' than in '---'"),
        (edited() + copied("c") + header("a", "a", "old mode 100644", "new mode 040000"), "'040000'"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_and_everything_stays(root: Path, diff: str, said: str):
    (root / "link").symlink_to("a")
    before = on_disk(root), modes(root)
    found = apply(root, diff)
    assert said in (found.error or ""), found
    assert (on_disk(root), modes(root)) == before


NEW_SCRIPT = header("s", "s", "new file mode 100755") + "--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+x\n"


@pytest.mark.parametrize(
    ("diff", "executable"),
    [
        (header("a", "a", *ON), {"a": True, "b": True}),
        (header("a", "a", *ON) + hunk("a", "a"), {"a": True, "b": True}),
        (header("b", "b", *OFF), {"a": False, "b": False}),
        (header("a", "a", *ON) + header("b", "b", *OFF), {"a": True, "b": False}),
        (NEW_SCRIPT, {"a": False, "b": True, "s": True}),
        (NEW_SCRIPT.replace("100755", "100644"), {"a": False, "b": True, "s": False}),
        (header("s", "s", "new file mode 100755", "index 0000000..e69de29"), {"a": False, "b": True, "s": True}),
        (copied("c", "b"), {"a": False, "b": True, "c": True}),
        (copied("c", "b", *OFF), {"a": False, "b": True, "c": False}),
        (copied("c", "a", *ON) + hunk("a", "c"), {"a": False, "b": True, "c": True}),
        (renamed("c", "b"), {"a": False, "c": True}),
        (renamed("c", "a", *ON), {"b": True, "c": True}),
        (renamed("b") + renamed("a", "b"), {"a": True, "b": False}),
        (renamed("c", "b") + ADDED.replace("/a", "/b"), {"a": False, "b": False, "c": True}),
        (renamed("c") + ADDED.replace("100644", "100755"), {"a": True, "b": True, "c": False}),
    ],
)
def test_modes_are_applied(root: Path, diff: str, executable: dict[str, bool]):
    (root / "b").chmod(0o755)
    found = apply(root, diff)
    assert found.error is None
    assert modes(root) == executable
    assert all((root / name).stat().st_mode & 0o777 == (0o755 if on else 0o644) for name, on in executable.items())


def test_who_may_read_may_execute_and_nobody_else(root: Path):
    (root / "a").chmod(0o640)
    apply(root, header("a", "a", *ON))
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o750


def test_who_is_asked_sees_the_mode_and_the_model_is_told(root: Path):
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    diff = header("a", "a", *ON) + NEW_SCRIPT + copied("c") + renamed("d", "b", *ON)
    (found,) = results(carried_out(root, invocation("apply_patch", input=diff), approve=approve))
    assert found.value == (
        "changed a (+0 -0 lines), which may be executed now; created s (+1 -0 lines), which may be executed now; "
        "created c (+3 -0 lines); moved d (it was b) (+0 -0 lines), which may be executed now"
    )
    assert found.files == asked[0].preview
    assert [change.executable for change in found.files] == [True, True, None, True]
    assert found.files[0].diff == header("a", "a", *ON)
    assert found.files[1].diff == NEW_SCRIPT
    assert found.files[3].diff == header("b", "d", *ON, "rename from b", "rename to d")


def test_the_diff_that_was_shown_says_the_same_again(root: Path, tmp_path_factory: pytest.TempPathFactory):
    diff = header("a", "c", *ON, "rename from a", "rename to c") + hunk("a", "c")
    other = tmp_path_factory.mktemp("other")
    (other / "a").write_text(TEXT)
    shown = apply(root, diff).files[0].diff
    apply(other, shown)
    (root / "b").unlink()
    assert (on_disk(root), modes(root)) == (on_disk(other), modes(other))


def test_a_call_for_one_file_may_set_its_mode_and_nothing_of_its_patch_is_left_out(root: Path):
    assert result(root, "patch_file", path="a", patch=header("a", "a", *ON)).error is None
    assert modes(root)["a"]
    bare = "\n".join((*OFF, hunk("a", "a").split("\n", 2)[2]))
    assert "stands behind no line 'diff --git'" in (result(root, "patch_file", path="a", patch=bare).error or "")
    for diff in (copied("c"), renamed("c")):
        assert "names other files" in (result(root, "patch_file", path="a", patch=diff).error or "")
    assert modes(root)["a"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (r'"a/caf\303\251 1.txt" "b/caf\303\251 1.txt"', "café 1.txt"),
        (r'"a/say \"hi\".txt" "b/say \"hi\".txt"', 'say "hi".txt'),
        ("a/two words b/x b/two words b/x", "two words b/x"),
        ("a/a/b b/a/b", "a/b"),
        ("i/x w/x", "x"),
        ("x y x y", "x y"),
    ],
)
def test_names_in_quotes_and_with_blanks(tmp_path: Path, written: str, name: str):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(TEXT)
    found = apply(tmp_path, f"diff --git {written}\nold mode 100644\nnew mode 100755\n")
    assert found.error is None
    assert modes(tmp_path) == {name: True}


def test_names_in_quotes_are_those_of_copies_and_hunks(tmp_path: Path):
    (tmp_path / "ä").write_text(TEXT)
    head = (
        'diff --git "a/\\303\\244" "b/\\303\\266"\nsimilarity index 80%\ncopy from "\\303\\244"\ncopy to "\\303\\266"\n'
    )
    found = apply(
        tmp_path,
        f"{head}{hunk('x', 'x').replace('a/x', chr(34) + 'a/' + chr(92) + '303' + chr(92) + '244' + chr(34)).replace('b/x', 'b/ö')}",
    )
    assert found.error is None
    assert on_disk(tmp_path) == {"ä": TEXT.encode(), "ö": NEW.encode()}


def test_bytes_that_are_no_text_are_moved_copied_and_deleted_as_they_are(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"\xff\r\n\0")
    assert apply(tmp_path, renamed("b") + copied("c") + header("a", "d", *ON, "copy from a", "copy to d")).error is None
    assert on_disk(tmp_path) == dict.fromkeys("bcd", b"\xff\r\n\0")
    assert apply(tmp_path, "*** Begin Patch\n*** Delete File: b\n*** End Patch").error is None
    assert sorted(on_disk(tmp_path)) == ["c", "d"]


def test_a_trial_of_a_copy_changes_nothing(root: Path):
    before = on_disk(root)
    found = apply(root, copied("c") + header("a", "a", *ON), dry_run=True)
    assert [(change.path, change.action) for change in found.files] == [("c", "created"), ("a", "changed")]
    assert (on_disk(root), modes(root)["a"]) == (before, False)


NAMES = ("a", "b", "c d", "e/f", "é", "run.sh")
LINES = st.lists(st.sampled_from(["x", "y", "z", "", "def f():", "    return 1", "w\r"]), min_size=6, max_size=14)
CONTENTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["\n", ""]))
TREES = st.dictionaries(st.sampled_from(NAMES), st.tuples(CONTENTS, st.booleans()), min_size=1, max_size=4)


def lay_out(root: Path, tree: dict[str, tuple[str, bool]]) -> None:
    for name, (content, is_executable) in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content.encode())
        (root / name).chmod(0o755 if is_executable else 0o644)


@st.composite
def later_trees(draw: st.DrawFn, tree: dict[str, tuple[str, bool]]) -> dict[str, tuple[str, bool]]:
    """Draw a tree whose files are new, or those of another tree, moved, copied and changed as it may be."""
    after: dict[str, tuple[str, bool]] = {}
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5)):
        content, is_executable = draw(st.sampled_from([*tree.values(), (draw(CONTENTS), False)]))
        if draw(st.booleans()):
            lines = content.split("\n")
            lines[draw(st.integers(0, len(lines) - 1))] = "changed"
            content = "\n".join(lines)
        after[name] = content, is_executable ^ draw(st.booleans())
    return after


@pytest.mark.laws
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@settings(max_examples=scaled(15), deadline=None)
@given(
    data=st.data(), tree=TREES, flags=st.sampled_from([["-M"], ["-C", "-C"], ["-C", "-C", "-B"], ["--no-prefix"], []])
)
def test_what_git_diffs_is_what_is_there_then(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, tree: dict[str, tuple[str, bool]], flags: list[str]
):
    folder = tmp_path_factory.mktemp("trees")
    after = data.draw(later_trees(tree))
    for name, each in (("old", tree), ("new", after), ("ours", tree), ("repository", tree)):
        (folder / name).mkdir()
        lay_out(folder / name, each)
    git = [
        "git",
        "-C",
        str(folder / "repository"),
        "-c",
        "core.autocrlf=false",
        "-c",
        "user.name=x",
        "-c",
        "user.email=x",
    ]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x", "--allow-empty"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    subprocess.run([*git, "rm", "-rq", "--ignore-unmatch", "."], check=True, capture_output=True)
    (folder / "repository").mkdir(exist_ok=True)
    lay_out(folder / "repository", after)
    subprocess.run([*git, "add", "-A"], check=True, capture_output=True)
    diff = subprocess.run([*git, "diff", "--cached", *flags], check=True, capture_output=True).stdout.decode()
    if not diff:
        assert tree == after
        return
    found = apply(folder / "ours", diff)
    assert found.error is None, f"{found.error}\n{diff}"
    assert on_disk(folder / "ours") == on_disk(folder / "new"), diff
    assert modes(folder / "ours") == modes(folder / "new"), diff


MUTANTS = {
    "a copy takes the file away that it is of": ("copies_copy", ("sinks/files/file_plan.py", 'not in ("move", "delete"):', 'not in ("move", "delete", "copy"):')),
    "a mode is left out": ("modes_are_applied", ("sinks/files/file_drafts.py", "if file.is_executable is not None:", "if file.is_executable is root:")),
}  # fmt: skip
