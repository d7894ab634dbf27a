"""`ShownText`: what was shown of a text, for the whole text that comes after it."""

from __future__ import annotations

from collections.abc import Iterable

from ...events.chunk_response import ChunkResponse
from ..fields.surrogates import without_halves
from .text_so_far import TextSoFar


class ShownText(TextSoFar):
    """What was shown of a text; none of it is half of a character.

    >>> shown = ShownText()
    >>> shown.add("Hel"), shown.add("lo")
    (None, None)
    >>> rest_of([shown], "Hello there"), rest_of([shown], "Hello"), rest_of([shown], "Hallo there")
    (' there', '', None)
    """

    ended_as: str = ""
    """The key under which the whole text came."""

    @property
    def is_empty(self) -> bool:
        return not (self.length or self.pieces)


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
        if not part.begins(whole, at):
            return None
        at += part.length
    return whole[at:]
