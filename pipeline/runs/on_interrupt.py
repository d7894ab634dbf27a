"""`on_interrupt`: call a function at Ctrl-C, even if it comes just before a blocking wait."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

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
