"""`GrowingText`: a text that arrives in many small pieces and is needed as a whole at the end."""

from __future__ import annotations

from typing import Final

from .state import Stateful

MANY: Final = 64
"""So many pieces are joined at once: joining costs little for each, and few small strings are held."""


class GrowingText(Stateful):
    """A text held in blocks of joined pieces, so that a short piece costs the memory of its characters only.

    >>> text = GrowingText()
    >>> for piece in ("a", "b"):
    ...     text.add(piece)
    >>> text.joined()
    'ab'

    `pieces` are those that are not joined yet. Who appends to it, rather than calling `add`, calls `join` when it has
    `MANY` pieces; the list stays the same object until `load`.
    """

    STATE = ()
    PIECES = ("_blocks",)
    __slots__ = (*PIECES, "pieces")

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self.pieces: list[str] = []

    def add(self, piece: str) -> None:
        pieces = self.pieces
        pieces.append(piece)
        if len(pieces) >= MANY:
            self.join()

    def join(self) -> None:
        """Join the last pieces to a block."""
        if self.pieces:
            self._blocks.append("".join(self.pieces))
            self.pieces.clear()

    def joined(self) -> str:
        """Return the whole text, which from now on is one block."""
        self.join()
        if len(self._blocks) > 1:
            self._blocks[:] = ["".join(self._blocks)]
        return self._blocks[0] if self._blocks else ""

    def clear(self) -> None:
        self._blocks.clear()
        self.pieces.clear()

    def dump(self) -> object:
        """Return the state as plain data."""
        self.join()
        return super().dump()

    def load(self, state: object, /) -> None:
        """Go on from a dumped state."""
        super().load(state)
        self.pieces = []
