"""`Withheld`: text that a stage keeps back for the moment, and why."""

from __future__ import annotations

from msgspec import Struct


class Withheld(Struct, frozen=True):
    """Text that came in and has not gone on yet.

    - `reason`: why, as a sentence.
    - `could_become`: what the text may still turn out to be, such as the markers that it may begin. It is empty if the
      stage does not say it.
    - `segment_id`: the segment to which the text belongs, if it is known.
    """

    text: str
    reason: str
    could_become: tuple[str, ...] = ()
    segment_id: str | None = None
