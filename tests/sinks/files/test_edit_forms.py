"""The forms of edits: what each does, and what it refuses, through calls as known agents write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from file_calls import on_disk, result
from looped import looped

FILE = "def f():\n    return 1\n\n\ndef g():\n    return 1\n"
SECOND = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
BOTH = FILE.replace("1", "2")
EDIT = {"old_string": "def g():\n    return 1", "new_string": "def g():\n    return 2"}
UNIFIED = """--- a/a.py
+++ b/a.py
@@ -3,4 +3,4 @@

\x20
 def g():
-    return 1
+    return 2
"""
HUNK = "@@ def g():\n-    return 1\n+    return 2\n"
CODEX = f"*** Begin Patch\n*** Update File: a.py\n{HUNK}*** End Patch"
REMOVED = "".join(f"-{line}" for line in FILE.splitlines(keepends=True))
BLOCK = "<<<<<<< SEARCH\ndef g():\n    return 1\n=======\ndef g():\n    return 2\n>>>>>>> REPLACE\n"

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Edit", {"file_path": "a.py", **EDIT}),
    ("MultiEdit", {"file_path": "a.py", "edits": [EDIT]}),
    ("replace", {"file_path": "a.py", **EDIT}),
    ("edit", {"file_path": "a.py", **EDIT}),
    ("edit", {"filePath": "a.py", "oldString": EDIT["old_string"], "newString": EDIT["new_string"]}),
    ("edit", {"path": "a.py", "oldText": EDIT["old_string"], "newText": EDIT["new_string"]}),
    ("edit_file", {"file_path": "a.py", "expected_replacements": 1, **EDIT}),
    ("edit_file", {"path": "a.py", "edits": [{"oldText": EDIT["old_string"], "newText": EDIT["new_string"]}]}),
    ("search_replace", {"file_path": "a.py", **EDIT}),
    ("replace_string_in_file", {"filePath": "a.py", "oldString": EDIT["old_string"], "newString": EDIT["new_string"]}),
    (
        "multi_replace_string_in_file",
        {"replacements": [{"filePath": "a.py", "oldString": EDIT["old_string"], "newString": EDIT["new_string"]}]},
    ),
    (
        "str_replace_based_edit_tool",
        {"command": "str_replace", "path": "a.py", "old_str": EDIT["old_string"], "new_str": EDIT["new_string"]},
    ),
    (
        "str_replace_editor",
        {"command": "str_replace", "path": "a.py", "old_str": EDIT["old_string"], "new_str": EDIT["new_string"]},
    ),
    ("edit_file", {"path": "a.py", "patch": UNIFIED}),
    ("patch_file", {"path": "a.py", "patch": UNIFIED}),
    ("patch_file", {"path": "a.py", "patch": UNIFIED.replace("\n", "\r\n")}),
    ("patch_file", {"path": "a.py", "patch": UNIFIED[UNIFIED.index("@@") :]}),
    ("patch_file", {"path": "a.py", "patch": UNIFIED.replace("@@ -3,4 +3,4 @@", "@@ -300,4 +300,4 @@ def f():")}),
    ("patch_file", {"path": "a.py", "patch": f"diff --git a/a.py b/a.py\nindex 1..2 100644\n{UNIFIED}"}),
    ("patch_file", {"path": "a.py", "patch": HUNK}),
    ("patch_file", {"path": "a.py", "patch": CODEX}),
    ("patch_file", {"path": "a.py", "patch": BLOCK}),
    ("replace_in_file", {"path": "a.py", "diff": BLOCK}),
    ("replace_in_file", {"path": "a.py", "diff": BLOCK.replace("<" * 7, "-" * 7).replace(">" * 7, "+" * 7)}),
    ("replace_in_file", {"path": "a.py", "diff": BLOCK.replace("\n", "\r\n")}),
    ("replace_in_file", {"path": "a.py", "diff": f"```\n{BLOCK}```"}),
    (
        "apply_diff",
        {
            "path": "a.py",
            "diff": BLOCK.replace("def g():\n    ", ":start_line:6\n-------\n    ", 1).replace("=\ndef g():\n", "=\n"),
        },
    ),
    ("apply_patch", {"input": CODEX}),
    ("apply_patch", {"patch": CODEX}),
    ("apply_patch", {"patchText": CODEX.replace("\n", "\r\n")}),
    ("apply_patch", {"input": UNIFIED}),
    ("apply_patch", {"type": "update_file", "path": "a.py", "diff": HUNK}),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(FILE)
    return tmp_path


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(CALLS)])
@pytest.mark.parametrize("crlf", [False, True])
def test_an_edit_changes_its_place_and_nothing_else(root: Path, name: str, arguments: dict[str, Any], crlf: bool):
    if crlf:
        (root / "a.py").write_bytes(FILE.replace("\n", "\r\n").encode())
    found = result(root, name, **arguments)
    assert found.error is None
    assert found.value == "changed a.py (+1 -1 lines)"
    expected = SECOND.replace("\n", "\r\n") if crlf else SECOND
    assert (root / "a.py").read_bytes() == expected.encode()


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("Edit", {"old_string": "    return 1", "new_string": "    return 2"}, "occurs 2 times; add lines around it"),
    ("Edit", {"old_string": "return 3", "new_string": "x"}, "does not occur in the file; read it again"),
    ("Edit", {"old_string": "def f():\n  return 1", "new_string": "x"}, "blanks or line breaks differ"),
    ("Edit", {"old_string": "def", "new_string": "def", "replace_all": True}, "equals the old one"),
    ("Edit", {"old_string": "", "new_string": "x"}, "is empty"),
    ("Edit", {"file_path": "b.py", "old_string": "1", "new_string": "x"}, "'b.py': the file does not exist"),
    ("replace", {"old_string": "return 1", "new_string": "x", "expected_replacements": 3}, "2 times, not 3"),
    ("MultiEdit", {"edits": [EDIT, {"old_string": "nowhere", "new_string": "x"}]}, "does not occur in the file"),
    ("str_replace_editor", {"command": "insert", "insert_line": 9, "new_str": "x"}, "6 lines; nothing can be inserted"),
    ("str_replace_editor", {"command": "insert", "insert_line": -1, "new_str": "x"}, "nothing can be inserted"),
    ("str_replace_editor", {"command": "insert", "insert_line": 1, "new_str": ""}, "nothing to insert"),
    (
        "patch_file",
        {"patch": UNIFIED.replace("-    return 1", "-    return 7")},
        "do not occur in the file exactly like this",
    ),
    ("patch_file", {"patch": UNIFIED.replace("@@ -3,4 +3,4 @@", "@@ -3,5 +3,5 @@")}, "check the line counts"),
    ("patch_file", {"patch": UNIFIED.replace("@@ -3,4 +3,4 @@", "@@ -3,4 +3,3 @@")}, "check the line counts"),
    ("patch_file", {"patch": UNIFIED + "+    # one more\n"}, "line 9 of the diff"),
    ("patch_file", {"patch": UNIFIED + "--- one more\n"}, "line 9 of the diff"),
    ("patch_file", {"patch": "@@ -90 +90 @@\n-    return 1\n+    return 2\n"}, "occur 2 times"),
    ("patch_file", {"patch": UNIFIED.replace("a.py", "b.py")}, "the call is for 'a.py', but its patch for 'b.py'"),
    ("patch_file", {"patch": UNIFIED + UNIFIED.replace("a.py", "b.py")}, "names other files"),
    ("patch_file", {"patch": UNIFIED.replace("+++ b/a.py", "+++ b/c.py")}, "names other files"),
    ("patch_file", {"patch": "make it better"}, "must begin with"),
    ("patch_file", {"patch": ""}, "changes nothing"),
    ("patch_file", {"patch": "@@\n def f():\n"}, "changes nothing"),
    ("patch_file", {"patch": "Binary files a/a.py and b/a.py differ\n@@ -1 +1 @@\n-a\n+b\n"}, ""),
    ("patch_file", {"patch": "@@\n-    return 1\n+    return 2"}, "occur 2 times"),
    ("patch_file", {"patch": "@@ def g():\n+    x = 1"}, "only adds lines"),
    ("patch_file", {"patch": "@@ def h():\n-    return 1\n+    x = 1"}, "'def h():' of hunk 1 does not occur"),
    ("replace_in_file", {"diff": BLOCK.replace("return 1", "return 7")}, "do not occur in the file exactly like this"),
    ("replace_in_file", {"diff": BLOCK.replace("def g():\n", "")}, "occur 2 times"),
    ("replace_in_file", {"diff": BLOCK.replace(">>>>>>> REPLACE\n", "")}, "a block has no end"),
    ("replace_in_file", {"diff": BLOCK.replace("=======\n", "")}, "cut off before '>>>>>>> REPLACE'"),
    ("replace_in_file", {"diff": BLOCK + "and so on"}, "'and so on' is outside"),
    ("replace_in_file", {"diff": BLOCK + BLOCK}, "touch the same lines"),
    ("replace_in_file", {"diff": "<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE"}, "searches for nothing"),
    ("replace_in_file", {"diff": BLOCK.replace("return 2", "return 1")}, "changes nothing"),
    ("apply_patch", {"input": CODEX.replace("*** End Patch", "")}, "must begin with '*** Begin Patch' and end with"),
    ("apply_patch", {"input": "*** Begin Patch\n*** End Patch"}, "names no file"),
    ("apply_patch", {"input": CODEX.replace("Update", "Add").replace("@@ def g():\n-", "+")}, "it is there already"),
    ("apply_patch", {"input": CODEX.replace("Update", "Add")}, "must begin with '+'"),
    ("apply_patch", {"input": "*** Begin Patch\nx\n*** Add File: b\n*** End Patch"}, "comes before the first file"),
    ("apply_patch", {"input": "*** Begin Patch\n*** Delete File: b\n*** End Patch"}, "'b': the file does not exist"),
    (
        "apply_patch",
        {"input": "*** Begin Patch\n*** Delete File: a.py\n-x\n*** End Patch"},
        "has no lines in the patch",
    ),
    ("apply_patch", {"input": CODEX.replace(HUNK, "*** Move to: a.py\n@@\n nowhere\n")}, "do not occur"),
    ("apply_patch", {"input": CODEX.replace(HUNK, "")}, "changes nothing in 'a.py'"),
    ("apply_patch", {"input": "--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-other\n"}, "are not the file's"),
    ("apply_patch", {"input": "no patch"}, "names no file"),
]


@looped("name, arguments, said", REFUSED, ids=[f"{row[0]}-{at}" for at, row in enumerate(REFUSED)])
def test_what_does_not_fit_is_refused_with_the_reason(root: Path, name: str, arguments: dict[str, Any], said: str):
    paths = {"path", "file_path"} if name != "apply_patch" else set()
    found = result(root, name, **(dict.fromkeys(paths, "a.py") | arguments))
    assert found.error is not None, found
    assert said in found.error
    assert on_disk(root) == {"a.py": FILE.encode()}


DONE: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2", "replace_all": True}, {"a.py": BOTH}),
    (
        "replace",
        {"file_path": "a.py", "old_string": "1", "new_string": "2", "expected_replacements": 2},
        {"a.py": BOTH},
    ),
    ("Edit", {"file_path": "b.py", "old_string": "", "new_string": "x"}, {"a.py": FILE, "b.py": "x"}),
    (
        "MultiEdit",
        {"file_path": "a.py", "edits": [EDIT, {"old_string": "return 2", "new_string": "pass"}]},
        {"a.py": FILE.replace("def g():\n    return 1", "def g():\n    pass")},
    ),
    ("str_replace_based_edit_tool", {"command": "str_replace", "path": "a.py", "old_str": FILE}, {"a.py": ""}),
    (
        "str_replace_based_edit_tool",
        {"command": "insert", "path": "a.py", "insert_line": 0, "insert_text": "#"},
        {"a.py": f"#\n{FILE}"},
    ),
    (
        "str_replace_based_edit_tool",
        {"command": "insert", "path": "a.py", "insert_line": 6, "insert_text": "#"},
        {"a.py": f"{FILE}#"},
    ),
    (
        "str_replace_editor",
        {"command": "insert", "path": "a.py", "insert_line": 1, "new_str": "#\n"},
        {"a.py": FILE.replace("\n", "\n#\n", 1)},
    ),
    ("str_replace_editor", {"command": "create", "path": "b", "file_text": "x"}, {"a.py": FILE, "b": "x"}),
    ("apply_patch", {"type": "create_file", "path": "b", "diff": "+x\n+y"}, {"a.py": FILE, "b": "x\ny\n"}),
    (
        "apply_patch",
        {"input": "*** Begin Patch\n*** Update File: a.py\n*** Move to: b/c.py\n*** End Patch"},
        {"b/c.py": FILE},
    ),
    (
        "apply_patch",
        {"input": "*** Begin Patch\n*** Delete File: a.py\n*** Add File: b\n+x\n+\n*** End Patch"},
        {"b": "x\n\n"},
    ),
    (
        "apply_patch",
        {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n+# end\n*** End Patch"},
        {"a.py": f"{FILE}# end\n"},
    ),
    (
        "apply_patch",
        {
            "input": "*** Begin Patch\n*** Update File: a.py\n@@\n-    return 1\n+    return 2\n*** End of File\n*** End Patch"
        },
        {"a.py": SECOND},
    ),
    (
        "apply_patch",
        {
            "input": f"*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-    return 1\n+    return 2\n{HUNK}*** End Patch"
        },
        {"a.py": BOTH},
    ),
    (
        "apply_patch",
        {"input": "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"},
        {"a.py": FILE, "b": "x"},
    ),
    ("apply_patch", {"input": f"--- a/a.py\n+++ /dev/null\n@@ -1,6 +0,0 @@\n{REMOVED}"}, {}),
    (
        "apply_patch",
        {"input": "diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n"},
        {"b.py": FILE},
    ),
    (
        "replace_in_file",
        {"path": "b", "diff": "<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE"},
        {"a.py": FILE, "b": "x\n"},
    ),
    (
        "apply_diff",
        {"path": "a.py", "diff": BLOCK.replace("    return 2", "\\=======\n\\>>>>>>> REPLACE")},
        {"a.py": FILE.replace("def g():\n    return 1", "def g():\n=======\n>>>>>>> REPLACE")},
    ),
    ("patch_file", {"path": "b", "patch": "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n"}, {"a.py": FILE, "b": "x\n"}),
    ("patch_file", {"path": "src/../a.py", "patch": UNIFIED}, {"a.py": FILE}),
    (
        "edit_file",
        {"path": "a.py", "dryRun": True, "edits": [{"oldText": "def g", "newText": "def h"}]},
        {"a.py": FILE},
    ),
]


@pytest.mark.parametrize(("name", "arguments", "files"), DONE, ids=[f"{row[0]}-{at}" for at, row in enumerate(DONE)])
def test_what_the_files_are_then(root: Path, name: str, arguments: dict[str, Any], files: dict[str, str]):
    found = result(root, name, **arguments)
    assert on_disk(root) == {path: text.encode() for path, text in files.items()}, json.dumps(found.error)


def test_a_file_without_a_last_line_break_keeps_that(root: Path):
    (root / "a.py").write_text("a\nb")
    result(root, "apply_patch", input="*** Begin Patch\n*** Update File: a.py\n@@\n a\n-b\n+c\n*** End Patch")
    assert (root / "a.py").read_text() == "a\nc"


def test_bytes_that_are_no_text_are_written_anew_only(root: Path):
    (root / "a.py").write_bytes(b"\xff\xfe")
    found = result(root, "Edit", file_path="a.py", old_string="a", new_string="b")
    assert found.error == "'a.py' is not UTF-8 text (byte 0); it cannot be edited, only written anew"
    found = result(root, "write_file", path="a.py", content="a")
    assert found.files[0].diff is None
    assert on_disk(root) == {"a.py": b"a"}


def test_several_files_or_none(root: Path):
    (root / "b").write_text("b\n")
    patch = f"*** Begin Patch\n*** Add File: new/c\n+c\n{CODEX[16:-13]}*** Update File: b\n@@\n-{{}}\n+x\n*** End Patch"
    found = result(root, "apply_patch", input=patch.format("nowhere"))
    assert "do not occur in the file" in (found.error or "")
    assert on_disk(root) == {"a.py": FILE.encode(), "b": b"b\n"}
    assert not (root / "new").exists()
    found = result(root, "apply_patch", input=patch.format("b"))
    assert [change.path for change in found.files] == ["new/c", "a.py", "b"]
    assert on_disk(root) == {"a.py": SECOND.encode(), "b": b"x\n", "new/c": b"c\n"}
