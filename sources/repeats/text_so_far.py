"""`TextSoFar`: a text as far as it came, for what comes after it and may say it again."""

from __future__ import annotations

from zlib import crc32

from msgspec import Struct

MOST_PIECES = 64
"""Pieces after which they are replaced by their length and their checksum."""


class TextSoFar(Struct):
    """A text by its length and a checksum, so that its memory does not grow; the last few pieces are kept.

    >>> text = TextSoFar()
    >>> text.add("Hel"), text.add("lo"), text.begins("Hello there"), text.begins("Hallo there"), text.begins("Hell")
    (None, None, True, False, False)
    """

    length: int = 0
    checksum: int = 0
    pieces: list[str] = []  # msgspec gives each instance its own

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        if len(self.pieces) > MOST_PIECES:
            self.put_away()

    def put_away(self) -> None:
        """Replace the pieces by their length and their checksum."""
        text = "".join(self.pieces)
        self.length += len(text)
        self.checksum = checksum_of(text, self.checksum)
        self.pieces = []

    def begins(self, text: str, at: int = 0) -> bool:
        """Return whether another text has all of this one from a position on."""
        self.put_away()
        same = text[at : at + self.length]
        return len(same) == self.length and checksum_of(same) == self.checksum


def checksum_of(text: str, before: int = 0) -> int:
    """Return the checksum of a text that goes on with another one, whose checksum is `before`."""
    return crc32(text.encode("utf-8", "surrogatepass"), before)
