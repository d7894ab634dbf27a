"""`Commands`: run a shell command in a folder, stop it with all that it started, and return what it printed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...events.errors import UsageError
from ..providers.providers import PROVIDERS

LONGEST_OUTPUT = 256 * 1024
"""The most bytes of output that are kept; the rest is read and dropped."""
SECONDS = 120
"""How long a command runs unless it says otherwise."""


class Commands:
    """Commands in one folder, whose environment does not contain the providers' keys."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def run(self, command: str, timeout_seconds: int | None = None, cwd: str | None = None) -> dict[str, Any]:
        """Run a command in a shell."""
        folder = (self._root / (cwd or ".")).resolve()
        if not folder.is_relative_to(self._root):
            message = f"cwd must be below the app's folder, got {cwd!r}"
            raise UsageError(message)
        starting = asyncio.ensure_future(_start(command, folder))
        output = bytearray()
        try:
            process = await asyncio.shield(starting)  # cancelled while it starts, asyncio would kill only the shell
            async with asyncio.timeout(timeout_seconds or SECONDS):
                await _read(process, output)
                await process.wait()
        except TimeoutError:
            message = f"the command ran longer than {timeout_seconds or SECONDS} seconds: {_text(output)[-2000:]}"
            raise UsageError(message) from None
        finally:
            process = await starting
            _kill(process)
            await process.wait()
        return {"code": process.returncode, "output": _text(output)}


async def _start(command: str, folder: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        command,
        cwd=folder,
        env=_environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )


async def _read(process: asyncio.subprocess.Process, output: bytearray) -> None:
    stdout = process.stdout
    while stdout is not None and (piece := await stdout.read(65536)):
        output += piece[: max(0, LONGEST_OUTPUT - len(output))]


def _text(output: bytearray) -> str:
    cut = "\n… the output was longer than is kept" if len(output) >= LONGEST_OUTPUT else ""
    return output.decode(errors="replace") + cut


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill what the command started, too: it is a process group of its own."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _environment() -> dict[str, str]:
    keys = {name for provider in PROVIDERS.values() for name in provider.keys}
    kept = {name: value for name, value in os.environ.items() if name not in keys}
    kept["PATH"] = os.pathsep.join(filter(None, (os.path.dirname(sys.executable), kept.get("PATH"))))  # noqa: PTH120
    return kept
