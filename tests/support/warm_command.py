"""The `penstock` command in a forked copy of a process that has imported it: real files, signals and exit codes, no start.

Run as a program it is that process: it takes orders from its input until that ends.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

LENGTH, NUMBER = struct.Struct("!I"), struct.Struct("!i")
IMPORTED = (
    "rich.live", "rich.markdown", "rich.progress", "rich.syntax", "rich.table", "starlette.applications", "uvicorn",
    "uvicorn.protocols.http.h11_impl", "uvicorn.lifespan.on", "penstock.sinks.plain_view", "penstock.studio.app.app_routes",
    "penstock.studio.explorer", "penstock.studio.reading.inspect_recording", "penstock.studio.replay.replay_server",
    "penstock.studio.run_provider",
)  # fmt: skip
"""What commands import when they run, besides the files that they are in."""


class WarmCommand(subprocess.Popen[Any]):
    """A command that runs in a forked process: it is nobody's child here, so its end is read from a socket."""

    def _execute_child(self, args: Any, *given: Any) -> None:
        folder, environment = given[4:6]
        to_read, input_end, output_end, to_write, error_end, error = given[9:15]
        *_, with_session, _group = given
        files = [mine if mine != -1 else number for number, mine in enumerate((to_read, to_write, error))]
        self._end, theirs = socket.socketpair()
        try:
            order = {
                "arguments": args,
                "environment": dict(os.environ if environment is None else environment),
                "folder": os.fspath(folder or Path.cwd()),
                "session": with_session,
            }
            body = json.dumps(order).encode()
            channel = _channel()
            socket.send_fds(channel, [LENGTH.pack(len(body))], [theirs.fileno(), *files])
            channel.sendall(body)
            (self.pid,) = NUMBER.unpack(_read(self._end, NUMBER.size))
            self._child_created = True
        finally:
            theirs.close()
            self._close_pipe_fds(to_read, input_end, output_end, to_write, error_end, error)  # type: ignore[attr-defined]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        try:
            self._end.setblocking(not wait_flags & os.WNOHANG)
            (status,) = NUMBER.unpack(_read(self._end, NUMBER.size))
        except BlockingIOError:
            return 0, 0
        self._end.close()
        return self.pid, status

    def _internal_poll(self, *_: Any, **_further: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


@cache
def _channel() -> socket.socket:
    """Start the process that is forked, once, and return the socket by which it takes orders."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, __file__], stdin=theirs.fileno())

    def stop() -> None:
        ours.close()
        process.wait()

    atexit.register(stop)
    theirs.close()
    return ours


def _read(end: socket.socket, size: int) -> bytes:
    """Return so many bytes, or raise `BlockingIOError` if none has come; they are too few to come in parts."""
    read = end.recv(size)
    if not read:
        raise EOFError
    return read


def wait_for_orders() -> dict[str, Any]:
    """Fork for each order; return it in the new process, which is to run it. In the first one this never returns."""
    channel = socket.socket(fileno=os.dup(0))
    while True:
        head, files, _, _ = socket.recv_fds(channel, LENGTH.size, 4)
        if not head:
            _leave()
        body = b""
        while len(body) < LENGTH.unpack(head)[0]:
            body += channel.recv(1 << 16)
        if os.fork() == 0:
            os.close(channel.detach())
            return _watched(json.loads(body), *files)
        for file in files:
            os.close(file)
        _reap()


def _watched(order: dict[str, Any], end: int, *files: int) -> dict[str, Any]:
    """Fork once more: one process tells its number and becomes the command, the other waits for it and tells its end."""
    command = os.fork()
    if command:
        for file in files:
            os.close(file)
        with socket.socket(fileno=end) as told:
            told.sendall(NUMBER.pack(os.waitpid(command, 0)[1]))
        os._exit(0)
    if order["session"]:
        os.setsid()
    os.write(end, NUMBER.pack(os.getpid()))
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in (end, *files):
        os.close(file)
    return order


def _reap(options: int = os.WNOHANG) -> None:
    try:
        while os.waitpid(-1, options)[0]:
            pass
    except ChildProcessError:
        return


def _leave() -> NoReturn:
    _reap(0)
    os._exit(0)


def _open_files() -> None:
    """Open the input and outputs as a Python that starts does."""
    for number, name, before in ((0, "stdin", None), (1, "stdout", sys.stdout), (2, "stderr", sys.stderr)):
        raw = io.FileIO(number, "r" if before is None else "w", closefd=False)
        raw.name = f"<{name}>"
        file = io.TextIOWrapper(
            io.BufferedReader(raw) if before is None else io.BufferedWriter(raw),
            encoding=(before or sys.stdin).encoding,
            errors=(before or sys.stdin).errors,
            newline="\n",
            line_buffering=number == 2 or os.isatty(number),
        )
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)


if __name__ == "__main__":
    import checkout  # noqa: F401 - first of all

    for each in IMPORTED:
        __import__(each)
    from penstock.studio.cli.cli_commands import COMMANDS, imported

    for each in COMMANDS:
        imported(each)
    from penstock.studio.cli.cli import main

    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a shell runs in the background
    gc.collect()
    gc.freeze()
    ordered = wait_for_orders()
    _open_files()
    os.environ.clear()
    os.environ.update(ordered["environment"])
    os.chdir(ordered["folder"])
    sys.argv[:] = ["-c", *ordered["arguments"]]
    main()
