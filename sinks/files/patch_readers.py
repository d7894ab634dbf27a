"""Patches that are read while they arrive: `read_patch` returns the reader of a form, once the text shows which it is.

    text     *** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch
    events                    FileBegins(a)       HunkBegins  HunkLine(-) HunkLine(+) HunkEnds

Each reader takes a text in pieces, and its events do not depend on how it is cut: `V4APatch`, `UnifiedDiff`, `Blocks`
and `BareHunks`. A line is looked at once, when it has ended. What comes is certain: only a text whose lines have all
ended as those of Windows do is held until a line ends otherwise, or the text does, for that changes what all lines are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...operators.engine.state import Stateful
from .edit_blocks import (
    BLOCK_END,
    BLOCK_MIDDLE,
    BLOCK_START,
    END_OF_FILE,
    FILE,
    HINT,
    MOVE,
    RULE,
    STARTS,
    block_of,
    unescaped,
)
from .hunk import FilePatch, Hunk, PatchAction, excerpt, split_lines
from .path_rules import RefusedError
from .unified_diff import HEADER, HUNK, git_header, hunk_of, patch_of, unquoted, without_prefixes
from .unified_diff import NOTHING as NO_FILE
from .unified_diff import STARTS as GIT_STARTS


class FileBegins(NamedTuple):
    """The patch goes on with a file; without a `path` it is that of the call."""

    path: str | None
    action: PatchAction = "update"
    target: str | None = None
    of_original: bool = False


class HunkBegins(NamedTuple):
    """Lines of a change follow; `line`: the one of the file, from 0, where they should stand, if the patch says so."""

    line: int | None = None


class HunkLine(NamedTuple):
    """A line of a hunk with its mark: ' ', '-' or '+'; in a block, '-' for all lines to search for."""

    mark: str
    text: str


class HunkEnds(NamedTuple):
    """A hunk is whole."""

    hunk: Hunk


class BlockEnds(NamedTuple):
    """A block of SEARCH and REPLACE is whole; `line` is the one that it names."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int | None


class FileEnds(NamedTuple):
    """All of a file has come."""


class PatchFails(NamedTuple):
    """The patch cannot be applied, whatever follows."""

    reason: str


class PatchUnclear(NamedTuple):
    """What follows is not understood before the text has ended; `void`: what was told of this patch does not hold."""

    void: bool = False


PatchEvent: TypeAlias = FileBegins | HunkBegins | HunkLine | HunkEnds | BlockEnds | FileEnds | PatchFails | PatchUnclear


class ArrivingLines(Stateful):
    r"""The lines of a text with their ends, as `with_lf` leaves them.

    >>> lines = ArrivingLines()
    >>> lines.feed("a\r\nb"), lines.feed("\nc"), lines.close()
    ([], ['a\r\n', 'b\n'], ['c'])
    """

    _held: list[str]
    _is_mixed: bool
    PIECES = ("_open",)

    def __init__(self) -> None:
        self._held = []
        """The lines so far, while all of them end as those of Windows do."""
        self._is_mixed = False
        self._open: list[str] = []

    def feed(self, text: str) -> list[str]:
        """Return the lines that are certain now."""
        if "\n" not in text:
            if text:
                self._open.append(text)
            return []
        first, *more, rest = text.split("\n")
        lines = [f"{line}\n" for line in ("".join((*self._open, first)), *more)]
        self._open = [rest] if rest else []
        if not self._is_mixed:
            self._held += lines
            if all(line.endswith("\r\n") for line in lines):
                return []
            self._is_mixed = True
            lines, self._held = self._held, []
        return lines

    @property
    def begun(self) -> str:
        """The first piece of the line that has not ended, as it came; empty without one."""
        return self._open[0][:1] if self._open else ""

    def close(self) -> list[str]:
        """Return the lines that were not certain before the end of the text."""
        rest = "".join(self._open)
        lines = [f"{line[:-2]}\n" for line in self._held]
        self._held, self._open = [], []
        return [*lines, rest] if rest else lines


