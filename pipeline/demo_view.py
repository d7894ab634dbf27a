"""How the demo looks: live on a terminal, line by line elsewhere."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct, field
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from ..events.segment_event import SegmentEvent
from ..events.tool_invocation import InvocationFailed, Notice, ToolInvocation
from .printable import printable, shortened
from .strategies import StrategyEvent

FRAMES_A_SECOND = 20
ROWS_LEFT_FREE = 10
"""Rows of the screen that a panel does not take, so that what was said before stays in sight."""


class _Open(Struct):
    """A segment that is on the screen and has not ended."""

    type: str
    path: str
    pieces: list[str] = field(default_factory=list[str])


@contextmanager
def view_for(console: Console) -> Generator[LiveView | PlainView, None, None]:
    """Give what shows the events: live where the output is a terminal, else in plain lines."""
    if not console.is_terminal or console.is_dumb_terminal:
        yield PlainView(console)
        return
    Syntax.guess_lexer("first.py")  # the first time it loads many lexers: better before the answer begins
    with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:
        yield LiveView(live)


class LiveView:
    """What has ended stands above and stays; what is open stands below and grows."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._open: dict[str, _Open] = {}
        self._drawn = 0.0

    def __call__(self, event: StrategyEvent) -> None:
        if not isinstance(event, SegmentEvent):
            self._live.console.print(_settled(event))
        elif event.type == "SEGMENT_START":
            self._open[event.segment_id] = _Open(event.segment_type or "", _path(event))
        elif event.type == "SEGMENT_CONTENT":
            self._open[event.segment_id].pieces.append(event.payload["delta"])
            if time.monotonic() - self._drawn > 1 / FRAMES_A_SECOND:
                self._draw()
        else:
            ended = self._open.pop(event.segment_id)
            self._draw(refresh=False)
            self._live.console.print(self._picture(ended))

    def _draw(self, *, refresh: bool = True) -> None:
        self._live.update(Group(*map(self._picture, self._open.values())), refresh=refresh)
        self._drawn = time.monotonic()

    def _picture(self, segment: _Open) -> RenderableType:
        text = printable("".join(segment.pieces), keep="\n\t")
        if segment.type == "text":
            return Text(text + "\n")
        if not segment.path:
            return Panel(Syntax(text, "bash", word_wrap=True, background_color="default"), title=segment.type)
        lines = text.count("\n") + (not text.endswith("\n"))
        rows = max(3, self._live.console.height - ROWS_LEFT_FREE)
        code = Syntax(
            text,
            Syntax.guess_lexer(segment.path),
            background_color="default",
            line_numbers=True,
            line_range=(max(1, lines - rows + 1), lines),
        )
        return Panel(code, title=f"{segment.type}  {printable(segment.path)}", subtitle=f"{lines} lines")


class PlainView:
    """Each line as soon as it is complete; lines of a file or a command are indented."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._open: dict[str, _Open] = {}

    def __call__(self, event: StrategyEvent) -> None:
        if not isinstance(event, SegmentEvent):
            self._print(_settled(event).plain)
        elif event.type == "SEGMENT_START":
            segment = self._open[event.segment_id] = _Open(event.segment_type or "", _path(event))
            if segment.type != "text":
                self._print(f"{segment.type} {segment.path}".rstrip())
        elif event.type == "SEGMENT_CONTENT":
            segment = self._open[event.segment_id]
            *lines, rest = "".join((*segment.pieces, event.payload["delta"])).split("\n")
            segment.pieces = [rest]
            self._lines(segment, lines)
        else:
            segment = self._open.pop(event.segment_id)
            self._lines(segment, [rest for rest in segment.pieces if rest])

    def _lines(self, segment: _Open, lines: list[str]) -> None:
        margin = "" if segment.type == "text" else "    "
        for line in lines:
            self._print(margin + line)

    def _print(self, line: str) -> None:
        self._console.file.write(printable(line, keep="\t") + "\n")
        self._console.file.flush()


def _path(event: SegmentEvent) -> str:
    return str(event.payload.get("metadata", {}).get("path", ""))


def _settled(event: ToolInvocation | InvocationFailed | Notice) -> Text:
    if isinstance(event, Notice):
        return Text(printable(f"! {event.detail}"), style="yellow")
    if isinstance(event, InvocationFailed):
        return Text(printable(f"✗ {event.name} is not run: {event.reason}"), style="red")
    arguments = ", ".join(f"{name}={_value(value)}" for name, value in event.arguments.items())
    return Text(printable(f"→ {event.name}({arguments})"), style="bold green")


def _value(value: object) -> str:
    text = repr(value)
    return f"<{len(value):,} characters>" if isinstance(value, str) and len(text) > 60 else shortened(text, 60)
