"""`LiveFile`: what a patch does with one file, while it arrives: its hunks, their places, and the text so far."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .edit_blocks import BlockFinder
from .file_diff import changed_lines
from .hunk import (
    Hunk,
    HunkFinder,
    LineChange,
    LinePlaces,
    PatchAction,
    RefusedError,
    changed,
    split_lines,
    with_hunks,
)
from .line_index import LineIndex
from .patch_events import BlockEnds, FileEnds, HunkBegins, HunkEnds, HunkLine, PatchEvent


class Mismatch(Struct, frozen=True):
    """A line of an edit that is not the file's.

    >>> str(Mismatch(line=3, expected="x = 1", found="x = 2")), str(Mismatch(line=None, expected="x", found=None))
    ("line 3 is 'x = 2', not 'x = 1'", "no line of the file is 'x'")
    """

    line: int | None
    """The number of the file's line, from 1; None if there is no line to compare."""
    expected: str
    found: str | None
    """What the file has there; None behind its end."""

    def __str__(self) -> str:
        if self.line is None:
            return f"no line of the file is {self.expected!r}"
        if self.found is None:
            return f"the file ends before line {self.line}, {self.expected!r}"
        return f"line {self.line} is {self.found!r}, not {self.expected!r}"


class LiveHunk(Struct, frozen=True):
    """One change of a file: its lines so far, and where it stands.

    - `is_whole`: whether all its lines have come, so that the counts are certain.
    - `line`: the first line of the file that it is about, from 1, once that is certain.
    - `fault`: why it cannot be applied, in words; `mismatch`: the line that does not match, if that is why.
    """

    number: int
    added: int = 0
    removed: int = 0
    is_whole: bool = False
    line: int | None = None
    mismatch: Mismatch | None = None
    fault: str | None = None


Base: TypeAlias = str | RefusedError | None
"""The text of a file; None if there is none, and why it cannot be read."""


class _Placing:
    """Places the hunks of one part of a patch in the text of its file, each line as it comes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._hunks = HunkFinder(text)
        self._blocks: BlockFinder | None = None
        self._index: LineIndex | None = None
        self._run: int | None = LineIndex.NONE
        """The run of the open hunk's old lines; None if it occurs nowhere."""
        self._old: list[str] = []
        """Its old lines, without their ends."""
        self._said: int | None = None
        """The line where they should stand."""
        self._is_there = False
        """Whether they stand there so far, so that no other place was looked for."""
        self._placed: list[Hunk] = []
        self._starts: list[int] = []
        self._changes: list[LineChange] = []

    def begin(self, line: int | None) -> None:
        self._old, self._run = [], LineIndex.NONE
        self._said = None if line is None else max(0, line + self._hunks.moved)
        self._is_there = line is not None

    def take(self, line: str) -> Mismatch | None:
        """Take an old line; return what does not match, when no place of the file is left for the lines."""
        if self._run is None:
            return None
        (text,) = self._hunks.wanted([line])
        lines = self._hunks.lines
        at = None if self._said is None else self._said + len(self._old)
        self._old.append(text)
        if self._is_there and at is not None and at < len(lines) and lines[at] == text:
            return None
        was_there, before = self._is_there, self._walked(self._old[:-1]) if self._is_there else self._run
        self._is_there, self._run = False, before
        self._run = self._longer(text)
        if self._run is not None:
            return None
        if before and not (was_there and at is not None):
            at = self._known().behind(before)
        return Mismatch(None, text, None) if at is None else Mismatch(at + 1, text, self._line(at))

    def _line(self, at: int) -> str | None:
        return self._hunks.lines[at] if at < len(self._hunks.lines) else None

    def hunk(self, hunk: Hunk) -> int:
        """Return the line, from 0, where a hunk begins."""
        start = self._hunks.start(hunk, self._places)
        self._placed.append(hunk)
        self._starts.append(start)
        return start

    def block(self, block: BlockEnds) -> int:
        """Return the line, from 0, where a block stands."""
        if self._blocks is None:
            self._blocks = BlockFinder(self.text)
        change = self._blocks.change(*block, self._places)
        at = bisect_right(self._changes, change.start, key=_start_of)
        pairs = pairwise((*self._changes[max(0, at - 1) : at], change, *self._changes[at : at + 1]))
        if any(before.start + len(before.old) > behind.start for before, behind in pairs):
            message = "the block changes lines that another one changes, too"
            raise RefusedError(message)
        self._changes.insert(at, change)
        return change.start

    @property
    def has_hunks(self) -> bool:
        """Whether hunks were placed, and no blocks."""
        return bool(self._placed)

    def result(self) -> str:
        """Return the text with all that is placed so far."""
        if self._placed:
            return with_hunks(self.text, self._placed, self._starts)
        return changed(self.text, split_lines(self.text), self._changes) if self._changes else self.text

    def _places(self, _number: int) -> LinePlaces:
        """Return the places of the open hunk's lines."""
        if self._is_there:
            self._is_there, self._run = False, self._walked(self._old)
        if self._run is None:
            return LinePlaces(0, -1, -1)
        return self._known().places(self._run, max(1, len(self._old)))

    def _walked(self, lines: Iterable[str]) -> int | None:
        self._run = LineIndex.NONE
        for each in lines:
            self._run = self._longer(each)
        return self._run

    def _longer(self, line: str) -> int | None:
        return None if self._run is None else self._known().longer(self._run, line)

    def _known(self) -> LineIndex:
        if self._index is None:
            self._index = LineIndex(self._hunks.lines)
        return self._index


def _start_of(change: LineChange) -> int:
    return change.start


