"""What is drawn from the bytes of an input, so that who changes these a little changes a little of what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

HEAD = 4
"""The bytes that choose how a text is cut, and with what options it is read."""


class ByteRandom(Random):
    """Take what is drawn from bytes, in their order; behind their end it is the same for all."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = data
        self._at = 0

    def random(self) -> float:
        return self.getrandbits(16) / 65536

    def getrandbits(self, k: int, /) -> int:
        piece = self._data[self._at : self._at + (k + 7) // 8]
        self._at += len(piece)
        if len(piece) * 8 < k:
            return super().getrandbits(k)
        return int.from_bytes(piece, "little") & ((1 << k) - 1)


class Drawn(NamedTuple):
    """A text, and what chooses the rest."""

    random: Random
    text: str


def text_by(data: bytes, tokens: Sequence[str]) -> Drawn:
    """Draw a text: half of the bytes are characters of ASCII, the others what mutations of characters rarely find."""
    body = data[HEAD:]
    text = "".join(chr(byte) if byte < 128 else tokens[(byte - 128) % len(tokens)] for byte in body)
    return Drawn(Random(int.from_bytes(data[:HEAD], "little")), text)
