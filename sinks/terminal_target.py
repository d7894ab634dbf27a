"""`TerminalTarget`: draws the events of one stream at a limited rate. Needs `pip install ".[terminal]"`."""

from __future__ import annotations

import sys
from contextlib import suppress
from threading import RLock
from typing import Any

from reactivex.abc import SchedulerBase
from reactivex.scheduler import EventLoopScheduler
from rich.console import Console
from rich.syntax import Syntax

from .plain_view import PlainTarget
from .terminal.terminal_page import TerminalPage
from .terminal.terminal_region import LiveRegion

FRAME = 1 / 12
"""Seconds from one frame to the next, at least."""
REST = 9
"""After a slow frame, the pause before the next one, as a multiple of the frame's time."""
LEAST = 8
"""The rows that are drawn again where half of the screen has fewer."""


def new_target(
    console: Console | None,
    theme: str | None,
    scheduler: SchedulerBase | None,
    *,
    markdown: bool = True,
    root: str | None = None,
) -> TerminalTarget | PlainTarget:
    """Return a target that draws on a console, or prints plain lines if its cursor cannot be moved."""
    if console is None:
        # FORCE_COLOR wants colours in a log, not a cursor that moves.
        console = Console(highlight=False, force_interactive=None if sys.stdout.isatty() else False)
    if console.is_interactive and not console.is_dumb_terminal and not console.legacy_windows:
        return TerminalTarget(console, theme, scheduler, markdown=markdown, root=root)
    return PlainTarget(console.file, root)


def rows_of_region(height: int) -> int:
    """Return the most rows that are drawn again, on a screen of a height.

    In a window of half the width each may be wrapped once, and they and the cursor's row must still be on the screen:
    what has left it upwards cannot be erased. A low screen is used all the same.

    >>> rows_of_region(24), rows_of_region(12), rows_of_region(4)
    (11, 8, 3)
    """
    return max(1, (height - 1) // 2, min(height - 1, LEAST))


class TerminalTarget:
    """Draws at once if the last frame is long enough ago, else at the time of the next frame."""

    def __init__(
        self,
        console: Console,
        theme: str | None = None,
        scheduler: SchedulerBase | None = None,
        *,
        markdown: bool = True,
        root: str | None = None,
    ) -> None:
        Syntax.guess_lexer("first.py")  # loads what colours files: better before the answer begins
        self._console = console
        self._own = EventLoopScheduler() if scheduler is None else None
        self._scheduler: SchedulerBase = scheduler or self._own or EventLoopScheduler()
        self._lock = RLock()
        self._page = TerminalPage(console, theme, markdown=markdown, root=root)
        self._region = LiveRegion(console, self._lock, self._draw)
        self._due = self._now()
        self._waiting = False  # a frame is on its way
        self._closed = False
        self._failure: Exception | None = None  # the error of a frame

    def feed(self, event: Any) -> None:
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._closed or not self._page.feed(event) or self._waiting:
                return
            wait = self._due - self._now()
            if wait <= 0:
                self._draw()
            else:
                self._waiting = True
                self._scheduler.schedule_relative(wait, self._late)

    def close(self, error: BaseException | None) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                if self._failure is not None:
                    self._after_a_failure(error)
                elif not isinstance(error, BrokenPipeError):  # else the output may be closed, so this may fail too
                    self._page.close(error)
                    self._draw()
                    self._region.stop()
            finally:
                self._page.release()
                if self._own is not None:
                    self._own.dispose()

    def _after_a_failure(self, error: BaseException | None) -> None:
        """Restore the terminal as far as it can be, and raise the failure of a frame, unless it was raised."""
        with suppress(OSError):  # what could not be written to may not be written to now, and that has been told
            self._region.stop()
        if error is None and self._failure is not None:
            raise self._failure

    def _late(self, _scheduler: SchedulerBase, _state: object = None) -> None:
        with self._lock:
            self._waiting = False
            if self._closed:
                return
            with suppress(Exception):  # it is raised where the next event comes from
                self._draw()

    def _draw(self) -> None:
        begun = self._now()
        width, height = self._console.size
        try:
            self._region.draw(*self._page.take(width, rows_of_region(height)))
        except Exception as failure:
            self._failure = failure
            raise
        ended = self._now()
        self._due = ended + max(FRAME, REST * (ended - begun))

    def _now(self) -> float:
        return self._scheduler.to_seconds(self._scheduler.now)
