"""The rows of code that a panel shows: numbered, coloured, cropped. Needs `pip install ".[terminal]"`."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from typing import Any

from rich.console import Console
from rich.style import Style
from rich.syntax import ANSI_LIGHT, ANSISyntaxTheme, Syntax
from rich.text import Text

from ..wording.printable import harmless
from .file_tail import FileTail

CONTEXT = 60
"""The lines above the shown ones that are read to find the colours."""
PATCHES = frozenset(("edit_file", "patch_file"))
TAB = 4
COLOURED = 200_000
"""The most characters of a whole file that are coloured: it is done at once, when the file has ended."""


def code_rows(tail: FileTail, rows: int, lexer: str, theme: str | None) -> list[Text]:
    """Return the last rows of a file with their numbers.

    Only these rows are coloured, with the lines above them back to one that looks like the start of a definition, so
    the cost of a frame does not depend on the file's length. A long string above may therefore be coloured as code.
    """
    lines = [harmless(line.removesuffix("\r")).expandtabs(TAB) for line in tail.last(rows + CONTEXT)]
    shown = min(rows, len(lines))
    first = len(lines) - shown
    if tail.count > len(lines) or first > CONTEXT:
        start = next((at for at, line in enumerate(lines[:first]) if line and not line[0].isspace()), first)
    else:
        start = 0
    code = "\n".join(lines[start:])
    colours = Text(code) if lexer == "default" else _syntax(lexer, theme).highlight(code)
    coloured = colours.split("\n", allow_blank=True)[first - start :][:shown]
    width = len(str(tail.count))
    numbers = range(tail.count - shown + 1, tail.count + 1)
    return [Text.assemble((f"{number:>{width}} ", "dim"), line) for number, line in zip(numbers, coloured, strict=True)]


def whole_rows(text: str, lexer: str, theme: str | None, width: int, console: Console) -> list[Text]:
    """Return all rows of a file with their numbers; a line that is too long goes on in rows without a number."""
    lines = [harmless(line.removesuffix("\r")).expandtabs(TAB) for line in text.removesuffix("\n").split("\n")]
    code = "\n".join(lines)
    plain = lexer == "default" or len(code) > COLOURED
    coloured = (Text(code) if plain else _syntax(lexer, theme).highlight(code)).split("\n", allow_blank=True)
    digits = len(str(len(lines)))
    rows: list[Text] = []
    for number, line in enumerate(coloured[: len(lines)], 1):
        pieces = line.wrap(console, max(1, width - digits - 1), overflow="fold") or [Text("")]
        for place, piece in enumerate(pieces):
            rows.append(Text.assemble((f"{'' if place else number:>{digits}} ", "dim"), piece))
    return rows


def lexer_of(kind: str, path: str) -> str:
    """Return the name of the lexer for a file, or `default`."""
    if kind in PATCHES:
        return "diff"
    name = path.replace("\\", "/").rpartition("/")[2]
    guessed = Syntax.guess_lexer(name)
    if guessed == "default" and name:
        return next((alias for pattern, alias in _patterns() if fnmatch(name, pattern)), guessed)
    return guessed


@cache
def _patterns() -> list[tuple[str, str]]:
    lexers: Iterable[Any] = import_module("pygments.lexers").get_all_lexers(plugins=False)
    return [(pattern, aliases[0]) for _, aliases, patterns, _ in lexers if aliases for pattern in patterns]


@cache
def _syntax(lexer: str, theme: str | None) -> Syntax:
    background = "default" if theme else None  # the terminal's own
    return Syntax("", lexer, theme=theme or _ON_ANY_BACKGROUND, background_color=background, tab_size=TAB)


def _readable(style: Style) -> Style:
    """Return a style in terminal colours that are readable on dark and on light backgrounds."""
    name = style.color.name if style.color else ""
    colour = _COLOURS.get(name, name) or None
    return Style(color=colour, bold=style.bold, dim=style.dim)


_COLOURS = {"white": "", "blue": "magenta", "bright_blue": "magenta", "bright_red": "red"}
_ON_ANY_BACKGROUND = ANSISyntaxTheme({token: _readable(style) for token, style in ANSI_LIGHT.items()})
