"""When a call of an answer came: its first byte, its first field, its seal, and the rate in between."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from msgspec import Struct

STEPS = 16
"""The most steps of a call's rate."""
_TO_FIRST_VALUE = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*"?', re.DOTALL)


class CallTiming(Struct, frozen=True):
    """When a call came: in seconds since the request, or as the numbers of chunks, from 1, if no times were recorded.

    `first_byte`: the first that showed the call. `first_field`: the first character of its first argument's value.
    `sealed`: its end, if it came whole. `chunks` had its `characters`. `rate`: the characters in each of some equal
    steps from the first character to the last.
    """

    first_byte: float
    first_field: float | None
    sealed: float | None
    characters: int
    chunks: int
    rate: tuple[int, ...]


class CallPieces:
    """The pieces of one call, with their times."""

    def __init__(self, begun: float) -> None:
        self.begun = begun
        self._pieces: list[str] = []
        self._times: list[float] = []

    def add(self, piece: str, now: float) -> None:
        self._pieces.append(piece)
        self._times.append(now)

    def timing(self, first_field: float | None, sealed: float | None) -> CallTiming:
        """Return when the call came.

        >>> pieces = CallPieces(1)
        >>> pieces.add('{"a":', 2)
        >>> pieces.add("1}", 4)
        >>> pieces.timing(pieces.first_value(), 5)
        CallTiming(first_byte=1, first_field=4, sealed=5, characters=7, chunks=2, rate=(5, 2))
        """
        lengths = list(map(len, self._pieces))
        return CallTiming(self.begun, first_field, sealed, sum(lengths), len(set(self._times)), self._rate(lengths))

    def first_value(self) -> float | None:
        """Return when the first value of a JSON object began; of pieces that are no object, when they began."""
        text = "".join(self._pieces)
        found = _TO_FIRST_VALUE.match(text)
        if found is None and text.lstrip()[:1] == "{":
            return None
        place = 0 if found is None else found.end()
        ends = list(accumulate(map(len, self._pieces)))
        return self._times[bisect_right(ends, place)] if place < len(text) else None

    def _rate(self, lengths: list[int]) -> tuple[int, ...]:
        steps = [0] * min(STEPS, len(set(self._times)))
        for length, at in zip(lengths, self._times, strict=True):
            share = (at - self._times[0]) / ((self._times[-1] - self._times[0]) or 1)
            steps[min(len(steps) - 1, int(share * len(steps)))] += length
        return tuple(steps)
