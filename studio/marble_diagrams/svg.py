"""SVG as text: elements whose texts are escaped, how wide a text is, and the colour of each kind of segment.

The colours read on white and on black, with white text on them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from html import escape
from zlib import crc32

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
