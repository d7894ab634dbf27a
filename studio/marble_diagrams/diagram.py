"""`Diagram`: what a marble picture shows; and SVG as text: escaped elements, widths of texts, colours of segments.

The colours read on white and on black, with white text on them.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Literal, TypeAlias
from zlib import crc32

from msgspec import Struct

from ...events.showing import shown

_OF_KIND: Mapping[str, str] = {
    "": "#5f6b7a",
    "text": "#1f6feb",
    "reasoning": "#8957e5",
    "refusal": "#cf222e",
    "media": "#0f7b8a",
    "tool_call": "#1a7f37",
    "write_file": "#b35900",
    "edit_file": "#946800",
    "patch_file": "#a0522d",
    "run_bash": "#bf3989",
}
_OTHERS = ("#2f7d6b", "#6e64c8", "#a8475f", "#4d7a12", "#3a72a8", "#96599c")
GOOD, BAD, WARNING = "#1a7f37", "#cf222e", "#946800"


def colour_of(kind: str) -> str:
    """Return the colour of a type of segment; the types of users have one of six, always the same.

    >>> colour_of("text"), colour_of("mine") == colour_of("mine")
    ('#1f6feb', True)
    """
    return _OF_KIND.get(kind) or _OTHERS[crc32(kind.encode(errors="replace")) % len(_OTHERS)]


def known_kinds() -> tuple[str, ...]:
    """Return the kinds with colours of their own, in the order of the legend."""
    return tuple(_OF_KIND)


CHARACTER = 7.2
"""The width of a character in pixels, in a monospaced font of `FONT_SIZE`."""
FONT_SIZE = 12
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_SIGNS = str.maketrans({"\n": "⏎", "\t": "⇥", "\ufffe": "\ufffd", "\uffff": "\ufffd"})
_LONGEST = 200


class Markup(str):
    """SVG that is ready: everything else is text, and gets escaped."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: float | str) -> Markup:
    """Return an element; children that are no `Markup` are text.

    >>> element("text", "a < b", x=1.25, text_anchor="end")
    '<text x="1.2" text-anchor="end">a &lt; b</text>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{number(value) if not isinstance(value, str) else _escaped(value)}"'
        for key, value in attributes.items()
    )
    inside = "".join(child if isinstance(child, Markup) else _escaped(child) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")


def number(value: float) -> str:
    """Return a number with at most one decimal.

    >>> number(3.0), number(2.26)
    ('3', '2.3')
    """
    return f"{value:.1f}".removesuffix(".0")


def one_line(text: str, width: int = _LONGEST) -> str:
    r"""Return the beginning of a text in one line, at most `width` characters wide.

    >>> one_line("a = 1\n"), one_line("much too long", 6), one_line("\x1b[0m")
    ('a = 1⏎', 'much…', '\\x1b[0m')
    """
    line = shown(text[: width + 1].replace("\r\n", "\n").translate(_SIGNS))
    if len(text) <= width and columns(line) <= width:
        return line
    while columns(line) > width - 1:
        line = line[:-1]
    return line.rstrip() + "…"


def columns(text: str) -> int:
    """Return how many columns of a monospaced font a text takes.

    >>> columns("ab"), columns("日本"), columns("e\u0301")
    (2, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


def _escaped(text: str) -> str:
    return escape(shown(text).translate({0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}))


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
