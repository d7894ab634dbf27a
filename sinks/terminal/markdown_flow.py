"""`MarkdownFlow`: a text whose Markdown is drawn block by block, with rich (`MarkdownRows`).

Needs `pip install ".[terminal]"`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, ClassVar

from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.default_styles import DEFAULT_STYLES
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from ..parts.event_words import ending
from .file_panel import code_rows, lexer_named, whole_rows
from .markdown_reader import Code, IncomingText, MarkdownReader, OpenFence, Passage
from .terminal_region import HELD_ROWS, BlockKind, Line, ending_line, rows_of

INDENT = 2
"""The columns before code."""
NARROWEST_TEXT = 12
NARROWEST_COLUMN = 8
MOST_NESTED = 18
"""The parser leaves out what is nested deeper."""
STYLES = {
    "markdown.h1": "bold underline",
    "markdown.h2": "bold",
    "markdown.h3": "bold italic",
    "markdown.h4": "italic",
    "markdown.code": "bold cyan",
    "markdown.block_quote": "dim",
    "markdown.item.number": "bold",
    "markdown.table.border": "dim",
    "markdown.table.header": "bold",
}
"""Readable on dark and light backgrounds; a console with styles of its own keeps them."""

_is_data = re.compile(r'\{|\[\s*[\[{"\d\]]').match


class MarkdownRows:
    """Draws finished and unfinished blocks at a width."""

    def __init__(self, console: Console, theme: str | None) -> None:
        self._console, self._theme = console, theme
        unchanged = (name for name in STYLES if console.get_style(name, default="") == DEFAULT_STYLES.get(name))
        self._styles = Theme({name: STYLES[name] for name in unchanged}, inherit=False)
        self._markdown = _Markdown("", code_theme=theme or "", hyperlinks=False)

    def lines(self, block: Passage | Code, width: int) -> list[Line]:
        """Return a block in full."""
        if isinstance(block, Code):
            rows = whole_rows(
                block.source, lexer_named(block.info), self._theme, width - INDENT, self._console, numbered=False
            )
            return self._code(rows)
        lines: list[Line] = []
        if not _is_as_written(block, width):
            self._markdown.parsed = block.tokens
            with self._console.use_theme(self._styles):
                options = self._console.options.update(width=width, height=None)
                lines = _trimmed(self._console.render_lines(self._markdown, options, pad=False))
        return lines or as_written(block.source, width)

    def open_code(self, fence: OpenFence, width: int, rows: int) -> list[Line]:
        """Return the last rows of code that grows, with its long lines cropped."""
        shown = code_rows(fence.tail, rows, lexer_named(fence.info), self._theme, numbered=False)
        for row in shown:
            row.truncate(max(1, width - INDENT), overflow="ellipsis")
        return self._code(shown)

    def _code(self, rows: list[Text]) -> list[Line]:
        return [[Segment(" " * INDENT), *row.render(self._console)] for row in rows]


def as_written(text: str, width: int) -> list[Line]:
    """Return a text as it is, wrapped."""
    return [[Segment(row.rstrip())] for line in text.split("\n") for row in rows_of(line, width)]


def _is_as_written(block: Passage, width: int) -> bool:
    """Return whether a block is data rather than Markdown, or has marks that rich would not show, or no room."""
    tokens = block.tokens
    if tokens[0].type == "paragraph_open" and _is_data(block.source):
        return True
    if any(a.type == "list_item_open" and b.type == "list_item_close" for a, b in pairwise(tokens)):
        return True
    columns = sum(token.type == "th_open" for token in tokens)
    deepest = max(token.level for token in tokens if token.nesting >= 0 and token.type != "inline")
    return deepest > MOST_NESTED or width < max(NARROWEST_COLUMN * columns, NARROWEST_TEXT + _margin(tokens))


def _margin(tokens: list[Token]) -> int:
    """Return the columns that lists and quotations take from the innermost text."""
    margin, widest = 0, 0
    margins: list[int] = []
    for token in tokens:
        if token.type in ("list_item_open", "blockquote_open"):
            margins.append(len(token.info) + 4)
            margin += margins[-1]
            widest = max(widest, margin)
        elif token.type in ("list_item_close", "blockquote_close"):
            margin -= margins.pop()
    return widest


def _trimmed(lines: list[Line]) -> list[Line]:
    """Return lines without the blanks at their ends, and without the blank lines around them."""
    trimmed = [_without_end_blanks(line) for line in lines]
    while trimmed and not trimmed[-1]:
        trimmed.pop()
    return trimmed[next((at for at, line in enumerate(trimmed) if line), 0) :]


def _without_end_blanks(line: Line) -> Line:
    *before, last = line or [Segment("")]
    text = last.text.rstrip(" ")
    if text:
        return [*before, Segment(text, last.style)]
    return _without_end_blanks(before) if before else []


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _IndentedCode(CodeBlock):
    """Code in the terminal's colours, inside of a list or a quotation."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width - INDENT
        rows = whole_rows(
            self.text.plain, lexer_named(self.lexer_name), self.theme or None, width, console, numbered=False
        )
        yield Padding(Text("\n").join(rows), (0, 0, 0, INDENT))


class _WholeTable(TableElement):
    """A table whose long words are wrapped and not cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                for column in table.columns:
                    column.overflow = "fold"
            yield table


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _IndentedCode,
        "code_block": _IndentedCode,
        "table_open": _WholeTable,
    }


class MarkdownFlow:
    """A text whose finished blocks go to the scrollback; the unfinished one is drawn again as it grows."""

    kind: BlockKind = "prose"

    def __init__(self, console: Console, theme: str | None) -> None:
        self.ended = False
        self._incoming = IncomingText()
        self._reader = MarkdownReader()
        self._draw = MarkdownRows(console, theme)
        self._begun = False
        self._ending = ""

    def feed(self, delta: str) -> None:
        self._incoming.feed(delta)

    def know(self, metadata: dict[str, Any]) -> None:
        """Ignore the metadata, because nothing of it is shown."""

    def end(self, status: str, reason: str | None) -> None:
        self._read(ended=True)
        self.ended = True
        self._ending = ending(status, reason)

    def settled(self, width: int, rows: int) -> list[Line]:  # noqa: ARG002 - a text is never cut
        self._read()
        lines: list[Line] = []
        for part in self._reader.parts:
            lines += self._gap(joined=part.joined)
            lines += self._draw.lines(part, width)
            self._begun = True
        self._reader.parts.clear()
        return lines + (ending_line(self._ending) if self.ended else [])

    def live(self, width: int, rows: int) -> list[Line]:
        self._read()
        if self._reader.parts:  # they wait for another block
            return as_written(self._reader.parts[-1].source[-width * HELD_ROWS :], width)[-min(rows, HELD_ROWS) :]
        lines: list[Line] = []
        if (fence := self._reader.fence) is not None:
            code = self._draw.open_code(fence, width, rows)
            return [*self._gap(joined=fence.joined), *code][-rows:]
        for passage in self._reader.unfinished():
            lines += [[]] if lines and not passage.joined else self._gap(joined=passage.joined)
            lines += self._draw.lines(passage, width)
        return lines[-rows:]

    def _read(self, *, ended: bool = False) -> None:
        if text := self._incoming.take(ended=ended):
            self._reader.feed(text)
        if ended:
            self._reader.end()

    def _gap(self, *, joined: bool) -> list[Line]:
        return [[]] if self._begun and not joined else []
