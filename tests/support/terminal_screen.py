"""A small terminal: what a program wrote, as it would stand there. It knows the codes that the live view may use only."""

from __future__ import annotations

import io
import re
from typing import NoReturn

from rich.cells import split_graphemes

CODE = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+|(?s:.)")
BLANK = " "
CONTINUED = ""
"""The second cell of a wide character."""


class TerminalScreen(io.StringIO):
    """Rows that scroll out at the top are kept above; a narrower screen wraps its rows, as most terminals do."""

    def __init__(self, width: int = 80, height: int = 24) -> None:
        super().__init__()
        self.width, self.height = width, height
        self.written = ""
        self.frames = 0
        self.frame_open = False
        self.cursor_visible = True
        self.wraps = True
        self.styles: dict[str, str] = {}
        """The style with which a piece of text was written last."""
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0
        self._style = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        text.encode("utf-8")  # a terminal takes bytes
        self.written += text
        for match in CODE.finditer(text):
            self._take(match)
        return len(text)

    @property
    def lines(self) -> list[str]:
        """Return all rows, those that have scrolled out too, without what is blank at the end."""
        return "\n".join("".join(row).rstrip() for row in self._rows).rstrip("\n").split("\n")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def is_clean(self) -> bool:
        """Whether the next program finds it as it should be, with the cursor on a row of its own."""
        at_rest = self.cursor_visible and self.wraps and not self.frame_open
        return at_rest and self._column == 0 and not any("".join(row).strip() for row in self._rows[self._row :])

    def resize(self, width: int, height: int | None = None) -> None:
        rows: list[list[str]] = []
        for number, row in enumerate(self._rows):
            if number == self._row:
                self._row = len(rows)
            rows += [row[start : start + width] for start in range(0, max(1, len(row)), width)]
        self._rows, self.width, self.height = rows, width, height or self.height

    @property
    def _top(self) -> int:
        return max(0, len(self._rows) - self.height)

    def _take(self, match: re.Match[str]) -> None:
        piece = match[0]
        if piece == "\r":
            self._column = 0
        elif piece == "\n":
            self._column = 0
            self._down()
        elif match[3]:
            self._code(match[1], match[2], match[3])
        elif piece[0].isprintable() or piece[0] > "\x9f":
            self._write(piece)
        else:
            self._refuse(piece)

    def _code(self, private: str, number: str, letter: str) -> None:
        match (private + number, letter):
            case ("", "A"):
                assert self._row > self._top, "the cursor went above the screen"
                self._row -= 1
            case ("", "B"):
                assert self._row < len(self._rows) - 1, "the cursor went below what was written"
                self._row += 1
            case ("", "K"):
                row = self._rows[self._row]  # what is erased to the right still belongs to the line, as in tmux
                row[self._column :] = [BLANK] * (len(row) - self._column)
            case ("2", "K"):
                self._rows[self._row] = []
            case ("?25", "h" | "l"):
                self.cursor_visible = letter == "h"
            case ("?7", "h" | "l"):
                self.wraps = letter == "h"
            case ("?2026", "h" | "l"):
                self.frame_open = letter == "h"
                self.frames += self.frame_open
            case (_, "m"):
                self._style = number
            case code:
                self._refuse(code)

    def _refuse(self, code: object) -> NoReturn:
        message = f"the terminal was told {code!r}"
        raise AssertionError(message)

    def _write(self, text: str) -> None:
        self.styles[text] = self._style
        for cells in split_cells(text, joined=True):
            if self._column + len(cells) > self.width:
                if not self.wraps:  # what comes stands in the last columns, one over the other
                    self._column = max(0, self.width - len(cells))
                else:
                    self._column = 0
                    self._down()
            row = self._rows[self._row]
            row += [BLANK] * (self._column - len(row))
            row[self._column : self._column + len(cells)] = cells
            self._column += len(cells)

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append([])


def split_cells(text: str, *, joined: bool = False) -> list:
    spans, _ = split_graphemes(text)
    graphemes = [[text[start:end], *[CONTINUED] * (cells - 1)] for start, end, cells in spans]
    return graphemes if joined else [cell for cells in graphemes for cell in cells]
