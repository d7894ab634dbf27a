"""`known_names`: suggestions for an unknown name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

NEAR = 3
FEW = 12
"""The most names in one message; if there are more, the message says where to find them."""


def known_names(wrong: str, names: Iterable[str]) -> str:
    """Return the end of an error message about an unknown name: similar names, or the known ones.

    >>> known_names("hermess", ["hermes", "harmony"])
    "did you mean 'hermes'?"
    >>> known_names("yaml", ["hermes", "harmony"])
    "known are 'hermes', 'harmony'"
    """
    known = list(names)
    if near := get_close_matches(wrong.casefold(), known, NEAR):
        *first, last = map(repr, near)
        return f"did you mean {', '.join(first) + ' or ' if first else ''}{last}?"
    said = ", ".join(map(repr, known[:FEW]))
    return f"known are {said}" if len(known) <= FEW else f"known are {said} and more: penstock strategies"
