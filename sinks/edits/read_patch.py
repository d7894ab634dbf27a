"""`read_patch`: the reader for the form of a patch, once its text shows which it is.

Each reader takes the text in pieces, and its events do not depend on how it is cut. A line is looked at once, when it
has ended. What comes is certain: a text whose lines have all ended as those of Windows do is held until a line ends
otherwise, or the text does, since that changes what all lines are.
"""

from __future__ import annotations

from typing import TypeAlias

from ...operators.engine.state import Stateful
from .block_reader import Blocks
from .edit_blocks import STARTS
from .patch_events import PatchEvent, PatchUnclear
from .unified_diff import HEADER, HUNK
from .unified_reader import UnifiedDiff
from .v4a_reader import BareHunks, V4APatch


class UnknownForm(Stateful):
    """Reads nothing: only the whole text can tell what it is."""

    is_over: bool

    def __init__(self) -> None:
        self.is_over = False

    def feed(self, text: str) -> list[PatchEvent]:  # noqa: ARG002 - as any reader
        return []

    def close(self) -> list[PatchEvent]:
        self.is_over = True
        return [PatchUnclear()]


PatchReader: TypeAlias = Blocks | BareHunks | V4APatch | UnifiedDiff | UnknownForm
_BEGIN = "*** Begin Patch"
_LONGEST_TOP = 4096
"""The most characters within which a text must show its form."""


def read_patch(text: str, *, has_path: bool, is_new: bool) -> PatchReader | None:
    r"""Return the reader for the form in which a text begins; None if more of it must come.

    >>> type(read_patch("--- a/x\n", has_path=False, is_new=False)).__name__
    'UnifiedDiff'

    - `has_path`: whether the call names the file; `is_new`: whether it says that the file is new.
    """
    top = text[:_LONGEST_TOP]
    begun = top.lstrip()
    if begun.startswith(_BEGIN):
        return V4APatch(has_path=has_path)
    *lines, _ = top.split("\n")
    first = next((line for line in lines if line.strip() and not line.startswith("```")), None)
    if _BEGIN.startswith(begun) or first is None:
        return UnknownForm() if len(text) >= _LONGEST_TOP else None
    if has_path and STARTS.match(first):
        return Blocks()
    if has_path and is_new:
        return BareHunks(is_new=True)
    if HUNK.match(first) or HEADER.match(first):
        return UnifiedDiff(has_path=has_path)
    return BareHunks(is_new=False) if has_path and lines[0][:1] in "@ +-" else UnknownForm()
