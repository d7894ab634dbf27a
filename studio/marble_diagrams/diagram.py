"""`Diagram`: what a marble picture shows, before anything is drawn."""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

from msgspec import Struct

from .svg import one_line

Shape: TypeAlias = Literal["item", "completed", "failed", "interrupted"]
TimeUnit: TypeAlias = Literal["s", "frames"]


MOST_COLUMNS = 128
"""The most moments of a picture with a mark for each item; of a longer stream only numbers are drawn, and no words."""


class Mark(Struct, frozen=True):
    """One item of a lane, or the lane's end.

    - `column`: the moment, as a number from 0.
    - `short`: the label where there is little room; empty if the label's beginning will do.
    - `kind`: the type of the segment, which decides the colour; empty for what belongs to no segment.
    - `title`: the longer text for people who point at the mark.
    """

    column: int
    label: str = ""
    short: str = ""
    kind: str = ""
    title: str = ""
    shape: Shape = "item"


class Band(Struct, frozen=True):
    """A segment, from the mark of its START to that of its END, as their numbers; `end` is None while it is open."""

    begin: int
    end: int | None
    kind: str
    label: str


class Held(Struct, frozen=True):
    """Text that a stage keeps back after the item of this column."""

    column: int
    text: str
    title: str


class Lane(Struct, frozen=True):
    """A row of the picture; `is_part` if it is a part of a stream, such as one segment."""

    name: str
    marks: tuple[Mark, ...]
    bands: tuple[Band, ...] = ()
    held: tuple[Held, ...] = ()
    is_part: bool = False


class Diagram(Struct, frozen=True):
    """All rows of a picture.

    - `columns`: the number of moments.
    - `times`: when each moment was, from 0; None if no times are known.
    - `unit`: the unit of the times.
    - `note`: what the picture leaves out.
    """

    title: str
    lanes: tuple[Lane, ...]
    columns: int
    times: tuple[float, ...] | None = None
    unit: TimeUnit = "frames"
    note: str = ""


def kinds_in_words(lane: Lane) -> str:
    """Return how many items of each kind a lane has.

    >>> kinds_in_words(Lane("text", (Mark(0, kind="text"), Mark(1, kind="text"), Mark(2), Mark(2, shape="completed"))))
    '2 text, 1 other'
    """
    counts = Counter(each.kind or "other" for each in lane.marks if each.shape == "item")
    return ", ".join(f"{count:,} {one_line(kind, 24)}" for kind, count in counts.items())
