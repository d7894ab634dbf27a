"""`LiveRegion`: the last rows of a terminal, which are drawn again and again; and the blocks that are drawn in it.

Needs `pip install ".[terminal]"`.

Rows are written over those before them and nothing is erased first, so nothing flickers, even if a terminal does not
know how to hold a frame back until it is whole. What is printed above goes into the scrollback with the same write.

Each block returns `settled` lines, which go to the scrollback, and `live` rows, which are redrawn until then.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from threading import RLock
from typing import Any, Literal, Protocol, TextIO, TypeAlias, cast

from rich.cells import cell_len, set_cell_size, split_graphemes
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.control import Control
from rich.file_proxy import FileProxy
from rich.segment import ControlType, Segment
from rich.style import Style

from ..parts.event_words import ending, harmless, in_a_line
from .markdown_reader import IncomingText

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


BlockKey: TypeAlias = tuple[str | None, str]
BlockKind: TypeAlias = Literal["prose", "box", "line"]

HELD_ROWS = 3
"""The rows shown of a text that is printed only after another block has ended."""
PIECE = 1000
"""The most characters of a URL that are kept, from each end."""
BEGINNING = 100
"""The characters shown of the beginning of a longer one."""


class Block(Protocol):
    """A part of the screen that ends at some point."""

    kind: BlockKind

    @property
    def ended(self) -> bool: ...
    def settled(self, width: int, rows: int) -> list[Line]: ...
    def live(self, width: int, rows: int) -> list[Line]: ...


class SegmentBlock(Protocol):
    """A block, or a part of one, that shows a segment."""

    def feed(self, delta: str) -> None: ...
    def know(self, metadata: dict[str, Any]) -> None: ...
    def end(self, status: str, reason: str | None) -> None: ...


class RowFlow:
    """A text or a command whose rows go to the scrollback once they are full."""

    def __init__(self, kind: BlockKind, style: str, first: str = "", margin: str = "", heading: str = "") -> None:
        self.kind: BlockKind = kind
        self.ended = False
        self._style = Style.parse(style)
        self._prefix, self._margin, self._heading = first, margin, heading
        self._indent = max(cell_len(first), cell_len(margin))
        self._incoming = IncomingText()
        self._text = ""  # what is not in the scrollback yet
        self._begun = False
        self._ending = ""

    def feed(self, delta: str) -> None:
        self._incoming.feed(delta)

    def know(self, metadata: dict[str, Any]) -> None:
        """Ignore the metadata, because nothing of it is shown."""

    def end(self, status: str, reason: str | None) -> None:
        self.ended = True
        self._ending = ending(status, reason)

    def settled(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - a text is never cut
        self._join()
        end = ending_line(self._ending, self._margin) if self.ended else []
        text = self._text.rstrip() if self.ended else self._text.rstrip("\n")
        if not text:
            return end
        blanks = self._text[len(text) :]
        *whole, last = text.split("\n")
        room = max(1, width - self._indent)
        lines = [self._line(row) for each in whole for row in rows_of(each, room)]
        starts = [*row_starts(last, room), *([len(last)] if self.ended else [])]
        if starts:
            lines += [
                self._line(last[start:end]) for start, end in zip([0, *starts[:-1]], starts, strict=True) if end > start
            ]
            last = last[starts[-1] :]
        lines = self._headed(lines)
        self._begun = self._begun or bool(lines)
        self._text = "" if self.ended else last + blanks
        return lines + end

    def live(self, width: int, rows: int) -> list[Line]:
        self._join()
        room = max(1, width - self._indent)
        tail = self._text[-room * HELD_ROWS :].rstrip("\n")
        if not tail:
            return []
        shown = [row for each in tail.split("\n") for row in rows_of(each, room)][-min(rows, HELD_ROWS) :]
        prefix = self._prefix
        lines = self._headed([self._line(row) for row in shown])
        self._prefix = prefix
        return lines[-max(rows, 1) :]

    def _join(self) -> None:
        self._text += self._incoming.take(ended=self.ended)
        if not self._begun:
            self._text = self._text.lstrip("\n")

    def _line(self, row: str) -> Line:
        prefix, self._prefix = self._prefix, self._margin
        return [Segment((prefix + row).rstrip(), self._style)]

    def _headed(self, lines: list[Line]) -> list[Line]:
        """Return the first lines below their heading."""
        if self._begun or not self._heading or not lines:
            return lines
        return [[Segment(self._heading, Style(dim=True, bold=True))], *lines]


class OneLine:
    """A line that never changes: a call that may be run, a failure, a notice, an error."""

    kind: BlockKind = "line"
    ended = True

    def __init__(self, text: str, style: str) -> None:
        self._text, self._style = text, Style.parse(style)

    def settled(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - it has as many as it needs
        first, *others = rows_of(self._text, max(1, width - 2))
        return [
            [Segment(first.rstrip(), self._style)],
            *([Segment("  " + row.rstrip(), self._style)] for row in others),
        ]

    def live(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - one row
        text = self._text if cell_len(self._text) <= width else set_cell_size(self._text, width - 1).rstrip() + "…"
        return [[Segment(text, self._style)]]


class Medium:
    """A medium with the end of its URL as it arrives, and the beginning of a long one when it has ended."""

    kind: BlockKind = "line"

    def __init__(self, name: str) -> None:
        self.ended = False
        self._name = harmless(name)
        self._head = self._tail = ""
        self._length = 0
        self._ending = ""

    def feed(self, delta: str) -> None:
        if self._length < PIECE:
            self._head = (self._head + delta)[:PIECE]
        self._tail = (self._tail + delta[-PIECE:])[-PIECE:]
        self._length += len(delta)

    def know(self, metadata: dict[str, Any]) -> None:
        """Ignore the metadata, because nothing of it is shown."""

    def end(self, status: str, reason: str | None) -> None:
        self.ended = True
        self._ending = ending(status, reason)

    def settled(self, width: int, rows: int) -> list[Line]:
        if not self.ended:
            return []
        url = in_a_line(self._head)
        if self._length > PIECE:
            url = f"{url[:BEGINNING]}… ({self._length:,} characters)"
        words = [self._name, url, self._ending and f"[{self._ending}]"]
        return OneLine(" ".join(filter(None, words)), "dim").settled(width, rows)

    def live(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - one row
        tail = in_a_line(self._tail)
        room = width - cell_len(self._name) - 1
        if cell_len(tail) > room or self._length > PIECE:
            tail = "…" + last_cells(tail, room - 1)
        line = [Segment(f"{self._name} ", Style(bold=True)), Segment(tail, Style(dim=True))]
        return [Segment.adjust_line_length(line, width, pad=False)]


def ending_line(words: str, margin: str = "") -> list[Line]:
    """Return the line that says how a text ended; none if it is complete."""
    return [[Segment(f"{margin}… {words}", Style.parse("yellow"))]] if words else []
