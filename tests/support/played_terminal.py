"""The live view on a terminal of its own, with a time of its own."""

from __future__ import annotations

from typing import Any

from reactivex.scheduler import VirtualTimeScheduler
from rich.console import Console, ConsoleDimensions
from terminal_screen import TerminalScreen

from penstock.sinks.terminal_target import TerminalTarget


class Played:
    def __init__(
        self,
        width: int = 80,
        height: int = 24,
        *,
        markdown: bool = True,
        root: str | None = None,
        **environment: str,
    ) -> None:
        self.screen = TerminalScreen(width, height)
        self.console = Console(
            file=self.screen,
            force_terminal=True,
            width=width,
            height=height,
            color_system="truecolor",
            highlight=False,
            _environ={"TERM": "xterm", **environment},
        )
        self.time = VirtualTimeScheduler()
        self.target = TerminalTarget(self.console, None, self.time, markdown=markdown, root=root)

    def feed(self, *events: Any, seconds: float = 1.0) -> str:
        """Feed events, let time pass, and return what the terminal shows."""
        for event in events:
            self.target.feed(event)
        self.time.advance_by(seconds)
        return self.screen.text

    def close(self, error: BaseException | None = None) -> str:
        self.target.close(error)
        return self.screen.text

    def resize(self, width: int, height: int | None = None) -> None:
        self.screen.resize(width, height)
        self.console.size = ConsoleDimensions(width, self.screen.height)


def shown(*events: Any, width: int = 80, height: int = 24, markdown: bool = True) -> str:
    """Return what is on the terminal when all is over."""
    played = Played(width, height, markdown=markdown)
    played.feed(*events)
    return played.close()
