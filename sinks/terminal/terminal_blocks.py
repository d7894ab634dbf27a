"""The blocks of the terminal view: flowing text, and lines for calls. Needs `pip install ".[terminal]"`.

Each block returns `settled` lines, which go to the scrollback, and `live` rows, which are redrawn until then.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from ..wording.event_words import ending
from ..wording.printable import harmless, in_a_line
from .terminal_region import Line
from .wrap_rows import last_cells, row_starts, rows_of

Identity: TypeAlias = tuple[str | None, str]
Kind: TypeAlias = Literal["prose", "box", "line"]

HELD_ROWS = 3
"""The rows shown of a text that is printed only after another block has ended."""
PIECE = 1000
"""The most characters of a call's raw arguments that are kept, from each end."""
BEGINNING = 100
"""The characters shown of the beginning of raw arguments that are longer."""


class Block(Protocol):
    """A part of the screen that ends at some point."""

    kind: Kind

    @property
    def ended(self) -> bool: ...
    def settled(self, width: int, rows: int) -> list[Line]: ...
    def live(self, width: int, rows: int) -> list[Line]: ...


class SegmentBlock(Protocol):
    """A block, or a part of one, that shows a segment."""

    def feed(self, delta: str) -> None: ...
    def know(self, metadata: dict[str, Any]) -> None: ...
    def end(self, status: str, reason: str | None) -> None: ...


class Flow:
    """A text or a command whose rows go to the scrollback once they are full."""

    def __init__(self, kind: Kind, style: str, first: str = "", margin: str = "") -> None:
        self.kind: Kind = kind
        self.ended = False
        self._style = Style.parse(style)
        self._prefix, self._margin = first, margin
        self._text = ""  # what is not in the scrollback yet
        self._begun = False
        self._pieces: list[str] = []
        self._ending = ""

    def feed(self, delta: str) -> None:
        self._pieces.append(delta)

    def know(self, metadata: dict[str, Any]) -> None:
        """Ignore the metadata, because nothing of it is shown."""

    def end(self, status: str, reason: str | None) -> None:
        self.ended = True
        self._ending = ending(status, reason)

    def settled(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - a text is never cut
        self._join()
        text = self._text.rstrip() if self.ended else self._text.rstrip("\n")
        if not text:
            return self._last_line()
        blanks = self._text[len(text) :]
        *whole, last = text.split("\n")
        room = max(1, width - cell_len(self._margin))
        lines = [self._line(row) for each in whole for row in rows_of(each, room)]
        starts = [*row_starts(last, room), *([len(last)] if self.ended else [])]
        if starts:
            lines += [
                self._line(last[start:end]) for start, end in zip([0, *starts[:-1]], starts, strict=True) if end > start
            ]
            last = last[starts[-1] :]
        self._begun = self._begun or bool(lines)
        self._text = "" if self.ended else last + blanks
        return [*lines, *self._last_line()]

    def live(self, width: int, rows: int) -> list[Line]:
        self._join()
        room = max(1, width - cell_len(self._margin))
        tail = self._text[-room * HELD_ROWS :].rstrip("\n")
        if not tail:
            return []
        shown = [row for each in tail.split("\n") for row in rows_of(each, room)][-min(rows, HELD_ROWS) :]
        prefix = self._prefix
        lines = [self._line(row) for row in shown]
        self._prefix = prefix
        return lines

    def _join(self) -> None:
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces.clear()
            if text.endswith("\r") and not self.ended:  # the first half of a line's end, maybe
                self._pieces.append("\r")
                text = text[:-1]
            self._text += harmless(text.replace("\r\n", "\n")).replace("\t", "    ")
        if not self._begun:
            self._text = self._text.lstrip("\n")

    def _line(self, row: str) -> Line:
        prefix, self._prefix = self._prefix, self._margin
        return [Segment(prefix + row.rstrip(), self._style)]

    def _last_line(self) -> list[Line]:
        if not (self.ended and self._ending):
            return []
        return [[Segment(f"{self._margin}… {self._ending}", Style.parse("yellow"))]]


class OneLine:
    """A line that never changes: a call that may be run, a failure, a notice, an error."""

    kind: Kind = "line"
    ended = True

    def __init__(self, text: str, style: str) -> None:
        self._text, self._style = text, Style.parse(style)

    def settled(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - it has as many as it needs
        first, *others = rows_of(self._text, max(1, width - 2))
        return [
            [Segment(first.rstrip(), self._style)],
            *([Segment("  " + row.rstrip(), self._style)] for row in others),
        ]

    def live(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - one row
        text = self._text if cell_len(self._text) <= width else set_cell_size(self._text, width - 1).rstrip() + "…"
        return [[Segment(text, self._style)]]


class Call:
    """A call with the end of its raw arguments as they arrive; a medium with its URL."""

    kind: Kind = "line"

    def __init__(self, identity: Identity, name: str, note: str = "") -> None:
        self.identity = identity
        self.verdict: OneLine | None = None
        self.waits_for_verdict = False
        self._name, self._note = harmless(name), note
        self._head = self._tail = ""
        self._length = 0
        self._over = False
        self._ending = ""

    @property
    def ended(self) -> bool:
        return self._over and not self.waits_for_verdict

    def feed(self, delta: str) -> None:
        if self._length < PIECE:
            self._head = (self._head + delta)[:PIECE]
        self._tail = (self._tail + delta[-PIECE:])[-PIECE:]
        self._length += len(delta)

    def know(self, metadata: dict[str, Any]) -> None:
        """Ignore the metadata, because nothing of it is shown."""

    def end(self, status: str, reason: str | None) -> None:
        self._over = True
        self._ending = ending(status, reason)

    def settled(self, width: int, rows: int) -> list[Line]:
        if not self.ended:
            return []
        if self.verdict is not None and not self._ending:
            return self.verdict.settled(width, rows)
        raw = in_a_line(self._head)
        if self._length > PIECE:
            raw = f"{raw[:BEGINNING]}… ({self._length:,} characters)"
        words = [self._name, self._note, raw, self._ending and f"[{self._ending}]"]
        lines = OneLine(" ".join(filter(None, words)), "dim").settled(width, rows)
        return lines + (self.verdict.settled(width, rows) if self.verdict else [])

    def live(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - one row
        words = " ".join(filter(None, (self._name, self._note)))
        tail = in_a_line(self._tail)
        room = width - cell_len(words) - 1
        if cell_len(tail) > room or self._length > PIECE:
            tail = "…" + last_cells(tail, room - 1)
        line = [Segment(f"{words} ", Style(bold=True)), Segment(tail, Style(dim=True))]
        return [Segment.adjust_line_length(line, width, pad=False)]
