"""`draw`: a diagram as a static SVG that stands for itself, with a mark for each item or an overview of many.

It needs no script, no font and no style from elsewhere. The overview has bars that say how many items came, bands, and
what was held back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import floor, log10, sqrt
from zlib import crc32

from msgspec import Struct

from ...events.showing import counted
from .diagram import (
    CHARACTER,
    FONT,
    FONT_SIZE,
    Band,
    Diagram,
    Lane,
    Mark,
    Markup,
    colour_of,
    columns,
    element,
    kinds_in_words,
    known_kinds,
    number,
    one_line,
)
from .draw_marks import BETWEEN, LEFT, NAME, RIGHT, draw_marks, glyph, lane_name, places

WIDTH = 1000
BINS = 200
BARS, LOW_BARS, STRIP, HELD = 40, 20, 15, 16
"""Heights: of the tallest bar, the same where there are many lanes, of a segment's strip, of the hatched bars."""
ROWS = 3
MANY = 8
LABELS = 16
_SMALL = 10


def draw_overview(
    diagram: Diagram, fractions: Sequence[float], hatch: str, top: float, bins: int = BINS
) -> tuple[list[Markup], float]:
    """Return the lanes as SVG, and where they end; `fractions` says where each moment stands, from 0 to 1."""
    drawn: list[Markup] = []
    y = top
    bars = BARS if len(diagram.lanes) <= MANY else LOW_BARS
    for lane in diagram.lanes:
        overview = _Overview(lane, fractions, bins, bars)
        drawn.append(element("g", *overview.drawn(hatch, y), class_="lane"))
        y += NAME + bars + overview.below + BETWEEN
    return drawn, y


def fractions_of(diagram: Diagram, *, by_time: bool) -> list[float]:
    """Return where each moment stands, from 0 to 1."""
    if by_time and diagram.times:
        first, last = diagram.times[0], diagram.times[-1]
        return [(time - first) / ((last - first) or 1) for time in diagram.times]
    return [column / max(diagram.columns - 1, 1) for column in range(diagram.columns)]


