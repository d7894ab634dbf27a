"""Line ends are those that an edit says, and those of the file where it says none; the context stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from file_calls import on_disk, result


def diff(*lines: bytes) -> str:
    return b"".join((b"--- a/a\n+++ b/a\n", *lines)).decode()


def patch(*lines: bytes) -> str:
    return b"".join((b"*** Begin Patch\n*** Update File: a\n@@\n", *lines, b"*** End Patch\n")).decode()


def block(old: bytes, new: bytes) -> str:
    return b"".join((b"<<<<<<< SEARCH\n", old, b"=======\n", new, b">>>>>>> REPLACE\n")).decode()


NO_END = b"\\ No newline at end of file\n"
CRLF = b"a\r\nb\r\nc\r\n"


def edit(old: str, new: str) -> dict[str, Any]:
    return {"file_path": "a", "old_string": old, "new_string": new}


@pytest.mark.parametrize(
    ("before", "tool", "arguments", "after"),
    [
        # lines with LF in a diff whose other lines have CRLF
        (CRLF, "apply_patch", diff(b"@@ -1,2 +1,3 @@\n a\r\n+x\n b\r\n"), b"a\r\nx\nb\r\nc\r\n"),
        (CRLF, "apply_patch", diff(b"@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n"), b"a\r\nb\nc\r\n"),
        (CRLF, "apply_patch", diff(b"@@ -1,0 +2,2 @@\n+x\r\n+y\n"), b"a\r\nx\r\ny\nb\r\nc\r\n"),
        (CRLF, "apply_patch", patch(b" a\r\n", b"+x\n"), b"a\r\nx\nb\r\nc\r\n"),
        (CRLF, "replace_in_file", block(b"a\r\n", b"x\ny\r\n"), b"x\ny\r\nb\r\nc\r\n"),
        (CRLF, "Edit", edit("a\r\nb", "a\nb"), b"a\nb\r\nc\r\n"),
        (b"a\nb\r\n", "apply_patch", diff(b"@@ -1,2 +1,2 @@\n-a\n+a\r\n b\r\n"), b"a\r\nb\r\n"),
        # edits that say nothing of CRLF
        (CRLF, "apply_patch", diff(b"@@ -1,2 +1,3 @@\n a\n+x\n b\n"), b"a\r\nx\r\nb\r\nc\r\n"),
        (CRLF, "apply_patch", diff(b"@@ -1,0 +2 @@\n+x\n"), b"a\r\nx\r\nb\r\nc\r\n"),
        (CRLF, "apply_patch", diff(b"@@ -1,2 +1,3 @@\n a\n+x\n b\n").replace("\n", "\r\n"), b"a\r\nx\r\nb\r\nc\r\n"),
        (b"a\nb\n", "apply_patch", diff(b"@@ -1,2 +1,3 @@\n a\n+x\n b\n").replace("\n", "\r\n"), b"a\nx\nb\n"),
        (CRLF, "apply_patch", patch(b" a\n", b"+x\n"), b"a\r\nx\r\nb\r\nc\r\n"),
        (CRLF, "replace_in_file", block(b"a\n", b"x\ny\n"), b"x\r\ny\r\nb\r\nc\r\n"),
        (CRLF, "Edit", edit("a\nb", "x\ny"), b"x\r\ny\r\nc\r\n"),
        (CRLF, "Edit", edit("a", "x\ny"), b"x\r\ny\r\nb\r\nc\r\n"),
        # a last line without an end
        (b"a\nb", "apply_patch", diff(b"@@ -1,2 +1,2 @@\n a\n-b\n", NO_END, b"+b\n"), b"a\nb\n"),
        (b"a\nb\n", "apply_patch", diff(b"@@ -1,2 +1,2 @@\n a\n-b\n+b\n", NO_END), b"a\nb"),
        (b"a\nb", "apply_patch", diff(b"@@ -1,2 +1,2 @@\n-a\n+x\n b\n", NO_END), b"x\nb"),
        (b"a\nb", "apply_patch", diff(b"@@ -1,2 +1,2 @@\n-a\n+x\n b\n"), b"x\nb"),
        (b"a\nb\n", "apply_patch", diff(b"@@ -1,2 +1,2 @@\n-a\n+x\n b\n", NO_END), b"x\nb\n"),
        (b"a\nb", "apply_patch", diff(b"@@ -1,2 +1,2 @@\n a\n-b\n", NO_END, b"+c\n", NO_END), b"a\nc"),
        (b"a\nb", "apply_patch", diff(b"@@ -2 +2,2 @@\n-b\n", NO_END, b"+b\n+c\n", NO_END), b"a\nb\nc"),
        (b"a\nb\n", "apply_patch", diff(b"@@ -2,0 +3 @@\n+c\n", NO_END), b"a\nb\nc"),
        (b"a\nb", "apply_patch", patch(b" a\n-b\n+c\n"), b"a\nc"),
        (b"a\nb", "apply_patch", patch(b" b\n+c\n"), b"a\nb\nc"),
        (b"a\nb", "replace_in_file", block(b"b\n", b"c\nd\n"), b"a\nc\nd"),
        (b"a\nb", "replace_in_file", block(b"a\n", b"c\n"), b"c\nb"),
        # both
        (b"a\r\nb", "apply_patch", diff(b"@@ -2 +2,2 @@\n-b\n", NO_END, b"+b\r\n+c\n", NO_END), b"a\r\nb\r\nc"),
        (b"a\r\nb", "apply_patch", diff(b"@@ -1,2 +1,3 @@\n a\r\n-b\n", NO_END, b"+b\n+c\r\n"), b"a\r\nb\nc\r\n"),
        (b"a\r\nb", "apply_patch", patch(b" a\n b\n+c\n"), b"a\r\nb\r\nc"),
        (b"a\r\nb", "replace_in_file", block(b"b\n", b"c\nd\n"), b"a\r\nc\r\nd"),
    ],
)  # fmt: skip
def test_the_ends_of_lines(tmp_path: Path, before: bytes, tool: str, arguments: Any, after: bytes):
    (tmp_path / "a").write_bytes(before)
    if isinstance(arguments, str):
        arguments = {"input": arguments} if tool == "apply_patch" else {"path": "a", "diff": arguments}
    assert result(tmp_path, tool, **arguments).error is None
    assert on_disk(tmp_path) == {"a": after}


@pytest.mark.parametrize("body", [b"-a\r\n-b\r\n", b"-a\n-b\n", b"-a\r\n-b\n" + NO_END])
@pytest.mark.parametrize("git", [b"", b"diff --git a/a b/a\ndeleted file mode 100644\n"])
def test_a_file_with_crlf_is_deleted_by_a_diff_with_or_without(tmp_path: Path, body: bytes, git: bytes):
    (tmp_path / "a").write_bytes(b"a\r\nb" if NO_END in body else b"a\r\nb\r\n")
    given = (git + b"--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n" + body).decode()
    assert result(tmp_path, "apply_patch", input=given).error is None
    assert on_disk(tmp_path) == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (diff(b"@@ -1,2 +1,2 @@\n-a\n+x\n b\n", NO_END), "are not the last ones of the file"),
        (diff(b"@@ -1 +1 @@\n-a\n+x\n", NO_END), "are not the last ones of the file"),
        (diff(b"@@ -1,0 +2 @@\n+x\n", NO_END), "only adds lines"),
        (diff(b"@@ -1,2 +1,2 @@\n-a\n", NO_END, b"-b\n+x\n+y\n"), "is not the last one"),
        ("--- a/a\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n\\ No newline at end of file\n", "are not the file's"),
    ],
)
def test_a_line_that_has_no_end_is_the_last_of_the_file(tmp_path: Path, given: str, said: str):
    (tmp_path / "a").write_text("a\nb\nc\n")
    assert said in (result(tmp_path, "apply_patch", input=given).error or "")
    assert on_disk(tmp_path) == {"a": b"a\nb\nc\n"}
