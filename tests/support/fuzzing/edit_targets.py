"""Edits and patches: read in pieces as whole, shown on the way as carried out, and as `git apply` does it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from fuzzing.drawn_bytes import text_by
from live_calls import (
    as_json,
    assert_blocks_alike,
    assert_edit_alike,
    assert_hunks_alike,
    assert_unified_alike,
    assert_v4a_alike,
    carried_out,
)
from strategies.text_flows import cut_by

from penstock.sinks.edits.block_reader import Blocks
from penstock.sinks.edits.read_patch import read_patch
from penstock.sinks.edits.unified_reader import UnifiedDiff
from penstock.sinks.edits.v4a_reader import BareHunks, V4APatch

LINES = ("a", "b", "", "  c", "x = 1", "=======", "-- e", "é😀")
"""Few of them, so that they repeat."""
TOKENS = (
    *(f"{mark}{line}\n" for mark in (" ", "-", "+", "") for line in LINES),
    *("*** Begin Patch\n", "*** End Patch\n", "*** Update File: a\n", "*** Add File: new\n", "*** Delete File: b\n"),
    *("*** Move to: c\n", "*** End of File\n", "@@\n", "@@ a\n", "@@ x = 1\n", "\r\n"),
    *("--- a/a\n", "+++ b/a\n", "--- /dev/null\n", "+++ /dev/null\n", "--- a/a\n+++ b/a\n", "--- a/b\n+++ b/b\n"),
    *(
        "@@ -1 +1 @@\n",
        "@@ -1,2 +1,2 @@\n",
        "@@ -2,3 +2 @@ f()\n",
        "@@ -1,0 +2 @@\n",
        "@@ -3 +3,2 @@\n",
        "@@ -0,0 +1 @@\n",
    ),
    *("diff --git a/a b/a\n", "diff --git a/a b/c\n", "index 1234567..89abcde 100644\n", "new file mode 100644\n"),
    *("deleted file mode 100644\n", "old mode 100644\nnew mode 100755\n", "rename from a\nrename to c\n"),
    *("copy from a\ncopy to c\n", "\\ No newline at end of file\n"),
    *("<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", ":start_line:2\n", "-------\n", "```\n", "\\=======\n"),
)
ALIKE: dict[type, Callable[[str, list[str]], None]] = {
    V4APatch: assert_v4a_alike,
    UnifiedDiff: assert_unified_alike,
    Blocks: assert_blocks_alike,
    BareHunks: assert_hunks_alike,
}


def patches(data: bytes) -> None:
    random, text = text_by(data, TOKENS)
    begin = random.choice(("", "*** Begin Patch\n*** Update File: a\n", "--- a/a\n+++ b/a\n", "<<<<<<< SEARCH\n"))
    text = begin + text
    has_path = random.random() < 0.5
    alike = ALIKE.get(type(read_patch(f"{text}\n", has_path=has_path, is_new=False)))
    if alike is not None and has_path == (alike in (assert_blocks_alike, assert_hunks_alike)):
        alike(text, list(text) if random.random() < 0.2 else cut_by(random, text))


def file_by(random: Random) -> str:
    ends = random.choice((("\n",), ("\n",), ("\r\n",), ("\n", "\r\n")))
    text = "".join(random.choice(LINES) + random.choice(ends) for _ in range(random.randrange(8)))
    return text if random.random() < 0.7 else text.removesuffix("\n").removesuffix("\r")


def _call(random: Random, text: str) -> tuple[str, dict[str, Any]]:
    """Draw a call whose arguments have a text."""
    path = random.choice(("a", "a", "a", "none"))
    half = random.randrange(len(text) + 1)
    old, new = text[:half].removesuffix("\n"), text[half:]
    return random.choice(
        (
            ("apply_patch", {"input": f"*** Begin Patch\n*** Update File: a\n{text}\n*** End Patch"}),
            ("apply_patch", {"input": f"--- a/a\n+++ b/a\n{text}"}),
            ("apply_patch", {"input": text}),
            ("apply_patch", {"path": "a", "diff": text, "type": "update_file"}),
            ("patch_file", {"path": "a", "patch": text}),
            ("replace_in_file", {"path": path, "diff": f"<<<<<<< SEARCH\n{text}"}),
            ("Edit", {"file_path": path, "old_string": old, "new_string": new}),
            ("Edit", {"file_path": path, "old_string": old, "new_string": new, "replace_all": True}),
            ("MultiEdit", {"file_path": "a", "edits": [{"old_string": old, "new_string": new}] * random.randint(1, 2)}),
            ("str_replace_editor", {"command": "insert", "path": "a", "insert_line": half - 1, "new_str": text}),
        )
    )


def edits(data: bytes) -> None:
    random, text = text_by(data, TOKENS)
    files = {"a": file_by(random), "b": file_by(random)}
    name, arguments = _call(random, text)
    keys = [*arguments]
    random.shuffle(keys)
    arguments = {key: arguments[key] for key in keys}
    pieces = cut_by(random, as_json(arguments))
    assert_edit_alike(name, arguments, files, pieces, random.randrange(len(pieces) + 1))


def diffs(data: bytes) -> None:
    """Where git applies a diff, too, it leaves the same files."""
    random, text = text_by(data, TOKENS)
    files = {"a": file_by(random), "b": file_by(random)}
    diff = f"--- a/a\n+++ b/a\n{text}" if random.random() < 0.7 else text
    ours = carried_out("apply_patch", {"input": diff}, files) if diff.startswith(("---", "diff ")) else ""
    if isinstance(ours, str) or shutil.which("git") is None:
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        for path, content in files.items():
            (folder / path).write_bytes(content.encode())
        command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
        done = subprocess.run(command, cwd=folder, input=diff.encode(), capture_output=True, check=False)
        if done.returncode == 0:
            theirs = {path.name: path.read_bytes().decode() for path in folder.iterdir()}
            expected = {path: each for path, each in (files | ours).items() if each is not None}
            assert theirs == expected, (files, diff)


TARGETS = {"patches": patches, "edits": edits, "diffs": diffs}