FileLog: TypeAlias = "list[tuple[LiveFile, int]]"
"""What has become certain: a file, and the place of a hunk in it, or -1 for the file."""


class LiveFile:
    """What an edit does with one file, as far as it has come.

    - `path`: as the call has it; None while it is unknown. `action`, `target`: what is done with the file.
    - `hunks`: its changes, in their order; `fault`: why it cannot be carried out.
    - `is_checked`: whether the hunks are compared with the text of the file.
    """

    def __init__(
        self, path: str | None, action: PatchAction = "update", target: str | None = None, *, log: FileLog | None = None
    ) -> None:
        self._log: FileLog = [] if log is None else log
        self.path = path
        self.action = action
        self.target = target
        self.of_original = False
        self.hunks: list[LiveHunk] = []
        self.fault: str | None = None
        self.is_whole = False
        self.is_checked = False
        self._waiting: list[PatchEvent] = []
        """What has come of it while its text was unknown."""
        self._placing: _Placing | None = None
        self._text: str | None = None
        self._new: list[str] = []
        """The lines of a new file, and of one that is deleted."""
        self._removed: str | None = None
        """The text of a file that is deleted."""
        self._checked = 0
        """The hunks that have begun in the text."""

    @property
    def added(self) -> int:
        """The lines that are new so far."""
        return sum(hunk.added for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """The lines that are gone so far."""
        return sum(hunk.removed for hunk in self.hunks)

    @property
    def text(self) -> str | None:
        """The file with the changes so far; None while its text is unknown, and if it is deleted.

        It is put together when it is read, in a time that grows with the file.
        """
        if self.action == "delete":
            return None
        if self.action == "add":
            return "".join(self._new)
        return self._text if self._placing is None else self._placing.result()

    def take(self, event: PatchEvent) -> None:
        """Take what a patch says of this file."""
        match event:
            case HunkBegins():
                self.hunks.append(LiveHunk(len(self.hunks) + 1))
            case HunkLine(mark, text):
                last = self.hunks[-1]
                self.hunks[-1] = replace(last, added=last.added + (mark == "+"), removed=last.removed + (mark == "-"))
                if self.action == "add" and mark == "+":
                    self._new.append(text)
            case HunkEnds(hunk):
                self.change(-1, is_whole=True)
                if self.action == "add":  # the last line may have no end
                    self._new[len(self._new) - len(hunk.new) :] = hunk.new
                elif self.action == "delete":
                    self._new += hunk.old
            case BlockEnds(old, new, _):
                added, removed = line_counts(old, new)
                self.change(-1, is_whole=True, added=added, removed=removed)
            case FileEnds():
                self.is_whole = True
                self._check_removed()
            case _:
                return
        if self._placing is not None:
            self._check(event)
        elif not self.is_checked:
            self._waiting.append(event)

    def know(self, base: Base) -> None:
        """Compare with the text that the file has, what has come and what comes."""
        self.is_checked = True
        waiting, self._waiting = self._waiting, []
        if isinstance(base, RefusedError):
            self.fail(str(base))
        elif self.action == "add":
            if base is not None:
                self.fail("the patch adds this file, but it is there already")
        elif base is None:
            self.fail("the file does not exist")
        elif self.action == "delete":
            self._removed = base
            self._check_removed()
        else:
            self._text = base
            self._placing = _Placing(base)
            for event in waiting:
                self._check(event)

    def replaced(self, text: str) -> None:
        """Take the text after an edit that is no patch."""
        self.is_checked = True
        self._text = text

    def _check(self, event: PatchEvent) -> None:
        placing, at = self._placing, self._checked - 1
        if placing is None:
            return
        match event:
            case HunkBegins(line):
                placing.begin(line)
                self._checked += 1
            case HunkLine(mark, text) if mark != "+":
                if (mismatch := placing.take(text)) is not None:
                    self.change(at, mismatch=mismatch, fault=str(mismatch))
            case HunkEnds() | BlockEnds():
                try:
                    start = placing.hunk(event.hunk) if isinstance(event, HunkEnds) else placing.block(event)
                    self.change(at, line=start + 1)
                except RefusedError as error:
                    if self.hunks[at].fault is None:
                        self.change(at, fault=str(error))
            case FileEnds():
                self._placing, self._text = None, placing.result()
                if placing.has_hunks and self._text == placing.text and not any(each.fault for each in self.hunks):
                    self.fail("the patch changes nothing")
            case _:
                pass

    def _check_removed(self) -> None:
        """Compare a deleted file with the lines that a diff has of it."""
        is_due = self.is_whole and self.of_original and self.action == "delete"
        if is_due and self._removed is not None and _with_lf(self._removed) != _with_lf("".join(self._new)):
            self.fail("the lines that the patch removes are not the file's")

    def fail(self, reason: str) -> None:
        """Note why the file cannot be carried out."""
        self.fault = reason
        self._log.append((self, -1))

    def change(self, at: int, **values: Any) -> None:
        """Change what is known of a hunk."""
        self.hunks[at] = replace(self.hunks[at], **values)
        if not values.keys().isdisjoint(_CERTAIN):
            self._log.append((self, at % len(self.hunks)))


_CERTAIN = {"is_whole", "line", "fault"}


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def line_counts(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines are new, and how many are gone, where old lines become new ones.

    >>> line_counts(["a", "b", "c"], ["a", "x", "y", "c"])
    (2, 1)
    """
    changes = changed_lines([*old], [*new])
    return sum(d - c for _, _, c, d in changes), sum(b - a for a, b, _, _ in changes)
