"""`draw`: a diagram as a static SVG that stands for itself: no script, no font and no style from elsewhere."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import floor, log10
from zlib import crc32

from ....events.showing.excerpt import counted
from .colours import colour_of, known_kinds
from .diagram import Diagram, Lane, kinds_in_words
from .draw_marks import LEFT, RIGHT, draw_marks, glyph
from .draw_overview import BINS, WIDTH, draw_overview, fractions_of
from .place import places
from .svg import CHARACTER, FONT, FONT_SIZE, Markup, columns, element, one_line

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
