"""JupyterLab and marimo on this machine, with kernels that find this checkout and none of the user's settings."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from penstock import ROOMS

ROOT = Path(__file__).parents[2]
TOKEN = "the-token-of-the-tests"
_ADDRESS = re.compile(r"http://[\w.]+:(\d+)")
_QUIET = {"fetchNews": "false", "checkForUpdates": False}


def kernel_environment(folder: Path) -> dict[str, str]:
    """Return an environment in which a kernel finds this checkout, with its settings below `folder`."""
    (folder / "penstock").mkdir()
    for each in (*(ROOT / "penstock").glob("*.py"), *(ROOT / room for room in ROOMS)):
        (folder / "penstock" / each.name).symlink_to(each)
    own = {name: str(folder / name.lower()) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    return {**os.environ, **own, "PYTHONPATH": str(folder)}


@contextmanager
def jupyterlab(folder: Path, cells: Sequence[str]) -> Iterator[str]:
    """Yield the address of a notebook with these cells."""
    environment = kernel_environment(folder)
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(_QUIET))
    work = folder / "work"
    work.mkdir()
    (work / "a.ipynb").write_text(json.dumps(_notebook(cells)))
    for name in ("settings", "workspaces"):
        environment[f"JUPYTERLAB_{name.upper()}_DIR"] = str(folder / name)
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", f"--IdentityProvider.token={TOKEN}"]
    command = ["jupyterlab", *options, f"--ServerApp.root_dir={work}"]
    with _server(command, environment) as port:
        yield f"http://127.0.0.1:{port}/lab/tree/a.ipynb?token={TOKEN}"


@contextmanager
def marimo(folder: Path, cells: Sequence[str]) -> Iterator[str]:
    """Yield the address of an app of marimo with these cells, functions with their arguments."""
    environment = kernel_environment(folder)
    environment["XDG_CONFIG_HOME"] = environment["XDG_STATE_HOME"] = environment["XDG_CACHE_HOME"] = str(folder)
    path = folder / "a.py"
    path.write_text("import marimo\n\napp = marimo.App()\n" + "".join(f"\n\n@app.cell\n{cell}" for cell in cells))
    with socket.create_server(("127.0.0.1", 0)) as free:
        chosen = str(free.getsockname()[1])
    command = ["marimo", "run", str(path), "--headless", "--host", "127.0.0.1", "--port", chosen, "--no-token"]
    with _server(command, environment) as port:
        yield f"http://127.0.0.1:{port}/"


@contextmanager
def _server(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[int]:
    """Run a module until the end of the block; yield the port that it prints."""
    with subprocess.Popen(
        [sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        said: list[str] = []
        found = None
        try:
            for line in process.stdout:
                said.append(line)
                if found := _ADDRESS.search(line):
                    break
            assert found, "".join(said)
            reader = threading.Thread(target=said.extend, args=(process.stdout,))  # else it may wait for a reader
            reader.start()
            _wait_for(int(found[1]), process)
            yield int(found[1])
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # kernels, too
            if found:
                reader.join()


def _wait_for(port: int, process: subprocess.Popen[str]) -> None:
    """Wait until the port is open: marimo says its address before."""
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return


def _notebook(cells: Sequence[str]) -> dict[str, object]:
    return {
        "cells": [
            {
                "cell_type": "code",
                "execution_count": None,
                "id": str(number),
                "metadata": {},
                "outputs": [],
                "source": cell,
            }
            for number, cell in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