class Blocks(Stateful):
    """Reads blocks of SEARCH and REPLACE."""

    _lines: ArrivingLines
    _old: list[str] | None
    _new: list[str] | None
    _hints: int
    _begun: bool
    is_over: bool

    def __init__(self) -> None:
        self._lines = ArrivingLines()
        self._old = self._new = None
        """The lines of the open block; None where its part has not begun."""
        self._hints = 0
        """The lines so far that name a place; -1 once another has come."""
        self._begun = False
        self.is_over = False

    def feed(self, text: str) -> list[PatchEvent]:
        return self._taken(self._lines.feed(text))

    def close(self) -> list[PatchEvent]:
        events = self._taken(self._lines.close())
        if self.is_over:
            return events
        if self._old is not None or not self._begun:
            return [*events, _failed(self, "a block has no end" if self._old is not None else _NO_BLOCK)]
        return [*events, FileEnds()]

    def _taken(self, lines: Iterable[str]) -> list[PatchEvent]:
        events: list[PatchEvent] = []
        for line in lines:
            if self.is_over:
                break
            self._take(line, events)
        return events

    def _take(self, line: str, events: list[PatchEvent]) -> None:
        said = line.strip()
        if self._old is None:
            if BLOCK_START.fullmatch(said):
                events += () if self._begun else (FileBegins(None),)
                events.append(HunkBegins())
                self._begun, self._hints, self._old = True, 0, []
            elif said and not said.startswith("```"):
                events.append(_failed(self, f"{excerpt([line])} is outside of the blocks"))
        elif self._new is None and BLOCK_MIDDLE.fullmatch(said):
            self._new = []
        elif self._new is not None and BLOCK_END.fullmatch(said):
            old, new, place = block_of(self._old, self._new)
            events.append(BlockEnds(tuple(old), tuple(new), place))
            self._old = self._new = None
        elif BLOCK_START.fullmatch(said) or (self._new is None and BLOCK_END.fullmatch(said)):
            events.append(_failed(self, f"a block is cut off before {excerpt([line])}"))
        elif self._new is not None:
            self._new.append(unescaped(line))
            events.append(HunkLine("+", unescaped(line)))
        else:
            self._old.append(unescaped(line))
            self._take_old(unescaped(line), events)

    def _take_old(self, line: str, events: list[PatchEvent]) -> None:
        said = line.strip()
        if self._hints >= 0 and HINT.fullmatch(said):
            self._hints += 1
        elif self._hints > 0 and RULE.fullmatch(said):
            self._hints = -1
        else:
            self._hints = -1
            events.append(HunkLine("-", line))


_NO_BLOCK = "found no block of SEARCH and REPLACE"


class BareHunks(Stateful):
    """Reads the hunks of one file as they stand in a V4A patch, without its first and its last line.

    `is_new`: whether each line is one of a new file. A line of a unified diff makes it one: then nothing holds.
    """

    _lines: ArrivingLines
    _hunks: V4AHunks
    _begun: bool
    is_over: bool

    def __init__(self, *, is_new: bool) -> None:
        self._is_new = is_new
        self._lines = ArrivingLines()
        self._hunks = V4AHunks()
        self._begun = False
        self.is_over = False

    def feed(self, text: str) -> list[PatchEvent]:
        return self._taken(self._lines.feed(text))

    def close(self) -> list[PatchEvent]:
        events = self._taken(self._lines.close())
        if self.is_over:
            return events
        events += () if self._begun else self._opened()
        self._hunks.end(events)
        if not self._hunks.number and not self._is_new:
            events.append(_failed(self, "the patch changes nothing"))
        return [*events, FileEnds()]

    def _opened(self) -> list[PatchEvent]:
        self._begun = True
        return [FileBegins(None, "add" if self._is_new else "update")]

    def _taken(self, lines: Iterable[str]) -> list[PatchEvent]:
        events: list[PatchEvent] = []
        for line in lines:
            if self.is_over:
                break
            if STARTS.match(line):
                events.append(_failed(self, f"{excerpt([line])} follows lines that are in no block"))
                break
            if not self._is_new and (HUNK.match(line) or HEADER.match(line)):
                self.is_over = True
                events.append(PatchUnclear(void=True))
                break
            events += () if self._begun else self._opened()
            bare = line.removesuffix("\n")
            if self._is_new and not bare.startswith("+"):
                events.append(_failed(self, f"a line of the new file must begin with '+', got {excerpt([bare])}"))
            elif (reason := self._hunks.take(bare, events)) is not None:
                events.append(_failed(self, reason))
        return events


