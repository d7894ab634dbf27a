r"""What is certain of a patch while it arrives: `PatchEvent`; `ArrivingLines`: the lines of a text in pieces.

text     *** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch
events                    FileBegins(a)       HunkBegins  HunkLine(-) HunkLine(+) HunkEnds  FileEnds
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ...operators.engine.state import Stateful
from .hunk import FilePatch, Hunk, PatchAction, split_lines


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


class LineReader(Protocol):
    """Reads lines until nothing of them is certain any more."""

    is_over: bool

    def take(self, line: str, events: list[PatchEvent], /) -> None: ...


def read_lines(reader: LineReader, lines: Iterable[str]) -> list[PatchEvent]:
    """Return the events of the next lines."""
    events: list[PatchEvent] = []
    for line in lines:
        if reader.is_over:
            break
        reader.take(line, events)
    return events


def failed(reader: LineReader, reason: str) -> PatchFails:
    reader.is_over = True
    return PatchFails(reason)


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
