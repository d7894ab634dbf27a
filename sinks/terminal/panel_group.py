"""`PanelGroup`: files that are written at the same time, side by side. Needs `pip install ".[terminal]"`."""

from __future__ import annotations

from rich.segment import Segment

from .file_panel import FilePanel
from .terminal_blocks import Kind
from .terminal_region import Line

NARROWEST = 48
"""The minimum columns of a panel beside others."""
LOWEST = 3
"""Rows of a panel with one row of content."""


class PanelGroup:
    """Panels side by side until the last one has ended; then whole files, one below the other."""

    kind: Kind = "box"

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
