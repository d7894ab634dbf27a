"""`LiveRegion`: the last rows of a terminal, which are drawn again and again; `row_starts`: where rows begin.

Needs `pip install ".[terminal]"`.

Rows are written over those before them and nothing is erased first, so nothing flickers, even if a terminal does not
know how to hold a frame back until it is whole. What is printed above goes into the scrollback with the same write.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from threading import RLock
from typing import TextIO, TypeAlias, cast

from rich.cells import cell_len, split_graphemes
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.control import Control
from rich.file_proxy import FileProxy
from rich.segment import ControlType, Segment

# A word with the spaces behind it; languages that are written without spaces may be wrapped anywhere.
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff]\s*|[^\s\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff]+\s*|\s+")


def row_starts(text: str, width: int) -> list[int]:
    """Return where each row after the first begins, in a text without line ends.

    >>> row_starts("one two three", 8)
    [8]

    As the text grows, only the last row changes, so all others can be printed. A word wider than a row is cut.
    """
    starts: list[int] = []
    used = 0
    for match in _WORD.finditer(text):
        word = match[0]
        core = cell_len(word.rstrip())
        if used and used + core > width:
            starts.append(match.start())
            used = 0
        if core > width:
            for start, _, cells in split_graphemes(word)[0]:
                if used and used + cells > width and not word[start].isspace():
                    starts.append(match.start() + start)
                    used = 0
                used += cells
        else:
            used += cell_len(word)
    return starts


def rows_of(text: str, width: int) -> list[str]:
    """Return the rows of a text without line ends; an empty text has one."""
    ends = [*row_starts(text, width), len(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def last_cells(text: str, width: int) -> str:
    """Return the end of a text that is not wider than `width`."""
    cut = text[-width:] if width > 0 else ""
    while cut and cell_len(cut) > width:
        cut = cut[1:]
    return cut


Line: TypeAlias = list[Segment]

FRAME_BEGINS, FRAME_ENDS = "\x1b[?2026h", "\x1b[?2026l"
WRAP_OFF, WRAP_ON = "\x1b[?7l", "\x1b[?7h"
# Line by line: some terminals keep a copy of what is erased below a line when that is all of the screen.
ERASE_RIGHT, ERASE_LINE = "\x1b[K", "\x1b[2K"
UP, DOWN = "\x1b[A", "\x1b[B"


class _Frame:
    """Return what to write: from the region's first row on, lines that stay, then the region.

    `height`: rows of the screen that the region had. `resized`: the screen had another width then. `widths`: those of
    the rows that are written over.
    """

    def __init__(
        self,
        height: int,
        above: list[Line],
        rows: list[Line],
        width: int,
        *,
        resized: bool = False,
        widths: Iterable[int] = (),
    ) -> None:
        self._above, self._rows, self._width = above, rows, width
        self._widths = iter(widths)
        if resized:
            # What the terminal has wrapped it would go on to take for one line, were it only written over.
            self._begin, self._left = "\r" + (ERASE_LINE + UP) * height, 0
        else:
            self._begin, self._left = "\r" + UP * height, height - len(above) - len(rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _control(FRAME_BEGINS + self._begin)
        yield from self._lines(self._above)
        if self._rows:
            yield _control(WRAP_OFF)
            yield from self._lines(self._rows, live=True)
            yield _control(WRAP_ON)
        yield _control(ERASE_LINE)
        if self._left > 0:
            yield _control((DOWN + ERASE_LINE) * self._left + UP * self._left)
        yield _control(FRAME_ENDS)

    def _lines(self, lines: list[Line], *, live: bool = False) -> RenderResult:
        for line in lines:
            length = Segment.get_line_length(line)
            is_full = length >= self._width
            if length < next(self._widths, 0):
                # Some terminals would go on to wrap the line by what is erased to its right.
                yield _control(ERASE_LINE)
            # What the terminal takes for wider than we do must break no panel and push no row down.
            if is_full and not live:
                yield _control(WRAP_OFF)
            yield from line
            if is_full and not live:
                yield _control(WRAP_ON)
            if not is_full:  # in the last column it would erase what stands there
                yield _control(ERASE_RIGHT)
            yield Segment.line()


class LiveRegion(RenderHook):
    """Draws the region and keeps it below anything else that is printed on the console.

    `before_print` is called before other output. `draw` and `stop` are called with `lock` held, because other threads
    may print.
    """

    def __init__(self, console: Console, lock: RLock, before_print: Callable[[], None]) -> None:
        self._console = console
        self._lock = lock
        self._before_print = before_print
        self._rows: list[Line] = []
        self._width = 0  # of the screen when it was drawn
        self._started = False
        self._proxies: dict[str, FileProxy] = {}

    def draw(self, above: list[Line], rows: list[Line]) -> None:
        """Print lines that stay, and the region's new rows below them."""
        if not above and rows == self._rows and (not rows or self._console.width == self._width):
            return
        if not self._started:
            self._start()
        frame = self._frame(above, rows)
        self._rows, self._width = rows, self._console.width
        self._print(frame)

    def stop(self) -> None:
        """Remove the region and restore the console."""
        if not self._started:
            return
        self._started = False
        self._console.pop_render_hook()
        for name, proxy in self._proxies.items():
            proxy.flush()
            if getattr(sys, name) is proxy:
                setattr(sys, name, proxy.rich_proxied_file)
        self._print(self._frame([], []))
        self._rows = []
        self._console.control(Control((ControlType.SHOW_CURSOR,)))

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        if any(isinstance(each, _Frame) for each in renderables):
            return renderables
        with self._lock:
            self._before_print()
            taken_away = self._frame([], [])
            self._width = self._console.width
            return [cast("ConsoleRenderable", taken_away), *renderables, _Frame(0, [], self._rows, self._width)]

    def _start(self) -> None:
        self._started = True
        self._console.control(Control((ControlType.HIDE_CURSOR,)))
        self._console.push_render_hook(self)
        for name in ("stdout", "stderr"):
            stream: TextIO | None = getattr(sys, name)
            if stream is not None and stream.isatty() and not isinstance(stream, FileProxy):
                self._proxies[name] = FileProxy(self._console, stream)
                setattr(sys, name, self._proxies[name])

    def _frame(self, above: list[Line], rows: list[Line]) -> _Frame:
        """Return what takes the place of the region: a terminal that was made narrower has wrapped its rows."""
        width = self._console.width
        widths = [Segment.get_line_length(row) for row in self._rows]
        height = len(widths)
        if width < self._width:
            height = sum(max(1, -(-length // width)) for length in widths)
        resized = width != self._width
        return _Frame(height, above, rows, width, resized=resized, widths=() if resized else widths)

    def _print(self, frame: _Frame) -> None:
        self._console.print(frame, end="", crop=False)


def _control(codes: str) -> Segment:
    return Segment(codes, None, [(ControlType.CARRIAGE_RETURN,)])
