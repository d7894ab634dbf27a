"""`unified_diff`: read a unified diff, as `diff -u` and git write it."""

from __future__ import annotations

import re
from typing import Any

from ....events.errors import how_to_install
from .codex_patch import FilePatch
from .hunk import Hunk
from .lines import excerpt, split_lines
from .refused import RefusedError
from .search_replace import with_lf

HUNK = re.compile(r"^@@ -[0-9]+(?:,[0-9]+)? \+[0-9]+(?:,[0-9]+)? @@", re.MULTILINE)
_NOTHING = "/dev/null"
_OUTSIDE = re.compile(
    r"(?:diff |index |--- |\+\+\+ |@@ -|similarity index |dissimilarity index |rename |copy |new file |deleted file "
    r"|old mode |new mode |\\ No newline |Index: |={67}|\s*$)"
)
"""Lines of a diff that are no content."""
_LINK = "120000"


def unified_diff(diff: str, path: str | None = None) -> tuple[FilePatch, ...]:
    r"""Return what a diff does with each file.

    >>> unified_diff("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n")[0].hunks
    (Hunk(old=('x = 1\n',), new=('x = 2\n',), line=0, anchors=(), is_end=False, keeps_end=True),)

    `path`: the file, for a diff that need not name it. What the counts in a hunk's header do not cover is refused, and
    not left out. Raises `RefusedError` for that, and if `unidiff`, which reads the diff, cannot.
    """
    try:
        from unidiff.errors import UnidiffParseError  # noqa: PLC0415 - an extra
        from unidiff.patch import PatchSet  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = f"unified diffs cannot be applied here, for the program needs unidiff; {how_to_install('files')}"
        raise RefusedError(message) from error
    text = with_lf(diff)
    if path is not None and not re.search(r"^--- ", text, re.MULTILINE):
        text = f"--- a/{path}\n+++ b/{path}\n{text[at.start() :] if (at := HUNK.search(text)) else text}"
    lines = split_lines(text if text.endswith("\n") else f"{text}\n")
    try:
        patches: Any = PatchSet(lines)
    except (UnidiffParseError, ValueError) as error:
        message = f"the diff cannot be read: {str(error).strip()}; check the line counts after '@@'"
        raise RefusedError(message) from error
    if not patches:
        message = "the diff names no file and has no hunk, such as '@@ -1,3 +1,4 @@'"
        raise RefusedError(message)
    _check_all_is_read(lines, patches)
    return tuple(_file(each) for each in patches)


def _check_all_is_read(lines: list[str], patches: Any) -> None:
    read = {line.diff_line_no for file in patches for hunk in file for line in hunk}
    outside = [(number, line) for number, line in enumerate(lines, 1) if number not in read]
    heads = [number for number, line in outside if line.startswith(("--- ", "+++ "))]
    for number, line in outside:
        is_content = len(heads) % 2 == 1 and number == heads[-1]
        if is_content or not _OUTSIDE.match(line):
            message = f"line {number} of the diff, {excerpt([line])}, is in no hunk; check the line counts after '@@'"
            raise RefusedError(message)


def _file(patch: Any) -> FilePatch:
    source, target = _name(patch.source_file), _name(patch.target_file)
    if patch.is_binary_file or _LINK in (patch.source_mode, patch.target_mode):
        message = f"the diff of {target!r} is not a diff of text"
        raise RefusedError(message)
    hunks = tuple(_hunk(each) for each in patch)
    if source == _NOTHING:
        return FilePatch(path=target, action="add", content="".join(line for hunk in hunks for line in hunk.new))
    if target == _NOTHING:
        return FilePatch(path=source, action="delete", removed="".join(line for hunk in hunks for line in hunk.old))
    if not hunks and source == target:
        message = f"the diff changes nothing in {source!r}"
        raise RefusedError(message)
    return FilePatch(path=source, action="update", hunks=hunks, move_to=None if source == target else target)


def _name(header: str) -> str:
    name = header.strip()
    return name[2:] if name.startswith(("a/", "b/")) else name


def _hunk(hunk: Any) -> Hunk:
    old: list[str] = []
    new: list[str] = []
    sides: tuple[list[str], ...] = ()
    for line in hunk:
        if not line.line_type:  # a blank line behind the hunk
            continue
        if line.line_type == "\\":  # the line before has no end
            for side in sides:
                side[-1] = side[-1].removesuffix("\n")
            continue
        sides = tuple(side for side, types in ((old, " -"), (new, " +")) if line.line_type in types)
        for side in sides:
            side.append(line.value)
    start = hunk.source_start - 1 if old else hunk.source_start
    return Hunk(old=tuple(old), new=tuple(new), line=start)