class _Overview:
    """One lane, with at most `bins` bars."""

    def __init__(self, lane: Lane, fractions: Sequence[float], bins: int, bars: int) -> None:
        self._lane = lane
        self._fractions = fractions
        self._bins = bins
        self._bin = WIDTH / bins
        self._height = bars
        self._strips = self._placed()
        rows = 1 + max((strip.row for strip in self._strips), default=-1)
        self.below = rows * STRIP + (HELD + 6 if lane.held else 0)
        """The height of what stands below the bars."""

    def drawn(self, hatch: str, y: float) -> Iterator[Markup]:
        lane, base = self._lane, y + NAME + self._height
        items = [mark for mark in lane.marks if mark.shape == "item"]
        yield element("title", f"{lane.name}: {counted(len(items), 'item')} ({kinds_in_words(lane)})")
        yield lane_name(lane.name, y)
        yield element("line", x1=LEFT, y1=base, x2=LEFT + WIDTH, y2=base, stroke="currentColor", opacity="0.45")
        yield from self._bars(items, base)
        for mark in lane.marks:
            if mark.shape != "item":
                title = element("title", mark.title)
                yield element("g", title, glyph(mark.shape, self._x(mark.column) + 6, base - 12))
        yield from self._bands(base + 2)
        if lane.held:
            yield self._held(hatch, base + self.below - HELD)

    def _x(self, column: int) -> float:
        return LEFT + self._fractions[column] * WIDTH

    def _place(self, column: int) -> int:
        return min(int(self._fractions[column] * self._bins), self._bins - 1)

    def _bars(self, items: list[Mark], base: float) -> Iterator[Markup]:
        bins: dict[int, dict[str, int]] = {}
        for mark in items:
            kinds = bins.setdefault(self._place(mark.column), {})
            kinds[mark.kind] = kinds.get(mark.kind, 0) + 1
        tallest = max((sum(kinds.values()) for kinds in bins.values()), default=1)
        paths: dict[str, list[str]] = {}
        for place, kinds in sorted(bins.items()):
            count = sum(kinds.values())
            y, height = base, max(self._height * sqrt(count / tallest), 3)
            for kind, its in sorted(kinds.items()):
                piece = height * its / count
                y -= piece
                paths.setdefault(kind, []).append(_rect(LEFT + place * self._bin, y, self._bin - 1, piece))
        for kind, path in paths.items():
            yield element("path", d="".join(path), fill=colour_of(kind), class_="bars")

    def _placed(self) -> list[_Strip]:
        """Return where each segment is shown: those that overlap below one another, in at most three rows."""
        ends = [float("-inf")] * ROWS
        strips: list[_Strip] = []
        for band in sorted(self._lane.bands, key=lambda band: band.begin):
            begin = self._x(self._lane.marks[band.begin].column)
            end = LEFT + WIDTH if band.end is None else max(self._x(self._lane.marks[band.end].column), begin + 1)
            row = next((row for row in range(ROWS) if ends[row] <= begin), ROWS - 1)
            if end - ends[row] < self._bin / 2:
                continue  # it would not be seen beside its neighbour
            strips.append(_Strip(band, row, max(begin, ends[row]), end))
            ends[row] = end
        return strips

    def _bands(self, y: float) -> Iterator[Markup]:
        paths: dict[str, list[str]] = {}
        labels: list[Markup] = []
        for strip in self._strips:
            top, width, label = y + strip.row * STRIP, strip.end - strip.begin, strip.band.label
            paths.setdefault(strip.band.kind, []).append(_rect(strip.begin, top, width, STRIP - 1))
            if columns(label) * CHARACTER * _SMALL < width * FONT_SIZE - 60 and len(labels) < LABELS:
                spot = {"x": strip.begin + 3, "y": top + STRIP - 4}
                labels.append(element("text", label, fill="#fff", font_size=_SMALL, **spot))
        for kind, path in paths.items():
            yield element("path", d="".join(path), fill=colour_of(kind), class_="band")
        yield from labels

    def _held(self, hatch: str, y: float) -> Markup:
        most: dict[int, int] = {}
        for held in self._lane.held:
            place = self._place(held.column)
            most[place] = max(most.get(place, 0), len(held.text))
        longest = max(most.values())
        path = "".join(
            _rect(LEFT + place * self._bin, y, self._bin, max(HELD * sqrt(length / max(longest, 1)), 3))
            for place, length in sorted(most.items())
        )
        moments = counted(len({held.column for held in self._lane.held}), "item")
        title = element("title", f"text held back after {moments}, at most {counted(longest, 'character')}")
        bars = element("path", d=path, fill=hatch, stroke="currentColor", stroke_opacity="0.5", stroke_width="0.5")
        return element("g", title, bars, class_="held")


class _Strip(Struct, frozen=True):
    band: Band
    row: int
    begin: float
    end: float


def _rect(x: float, y: float, width: float, height: float) -> str:
    return f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h-{number(width)}z"


MOST_BYTES = 480_000
TITLE, AXIS, LEGEND = 28, 30, 24
_INK = "color:#1f2328"
_DARK_INK = "color:#e6edf3"
_ENDS = {"completed": "completed", "failed": "failed", "interrupted": "stopped"}


def draw(diagram: Diagram, *, by_time: bool, inherit: bool = False) -> str:
    """Return the SVG of a diagram, at most half a megabyte.

    - `by_time`: whether distances are times; else each moment takes the room that its marks need.
    - `inherit`: whether texts have the colour of the page around them; else the picture brings its own ground.
    """
    bins = BINS
    while len(svg := _drawn(diagram, by_time, inherit, bins)) > MOST_BYTES and bins > 10:
        bins //= 2
    return svg


def describe(diagram: Diagram) -> str:
    """Return a diagram in words: how many moments, and what is in each lane."""
    lanes = "; ".join(map(_described, diagram.lanes)) or "no lanes"
    return one_line(f"{counted(diagram.columns, 'moment')}. {lanes}.", 1_500)


