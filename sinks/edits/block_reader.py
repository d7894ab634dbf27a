"""`Blocks`: blocks of SEARCH and REPLACE, read while they arrive."""

from __future__ import annotations

from ...operators.engine.state import Stateful
from .edit_blocks import BLOCK_END, BLOCK_MIDDLE, BLOCK_START, HINT, RULE, block_of, unescaped
from .hunk import excerpt
from .patch_events import (
    ArrivingLines,
    BlockEnds,
    FileBegins,
    FileEnds,
    HunkBegins,
    HunkLine,
    PatchEvent,
    failed,
    read_lines,
)


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
        return read_lines(self, self._lines.feed(text))

    def close(self) -> list[PatchEvent]:
        events = read_lines(self, self._lines.close())
        if self.is_over:
            return events
        if self._old is not None or not self._begun:
            return [*events, failed(self, "a block has no end" if self._old is not None else _NO_BLOCK)]
        return [*events, FileEnds()]

    def take(self, line: str, events: list[PatchEvent]) -> None:
        said = line.strip()
        if self._old is None:
            if BLOCK_START.fullmatch(said):
                events += () if self._begun else (FileBegins(None),)
                events.append(HunkBegins())
                self._begun, self._hints, self._old = True, 0, []
            elif said and not said.startswith("```"):
                events.append(failed(self, f"{excerpt([line])} is outside of the blocks"))
        elif self._new is None and BLOCK_MIDDLE.fullmatch(said):
            self._new = []
        elif self._new is not None and BLOCK_END.fullmatch(said):
            old, new, place = block_of(self._old, self._new)
            events.append(BlockEnds(tuple(old), tuple(new), place))
            self._old = self._new = None
        elif BLOCK_START.fullmatch(said) or (self._new is None and BLOCK_END.fullmatch(said)):
            events.append(failed(self, f"a block is cut off before {excerpt([line])}"))
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
