"""`lane_of`: a lane from the items of each moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...events.segment_event import SegmentEnd, SegmentEvent, SegmentStart
from ..engine.stage import Completed, Failed, How, Interrupted
from .drawing.diagram import Band, Held, Lane, Mark, Shape
from .drawing.svg import one_line
from .mark_of import kind_of, label_of, short_label_of, title_of

_SHAPES: dict[type[Any], Shape] = {Completed: "completed", Failed: "failed", Interrupted: "interrupted"}


def lane_of(
    name: str,
    items: Iterable[tuple[int, Any]],
    ended: tuple[int, How] | None = None,
    held: Iterable[Held] = (),
    known: dict[str, str] | None = None,
    *,
    is_part: bool = False,
    is_long: bool = False,
) -> Lane:
    """Return a lane of items, each with its moment.

    - `known`: the types of segments that other lanes have told.
    - `is_part`: whether it is a part of a stream.
    - `is_long`: whether the marks need no words, because too many are drawn.
    """
    kinds: dict[str, str] = {} if known is None else known
    marks: list[Mark] = []
    bands: list[Band] = []
    begun: dict[tuple[str | None, str], Band] = {}
    for column, item in items:
        kind = kind_of(item, kinds)
        words = ("", "", kind, "") if is_long else (label_of(item), short_label_of(item), kind, title_of(item))
        marks.append(Mark(column, *words))
        if isinstance(item, SegmentEvent):
            key = item.turn_id, item.segment_id
            if isinstance(item, SegmentStart):
                begun[key] = Band(len(marks) - 1, None, kind, band_label(item))
            elif isinstance(item, SegmentEnd) and key in begun:
                band = begun.pop(key)
                bands.append(Band(band.begin, len(marks) - 1, band.kind, band.label))
    if ended is not None:
        marks.append(end_mark(*ended))
    return Lane(name, tuple(marks), (*bands, *begun.values()), tuple(held), is_part)


def band_label(start: SegmentStart) -> str:
    """Return the type of a segment, and its path or its tool."""
    more = start.metadata.get("path") or start.metadata.get("tool_name") or ""
    return one_line(" ".join(dict.fromkeys(each for each in (start.segment_type, str(more)) if each)), 40)


def end_mark(column: int, how: How) -> Mark:
    """Return the glyph of an end, with its reason."""
    match how:
        case Failed(error):
            title = f"failed: {type(error).__name__}: {error}"
        case Interrupted(reason):
            title = f"interrupted: {reason}" if reason else "interrupted"
        case _:
            title = "completed"
    return Mark(column, title=one_line(title), shape=_SHAPES[type(how)])