def _described(lane: Lane) -> str:
    items = [mark for mark in lane.marks if mark.shape == "item"]
    kinds = {mark.kind for mark in items} - {""}
    end = next((f", {mark.title}" for mark in lane.marks if mark.shape != "item"), "")
    held = f", text held back {counted(len(lane.held), 'time')}" if lane.held else ""
    several = f" ({kinds_in_words(lane)})" if kinds else ""
    return f"{one_line(lane.name, 80)}: {counted(len(items), 'item')}{several}{held}{one_line(end, 80)}"


def _drawn(diagram: Diagram, by_time: bool, inherit: bool, bins: int) -> str:  # noqa: FBT001
    title, said = one_line(diagram.title), describe(diagram)
    name = f"marbles-{crc32(f'{title}{said}{by_time}{inherit}'.encode()):08x}"
    hatch = f"url(#{name}-held)"
    found = places(diagram, by_time=by_time)
    top = TITLE if title else 6
    if found is not None:
        lanes, bottom = draw_marks(diagram, found, hatch, top)
        width, at = found.width, list(found.at)
    else:
        fractions = fractions_of(diagram, by_time=by_time)
        lanes, bottom = draw_overview(diagram, fractions, hatch, top, bins)
        width, at = float(WIDTH), [fraction * WIDTH for fraction in fractions]
    keys = list(_keys(diagram, hatch, is_overview=found is None, has_labels=found is not None and found.label > 0))
    wide = max([width + LEFT + RIGHT, LEFT + RIGHT + columns(title) * CHARACTER * 1.1, *_lane_widths(diagram)])
    legend, height = _legend(keys, diagram.note, bottom + AXIS, wide)
    wide, height = round(wide), round(height)
    ground = [] if inherit else [element("rect", width="100%", height="100%", class_="ground")]
    heading = [_text(title, LEFT, 19, font_size=14, font_weight="600")] if title else []
    return element(
        "svg",
        element("title", title or "Marble diagram", id=f"{name}-title"),
        element("desc", said, id=f"{name}-said"),
        *([] if inherit else [element("style", Markup(_style(name)))]),
        element("defs", _hatch(f"{name}-held")),
        *ground,
        *heading,
        *lanes,
        element("g", *_axis(diagram, at, width, bottom, by_time=by_time), class_="axis", opacity="0.75"),
        legend,
        xmlns="http://www.w3.org/2000/svg",
        id=name,
        role="img",
        aria_labelledby=f"{name}-title {name}-said",
        width=wide,
        height=height,
        viewBox=f"0 0 {wide} {height}",
        font_family=FONT,
        font_size=FONT_SIZE,
    )


def _style(name: str) -> str:
    dark = f"#{name}{{{_DARK_INK}}}#{name} .ground{{fill:#0d1117}}"
    return f"#{name}{{{_INK}}}#{name} .ground{{fill:#fff}}@media (prefers-color-scheme:dark){{{dark}}}"


def _hatch(name: str) -> Markup:
    line = element("path", d="M0 8L8 0", stroke="currentColor", stroke_width=1.5, opacity="0.28")
    return element("pattern", line, id=name, width=8, height=8, patternUnits="userSpaceOnUse")


def _lane_widths(diagram: Diagram) -> Iterator[float]:
    return (LEFT + RIGHT + columns(one_line(lane.name, 120)) * CHARACTER for lane in diagram.lanes)


def _text(text: str, x: float, y: float, **more: float | str) -> Markup:
    return element("text", text, x=x, y=y, fill="currentColor", **more)


def _axis(diagram: Diagram, at: Sequence[float], width: float, y: float, *, by_time: bool) -> Iterator[Markup]:
    yield element("path", d=f"M{LEFT} {y:.1f}h{width:.1f}", stroke="currentColor", opacity="0.5")
    for x, label in _ticks(diagram, at, by_time=by_time):
        yield element("path", d=f"M{LEFT + x:.1f} {y:.1f}v4", stroke="currentColor")
        yield _text(label, LEFT + x, y + 16, font_size=10, text_anchor="middle" if x else "start")