class V4AHunks(Stateful):
    """The hunks of one file in a V4A patch, line by line."""

    _anchors: list[str]
    _body: list[str]
    number: int

    def __init__(self) -> None:
        self._anchors = []
        self._body = []
        self.number = 0
        """The hunks that have ended."""

    def take(self, line: str, events: list[PatchEvent]) -> str | None:
        """Take a line without its end; return what is wrong with it."""
        if line.startswith("@@"):
            if self._body:
                self.end(events)
            anchor = line[2:].strip().removesuffix("@@").strip()
            self._anchors += [anchor] if anchor else []
        elif line.rstrip() == END_OF_FILE and self._body:
            self.end(events, is_end=True)
        elif line and line[0] not in " +-":
            return f"a line of the patch must begin with ' ', '+', '-' or '@@', got {excerpt([line])}"
        else:
            events += () if self._body else (HunkBegins(),)
            self._body.append(line)
            events.append(HunkLine(line[:1] or " ", f"{line[1:]}\n"))
        return None

    def end(self, events: list[PatchEvent], *, is_end: bool = False) -> None:
        """End the open hunk, if there is one."""
        if self._body:
            lines = tuple((line[:1] or " ", f"{line[1:]}\n") for line in self._body)
            hunk = Hunk(lines=lines, anchors=tuple(self._anchors), is_end=is_end, keeps_end=False)
            events.append(HunkEnds(hunk))
            self.number += 1
            self._anchors, self._body = [], []


_BLANKS = "\r\n \t"


class V4APatch(Stateful):
    """Reads a patch from `*** Begin Patch` to `*** End Patch`."""

    _lines: ArrivingLines
    _hunks: V4AHunks
    _kind: str
    _path: str
    _is_begun: bool
    _is_open: bool
    _target: str | None
    _blank: int
    _number: int
    is_over: bool
    PIECES = ("_blanks",)

    def __init__(self, *, has_path: bool) -> None:
        self._has_path = has_path
        self._lines = ArrivingLines()
        self._hunks = V4AHunks()
        self._kind = self._path = ""
        """What is done with the file, and its name; empty before the first."""
        self._is_begun = False
        self._is_open = False
        """Whether it has been told of the file, which waits for the line that may move it."""
        self._target = None
        self._blank = 0
        """The empty lines that may stand between two files."""
        self._number = 0
        """The lines so far."""
        self.is_over = False
        self._blanks: list[str] = []
        """Blanks and line ends that may be those behind the patch."""

    def feed(self, text: str) -> list[PatchEvent]:
        if not text.strip(_BLANKS):
            self._blanks += [text] if text and self._is_begun else []
            return []
        if not self._is_begun:
            text, self._is_begun = text.lstrip(_BLANKS), True
        body = text.rstrip(_BLANKS)
        given = "".join((*self._blanks, body))
        self._blanks = [text[len(body) :]] if len(body) < len(text) else []
        return self._taken(self._lines.feed(given))

    def close(self) -> list[PatchEvent]:
        lines = self._lines.close()
        last = lines.pop() if lines else ""
        events = self._taken(lines)
        if self.is_over:
            return events
        if not self._number or last.strip() != "*** End Patch":
            return [*events, _failed(self, "the patch must begin with '*** Begin Patch' and end with '*** End Patch'")]
        if not self._kind:
            return [*events, _failed(self, "the patch names no file")]
        self._end_file(events)
        return events

    def _taken(self, lines: Iterable[str]) -> list[PatchEvent]:
        events: list[PatchEvent] = []
        for line in lines:
            if self.is_over:
                break
            if self._has_path and STARTS.match(line):
                events.append(_failed(self, f"{excerpt([line])} follows lines that are in no block"))
                break
            self._take(line.removesuffix("\n"), events)
            self._number += 1
        return events

    def _take(self, line: str, events: list[PatchEvent]) -> None:
        if not self._number:
            if line.strip() != "*** Begin Patch":
                events.append(_failed(self, "the patch must begin with '*** Begin Patch'"))
        elif found := FILE.fullmatch(line.rstrip()):
            if self._kind:
                self._end_file(events)
            self._kind, self._path, self._target = found[1], found[2].strip(), None
            self._is_open, self._blank, self._hunks = False, 0, V4AHunks()
            if self._kind != "Update":
                self._open(events)
        elif not self._kind:
            if line.strip():
                events.append(_failed(self, f"{excerpt([line])} comes before the first file"))
        elif self._kind == "Delete":
            if line.strip():
                events.append(_failed(self, f"a file to delete has no lines in the patch, got {excerpt([line])}"))
        elif self._kind == "Update" and not self._is_open and (move := MOVE.fullmatch(line.rstrip())):
            self._target = move[1].strip()
            self._open(events)
        elif not line:
            self._open(events)
            self._blank += 1
        else:
            self._open(events)
            for each in (*[""] * self._blank, line):
                self._take_change(each, events)
            self._blank = 0

    def _take_change(self, line: str, events: list[PatchEvent]) -> None:
        if self.is_over:
            return
        reason = None
        if self._kind == "Add" and not line.startswith("+"):
            reason = f"a line of the new file {self._path!r} must begin with '+', got {excerpt([line])}"
        else:
            reason = self._hunks.take(line, events)
        if reason is not None:
            events.append(_failed(self, reason))

    def _open(self, events: list[PatchEvent]) -> None:
        if not self._is_open:
            self._is_open = True
            action: PatchAction = "move" if self._target is not None else _ACTIONS[self._kind]
            events.append(FileBegins(self._path, action, self._target))

    def _end_file(self, events: list[PatchEvent]) -> None:
        if self.is_over:
            return
        self._open(events)
        self._hunks.end(events)
        if self._kind == "Update" and not self._hunks.number and self._target is None:
            events.append(_failed(self, f"the patch changes nothing in {self._path!r}"))
        else:
            events.append(FileEnds())


