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
from .reading.growing_text import TAB, FileTail

CONTEXT = 60
"""The lines above the shown ones that are read to find the colours."""
PATCHES = frozenset(("edit_file", "patch_file"))
COLOURED = 200_000
"""The most characters of a whole file that are coloured: it is done at once, when the file has ended."""


def code_rows(tail: FileTail, rows: int, lexer: str, theme: str | None, *, numbered: bool = True) -> list[Text]:
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
    if not numbered:
        return coloured
    width = len(str(tail.count))
    numbers = range(tail.count - shown + 1, tail.count + 1)
    return [Text.assemble((f"{number:>{width}} ", "dim"), line) for number, line in zip(numbers, coloured, strict=True)]


def whole_rows(
    text: str, lexer: str, theme: str | None, width: int, console: Console, *, numbered: bool = True
) -> list[Text]:
    """Return all rows of a file with their numbers; a line that is too long goes on in rows without a number."""
    lines = [harmless(line.removesuffix("\r")).expandtabs(TAB) for line in text.removesuffix("\n").split("\n")]
    code = "\n".join(lines)
    plain = lexer == "default" or len(code) > COLOURED
    coloured = (Text(code) if plain else _syntax(lexer, theme).highlight(code)).split("\n", allow_blank=True)
    digits = len(str(len(lines)))
    room = max(1, width - digits - 1 if numbered else width)
    rows: list[Text] = []
    for number, line in enumerate(coloured[: len(lines)], 1):
        pieces = list(line.wrap(console, room, overflow="fold")) or [Text("")]
        if numbered:
            heads = [str(number), *[""] * (len(pieces) - 1)]
            pieces = [
                Text.assemble((f"{head:>{digits}} ", "dim"), piece) for head, piece in zip(heads, pieces, strict=True)
            ]
        rows += pieces
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


def lexer_named(info: str) -> str:
    """Return the name of the lexer that the info of a fence in Markdown stands for, or `default`.

    >>> lexer_named("py title=a.py"), lexer_named("no such language")
    ('python', 'default')
    """
    return _aliases().get(info.partition(" ")[0].lower(), "default")


@cache
def _patterns() -> list[tuple[str, str]]:
    return [(pattern, aliases[0]) for _, aliases, patterns, _ in _lexers() if aliases for pattern in patterns]


@cache
def _aliases() -> dict[str, str]:
    return {alias.lower(): aliases[0] for _, aliases, _, _ in _lexers() for alias in aliases}


def _lexers() -> Iterable[Any]:
    lexers: Iterable[Any] = import_module("pygments.lexers").get_all_lexers(plugins=False)
    return lexers


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
