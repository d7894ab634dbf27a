"""`draw_marks`: a picture with a mark for each item; `places`: where each moment stands, and how long labels are."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from .diagram import (
    BAD,
    CHARACTER,
    GOOD,
    MOST_COLUMNS,
    WARNING,
    Diagram,
    Held,
    Lane,
    Mark,
    Markup,
    colour_of,
    columns,
    element,
    one_line,
)

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


LEFT, RIGHT = 14, 34
NAME, ROW, HELD, BETWEEN = 20, 30, 26, 10
"""Heights: of a lane's name, of its marks, of the text that it holds back, and of the space below it."""


def draw_marks(diagram: Diagram, places: Places, hatch: str, top: float) -> tuple[list[Markup], float]:
    """Return the lanes as SVG, and where they end; `hatch` is the fill of text that is held back."""
    drawn: list[Markup] = []
    y = top
    for lane in diagram.lanes:
        drawn.append(element("g", *_lane(lane, places, hatch, y), class_="lane"))
        y += NAME + ROW + (HELD if lane.held else 0) + BETWEEN
    guides = (_guide(LEFT + at, top + NAME, y - BETWEEN) for at in places.at)
    return [element("g", *guides, opacity="0.16"), *drawn], y


def _lane(lane: Lane, places: Places, hatch: str, y: float) -> Iterator[Markup]:
    yield lane_name(lane.name, y)
    middle = y + NAME + ROW / 2
    right = LEFT + places.width
    spots = _spots(lane, places)
    has_end = any(mark.shape != "item" for mark in lane.marks)
    until = spots[-1][1] if spots and (has_end or lane.is_part) else right
    yield _line(spots[0][1] if lane.is_part else LEFT, middle, until, middle, opacity="0.45")
    if not has_end and not lane.is_part:
        yield element("path", d=f"M{right:.0f} {middle - 4:.0f}l6 4l-6 4z", fill="currentColor", opacity="0.45")
    yield from _bands(lane, places, spots, middle)
    for mark, x in spots:
        yield _mark(mark, x, middle, places.label)
    for column, every in held_by_column(lane).items():
        begin = LEFT + places.at[column]
        until = LEFT + places.at[column + 1] if column + 1 < len(places.at) else right
        yield _held(every, begin, until, y + NAME + ROW, hatch, places.label)


def lane_name(name: str, y: float) -> Markup:
    return element("text", one_line(name, 120), x=LEFT, y=y + 14, font_weight="600", fill="currentColor")


def _spots(lane: Lane, places: Places) -> list[tuple[Mark, float]]:
    """Return where each mark begins: those of one moment stand side by side."""
    used: dict[int, float] = {}
    spots: list[tuple[Mark, float]] = []
    for mark in lane.marks:
        x = used.get(mark.column, LEFT + places.at[mark.column] + GAP)
        spots.append((mark, x))
        used[mark.column] = x + mark_width(mark, places.label) + GAP
    return spots


def _bands(lane: Lane, places: Places, spots: list[tuple[Mark, float]], middle: float) -> Iterator[Markup]:
    for band in lane.bands:
        begin = spots[band.begin][1]
        until = LEFT + places.width
        if band.end is not None:
            mark, x = spots[band.end]
            until = x + mark_width(mark, places.label)
        yield element(
            "rect",
            x=begin - 3,
            y=middle - 15,
            width=max(until - begin, 0) + 6,
            height=30,
            rx=8,
            fill=colour_of(band.kind),
            fill_opacity="0.16",
        )


def _mark(mark: Mark, x: float, middle: float, label: int) -> Markup:
    title = element("title", mark.title) if mark.title else Markup()
    if mark.shape != "item":
        return element("g", title, glyph(mark.shape, x + 5, middle))
    width = mark_width(mark, label)
    colour = colour_of(mark.kind)
    if not label:
        return element("g", title, element("circle", cx=x + width / 2, cy=middle, r=5, fill=colour))
    return element(
        "g",
        title,
        element("rect", x=x, y=middle - 11, width=width, height=22, rx=11, fill=colour),
        element("text", written(mark, label), x=x + width / 2, y=middle + 4, text_anchor="middle", fill="#fff"),
    )


def glyph(shape: str, x: float, middle: float, reach: float = 12) -> Markup:
    """Return the sign of an end: a bar for completion, a cross for an error, a broken bar for a stop by us."""
    up, down = middle - reach, middle + reach
    match shape:
        case "failed":
            return element(
                "path",
                d=f"M{x - 6:.1f} {middle - 7:.1f}l12 14m0 -14l-12 14",
                stroke=BAD,
                stroke_width=3,
                fill="none",
                class_="failed",
            )
        case "interrupted":
            bar = element("path", d=f"M{x:.1f} {up:.1f}V{down:.1f}", stroke_dasharray="4 3")
            sign = element("path", d=f"M{x:.1f} {middle - 5:.1f}l5 5l-5 5l-5 -5z", fill=WARNING)
            return element("g", bar, sign, stroke=WARNING, stroke_width="2.5", class_="interrupted")
        case _:
            return element("path", d=f"M{x:.1f} {up:.1f}V{down:.1f}", stroke=GOOD, stroke_width=3, class_="completed")


def _held(every: list[Held], begin: float, until: float, y: float, hatch: str, label: int) -> Markup:
    width = max(until - begin - 4, 4)
    box = element(
        "rect", x=begin + 2, y=y, width=width, height=20, rx=3, fill=hatch, stroke="currentColor", stroke_opacity="0.5"
    )
    written = element(
        "text", held_words(every, label), x=begin + 2 + width / 2, y=y + 14, text_anchor="middle", fill="currentColor"
    )
    title = element("title", "\n".join(each.title for each in every))
    return element("g", title, box, *([written] if label else []), class_="held")


def _guide(x: float, top: float, bottom: float) -> Markup:
    return _line(x, top, x, bottom, stroke_dasharray="2 4")


def _line(x1: float, y1: float, x2: float, y2: float, **more: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="currentColor", **more)
