"""`ShownText`: what was shown of a text, for the whole text that comes after it."""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from msgspec import Struct

from ...events.chunk_response import ChunkResponse
from .surrogates import without_halves

MOST_PIECES = 64


class ShownText(Struct):
    """What was shown of a text, by its length and a checksum; the last few pieces are kept. None has half a character.

    >>> shown = ShownText()
    >>> shown.add("Hel"), shown.add("lo")
    (None, None)
    >>> rest_of([shown], "Hello there"), rest_of([shown], "Hello"), rest_of([shown], "Hallo there")
    (' there', '', None)
    """

    length: int = 0
    checksum: int = 0
    pieces: list[str] = []  # msgspec gives each instance its own
    ended_as: str = ""
    """The key under which the whole text came."""

    @property
    def is_empty(self) -> bool:
        return not (self.length or self.pieces)

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        if len(self.pieces) > MOST_PIECES:
            self.put_away()

    def put_away(self) -> None:
        """Replace the pieces by their length and their checksum."""
        text = "".join(self.pieces)
        self.length += len(text)
        self.checksum = crc32(text.encode(), self.checksum)
        self.pieces = []


def add_shown(shown: dict[str, ShownText], chunks: Iterable[ChunkResponse]) -> None:
    """Add the texts of chunks to what was shown, by their streams."""
    for chunk in chunks:
        for stream, text in shown.items():
            if said := getattr(chunk, stream):
                text.add(said)


def rest_of(shown: Iterable[ShownText], whole: str) -> str | None:
    """Return what the whole text has behind what was shown of it, one part after another; None if it differs."""
    whole = without_halves(whole)
    at = 0
    for part in shown:
        part.put_away()
        if crc32(whole[at : at + part.length].encode()) != part.checksum:
            return None
        at += part.length
    return whole[at:]
