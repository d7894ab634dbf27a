"""An edit goes to the one place that it can mean; lines and anchors that stand there several times are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from file_calls import on_disk, result

TWO_CLASSES = """class A:
    def run(self):
        x = 1
        return x

class B:
    def run(self):
        x = 1
        return x

    def stop(self):
        x = 1
        y = 2
        x = 1
"""
BRACES = """function f()
{
    return 1;
}

function g()
{
    return 1;
}
"""
CHANGE = ("-        x = 1", "+        x = 2")


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", "*** Update File: a", *lines, "*** End Patch"))


def diff(*hunks: str) -> str:
    return "--- a/a\n+++ b/a\n" + "".join(hunks)


def changed(text: str, number: int) -> str:
    """Return the text with its n-th `x = 1` changed."""
    parts = text.split("x = 1")
    return "x = 1".join(parts[:number]) + "x = 2" + "x = 1".join(parts[number:])


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        (TWO_CLASSES, patch("@@ class A:", *CHANGE), changed(TWO_CLASSES, 1)),
        (TWO_CLASSES, patch("@@ class A:", "@@     def run(self):", *CHANGE), changed(TWO_CLASSES, 1)),
        (TWO_CLASSES, patch("@@ class B:", "@@ def run(self):", *CHANGE), changed(TWO_CLASSES, 2)),
        (TWO_CLASSES, patch("@@ def run(self):", "         x = 1", "-        y = 2"), TWO_CLASSES.replace("        y = 2\n", "")),
        (TWO_CLASSES, patch("@@ def stop(self):", *CHANGE, "         y = 2"), changed(TWO_CLASSES, 3)),
        (TWO_CLASSES, patch("@@ def stop(self):", *CHANGE, "*** End of File"), changed(TWO_CLASSES, 4)),
        (BRACES, patch("@@ function f()", "-    return 1;", "+    return 2;"), BRACES.replace("1", "2", 1)),
        (BRACES, patch("@@ function g()", " {", "-    return 1;", "+    return 2;"), BRACES[::-1].replace("1", "2", 1)[::-1]),
        (TWO_CLASSES, diff("@@ -8 +8 @@\n-        x = 1\n+        x = 2\n"), changed(TWO_CLASSES, 2)),
        # As patch does it, a hunk is looked for where the one before it stood, and not where it says.
        ("new\n" + TWO_CLASSES, diff("@@ -1,2 +1 @@\n-class A:\n     def run(self):\n", "@@ -8 +7 @@\n-        x = 1\n+        x = 2\n"), "new\n" + changed(TWO_CLASSES.replace("class A:\n", ""), 2)),
        ("new\n" + TWO_CLASSES, diff("@@ -1 +1 @@\n-class A:\n+class C:\n", "@@ -4,0 +5 @@\n+# end\n"), "new\n" + TWO_CLASSES.replace("class A", "class C").replace("return x\n", "return x\n# end\n", 1)),
    ],
)  # fmt: skip
def test_what_can_mean_one_place_goes_there(tmp_path: Path, text: str, given: str, expected: str):
    (tmp_path / "a").write_text(text)
    assert result(tmp_path, "apply_patch", input=given).error is None
    assert (tmp_path / "a").read_text() == expected


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("apply_patch", {"input": patch("@@ def run(self):", *CHANGE)}, "which occurs several times, too"),
        ("apply_patch", {"input": patch("@@ class B:", *CHANGE)}, "occur 3 times"),
        ("apply_patch", {"input": patch("@@ def stop(self):", *CHANGE)}, "occur 2 times"),
        ("apply_patch", {"input": patch("@@ x = 1", "-        return x")}, "occur 2 times behind the line 'x = 1'"),
        ("apply_patch", {"input": patch("@@", *CHANGE)}, "occur 4 times"),
        ("apply_patch", {"input": patch("@@ def go(self):", *CHANGE)}, "does not occur in the file"),
        ("apply_patch", {"input": diff("@@ -2 +2 @@\n-        x = 1\n+        x = 2\n")}, "occur 4 times"),
        ("patch_file", {"patch": "@@ -50 +50 @@\n-        x = 1\n+        x = 2\n"}, "occur 4 times"),
        ("replace_in_file", {"diff": "<<<<<<< SEARCH\n        x = 1\n=======\n>>>>>>> REPLACE"}, "occur 4 times"),
        (
            "apply_diff",
            {"diff": "<<<<<<< SEARCH\n:start_line:4\n-------\n        x = 1\n=======\n>>>>>>> REPLACE"},
            "occur 4 times",
        ),
        ("Edit", {"file_path": "a", "old_string": "x = 1", "new_string": ""}, "occurs 4 times"),
        ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x = 1", "new_string": ""}]}, "occurs 4 times"),
        ("edit", {"path": "a", "oldText": "x = 1", "newText": ""}, "occurs 4 times"),
        ("edit_file", {"path": "a", "edits": [{"oldText": "x = 1", "newText": ""}]}, "occurs 4 times"),
        ("replace_string_in_file", {"filePath": "a", "oldString": "x = 1", "newString": ""}, "occurs 4 times"),
        ("str_replace_editor", {"command": "str_replace", "old_str": "x = 1", "new_str": ""}, "occurs 4 times"),
        ("replace", {"file_path": "a", "old_string": "x = 1", "new_string": "", "expected_replacements": 1}, "4 times"),
    ],
)
def test_what_can_mean_several_places_is_refused(tmp_path: Path, tool: str, arguments: dict[str, Any], said: str):
    (tmp_path / "a").write_text(TWO_CLASSES)
    paths: dict[str, Any] = {} if tool == "apply_patch" else {"path": "a"}
    found = result(tmp_path, tool, **(paths | arguments))
    assert said in (found.error or ""), found
    assert on_disk(tmp_path) == {"a": TWO_CLASSES.encode()}


def test_a_text_that_could_be_replaced_in_two_ways_is_refused(tmp_path: Path):
    (tmp_path / "a").write_text("aaa")
    several: tuple[dict[str, Any], ...] = ({}, {"expected_replacements": 1})
    for more in several:
        found = result(tmp_path, "replace", file_path="a", old_string="aa", new_string="b", **more)
        assert "occurs 2 times" in (found.error or "")
    assert on_disk(tmp_path) == {"a": b"aaa"}


MUTANTS = {
    "an anchor that stands there several times is the first": ("", ("sinks/edits/hunk.py", "len(places) - first) == 1", "len(places) - first) >= 1")),
}  # fmt: skip
