"""What is told of an edit while it streams holds when it is whole, and its result is that of the whole text."""

from __future__ import annotations

import cProfile
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from live_calls import as_json, assert_edit_alike, carried_out, fragments, played, read, result_of, tools_of
from patch_texts import blocks, cut, texts, unified, v4a

from penstock.sinks.edits.hunk import RefusedError, apply_hunks
from penstock.sinks.edits.live_file import LiveHunk, Mismatch
from penstock.sinks.edits.patch_events import HunkEnds
from penstock.sinks.files.live_edit import LiveEdit

EXAMPLES = 500
FILES = st.fixed_dictionaries({"a": texts(), "b": texts()})


def check(data: st.DataObject, name: str, arguments: dict[str, Any], files: dict[str, str]) -> None:
    keys = data.draw(st.permutations(list(arguments)))
    arguments = {key: arguments[key] for key in keys}
    pieces = data.draw(cut(as_json(arguments)))
    assert_edit_alike(name, arguments, files, pieces, data.draw(st.integers(0, len(pieces))))


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_v4a_patches(data: st.DataObject):
    files = data.draw(FILES)
    check(data, "apply_patch", {"input": data.draw(v4a(files))}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_hunks_alone(data: st.DataObject):
    files = data.draw(FILES)
    text = "\n".join(data.draw(v4a(files)).split("\n")[2:-1])
    check(data, "apply_patch", {"path": "a", "diff": text, "type": "update_file"}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_unified_diffs(data: st.DataObject):
    files = data.draw(FILES)
    check(data, "apply_patch", {"input": data.draw(unified(files))}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_unified_diffs_of_the_file_that_the_call_names(data: st.DataObject):
    files = data.draw(FILES)
    text = data.draw(unified({"a": files["a"]}, named=data.draw(st.booleans())))
    check(data, "patch_file", {"path": "a", "patch": text}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_blocks(data: st.DataObject):
    files = data.draw(FILES)
    path = data.draw(st.sampled_from(("a", "a", "a", "none")))
    check(data, "replace_in_file", {"path": path, "diff": data.draw(blocks(files["a"]))}, files)


@st.composite
def replacements(draw: st.DrawFn, text: str) -> dict[str, Any]:
    start = draw(st.integers(0, len(text)))
    old = draw(st.sampled_from((text[start : start + draw(st.integers(0, 9))], draw(texts(2)))))
    if draw(st.booleans()):
        old = old.replace("\r\n", "\n")
    new = draw(st.sampled_from((draw(texts(2)), old)))
    made: dict[str, Any] = {"old_string": old, "new_string": new}
    if draw(st.integers(0, 3)) == 0:
        made["replace_all"] = draw(st.booleans())
    return made


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_replacements(data: st.DataObject):
    files = data.draw(FILES)
    path = data.draw(st.sampled_from(("a", "a", "a", "none")))
    check(data, "Edit", {"file_path": path, **data.draw(replacements(files["a"]))}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_lists_of_replacements(data: st.DataObject):
    files = data.draw(FILES)
    edits = data.draw(st.lists(replacements(files["a"]), min_size=1, max_size=3))
    shuffled = [dict(data.draw(st.permutations(list(each.items())))) for each in edits]
    check(data, "MultiEdit", {"file_path": "a", "edits": shuffled}, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_insertions(data: st.DataObject):
    files = data.draw(FILES)
    arguments = {
        "command": "insert",
        "path": "a",
        "insert_line": data.draw(st.integers(-1, 9)),
        "new_str": data.draw(texts(2)),
    }
    check(data, "str_replace_editor", arguments, files)


@pytest.mark.laws
@settings(max_examples=scaled(EXAMPLES), deadline=None)
@given(st.data())
def test_the_text_so_far_is_that_of_the_hunks_so_far(data: st.DataObject):
    text = data.draw(texts())
    patch = data.draw(st.one_of(v4a({"a": text}), unified({"a": text})))
    edit = LiveEdit(tools_of("apply_patch"))
    events = read([patch], has_path=False)
    for each in fragments(data.draw(cut(as_json({"input": patch})))):
        edit.feed(each)
        while edit.wants:
            edit.know(edit.wants[0], text if edit.wants[0] == ("a",) else None)
        if len(edit.files) != 1 or edit.files[0].action != "update" or edit.faults or not edit.is_clear:
            continue
        hunks = [event.hunk for event in events if isinstance(event, HunkEnds)]
        done = hunks[: sum(hunk.is_whole for hunk in edit.files[0].hunks)]
        expected = apply_hunks(text, done) if done and not changes_nothing(text, done) else text
        assert edit.files[0].text == expected


def changes_nothing(text: str, hunks: list[Any]) -> bool:
    try:
        apply_hunks(text, hunks)
    except RefusedError as error:
        return "changes nothing" in str(error)
    return False


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not there")
@pytest.mark.laws
@settings(max_examples=scaled(30), deadline=None)
@given(before=texts(12), after=texts(12), data=st.data())
def test_a_diff_of_git_gives_what_git_apply_gives(before: str, after: str, data: st.DataObject):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in (("old/a", before), ("new/a", after)):
            (root / name).parent.mkdir()
            (root / name).write_bytes(text.encode())
        git = ("git", "-c", "core.autocrlf=false")
        made = subprocess.run(
            [*git, "diff", "--no-index", "old/a", "new/a"], cwd=root, capture_output=True, check=False
        )
        diff = made.stdout.decode().replace("a/old/a", "a/a").replace("b/new/a", "b/a")
        if not diff:
            return
        (root / "a").write_bytes(before.encode())
        subprocess.run([*git, "apply", "-"], cwd=root, input=diff.encode(), check=True)
        applied = (root / "a").read_bytes().decode()
    edit, _ = played("apply_patch", data.draw(cut(as_json({"input": diff}))), {"a": before})
    assert not edit.faults
    assert result_of(edit) == {"a": applied} == {"a": after}


def edit_of(name: str, arguments: dict[str, Any], files: dict[str, str] | None = None) -> LiveEdit:
    return played(name, as_json(arguments), files)[0]


TEXT = "one\ntwo\nthree\nfour\n"


@pytest.mark.parametrize(
    ("name", "arguments", "mismatch"),
    [
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a\n one\n-TWO\n+2\n"}, Mismatch(2, "TWO", "two")),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a\n@@\n-TWO\n+"}, Mismatch(None, "TWO", None)),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a\n four\n five\n+"}, Mismatch(5, "five", None)),
        ("patch_file", {"path": "a", "patch": "--- a\n+++ a\n@@ -2,2 +2 @@\n two\n-3\n"}, Mismatch(3, "3", "three")),
        ("patch_file", {"patch": "@@ -1 +1 @@\n-0\n+1\n", "path": "a"}, Mismatch(1, "0", "one")),
        ("replace_in_file", {"path": "a", "diff": "<<<<<<< SEARCH\ntwo\nTHREE\n"}, Mismatch(3, "THREE", "three")),
        ("Edit", {"file_path": "a", "old_string": "two\n3\n", "new_string": "x"}, Mismatch(3, "3", "three")),
        ("Edit", {"new_string": "x", "old_string": "four\nfive", "file_path": "a"}, Mismatch(5, "five", None)),
        ("MultiEdit", {"edits": [{"old_string": "2", "new_string": "x"}], "file_path": "a"}, Mismatch(None, "2", None)),
    ],
)
def test_the_line_that_does_not_match_is_told(name: str, arguments: dict[str, Any], mismatch: Mismatch):
    edit = edit_of(name, arguments, {"a": TEXT})
    (hunk,) = edit.files[0].hunks
    assert hunk.mismatch == mismatch
    assert f"hunk 1: {mismatch}" in edit.faults


def test_a_mismatch_is_told_with_its_line_and_not_at_the_end():
    text = as_json({"input": "*** Begin Patch\n*** Update File: a\n one\n-TWO\n+2\n*** End Patch"})
    edit, _ = played("apply_patch", text[: text.index("+2") + 1], {"a": TEXT})
    assert [hunk.mismatch for hunk in edit.files[0].hunks] == [Mismatch(2, "TWO", "two")]


def test_an_old_text_that_is_not_there_is_told_while_the_new_one_streams():
    text = as_json({"file_path": "a", "old_string": "2", "new_string": "x"})
    edit, _ = played("Edit", text[: text.index("new_string")], {"a": TEXT})
    assert edit.faults == ["hunk 1: no line of the file is '2'"]


def test_an_old_text_that_occurs_twice_is_no_fault_while_all_may_be_meant():
    text = as_json({"file_path": "a", "old_string": "o", "new_string": "0", "replace_all": True})
    edit, certain = played("Edit", text, {"a": TEXT})
    assert edit.faults == []
    assert certain[0].line == 1
    assert edit.files[0].text == TEXT.replace("o", "0")
    assert (edit.files[0].added, edit.files[0].removed) == (3, 3)


@pytest.mark.parametrize("known_at", [0, 12, 10_000])
def test_the_order_of_the_fields_does_not_matter(known_at: int):
    for arguments in (
        {"file_path": "a", "old_string": "two", "new_string": "2"},
        {"new_string": "2", "old_string": "two", "file_path": "a"},
        {"old_string": "two", "file_path": "a", "new_string": "2"},
    ):
        edit, _ = played("Edit", as_json(arguments), {"a": TEXT}, known_at)
        assert [(file.path, file.hunks, file.text) for file in edit.files] == [
            ("a", [LiveHunk(1, 1, 1, is_whole=True, line=2)], TEXT.replace("two", "2"))
        ]


def test_without_the_files_the_hunks_are_counted():
    edit = edit_of("patch_file", {"path": "a", "patch": "@@ -7,2 +7,2 @@\n x\n-y\n+z\n"})
    assert edit.wants == [("a",)]
    assert edit.files[0].hunks == [LiveHunk(1, 1, 1, is_whole=True)]
    assert edit.files[0].text is None
    assert str(edit) == "+1 -1 in 1 hunk"


def test_a_hunk_that_was_moved_moves_those_behind_it():
    """The second one would match where it says, too."""
    text = "new\n" + "x\n" * 6
    patch = "--- a\n+++ a\n@@ -1 +1 @@\n-new\n+NEW\n@@ -4,1 +4,1 @@\n-x\n+y\n"
    moved = "first\n" + text
    for before, line in ((text, 4), (moved, 5)):
        edit = edit_of("apply_patch", {"input": patch}, {"a": before})
        assert [hunk.line for hunk in edit.files[0].hunks] == [before.split("\n").index("new") + 1, line]


def test_what_does_not_match_is_told_where_the_hunk_is_looked_for():
    patch = "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+1\n@@ -3 +3 @@\n-3\n+III\n"
    edit = edit_of("apply_patch", {"input": patch}, {"a": "new\n" + TEXT})
    assert [hunk.mismatch for hunk in edit.files[0].hunks] == [None, Mismatch(4, "3", "three")]


def test_blocks_that_change_the_same_lines_are_a_fault_of_the_later_one():
    blocks = "".join(
        f"<<<<<<< SEARCH\n{old}\n=======\nx\n>>>>>>> REPLACE\n" for old in ("three", "one\ntwo", "two\nthree", "four")
    )
    edit = edit_of("replace_in_file", {"path": "a", "diff": blocks}, {"a": TEXT})
    assert [(hunk.line, hunk.fault) for hunk in edit.files[0].hunks] == [
        (3, None),
        (1, None),
        (None, "the block changes lines that another one changes, too"),
        (4, None),
    ]
    assert edit.files[0].text == "x\nx\nx\n"


def test_a_refused_path_is_told_when_it_has_come():
    edit, _ = played("Edit", '{"file_path": "../a", "old_string": "x", "new', {})
    assert edit.faults == ["hunk 1: the path '../a' is refused: '..' leads out of a folder"]


@pytest.mark.parametrize(
    ("patch", "fault"),
    [
        ("--- /dev/null\n+++ ../a\n@@ -0,0 +1 @@\n+x\n", "../a: the path '../a' is refused"),
        ("--- /dev/null\n+++ \n@@ -0,0 +1 @@\n+x\n", "the file: the path '' is refused"),
        ("*** Begin Patch\n*** Update File: a\n*** Move to: /b\n*** End Patch", "a: the path '/b' is refused"),
    ],
)
def test_a_refused_path_of_a_patch_is_told(patch: str, fault: str):
    edit = edit_of("apply_patch", {"input": patch}, {"a": TEXT})
    assert edit.faults[0].startswith(fault)
    assert isinstance(carried_out("apply_patch", {"input": patch}, {"a": TEXT}), str)


def test_what_is_told_only_grows():
    patch = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n@@\n-TWO\n+2\n*** Add File: b\n+x\n*** End Patch"
    edit = LiveEdit(tools_of("apply_patch"))
    before: list[str] = []
    for each in fragments(as_json({"input": patch})):
        edit.feed(each)
        while edit.wants:
            edit.know(edit.wants[0], TEXT if edit.wants[0] == ("a",) else None)
        assert edit.told[: len(before)] == before
        before = [*edit.told]
    assert before == [
        "hunk 1, line 1: +1 -1",
        "✗ hunk 2: no line of the file is 'TWO'",
        "b, hunk 1: +1 -0",
    ]


def test_a_form_that_changes_takes_back_what_was_told():
    text = "-one\n+1\n@@\n-two\n@@ -4 +4 @@\n-four\n+4\n"
    edit, _ = played("apply_patch", as_json({"path": "a", "diff": text}), {"a": TEXT})
    assert not edit.is_clear
    assert edit.told[-2:] == [
        "what was told of this call does not hold: it goes on in another form",
        "hunk 1, line 4: +1 -1",
    ]
    assert edit.files[0].text == TEXT.replace("four", "4")


def test_a_key_that_is_repeated_takes_back_what_was_told():
    text = '{"file_path": "a", "old_string": "TWO", "new_string": "2", "old_string": "two"}'
    edit, _ = played("Edit", text, {"a": TEXT})
    assert not edit.is_clear
    assert edit.faults == []


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(count))


SIZES: dict[str, Any] = {
    "apply_patch": lambda count: {
        "input": "*** Begin Patch\n*** Update File: a\n"
        + "".join(f"@@\n-line {at}\n+{at}\n" for at in range(0, count, 4))
        + "*** End Patch"
    },
    "patch_file": lambda count: {
        "path": "a",
        "patch": "--- a\n+++ a\n"
        + "".join(f"@@ -{at + 1} +{at + 1} @@\n-line {at}\n+{at}\n" for at in range(0, count, 4)),
    },
    "replace_in_file": lambda count: {
        "path": "a",
        "diff": "".join(f"<<<<<<< SEARCH\nline {at}\n=======\n{at}\n>>>>>>> REPLACE\n" for at in range(0, count, 4)),
    },
    "MultiEdit": lambda count: {
        "file_path": "a",
        "edits": [{"old_string": f"line {at}\n", "new_string": f"{at}\n"} for at in range(0, count, 4)],
    },
}


@pytest.mark.parametrize("name", SIZES)
def test_the_calls_of_python_for_a_piece_do_not_depend_on_what_came_before(name: str):
    """Of a patch in pieces of four characters, as a function's calls are counted."""

    def cost(count: int) -> float:
        pieces = [*fragments(re.findall(r".{1,4}", as_json(SIZES[name](count)), re.DOTALL))]
        edit = LiveEdit(tools_of(name))
        edit.feed(pieces[0])
        edit.know(("a",), numbered(count))
        calls = calls_of(edit.feed, pieces[1:])
        assert not edit.faults
        assert len(edit.files[0].hunks) == count // 4
        return calls / len(pieces)

    few, many = cost(100), cost(1600)
    assert many < 1.3 * few


def calls_of(function: Any, items: list[Any]) -> int:
    profile = cProfile.Profile()
    with profile:
        for each in items:
            function(each)
    return sum(each.callcount for each in profile.getstats())


MUTANTS = {
    "a hunk is looked for where it says, however far the one before was moved": ("looked_for", ("sinks/edits/live_file.py", "line + self._hunks.moved", "line")),
    "blocks may change the same lines": ("same_lines", ("sinks/edits/live_file.py", "before.start + len(before.old) > behind.start", "before is behind")),
    "an old text that occurs twice is a fault before all may be meant": ("occurs_twice", ("sinks/files/live_edit.py", "        if not edit.is_whole:\n", "        if base is None:\n")),
}  # fmt: skip
