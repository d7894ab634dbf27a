"""`Replacement`: an old text that becomes a new one, or a text behind a line, while its call streams."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, cast

from msgspec.structs import replace

from ..edits.edit_blocks import replace_text
from ..edits.hunk import RefusedError, bare, end_of, split_lines, with_ends_of
from ..edits.live_file import Base, LiveFile, LiveHunk, Mismatch
from .file_plan import inserted


class Replacement:
    """One edit of a call that is no patch: the text to replace and the new one, in whichever order they come."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        """Its arguments that are whole, by what they are."""
        self.begun: set[str] = set()
        self.line_ends = {"old": 0, "new": 0}
        self.is_whole = False
        self.file: LiveFile | None = None
        self.place = 0
        """Its place among the hunks of the file."""

    @property
    def hunk(self) -> LiveHunk:
        return LiveHunk(1) if self.file is None else self.file.hunks[self.place]

    def change(self, **values: Any) -> None:
        if self.file is not None:
            self.file.change(self.place, **values)

    def move(self, file: LiveFile) -> None:
        """Become the last hunk of a file."""
        hunk = self.hunk
        if self.file is not None:
            del self.file.hunks[self.place]
        self.file, self.place = file, len(file.hunks)
        file.hunks.append(replace(hunk, number=self.place + 1))

    def grow(self, role: str, text: str) -> None:
        self.line_ends[role] += text.count("\n")
        count = self.line_ends[role] + (not text.endswith("\n"))
        self.change(**{"removed" if role == "old" else "added": count})


def look_for(edit: Replacement, text: str, old: str) -> None:
    """Say where the old text stands, or which of its lines is not the file's."""
    if not old:
        return
    lines, _ = with_ends_of(text, split_lines(old), ())
    at = text.find("".join(lines))
    if at >= 0:
        edit.change(line=text.count("\n", 0, at) + 1)
        return
    count = bisect_left(range(len(lines)), 1, key=lambda number: "".join(lines[: number + 1]) not in text)
    mismatch = Mismatch(None, bare(lines[count:], end_of(text))[0], None)
    if count:
        begin = text.find("".join(lines[:count]))
        line = text.count("\n", 0, begin) + count
        start = begin + len("".join(lines[:count]))
        found = text[start:].split("\n", 1)[0].removesuffix("\r") if start < len(text) else None
        mismatch = Mismatch(line + 1, mismatch.expected, found)
    edit.change(mismatch=mismatch, fault=str(mismatch))


def text_after(edit: Replacement, base: Base, *, is_insertion: bool) -> str:
    """Return the text of a file after an edit; raises `RefusedError`."""
    if isinstance(base, RefusedError):
        raise base
    values = edit.values
    old, new, line = values.get("old"), values.get("new", ""), values.get("line")
    if not isinstance(new, str) or not (type(line) is int if is_insertion else isinstance(old, str)):
        message = "an argument of the edit is missing, or of the wrong type"
        raise RefusedError(message)
    if old == "" and not base:
        edit.change(line=1)
        return new
    if base is None:
        message = "the file does not exist"
        raise RefusedError(message)
    if is_insertion:
        after = inserted(base, cast("int", line), new)
        edit.change(line=cast("int", line) + 1, added=len(split_lines(new)), is_whole=True)
        return after
    old = str(old)
    count = values.get("count")
    if edit.hunk.line is None and edit.hunk.fault is None:
        look_for(edit, base, old)
    after = replace_text(base, old, new, every=values.get("every") is True, count=count if type(count) is int else None)
    times = base.count("".join(with_ends_of(base, split_lines(old), ())[0]))
    edit.change(added=edit.hunk.added * times, removed=edit.hunk.removed * times)
    return after
