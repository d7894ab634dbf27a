"""`progress_shown`: show on a terminal how far a long work is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from ....sinks.wording.printable import printable
from ...recordings.inspect_recording import Progress
from ...runs.on_interrupt import on_interrupt

PATIENCE = 1.0
"""The seconds after which the progress of a work is shown."""


@contextmanager
def progress_shown(what: str) -> Generator[Progress | None, None, None]:
    """Yield a function that takes what is done and all that is to do, and shows it on stderr if the work takes long.

    None is yielded if stderr is not a terminal that can redraw a line.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - help needs no rich
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn  # noqa: PLC0415
    from rich.progress import Progress as Bars  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield None
        return
    name = TextColumn("{task.description}", markup=False)
    bars = Bars(name, BarColumn(), TaskProgressColumn(), console=console, transient=True)
    task = bars.add_task(printable(what), total=None)
    timer = threading.Timer(PATIENCE, bars.start)
    timer.start()
    try:
        with on_interrupt(_leave):  # a plain Ctrl-C may be lost while the other thread draws and this one waits
            yield lambda done, size: bars.update(task, completed=done, total=size)
    finally:
        timer.cancel()
        timer.join()
        bars.stop()


def _leave() -> None:
    raise KeyboardInterrupt
