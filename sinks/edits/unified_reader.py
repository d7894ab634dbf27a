"""`UnifiedDiff`: a unified diff, read while it arrives."""

from __future__ import annotations

import re

from ...operators.engine.state import Stateful
from .edit_blocks import STARTS
from .hunk import FilePatch, RefusedError, excerpt
from .patch_events import (
    ArrivingLines,
    FileBegins,
    FileEnds,
    HunkBegins,
    HunkEnds,
    HunkLine,
    PatchEvent,
    PatchUnclear,
    failed,
    read_lines,
)
from .unified_diff import NOTHING, git_header, hunk_of, patch_of, unquoted, without_prefixes
from .unified_diff import STARTS as GIT_STARTS

HUNK_COUNTS = re.compile(r"@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")


class UnifiedDiff(Stateful):
    """Reads a unified diff; of lines that git or `diff -u` do not write there, only the whole text can tell."""

    _lines: ArrivingLines
    _phase: str
    _header: list[str]
    _names: tuple[str, str]
    _action: str
    _is_update: bool
    _files: int
    _hunks: int
    _body: list[tuple[str, str]]
    _left: tuple[int, int]
    _at: int
    _is_whole: bool
    _number: int
    _ends_line: bool
    is_over: bool

    def __init__(self, *, has_path: bool) -> None:
        self._has_path = has_path
        self._lines = ArrivingLines()
        self._phase = "top"
        """Where the next line is: top, git (a header of git's), source (behind `---`), file (between hunks), hunk."""
        self._header = []
        """The lines of a header of git's, or the line `---`."""
        self._names = ("", "")
        """Those that the header of git's said; empty without one, or once they were said again."""
        self._action = ""
        """What is done with the open file; empty before the first."""
        self._is_update = False
        """Whether a file without hunks is a mistake."""
        self._files = self._hunks = 0
        self._body = []
        self._left = (0, 0)
        """The old and new lines that the open hunk still needs."""
        self._at = 0
        self._is_whole = False
        """Whether a hunk has all its lines, of which the last may still turn out to have no end."""
        self._number = 0
        self._ends_line = False
        self.is_over = False

    def feed(self, text: str) -> list[PatchEvent]:
        if text:
            self._ends_line = text.endswith("\n")
        events = read_lines(self, self._lines.feed(text))
        if self._is_whole and self._lines.begun not in ("", "\\") and not self.is_over:
            self._end_hunk(events)
        return events

    def close(self) -> list[PatchEvent]:
        lines = [] if self._ends_line else self._lines.feed("\n")
        events = read_lines(self, [*lines, *self._lines.close()])
        if self.is_over:
            return events
        if self._phase == "hunk":
            return [*events, failed(self, "the last hunk is shorter than the counts behind '@@' say")]
        if self._phase in ("top", "source"):
            return [*events, self._lost()]
        self._end_file(events)
        return events

    def take(self, line: str, events: list[PatchEvent]) -> None:
        self._number += 1
        if self._is_whole and not line.startswith("\\"):
            self._end_hunk(events)
        if self._has_path and STARTS.match(line) and not self.is_over:
            events.append(failed(self, f"{excerpt([line])} follows lines that are in no block"))
        if self.is_over:
            return
        if self._phase == "hunk":
            self._take_body(line, events)
        else:
            self._take_outside(line, events)

    def _take_outside(self, line: str, events: list[PatchEvent]) -> None:
        if self._is_whole and line.startswith("\\ No newline at end of file"):
            self._body[-1] = self._body[-1][0], self._body[-1][1].removesuffix("\n")
            self._end_hunk(events)
        elif self._phase == "source":
            self._end_source(line, events)
        elif line.startswith(GIT_STARTS):
            self._end_file(events)
            self._header, self._phase = [line], "git"
        elif line.startswith("--- "):
            is_restated = self._phase == "git"
            self._end_git(events) if is_restated else self._end_file(events)
            self._header, self._phase = [line], "source"
        elif line.startswith("@@ -"):
            self._begin_hunk(line, events)
        elif self._phase == "git":
            self._header.append(line)
        elif line != "\n" or not (self._hunks or self._phase == "top"):
            self._end_hunk(events)
            events += () if self.is_over else (self._lost(),)

    def _begin_hunk(self, line: str, events: list[PatchEvent]) -> None:
        if self._phase == "git":
            self._end_git(events)
            self._names = ("", "")
        elif self._phase == "top":
            if not self._has_path:
                events.append(failed(self, "the diff names no file; begin with its lines '---' and '+++'"))
                return
            self._begin_file(FilePatch(path="", action="update"), events, is_named=False)
        self._end_hunk(events)
        found = HUNK_COUNTS.match(line)
        if self.is_over:
            return
        if found is None:
            events.append(self._lost())
            return
        self._at = int(found[1])
        self._left = int(found[2] or 1), int(found[4] or 1)
        if self._left == (0, 0):
            events.append(self._lost())
            return
        self._body, self._phase = [], "hunk"
        events.append(HunkBegins(max(0, self._at - 1)))

    def _take_body(self, line: str, events: list[PatchEvent]) -> None:
        mark = " " if line in ("\n", "\r\n") else line[0]
        if mark not in " +-\\":
            events.append(failed(self, f"line {self._number} of the diff, {excerpt([line])}, is no line of a hunk"))
        elif mark == "\\":
            if not self._body:
                events.append(failed(self, f"line {self._number} of the diff, {excerpt([line])}, is of no line"))
                return
            self._body[-1] = self._body[-1][0], self._body[-1][1].removesuffix("\n")
        else:
            text = line if line in ("\n", "\r\n") else line[1:]
            old, new = self._left
            self._left = old - (mark != "+"), new - (mark != "-")
            if min(self._left) < 0:
                events.append(failed(self, "a hunk is longer than the counts behind '@@' say"))
                return
            self._body.append((mark, text))
            events.append(HunkLine(mark, text))
            if self._left == (0, 0):
                self._is_whole, self._phase = True, "file"

    def _end_hunk(self, events: list[PatchEvent]) -> None:
        """Tell of a hunk that has all its lines, now that it is known whether the last one has an end."""
        if not self._is_whole:
            return
        self._is_whole = False
        self._hunks += 1
        try:
            hunk = hunk_of(self._body, self._at)
        except RefusedError as error:
            events.append(failed(self, str(error)))
            return
        wrong = {"add": hunk.old, "delete": hunk.new}.get(self._action, ())
        if "".join(wrong):
            events.append(failed(self, "the diff has lines of a file that is not there"))
            return
        events.append(HunkEnds(hunk))

    def _end_source(self, line: str, events: list[PatchEvent]) -> None:
        """Take the line behind `---`."""
        if not line.startswith("+++ "):
            events.append(self._lost())
            return
        try:
            given = (unquoted(each[4:].split("\t")[0].strip()) for each in (self._header[0], line))
            names = without_prefixes(*given)
            if self._names == ("", ""):
                self._begin_file(patch_of(names), events)
        except RefusedError as error:
            events.append(failed(self, str(error)))
            return
        if self._names not in (("", ""), names):
            events.append(failed(self, f"the header is of {self._names!r}, its lines '---' and '+++' of {names!r}"))
        self._names, self._phase = ("", ""), "file"

    def _end_git(self, events: list[PatchEvent]) -> None:
        try:
            patch = git_header(self._header, self._number - len(self._header))
        except RefusedError as error:
            events.append(failed(self, str(error)))
            return
        old = NOTHING if patch.action == "add" else patch.path
        self._names = old, NOTHING if patch.action == "delete" else patch.target or patch.path
        self._begin_file(patch, events)

    def _begin_file(self, patch: FilePatch, events: list[PatchEvent], *, is_named: bool = True) -> None:
        self._files += 1
        if self._has_path and (self._files > 1 or patch.target is not None):
            events.append(failed(self, "the call is for one file, but its patch names other files, too"))
            return
        self._action, self._hunks, self._phase = patch.action, 0, "file"
        self._is_update = patch.action == "update" and patch.is_executable is None
        events.append(FileBegins(patch.path if is_named else None, patch.action, patch.target, patch.of_original))

    def _end_file(self, events: list[PatchEvent]) -> None:
        if self._phase == "git":
            self._end_git(events)
            self._names = ("", "")
        self._end_hunk(events)
        if self.is_over or not self._action:
            return
        if self._is_update and not self._hunks:
            events.append(failed(self, "the diff changes nothing in a file that it names"))
            return
        self._action = ""
        events.append(FileEnds())

    def _lost(self) -> PatchEvent:
        self.is_over = True
        return PatchUnclear()
