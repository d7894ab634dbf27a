"""`terminal_view`: an answer live on a terminal. Needs `pip install ".[terminal]"`."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from ..events.errors import UsageError, how_to_install
from .files.edit_tracker import checked_root
from .running.sink import TwinSink, each_event

if TYPE_CHECKING:
    from reactivex.abc import SchedulerBase
    from rich.console import Console


def terminal_view(
    console: Console | None = None,
    *,
    theme: str | None = None,
    markdown: bool = True,
    root: str | os.PathLike[str] | None = None,
    scheduler: SchedulerBase | None = None,
) -> TwinSink[None]:
    """Show an answer on a terminal while it arrives: text, files in panels, commands and calls.

        terminal_view()(pipeline.stream(source))
        await terminal_view()(pipeline.astream(source))
        Pipeline(sinks=[terminal_view()])

    Markdown is drawn: finished blocks of the answer go to the scrollback, the open one is drawn again as it grows,
    and open code grows as code. Reasoning has a heading and a bar. A call has a line for each of its arguments, as
    far as they have come. A file is a panel with its path, its number of lines and its last rows in colour; files
    written at the same time are side by side if the terminal is wide enough. Once they have ended, the whole files
    stay, with their long lines wrapped. An edit has its counts, and says which line does not match. Changes are
    drawn at most twelve times a second, on about half of the screen; finished parts stay. If the output is not a
    terminal, or one without cursor movement, the lines of `plain_view` are printed instead.

    - `console`: the rich console to draw on, by default standard output. Use one view at a time on a terminal.
    - `theme`: a Pygments theme for code, by default terminal colours readable on dark and light. NO_COLOR is honoured.
    - `markdown`: whether the Markdown of texts is drawn; if not, they are shown as they are written.
    - `root`: the folder of the files, as `write_files` has it: an edit is compared with the file while it streams.
    - `scheduler`: the clock, by default a thread of its own.

    An exception of the stream, also Ctrl-C, leaves a clean terminal with a line about it, and is raised. `UsageError`
    if rich is not installed, and for a `root` that is no folder.
    """
    try:
        from .terminal_target import new_target  # noqa: PLC0415 - what it imports is an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rich":
            raise
        message = f"the terminal view needs rich; {how_to_install('terminal')}"
        raise UsageError(message) from error
    return each_event(partial(new_target, console, theme, scheduler, markdown=markdown, root=checked_root(root)))
