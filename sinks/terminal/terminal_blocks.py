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
from .reading.growing_text import IncomingText
from .terminal_region import Line, last_cells, row_starts, rows_of

BlockKey: TypeAlias = tuple[str | None, str]
BlockKind: TypeAlias = Literal["prose", "box", "line"]

HELD_ROWS = 3
"""The rows shown of a text that is printed only after another block has ended."""
PIECE = 1000
"""The most characters of a URL that are kept, from each end."""
BEGINNING = 100
"""The characters shown of the beginning of a longer one."""


class Block(Protocol):
    """A part of the screen that ends at some point."""

    kind: BlockKind

    @property
    def ended(self) -> bool: ...
    def settled(self, width: int, rows: int) -> list[Line]: ...
    def live(self, width: int, rows: int) -> list[Line]: ...


class SegmentBlock(Protocol):
    """A block, or a part of one, that shows a segment."""

    def feed(self, delta: str) -> None: ...
    def know(self, metadata: dict[str, Any]) -> None: ...
    def end(self, status: str, reason: str | None) -> None: ...


class RowFlow:
    """A text or a command whose rows go to the scrollback once they are full."""

    def __init__(self, kind: BlockKind, style: str, first: str = "", margin: str = "", heading: str = "") -> None:
        self.kind: BlockKind = kind
        self.ended = False
        self._style = Style.parse(style)
        self._prefix, self._margin, self._heading = first, margin, heading
        self._indent = max(cell_len(first), cell_len(margin))
        self._incoming = IncomingText()
        self._text = ""  # what is not in the scrollback yet
        self._begun = False
        self._ending = ""

    def feed(self, delta: str) -> None:
        self._incoming.feed(delta)

    def know(self, metadata: dict[str, Any]) -> None:
        """Ignore the metadata, because nothing of it is shown."""

    def end(self, status: str, reason: str | None) -> None:
        self.ended = True
        self._ending = ending(status, reason)

    def settled(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - a text is never cut
        self._join()
        end = ending_line(self._ending, self._margin) if self.ended else []
        text = self._text.rstrip() if self.ended else self._text.rstrip("\n")
        if not text:
            return end
        blanks = self._text[len(text) :]
        *whole, last = text.split("\n")
        room = max(1, width - self._indent)
        lines = [self._line(row) for each in whole for row in rows_of(each, room)]
        starts = [*row_starts(last, room), *([len(last)] if self.ended else [])]
        if starts:
            lines += [
                self._line(last[start:end]) for start, end in zip([0, *starts[:-1]], starts, strict=True) if end > start
            ]
            last = last[starts[-1] :]
        lines = self._headed(lines)
        self._begun = self._begun or bool(lines)
        self._text = "" if self.ended else last + blanks
        return lines + end

    def live(self, width: int, rows: int) -> list[Line]:
        self._join()
        room = max(1, width - self._indent)
        tail = self._text[-room * HELD_ROWS :].rstrip("\n")
        if not tail:
            return []
        shown = [row for each in tail.split("\n") for row in rows_of(each, room)][-min(rows, HELD_ROWS) :]
        prefix = self._prefix
        lines = self._headed([self._line(row) for row in shown])
        self._prefix = prefix
        return lines[-max(rows, 1) :]

    def _join(self) -> None:
        self._text += self._incoming.take(ended=self.ended)
        if not self._begun:
            self._text = self._text.lstrip("\n")

    def _line(self, row: str) -> Line:
        prefix, self._prefix = self._prefix, self._margin
        return [Segment((prefix + row).rstrip(), self._style)]

    def _headed(self, lines: list[Line]) -> list[Line]:
        """Return the first lines below their heading."""
        if self._begun or not self._heading or not lines:
            return lines
        return [[Segment(self._heading, Style(dim=True, bold=True))], *lines]


class OneLine:
    """A line that never changes: a call that may be run, a failure, a notice, an error."""

    kind: BlockKind = "line"
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


class Medium:
    """A medium with the end of its URL as it arrives, and the beginning of a long one when it has ended."""

    kind: BlockKind = "line"

    def __init__(self, name: str) -> None:
        self.ended = False
        self._name = harmless(name)
        self._head = self._tail = ""
        self._length = 0
        self._ending = ""

    def feed(self, delta: str) -> None:
        if self._length < PIECE:
            self._head = (self._head + delta)[:PIECE]
        self._tail = (self._tail + delta[-PIECE:])[-PIECE:]
        self._length += len(delta)

    def know(self, metadata: dict[str, Any]) -> None:
        """Ignore the metadata, because nothing of it is shown."""

    def end(self, status: str, reason: str | None) -> None:
        self.ended = True
        self._ending = ending(status, reason)

    def settled(self, width: int, rows: int) -> list[Line]:
        if not self.ended:
            return []
        url = in_a_line(self._head)
        if self._length > PIECE:
            url = f"{url[:BEGINNING]}… ({self._length:,} characters)"
        words = [self._name, url, self._ending and f"[{self._ending}]"]
        return OneLine(" ".join(filter(None, words)), "dim").settled(width, rows)

    def live(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - one row
        tail = in_a_line(self._tail)
        room = width - cell_len(self._name) - 1
        if cell_len(tail) > room or self._length > PIECE:
            tail = "…" + last_cells(tail, room - 1)
        line = [Segment(f"{self._name} ", Style(bold=True)), Segment(tail, Style(dim=True))]
        return [Segment.adjust_line_length(line, width, pad=False)]


def ending_line(words: str, margin: str = "") -> list[Line]:
    """Return the line that says how a text ended; none if it is complete."""
    return [[Segment(f"{margin}… {words}", Style.parse("yellow"))]] if words else []
