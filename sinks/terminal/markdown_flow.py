"""`MarkdownFlow`: a text whose Markdown is drawn block by block. Needs `pip install ".[terminal]"`."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from ..wording.event_words import ending
from .markdown_rows import MarkdownRows, as_written
from .reading.incoming_text import IncomingText
from .reading.markdown_reader import MarkdownReader
from .terminal_blocks import HELD_ROWS, Kind, ending_line
from .terminal_region import Line


class MarkdownFlow:
    """A text whose finished blocks go to the scrollback; the unfinished one is drawn again as it grows."""

    kind: Kind = "prose"

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
