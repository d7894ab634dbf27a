"""`places`: where each moment stands, and how much of each label fits."""

from __future__ import annotations

from msgspec import Struct

from .diagram import MOST_COLUMNS, Diagram, Held, Lane, Mark
from .svg import CHARACTER, columns, one_line

WIDTH = 1280
"""The most pixels of a picture with a mark for each item."""
LABELS = (16, 14, 12, 10, 8, 6, 5, 4, 3, 0)
"""The columns of a label that are tried, from the most readable to none."""
GAP = 5
_MOMENT = 10
_PADDING = 14
_DOT = 10
_GLYPH = 12
_FAR = 90
"""The most pixels that a moment may stand to the right of its time."""


class Places(Struct, frozen=True):
    """Where each moment begins, from 0, and the columns of a label; `width` is that of all moments."""

    at: tuple[float, ...]
    width: float
    label: int


def places(diagram: Diagram, *, by_time: bool) -> Places | None:
    """Return the places with the longest labels that fit; None if there are too many marks even without labels."""
    if not 0 < diagram.columns <= MOST_COLUMNS:
        return None
    for label in LABELS:
        needs = _needs(diagram, label)
        found = _by_time(diagram.times or (), needs) if by_time else _in_order(needs)
        if found[-1] <= WIDTH:
            return Places(tuple(found[:-1]), found[-1], label)
    return None


def mark_width(mark: Mark, label: int) -> float:
    if mark.shape != "item":
        return _GLYPH
    return max(columns(written(mark, label)) * CHARACTER + _PADDING, 22) if label else _DOT


def written(mark: Mark, label: int) -> str:
    """Return what is written on a mark with room for so many columns."""
    return mark.short if mark.short and columns(mark.label) > label else one_line(mark.label, label)


def held_by_column(lane: Lane) -> dict[int, list[Held]]:
    """Return what is held back at each moment."""
    found: dict[int, list[Held]] = {}
    for each in lane.held:
        found.setdefault(each.column, []).append(each)
    return found


def held_words(held: list[Held], label: int) -> str:
    """Return what is written of the texts that are held back at one moment."""
    return " ".join(_end(each.text, label) for each in held) if label else ""


def _end(text: str, label: int) -> str:
    """Return the end of a text, which is what grows."""
    short = one_line(text[-label:])
    return short if len(text) <= label else "…" + short[1:]


def _needs(diagram: Diagram, label: int) -> list[float]:
    needs = [float(_MOMENT)] * diagram.columns
    for lane in diagram.lanes:
        for column, width in _lane_needs(lane, label).items():
            needs[column] = max(needs[column], width + _MOMENT)
    return needs


def _lane_needs(lane: Lane, label: int) -> dict[int, float]:
    widths: dict[int, float] = {}
    for mark in lane.marks:
        widths[mark.column] = widths.get(mark.column, 0) + mark_width(mark, label) + GAP
    for column, held in held_by_column(lane).items():
        width = columns(held_words(held, label)) * CHARACTER + _PADDING
        widths[column] = max(widths.get(column, 0), width)
    return widths


def _in_order(needs: list[float]) -> list[float]:
    found = [0.0]
    for need in needs:
        found.append(found[-1] + need)
    return found


def _by_time(times: tuple[float, ...], needs: list[float]) -> list[float]:
    """Return places in proportion to the times, with as little room as the marks need; none if some are too far off.

    Where several moments nearly coincide, the later ones stand a little to the right of their time.
    """
    span = times[-1] - times[0]
    low, high = 0.0, (WIDTH / span if span else 1.0)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if _pushed(times, needs, middle)[-1] > WIDTH else (middle, high)
    found = _pushed(times, needs, low)
    is_true = all(at - (time - times[0]) * low <= _FAR for at, time in zip(found, times, strict=False))
    return found if is_true and (low or not span) else [float("inf")]


def _pushed(times: tuple[float, ...], needs: list[float], scale: float) -> list[float]:
    found: list[float] = []
    free = 0.0
    for time, need in zip(times, needs, strict=True):
        found.append(max((time - times[0]) * scale, free))
        free = found[-1] + need
    return [*found, free]
