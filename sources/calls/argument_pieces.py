"""Pieces of a call's arguments, of which some may say again what came before."""

from __future__ import annotations

from zlib import crc32

from msgspec import Struct

from ...events.fragment import JsonError
from ...operators.engine.limits import Limits
from ...operators.machines.json_machine import JsonMachine

MANY = 64
"""Pieces after which they are replaced by their length and their checksum."""


class ArgumentPieces(Struct):
    """The JSON arguments of one call as they came, for servers that send them whole again, once or with each piece.

    >>> pieces, limits = ArgumentPieces(), Limits()
    >>> [pieces.new_of(piece, limits) for piece in ('{"a', '{"a": 1', '{"a": 1}', '{"a": 1}')]
    ['{"a', '": 1', '}', '']

    A piece comes again if it begins as all of the text so far, and if the two, one behind the other, cannot be JSON: in
    `{"a": ` and `{"a": 1}` the second may be a value of the first. Once that happened, a piece that does not begin so
    contradicts it.
    """

    pieces: list[str] = []  # msgspec gives each instance its own
    length: int = 0
    checksum: int = 0
    is_again: bool = False
    """Whether a piece came that said again what came before."""

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        if len(self.pieces) > MANY:
            self.put_away()

    def put_away(self) -> None:
        text = "".join(self.pieces)
        self.pieces = []
        self.length += len(text)
        self.checksum = crc32(text.encode("utf-8", "surrogatepass"), self.checksum)

    def new_of(self, piece: str, limits: Limits) -> str | None:
        """Return what a piece adds to the text so far; None for one that contradicts what was said again."""
        if (self.is_again or piece.startswith("{")) and not piece.isspace():
            self.put_away()
            before = piece[: self.length]
            is_same = self.length > 0 and len(before) == self.length and self._is_so_far(before)
            if is_same and (self.is_again or not _may_be_json(before + piece, limits)):
                self.is_again = True
                new = piece[self.length :]
                self.pieces = [new] if new else []
                return new
            if self.is_again:
                return None
        self.add(piece)
        return piece

    def _is_so_far(self, text: str) -> bool:
        return crc32(text.encode("utf-8", "surrogatepass")) == self.checksum


def _may_be_json(text: str, limits: Limits) -> bool:
    """Return whether a text is JSON, or the beginning of it."""
    items = JsonMachine(limits).feed(text)
    return not (items and isinstance(error := items[-1], JsonError) and error.reason == "malformed")
