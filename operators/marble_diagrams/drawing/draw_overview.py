"""`draw_overview`: a picture of a long stream: bars that say how many items came, bands, and what was held back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

from msgspec import Struct

from ....events.showing.excerpt import counted
from .colours import colour_of
from .diagram import Band, Diagram, Lane, Mark, kinds_in_words
from .draw_marks import BETWEEN, LEFT, NAME, glyph, lane_name
from .svg import CHARACTER, FONT_SIZE, Markup, columns, element, number

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