def _ticks(diagram: Diagram, at: Sequence[float], *, by_time: bool) -> Iterator[tuple[float, str]]:
    """Yield about ten places with what stands there: seconds or frames, or the number of the item."""
    times = diagram.times
    if by_time and times and times[-1] > times[0]:
        first = 0.0 if diagram.unit == "s" else times[0]
        step = _step((times[-1] - times[0]) / 10)
        unit = " s" if diagram.unit == "s" else ""
        for number in range(int((times[-1] - times[0]) / step) + 1):
            yield _between(times, at, times[0] + number * step), f"{first + number * step:.6g}{unit}"
        return
    step = max(1, int(_step(len(at) / 12)))
    reached = float("-inf")
    for column in range(0, len(at), step):
        numbered = diagram.times[column] if diagram.times and diagram.unit == "frames" else column
        label = f"{numbered:,.6g}" if diagram.times and diagram.unit == "frames" else f"{column:,}"
        if at[column] >= reached:
            yield at[column], label
            reached = at[column] + len(label) * CHARACTER


def _between(times: Sequence[float], at: Sequence[float], time: float) -> float:
    """Return where a time stands among the moments."""
    after = bisect_left(times, time)
    if after == 0:
        return at[0]
    if after == len(times):
        return at[-1]
    share = (time - times[after - 1]) / (times[after] - times[after - 1])
    return at[after - 1] + share * (at[after] - at[after - 1])


def _step(rough: float) -> float:
    """Return a round number of at least `rough`: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(rough)) if rough > 0 else 1.0
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def _keys(diagram: Diagram, hatch: str, *, is_overview: bool, has_labels: bool) -> Iterator[tuple[str, Markup]]:
    """Yield what the legend has: each kind of segment, text that is held back, and the ends."""
    kinds = {mark.kind for lane in diagram.lanes for mark in lane.marks if mark.shape == "item"}
    for kind in sorted(kinds, key=lambda kind: (known_kinds().index(kind) if kind in known_kinds() else 99, kind))[:12]:
        if kind or is_overview:
            yield (
                one_line(kind or "of no segment", 24),
                element("rect", y=-9, width=10, height=10, rx=5, fill=colour_of(kind)),
            )
    if has_labels and any(lane.bands for lane in diagram.lanes):
        yield "start and end of a segment", _text("S E", 0, 0, font_weight="600")
    if any(lane.held for lane in diagram.lanes):
        ink = {"fill": hatch, "stroke": "currentColor", "stroke_opacity": "0.5"}
        yield "held back", element("rect", y=-10, width=22, height=12, rx=3, **ink)
    shapes = {mark.shape for lane in diagram.lanes for mark in lane.marks}
    for shape, said in _ENDS.items():
        if shape in shapes:
            yield said, glyph(shape, 6, -4, 7)


def _legend(keys: Sequence[tuple[str, Markup]], note: str, y: float, width: float) -> tuple[Markup, float]:
    """Return the legend in as many lines as it needs, and where it ends."""
    drawn: list[Markup] = []
    x, line = float(LEFT), y + 14
    for said, sign in keys if len(keys) > 1 else ():
        sign_width = 28 if said in ("held back", "start and end of a segment") else 18
        needed = sign_width + columns(said) * CHARACTER + 16
        if x + needed > width and x > LEFT:
            x, line = float(LEFT), line + 18
        place = f"translate({x:.1f} {line:.1f})"
        drawn.append(element("g", sign, _text(said, sign_width, 0), transform=place))
        x += needed
    if note:
        line += 18 if drawn else 0
        drawn.append(_text(one_line(note), LEFT, line, opacity="0.75"))
    return element("g", *drawn, class_="legend"), line + 12 if drawn else y
