"""`line_places`: where some lines stand among others, for many of them in one walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_OFTEN = 4096
"""After so many lines it is asked whether to go on."""


class Places(NamedTuple):
    """How often some lines stand among others, and where they stand last, and before that; -1 where they do not."""

    times: int
    last: int
    before: int


def go_on() -> None:
    """Never end a walk; one that may be cancelled gets a function that raises."""


def line_places(
    lines: Sequence[str], patterns: Iterable[Sequence[str]], go_on: Callable[[], None] = go_on
) -> list[Places]:
    """Return the places of each pattern, which has at least one line.

    >>> line_places(["a", "b", "a", "b", "c"], [["a", "b"], ["b", "c"]])
    [Places(times=2, last=2, before=0), Places(times=1, last=3, before=-1)]

    The steps grow with the lines of both, whatever is repeated in them: this is the algorithm of Aho and Corasick.
    """
    patterns = [*patterns]
    ways: list[dict[str, int]] = [{}]
    ends = [_added(ways, pattern) for pattern in patterns]
    shorter, in_order = _shorter(ways)
    count, last, before = [0] * len(ways), [-1] * len(ways), [-1] * len(ways)
    node = 0
    for at, line in enumerate(lines):
        if at % _OFTEN == 0:
            go_on()
        while node and line not in ways[node]:
            node = shorter[node]
        node = ways[node].get(line, 0)
        if node:
            count[node] += 1
            before[node], last[node] = last[node], at
    for node in reversed(in_order):  # what ends with other lines has these, too
        other = shorter[node]
        count[other] += count[node]
        before[other], last[other] = sorted((last[node], before[node], last[other], before[other]))[-2:]
    begun = ((end, len(pattern) - 1) for end, pattern in zip(ends, patterns, strict=True))
    return [Places(count[end], max(last[end] - more, -1), max(before[end] - more, -1)) for end, more in begun]


def _added(ways: list[dict[str, int]], pattern: Sequence[str]) -> int:
    node = 0
    for line in pattern:
        below = ways[node].get(line)
        if below is None:
            below = ways[node][line] = len(ways)
            ways.append({})
        node = below
    return node


def _shorter(ways: Sequence[dict[str, int]]) -> tuple[list[int], list[int]]:
    """Return for each node that of the longest end of its lines that begins a pattern; and the nodes by length."""
    shorter = [0] * len(ways)
    in_order = [*ways[0].values()]
    for node in in_order:  # which grows meanwhile
        for line, below in ways[node].items():
            in_order.append(below)
            other = shorter[node]
            while other and line not in ways[other]:
                other = shorter[other]
            shorter[below] = ways[other].get(line, 0)
    return shorter, in_order
