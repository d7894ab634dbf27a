"""`IncomingText`: the pieces of a text that arrive between two frames, safe to print."""

from __future__ import annotations

from ...wording.printable import harmless

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
