"""`colour_of`: the colour of each kind of segment, which reads on white and on black, with white text on it."""

from __future__ import annotations

from collections.abc import Mapping
from zlib import crc32

_OF_KIND: Mapping[str, str] = {
    "": "#5f6b7a",
    "text": "#1f6feb",
    "reasoning": "#8957e5",
    "refusal": "#cf222e",
    "media": "#0f7b8a",
    "tool_call": "#1a7f37",
    "write_file": "#b35900",
    "edit_file": "#946800",
    "patch_file": "#a0522d",
    "run_bash": "#bf3989",
}
_OTHERS = ("#2f7d6b", "#6e64c8", "#a8475f", "#4d7a12", "#3a72a8", "#96599c")
GOOD, BAD, WARNING = "#1a7f37", "#cf222e", "#946800"


def colour_of(kind: str) -> str:
    """Return the colour of a type of segment; the types of users have one of six, always the same.

    >>> colour_of("text"), colour_of("mine") == colour_of("mine")
    ('#1f6feb', True)
    """
    return _OF_KIND.get(kind) or _OTHERS[crc32(kind.encode(errors="replace")) % len(_OTHERS)]


def known_kinds() -> tuple[str, ...]:
    """Return the kinds with colours of their own, in the order of the legend."""
    return tuple(_OF_KIND)
