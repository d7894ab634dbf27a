"""What the commands on streams share: Ctrl-C, the progress of a long work, and the file that they make."""

from __future__ import annotations

import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from ...events.errors import UsageError
from ...sinks.parts.event_words import printable
from ...sources.streams.bounded_read import reason_of
from ..reading.inspect_recording import Progress

_PATIENCE = 0.1
"""The seconds after which the signal is sent again if the handler has not been called."""


@contextmanager
def on_interrupt(act: Callable[[], object]) -> Generator[None, None, None]:
    """Call `act` on the main thread at the first Ctrl-C inside of the block; the next is a plain KeyboardInterrupt.

    Python calls a signal's handler between its own steps, and a signal breaks off a system call that waits. A signal
    between the last step and the system call is handled only when the call returns, which may be never. So a thread is
    notified of the signal, too (`signal.set_wakeup_fd`), and sends it to the main thread until the handler has been
    called.

    Nothing changes if Ctrl-C is ignored, as in the background of a shell, or has another handler than Python's default.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    interrupt = _Interrupt(act)
    signal.signal(signal.SIGINT, interrupt.handle)
    try:
        if hasattr(signal, "pthread_kill"):
            with interrupt.watched():
                yield
        else:
            yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _Interrupt:
    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._is_handled = False
        self._repeats: list[None] = []
        """One entry for each time that the signal was sent again; so many signals are not a second Ctrl-C of the
        user."""

    def handle(self, *_: object) -> None:
        if not self._is_handled:
            self._is_handled = True
            self._act()
        elif self._repeats:
            self._repeats.pop()
        else:
            raise KeyboardInterrupt

    @contextmanager
    def watched(self) -> Generator[None, None, None]:
        told, tells = socket.socketpair()
        tells.settimeout(0)
        before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
        watcher = threading.Thread(target=self._watch, args=(told,), name="penstock-interrupt", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            tells.close()
            watcher.join()
            told.close()

    def _watch(self, told: socket.socket) -> None:
        main = threading.main_thread().ident
        while True:
            try:
                signals = told.recv(64)
            except TimeoutError:
                if self._is_handled or main is None:
                    told.settimeout(None)
                    continue
                self._repeats.append(None)
                signal.pthread_kill(main, signal.SIGINT)
                continue
            if not signals:
                return
            if signal.SIGINT in signals:
                told.settimeout(_PATIENCE)


ResultT = TypeVar("ResultT")


def new_output(name: str, *, overwrite: bool = False) -> Callable[[bytes], None]:
    """Return a function that writes a file's whole content; `-` is the output. `UsageError` if the file exists.

    The old file is replaced in one step, and stays as it was if the new one cannot be written.
    """
    target = Path(name)
    if name == "-":
        return _write_out
    if not overwrite and _told(name, target.exists):
        message = f"{name} exists already; choose another name, or pass --overwrite"
        raise UsageError(message)

    def write(content: bytes) -> None:
        if not overwrite:
            _write_new(target, content)
        elif target.exists() and not target.is_file():  # a device or a pipe, which cannot be replaced
            target.write_bytes(content)
        else:
            _replace(target.resolve(), content)

    return lambda content: _told(name, lambda: write(content))


def _told(name: str, do: Callable[[], ResultT]) -> ResultT:
    try:
        return do()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        message = f"{name} cannot be written: {reason_of(error)}"
        raise UsageError(message) from error


def _write_out(content: bytes) -> None:
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _write_new(target: Path, content: bytes) -> None:
    with target.open("xb") as file:
        try:
            file.write(content)
            file.flush()
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def _replace(target: Path, content: bytes) -> None:
    if not target.exists():
        _write_new(target, content)
        return
    with ExitStack() as left:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            made = Path(file.name)
            left.callback(made.unlink, missing_ok=True)
            file.write(content)
        shutil.copymode(target, made)
        made.replace(target)  # closed before, for Windows puts no open file in the place of another


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
