"""`FilePanel`: a file on a terminal while it is written; `PanelGroup`: several side by side; and their rows of code.

The rows are numbered, coloured and cropped. Needs `pip install ".[terminal]"`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.panel import Panel
from rich.segment import Segment
from rich.style import Style
from rich.syntax import ANSI_LIGHT, ANSISyntaxTheme, Syntax
from rich.text import Text

from ..files.live_edit import LiveEdit
from ..parts.event_words import ending, harmless, in_a_line, subject
from .markdown_reader import TAB, FileTail
from .terminal_region import BlockKind, Line, last_cells

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


class FilePanel:
    """A framed file with its path, its number of lines, and its last rows in colour; all rows once it has ended."""

    def __init__(self, console: Console, kind: str, theme: str | None) -> None:
        self.ended = False
        self._console, self._theme = console, theme
        self._kind = kind
        self._about = ""
        self._lexer = "default"
        self._tail = FileTail()
        self._pieces: list[str] = []
        self._ending = ""
        self._edit: LiveEdit | None = None
        self._told: tuple[int, str, list[str]] = (-1, "", [])
        """The counts and the faults of the edit, and the version of the panel that they are of."""
        self._version = 0
        self._drawn: tuple[tuple[int, int, int, bool], list[Line]] | None = None

    def feed(self, delta: str) -> None:
        self._tail.feed(delta)
        self._pieces.append(delta)
        self._version += 1

    def know(self, metadata: dict[str, Any]) -> None:
        """Update the panel from the metadata of START or END; the path may arrive late."""
        files = [] if self._edit is None else self._edit.files
        if about := (files[0].path if len(files) == 1 and files[0].path else subject(metadata)):
            self._about = about
            self._lexer = lexer_of(self._kind, about)
        self._version += 1

    def follow(self, edit: LiveEdit) -> None:
        """Show the counts of an edit, and what of it does not match, from now on."""
        self._edit = edit
        self._version += 1

    def end(self, status: str, reason: str | None) -> None:
        self.ended = True
        self._ending = ending(status, reason)
        self._version += 1

    def wanted(self) -> int:
        """Return the height in rows that the panel needs, including its frame."""
        return max(1, self._tail.count) + 2

    def lines(self, width: int, rows: int, *, framed: bool) -> list[Line]:
        """Return the panel with its last rows; without a frame, long lines alone are wrapped by a narrower terminal."""
        state = self._version, width, rows, framed
        if self._drawn is None or self._drawn[0] != state:
            draw = self._draw_framed if framed else self._draw_open
            self._drawn = state, draw(width, rows)
        return self._drawn[1]

    def whole(self, width: int) -> list[Line]:
        """Return the panel with the whole file, its long lines wrapped: what stays when it has ended."""
        rows = whole_rows("".join(self._pieces), self._lexer, self._theme, width - 4, self._console)
        return self._framed(Text("\n").join(rows), width, None)

    def one_line(self, width: int) -> Line:
        """Return the panel in one line, without its content, for lack of room."""
        line = [
            Segment(f"{harmless(self._kind)} ", Style(dim=True)),
            Segment(f"{in_a_line(self._about)}  "),
            Segment(self._count(), Style.parse(self._style())),
        ]
        return Segment.adjust_line_length(line, width, pad=False)

    def _draw_framed(self, width: int, rows: int) -> list[Line]:
        code = code_rows(self._tail, rows - 2, self._lexer, self._theme)
        return self._framed(Text("\n", no_wrap=True, overflow="ellipsis").join(code), width, rows)

    def _draw_open(self, width: int, rows: int) -> list[Line]:
        """Return a panel without its right edge and no wider than what is in it."""
        code = code_rows(self._tail, rows - 2, self._lexer, self._theme)
        edges = "╭─ ", *["│ "] * len(code), "╰─ "
        lines: list[Line] = []
        for edge, row in zip(edges, [self._title(width), *code, Text(self._count(), self._style())], strict=True):
            row.truncate(max(1, width - len(edge)), overflow="ellipsis")
            lines.append([Segment(edge, Style.parse(self._style())), *row.render(self._console)])
        return lines

    def _title(self, width: int) -> Text:
        kind, about = harmless(self._kind), in_a_line(self._about)
        room = width - cell_len(kind) - 8
        if cell_len(about) > room:
            about = "…" + last_cells(about, room - 1)
        return Text.assemble((kind, "dim"), "  ", (about, "bold default")) if about else Text(kind, style="dim")

    def _framed(self, code: Text, width: int, rows: int | None) -> list[Line]:
        panel = Panel(
            code,
            box.ROUNDED,
            title=self._title(width),
            title_align="left",
            subtitle=Text(self._count()),
            subtitle_align="right",
            border_style=self._style(),
            width=width,
            height=rows,
        )
        return self._console.render_lines(panel, self._console.options.update(width=width, height=None))

    def _count(self) -> str:
        count = self._tail.count
        said = [f"{count:,} line{'' if count == 1 else 's'}"]
        counts, faults = self._of_edit()
        said = [f"✗ {in_a_line(faults[0])}"] if faults else [*said, counts]
        return " · ".join(filter(None, (*said, self._ending)))

    def _of_edit(self) -> tuple[str, list[str]]:
        """Return the counts of the edit and what is wrong with it, which are put together once a frame."""
        if self._edit is None:
            return "", []
        if self._told[0] != self._version:
            self._told = self._version, str(self._edit), self._edit.faults
        return self._told[1:]

    def _style(self) -> str:
        if self._ending:
            return "red" if self._ending.startswith("failed") else "yellow"
        if self._of_edit()[1]:
            return "red"
        return "dim green" if self.ended else "cyan"


NARROWEST = 48
"""The minimum columns of a panel beside others."""
LOWEST = 3
"""Rows of a panel with one row of content."""


class PanelGroup:
    """Panels side by side until the last one has ended; then whole files, one below the other."""

    kind: BlockKind = "box"

    def __init__(self, first: FilePanel) -> None:
        self.panels = [first]

    @property
    def ended(self) -> bool:
        return all(panel.ended for panel in self.panels)

    def settled(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - a whole file has as many as it needs
        return [line for panel in self.panels for line in panel.whole(width)] if self.ended else []

    def live(self, width: int, rows: int) -> list[Line]:
        grid = self._rows(width)
        if rows < LOWEST * len(grid):
            return [panel.one_line(width) for panel in self.panels]
        heights = shares([_wanted(row) for row in grid], rows)
        return [line for row, height in zip(grid, heights, strict=True) for line in _side_by_side(row, width, height)]

    def _rows(self, width: int) -> list[list[FilePanel]]:
        columns = max(1, width // NARROWEST)
        return [self.panels[at : at + columns] for at in range(0, len(self.panels), columns)]


def shares(wanted: list[int], rows: int) -> list[int]:
    """Divide rows among panels: panels that need few rows get them, the others get equal shares.

    >>> shares([3, 20, 30], 23)
    [3, 10, 10]
    """
    given = [0] * len(wanted)
    left = rows
    for place, at in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        given[at] = min(wanted[at], left // (len(wanted) - place))
        left -= given[at]
    return given


def _wanted(panels: list[FilePanel]) -> int:
    return max(panel.wanted() for panel in panels)


def _side_by_side(panels: list[FilePanel], width: int, height: int) -> list[Line]:
    """Return the lines of panels side by side, with a blank column between them; one alone has no right edge."""
    if len(panels) == 1:
        return panels[0].lines(width, height, framed=False)
    edges = [(width + 1) * at // len(panels) for at in range(len(panels) + 1)]
    columns = [
        panel.lines(end - start - 1, height, framed=True)
        for panel, start, end in zip(panels, edges, edges[1:], strict=False)
    ]
    lines: list[Line] = []
    for first, *others in zip(*columns, strict=True):
        line = list(first)
        for part in others:
            line += [Segment(" "), *part]
        lines.append(line)
    return lines
