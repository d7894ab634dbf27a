"""Small sets of markers, and to whom a text certainly belongs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

from depth import is_deep

Owner = tuple[int, int] | None
"""Of a character: from where to where its marker reaches, or None in text."""
UNSURE: Owner = (-1, -1)
"""Two continuations give the character different owners."""


def owners(text: str, markers: Sequence[str]) -> list[Owner]:
    """Resolve a finished text by brute force: leftmost marker, longest of those."""
    given: list[Owner] = []
    while len(given) < len(text):
        here = len(given)
        length = max((len(each) for each in markers if text.startswith(each, here)), default=0)
        given += [(here, here + length)] * length if length else [None]
    return given


def certain_owners(markers: tuple[str, ...]) -> dict[str, list[Owner]]:
    """Return what every continuation agrees on, for every text over the markers' letters and one letter of none.

    The texts reach two characters beyond the longest marker, or one; the continuations as far as can make a difference.
    """
    alphabet = "".join(sorted(set("".join(markers)))) + "."
    longest = max(map(len, markers))
    most = longest + (2 if is_deep() else 1)
    depth = most + longest

    @cache
    def agreed(prefix: str) -> list[Owner]:
        given = owners(prefix, markers)
        if len(prefix) < depth:
            for longer in (agreed(prefix + letter) for letter in alphabet):
                given = [mine if mine == other else UNSURE for mine, other in zip(given, longer, strict=False)]
        return given

    texts = ("".join(letters) for length in range(most + 1) for letters in product(alphabet, repeat=length))
    return {text: agreed(text) for text in texts}


SMALL_SETS: tuple[tuple[str, ...], ...] = (
    *(("".join(letters),) for length in (1, 2, 3) for letters in product("ab", repeat=length)),
    ("a", "ab"),
    ("a", "abb"),
    ("ab", "ba"),
    ("aab", "ab"),
    ("aba", "b"),
    ("a", "aa", "aaa"),
    ("aba", "bab"),
    ("aabb",),
    ("abab", "ab"),
    ("ab", "bb", "baa"),
)