_ACTIONS: dict[str, PatchAction] = {"Add": "add", "Update": "update", "Delete": "delete"}


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
        events = self._taken(self._lines.feed(text))
        if self._is_whole and self._lines.begun not in ("", "\\") and not self.is_over:
            self._end_hunk(events)
        return events

    def close(self) -> list[PatchEvent]:
        lines = [] if self._ends_line else self._lines.feed("\n")
        events = self._taken([*lines, *self._lines.close()])
        if self.is_over:
            return events
        if self._phase == "hunk":
            return [*events, _failed(self, "the last hunk is shorter than the counts behind '@@' say")]
        if self._phase in ("top", "source"):
            return [*events, self._lost()]
        self._end_file(events)
        return events

    def _taken(self, lines: Iterable[str]) -> list[PatchEvent]:
        events: list[PatchEvent] = []
        for line in lines:
            if self.is_over:
                break
            self._number += 1
            if self._is_whole and not line.startswith("\\"):
                self._end_hunk(events)
            if self._has_path and STARTS.match(line) and not self.is_over:
                events.append(_failed(self, f"{excerpt([line])} follows lines that are in no block"))
            if self.is_over:
                break
            if self._phase == "hunk":
                self._take_body(line, events)
            else:
                self._take_outside(line, events)
        return events

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
                events.append(_failed(self, "the diff names no file; begin with its lines '---' and '+++'"))
                return
            self._begin_file(FilePatch(path="", action="update"), events)
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
            events.append(_failed(self, f"line {self._number} of the diff, {excerpt([line])}, is no line of a hunk"))
        elif mark == "\\":
            if not self._body:
                events.append(_failed(self, f"line {self._number} of the diff, {excerpt([line])}, is of no line"))
                return
            self._body[-1] = self._body[-1][0], self._body[-1][1].removesuffix("\n")
        else:
            text = line if line in ("\n", "\r\n") else line[1:]
            old, new = self._left
            self._left = old - (mark != "+"), new - (mark != "-")
            if min(self._left) < 0:
                events.append(_failed(self, "a hunk is longer than the counts behind '@@' say"))
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
            events.append(_failed(self, str(error)))
            return
        wrong = {"add": hunk.old, "delete": hunk.new}.get(self._action, ())
        if "".join(wrong):
            events.append(_failed(self, "the diff has lines of a file that is not there"))
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
            events.append(_failed(self, str(error)))
            return
        if self._names not in (("", ""), names):
            events.append(_failed(self, f"the header is of {self._names!r}, its lines '---' and '+++' of {names!r}"))
        self._names, self._phase = ("", ""), "file"

    def _end_git(self, events: list[PatchEvent]) -> None:
        try:
            patch = git_header(self._header, self._number - len(self._header))
        except RefusedError as error:
            events.append(_failed(self, str(error)))
            return
        old = NO_FILE if patch.action == "add" else patch.path
        self._names = old, NO_FILE if patch.action == "delete" else patch.target or patch.path
        self._begin_file(patch, events)

    def _begin_file(self, patch: FilePatch, events: list[PatchEvent]) -> None:
        self._files += 1
        if self._has_path and (self._files > 1 or patch.target is not None):
            events.append(_failed(self, "the call is for one file, but its patch names other files, too"))
            return
        self._action, self._hunks, self._phase = patch.action, 0, "file"
        self._is_update = patch.action == "update" and patch.is_executable is None
        events.append(FileBegins(patch.path or None, patch.action, patch.target, patch.of_original))

    def _end_file(self, events: list[PatchEvent]) -> None:
        if self._phase == "git":
            self._end_git(events)
            self._names = ("", "")
        self._end_hunk(events)
        if self.is_over or not self._action:
            return
        if self._is_update and not self._hunks:
            events.append(_failed(self, "the diff changes nothing in a file that it names"))
            return
        self._action = ""
        events.append(FileEnds())

    def _lost(self) -> PatchEvent:
        self.is_over = True
        return PatchUnclear()


