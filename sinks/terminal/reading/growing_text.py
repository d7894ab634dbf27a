"""`IncomingText`: the pieces of a growing text, safe to print; `FileTail`: its last lines, and their number.

`IncomingText` collects the pieces that arrive between two frames.
"""

from __future__ import annotations

from collections import deque

from ...wording.printable import harmless

LINES_KEPT = 400
WIDEST = 1000
"""The most characters kept of a line: more than any screen has columns."""


class FileTail:
    r"""Keeps the last lines of a growing text; cost and memory of a piece do not depend on the text before it.

    >>> tail = FileTail()
    >>> tail.feed("one\ntw")
    >>> tail.feed("o\nthree")
    >>> tail.count, tail.last(2)
    (3, ['two', 'three'])
    """

    __slots__ = ("_complete", "_lines", "_open")

    def __init__(self) -> None:
        self._complete = 0
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._open = ""  # the line that has not ended

    @property
    def count(self) -> int:
        return self._complete + bool(self._open)

    def feed(self, delta: str) -> None:
        if "\n" in delta:
            first, *lines, rest = delta.split("\n")
            self._complete += 1 + len(lines)
            self._lines.append((self._open + first)[:WIDEST])
            self._lines.extend(line[:WIDEST] for line in lines[-LINES_KEPT:])
            self._open = rest[:WIDEST]
        elif len(self._open) < WIDEST:
            self._open = (self._open + delta)[:WIDEST]

    def last(self, number: int) -> list[str]:
        """Return the last lines, at most `number` of them and at most `LINES_KEPT`."""
        lines = [*self._lines, self._open] if self._open else list(self._lines)
        return lines[-number:] if number > 0 else []


TAB = 4


class IncomingText:
    r"""Collects pieces and returns them as one text, with line ends as line feeds and tabs as blanks.

    >>> text = IncomingText()
    >>> text.feed("a\r")
    >>> text.take()
    'a'
    >>> text.feed("\nb")
    >>> text.take()
    '\nb'
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def feed(self, piece: str) -> None:
        self._pieces.append(piece)

    def take(self, *, ended: bool = False) -> str:
        """Return what has arrived since the last time; half of a line's end waits for the other half."""
        if not self._pieces:
            return ""
        text = "".join(self._pieces)
        self._pieces.clear()
        if text.endswith("\r") and not ended:
            self._pieces.append("\r")
            text = text[:-1]
        return harmless(text.replace("\r\n", "\n")).replace("\t", " " * TAB)
