"""`FilePanel`: a file on a terminal while it is written; `PanelGroup`: several files side by side.

Needs `pip install ".[terminal]"`.
"""

from __future__ import annotations

from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.panel import Panel
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from ..wording.event_words import ending, subject
from ..wording.printable import harmless, in_a_line
from .code_rows import code_rows, lexer_of, whole_rows
from .reading.growing_text import FileTail
from .terminal_blocks import BlockKind
from .terminal_region import Line, last_cells


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
        self._version = 0
        self._drawn: tuple[tuple[int, int, int, bool], list[Line]] | None = None

    def feed(self, delta: str) -> None:
        self._tail.feed(delta)
        self._pieces.append(delta)
        self._version += 1

    def know(self, metadata: dict[str, Any]) -> None:
        """Update the panel from the metadata of START or END; the path may arrive late."""
        if about := subject(metadata):
            self._about = about
            self._lexer = lexer_of(self._kind, about)
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
        lines = f"{count:,} line{'' if count == 1 else 's'}"
        return f"{lines} · {self._ending}" if self._ending else lines

    def _style(self) -> str:
        if self._ending:
            return "red" if self._ending.startswith("failed") else "yellow"
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
