"""`V4APatch`: a patch from `*** Begin Patch` on, read while it arrives; `BareHunks`: the hunks of one alone."""

from __future__ import annotations

from ...operators.engine.state import Stateful
from .edit_blocks import END_OF_FILE, FILE, MOVE, STARTS
from .hunk import Hunk, PatchAction, excerpt
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
from .unified_diff import HEADER, HUNK


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
        self.is_over = False
        self._hunks = V4AHunks()
        self._begun = False

    def feed(self, text: str) -> list[PatchEvent]:
        return read_lines(self, self._lines.feed(text))

    def close(self) -> list[PatchEvent]:
        events = read_lines(self, self._lines.close())
        if self.is_over:
            return events
        events += () if self._begun else self._opened()
        self._hunks.end(events)
        if not self._hunks.number and not self._is_new:
            events.append(failed(self, "the patch changes nothing"))
        return [*events, FileEnds()]

    def _opened(self) -> list[PatchEvent]:
        self._begun = True
        return [FileBegins(None, "add" if self._is_new else "update")]

    def take(self, line: str, events: list[PatchEvent]) -> None:
        if STARTS.match(line):
            events.append(failed(self, f"{excerpt([line])} follows lines that are in no block"))
            return
        if not self._is_new and (HUNK.match(line) or HEADER.match(line)):
            self.is_over = True
            events.append(PatchUnclear(void=True))
            return
        events += () if self._begun else self._opened()
        bare = line.removesuffix("\n")
        if self._is_new and not bare.startswith("+"):
            events.append(failed(self, f"a line of the new file must begin with '+', got {excerpt([bare])}"))
        elif (reason := self._hunks.take(bare, events)) is not None:
            events.append(failed(self, reason))


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
        return read_lines(self, self._lines.feed(given))

    def close(self) -> list[PatchEvent]:
        lines = self._lines.close()
        last = lines.pop() if lines else ""
        events = read_lines(self, lines)
        if self.is_over:
            return events
        if not self._number or last.strip() != "*** End Patch":
            return [*events, failed(self, "the patch must begin with '*** Begin Patch' and end with '*** End Patch'")]
        if not self._kind:
            return [*events, failed(self, "the patch names no file")]
        self._end_file(events)
        return events

    def take(self, line: str, events: list[PatchEvent]) -> None:
        if self._has_path and STARTS.match(line):
            events.append(failed(self, f"{excerpt([line])} follows lines that are in no block"))
            return
        self._take(line.removesuffix("\n"), events)
        self._number += 1

    def _take(self, line: str, events: list[PatchEvent]) -> None:
        if not self._number:
            if line.strip() != "*** Begin Patch":
                events.append(failed(self, "the patch must begin with '*** Begin Patch'"))
        elif found := FILE.fullmatch(line.rstrip()):
            if self._kind:
                self._end_file(events)
            self._kind, self._path, self._target = found[1], found[2].strip(), None
            self._is_open, self._blank, self._hunks = False, 0, V4AHunks()
            if self._kind != "Update":
                self._open(events)
        elif not self._kind:
            if line.strip():
                events.append(failed(self, f"{excerpt([line])} comes before the first file"))
        elif self._kind == "Delete":
            if line.strip():
                events.append(failed(self, f"a file to delete has no lines in the patch, got {excerpt([line])}"))
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
            events.append(failed(self, reason))

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
            events.append(failed(self, f"the patch changes nothing in {self._path!r}"))
        else:
            events.append(FileEnds())


_ACTIONS: dict[str, PatchAction] = {"Add": "add", "Update": "update", "Delete": "delete"}