HUNK_COUNTS = re.compile(r"@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")


def _failed(reader: Any, reason: str) -> PatchFails:
    reader.is_over = True
    return PatchFails(reason)


class UnknownForm(Stateful):
    """Reads nothing: only the whole text can tell what it is."""

    is_over: bool

    def __init__(self) -> None:
        self.is_over = False

    def feed(self, text: str) -> list[PatchEvent]:  # noqa: ARG002 - as any reader
        return []

    def close(self) -> list[PatchEvent]:
        self.is_over = True
        return [PatchUnclear()]


PatchReader: TypeAlias = Blocks | BareHunks | V4APatch | UnifiedDiff | UnknownForm
_BEGIN = "*** Begin Patch"
_LONGEST_TOP = 4096
"""The most characters within which a text must show its form."""


def read_patch(text: str, *, has_path: bool, is_new: bool) -> PatchReader | None:
    """Return the reader for the form in which a text begins; None if more of it must come.

    >>> type(read_patch("--- a/x\\n", has_path=False, is_new=False)).__name__
    'UnifiedDiff'

    - `has_path`: whether the call names the file; `is_new`: whether it says that the file is new.
    """
    top = text[:_LONGEST_TOP]
    begun = top.lstrip()
    if begun.startswith(_BEGIN):
        return V4APatch(has_path=has_path)
    *lines, _ = top.split("\n")
    first = next((line for line in lines if line.strip() and not line.startswith("```")), None)
    if _BEGIN.startswith(begun) or first is None:
        return UnknownForm() if len(text) >= _LONGEST_TOP else None
    if has_path and STARTS.match(first):
        return Blocks()
    if has_path and is_new:
        return BareHunks(is_new=True)
    if HUNK.match(first) or HEADER.match(first):
        return UnifiedDiff(has_path=has_path)
    return BareHunks(is_new=False) if has_path and lines[0][:1] in "@ +-" else UnknownForm()


def events_of(patches: Sequence[FilePatch]) -> list[PatchEvent]:
    """Return the events of patches that were read whole."""
    events: list[PatchEvent] = []
    for patch in patches:
        events.append(FileBegins(patch.path, patch.action, patch.target, patch.of_original))
        added = tuple(("+", line) for line in split_lines(patch.content))
        hunks = patch.hunks or ((Hunk(lines=added, line=0),) if added else ())
        for hunk in hunks:
            events += (HunkBegins(hunk.line), *(HunkLine(*line) for line in hunk.lines), HunkEnds(hunk))
        events.append(FileEnds())
    return events
