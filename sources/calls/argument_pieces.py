"""Pieces of a call's arguments, of which some may say again what came before."""

from __future__ import annotations

from ...events.segment_event import JsonError
from ...operators.engine.limits import Limits
from ...operators.machines.json_machine import JsonMachine
from ..repeats.text_so_far import TextSoFar


class ArgumentPieces(TextSoFar):
    """The JSON arguments of one call as they came, for servers that send them whole again, once or with each piece.

    >>> pieces, limits = ArgumentPieces(), Limits()
    >>> [pieces.new_of(piece, limits) for piece in ('{"a', '{"a": 1', '{"a": 1}', '{"a": 1}')]
    ['{"a', '": 1', '}', '']

    A piece comes again if it begins as all of the text so far, and if the two, one behind the other, cannot be JSON: in
    `{"a": ` and `{"a": 1}` the second may be a value of the first. Once that happened, a piece that does not begin so
    contradicts it.
    """

    is_again: bool = False
    """Whether a piece came that said again what came before."""

    def new_of(self, piece: str, limits: Limits) -> str | None:
        """Return what a piece adds to the text so far; None for one that contradicts what was said again."""
        if (self.is_again or piece.startswith("{")) and not piece.isspace():
            is_same = self.begins(piece) and self.length > 0
            if is_same and (self.is_again or not _may_be_json(piece[: self.length] + piece, limits)):
                self.is_again = True
                new = piece[self.length :]
                self.pieces = [new] if new else []
                return new
            if self.is_again:
                return None
        self.add(piece)
        return piece


def _may_be_json(text: str, limits: Limits) -> bool:
    """Return whether a text is JSON, or the beginning of it."""
    items = JsonMachine(limits).feed(text)
    return not (items and isinstance(error := items[-1], JsonError) and error.reason == "malformed")
