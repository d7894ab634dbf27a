"""`terminal_view`: an answer live on a terminal. Needs the extra `terminal`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..events.errors import UsageError
from .running.sink import TwinSink, each_event

if TYPE_CHECKING:
    from reactivex.abc import SchedulerBase
    from rich.console import Console


def terminal_view(
    console: Console | None = None,
    *,
    theme: str | None = None,
    scheduler: SchedulerBase | None = None,
) -> TwinSink[None]:
    """Show an answer on a terminal while it comes: text, files in panels, commands, calls at their moment.

        terminal_view()(pipeline.stream(source))
        await terminal_view()(pipeline.astream(source))
        Pipeline(sinks=[terminal_view()])

    Text flows into the scrollback as its rows are full. A file stands in a panel with its path, its number of lines and
    its last rows in colour; files that are written at the same time stand side by side where the terminal is wide
    enough. What changes is drawn at most twelve times a second and never takes the whole screen; what has ended stays.
    Where the output is no terminal, or one that cannot move its cursor, the lines of `plain_view` come instead.

    - `console`: rich's, where to draw; standard output unless given. One view at a time on a terminal.
    - `theme`: of the code, one of Pygments'; unless given the terminal's own colours, those that can be read on dark
      and on light. NO_COLOR is honoured.
    - `scheduler`: whose time it is, a thread of its own unless given.

    An exception of the stream, Ctrl-C too, leaves a clean terminal with a line that says so, and passes. `UsageError`
    where rich is not installed.
    """
    try:
        from .terminal_target import new_target  # noqa: PLC0415 - what it imports is an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rich":
            raise
        message = 'the terminal view needs rich; from a clone, pip install ".[terminal]"'
        raise UsageError(message) from error
    return each_event(partial(new_target, console, theme, scheduler))
