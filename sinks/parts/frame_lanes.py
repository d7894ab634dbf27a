"""Lanes of frames: those of further text in one segment, which have nothing new but that text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from ...events.json_form import json_text, template
from ...events.segment_event import SegmentContent

FrameLane: TypeAlias = Callable[[SegmentContent], Sequence[bytes]]
"""Returns the frames of a further CONTENT of a segment, as long as no other event comes but such CONTENTs."""
TakeText: TypeAlias = Callable[[SegmentContent], str]
"""Takes the text of a CONTENT that its frame has."""


def frame_lane(
    take: TakeText, frames: Iterable[dict[str, Any]], pieces_of: Callable[[str], Iterable[str]] | None = None
) -> FrameLane | None:
    """Return the lane whose one frame is like this one, with `STAND_IN` for its text; None if there is none, or more.

    `pieces_of`: what cuts a text that may be too long for one frame.
    """
    found = [*frames]
    if len(found) != 1:
        return None
    before, behind = template(found[0])

    def lane(event: SegmentContent) -> Sequence[bytes]:
        text = take(event)
        if pieces_of is not None:
            return [b"%b%b%b" % (before, json_text(piece), behind) for piece in pieces_of(text)]
        return (b"%b%b%b" % (before, json_text(text), behind),) if text else ()

    return lane


def both(one: FrameLane | None, other: FrameLane | None) -> FrameLane | None:
    """Return the lane that has the frames of two; None if one is missing."""
    if one is None or other is None:
        return None
    return lambda event: (*one(event), *other(event))
