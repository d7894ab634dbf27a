"""What the app does with calls: writes files below a folder, and runs commands in it, each after a yes."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil

from ...events.errors import UsageError
from ...operators.guard import guard
from ...operators.policies.ready import InsideRoot
from ...pipeline.call_tools import call_tools
from ...pipeline.pipeline import Pipeline
from ...pipeline.tool import tool
from ...pipeline.tool_schemas import FILE_TOOL_DEFINITIONS
from ...sinks.acting.approval import Approve
from ...sinks.acting.step import EventStep
from ...sinks.files.write_files import write_files

LONGEST_OUTPUT = 256 * 1024
"""The most bytes of output that are kept; the rest is read and dropped."""
SECONDS = 120
"""How long a command runs unless it says otherwise."""
SECONDS_TO_END = 2
"""How long each step of ending a command is waited for; there are three."""
MARK = "PENSTOCK_COMMAND"
"""The variable by which processes are found that left the process group of their command."""

# What is passed on is listed, as nobody can list the names under which people keep secrets.
PASSED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TERM|COLORTERM|NO_COLOR|TZ|TMPDIR|TEMP|TMP|DISPLAY|XDG_\w+_(?:DIRS?|HOME)"
    r"|VIRTUAL_ENV|CONDA_PREFIX|PYTHON(?:PATH|HOME|UTF8|IOENCODING|DONTWRITEBYTECODE|UNBUFFERED)|PYENV_(?:ROOT|VERSION)"
    r"|NODE_PATH|NODE_ENV|NVM_(?:DIR|BIN)|JAVA_HOME|GOPATH|GOROOT|GOCACHE|CARGO_HOME|RUSTUP_HOME|RUBYLIB|GEM_(?:HOME|PATH)"
    r"|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|PKG_CONFIG_PATH|SSL_CERT_(?:FILE|DIR)|CI"
)


class Commands:
    """Commands in one folder, whose environment has only what `PASSED_ON` lists."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def run(self, command: str, timeout_seconds: int | None = None, cwd: str | None = None) -> dict[str, Any]:
        """Run a command in a shell.

        It always returns within its time and some seconds. What it started is ended with it, also what left its
        process group; `still_running` names what could not be ended. `UsageError` for a folder elsewhere, for a command
        that runs too long, and where no group of processes can be ended.
        """
        if not hasattr(os, "killpg"):
            message = "commands need a system that ends whole groups of processes, such as Linux or macOS"
            raise UsageError(message)
        folder = (self._root / (cwd or ".")).resolve()
        if not folder.is_relative_to(self._root):
            message = f"cwd must be below the app's folder, got {cwd!r}"
            raise UsageError(message)
        seconds = timeout_seconds or SECONDS
        running = _Running(command, folder)
        try:
            async with asyncio.timeout(seconds):
                code = await running.end()
        except TimeoutError:
            left = await running.stop()
            told = f"; could not be ended: {', '.join(left)}" if left else ""
            message = f"the command ran longer than {seconds} seconds{told}: {running.output()[-2000:]}"
            raise UsageError(message) from None
        except BaseException:
            await running.stop()
            raise
        left = await running.stop()
        return {"code": code, "output": running.output()} | ({"still_running": left} if left else {})


class _Running:
    """A command that runs, with a pipe of its own: asyncio's would be waited for as long as anybody holds it."""

    def __init__(self, command: str, folder: Path) -> None:
        self._mark = uuid4().hex
        self._pipe, self._output_of_command = os.pipe()
        self._inode = os.fstat(self._pipe).st_ino
        self._output = bytearray()
        # A task, and shielded: cancelled while it starts, asyncio would kill only the shell.
        self._starting = asyncio.ensure_future(self._start(command, folder))
        self._reading = asyncio.ensure_future(self._read())

    async def _start(self, command: str, folder: Path) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                "bash",
                "-c",
                command,
                cwd=folder,
                env=_environment() | {MARK: self._mark},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=self._output_of_command,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        finally:
            os.close(self._output_of_command)

    async def _read(self) -> None:
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._pipe, "rb", 0)
        )
        try:
            while piece := await reader.read(65536):
                self._output += piece[: max(0, LONGEST_OUTPUT - len(self._output))]
        finally:
            transport.close()

    async def end(self) -> int:
        """Wait until the command has ended and nobody holds its output; return its exit code."""
        process = await asyncio.shield(self._starting)
        await asyncio.shield(self._reading)
        return await process.wait()

    async def stop(self) -> list[str]:
        """End the command and what it started; return what could not be ended."""
        # A task, and shielded: cancelled once more, it goes on.
        return await asyncio.shield(asyncio.ensure_future(self._stop()))

    async def _stop(self) -> list[str]:
        try:
            process = await self._starting
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            left = await asyncio.to_thread(self._end_others)
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), SECONDS_TO_END)
            if process.returncode is None:
                left.append(f"bash ({process.pid})")
            done, _ = await asyncio.wait([self._reading], timeout=SECONDS_TO_END)
            if not done and not left:
                left.append("a process that holds the output of the command and is not found")
            return left
        finally:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    def _end_others(self) -> list[str]:
        """End the processes that left the group; some may start others meanwhile."""
        latest = time.monotonic() + SECONDS_TO_END
        while found := [each for each in psutil.process_iter() if self._is_of_command(each)]:
            if time.monotonic() > latest:
                return [_name(each) for each in found]
            for each in found:
                with suppress(psutil.Error):
                    each.kill()
            time.sleep(0.01)
        return []

    def _is_of_command(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                return process.environ().get(MARK) == self._mark or self._holds_output(process.pid)
        return False

    def _holds_output(self, pid: int) -> bool:
        """Whether the command's pipe is the output of a process, as of one with an empty environment; only on Linux."""
        with suppress(OSError):
            return any(os.stat(f"/proc/{pid}/fd/{number}").st_ino == self._inode for number in (1, 2))  # noqa: PTH116
        return False

    def output(self) -> str:
        cut = "\n… the output was longer than is kept" if len(self._output) >= LONGEST_OUTPUT else ""
        return self._output.decode(errors="replace") + cut


def _name(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return f"{process.name()} ({process.pid})"
    return f"process {process.pid}"


def _environment() -> dict[str, str]:
    passed = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
    passed["PATH"] = os.pathsep.join(filter(None, (os.path.dirname(sys.executable), passed.get("PATH"))))  # noqa: PTH120
    return passed


OFFERED = ("write_file", "edit_file", "run_bash")
"""The tools that models are told of."""


class AppSteps:
    """The pipeline and the steps of the app's runs.

    - `root`: the folder for files; None if nothing is written.
    - `commands`: whether commands run there.
    """

    def __init__(self, root: Path | None, *, commands: bool) -> None:
        self._root = root
        run_bash = None if root is None or not commands else tool(Commands(root).run, name="run_bash")
        self._called: list[Any] = [] if run_bash is None else [run_bash]
        known = {**FILE_TOOL_DEFINITIONS} if run_bash is None else {**FILE_TOOL_DEFINITIONS, "run_bash": run_bash}
        self._tools = [known[name] for name in OFFERED]

    def pipeline(self) -> Pipeline:
        pipeline = Pipeline(tools=self._tools, keep_answer=False)
        if self._root is None:
            return pipeline
        # The rest of such a call need not be waited for.
        return pipeline.insert(guard(InsideRoot(self._root.resolve()), then="drop"), before="to_invocations")

    def steps(self, approve: Approve) -> Sequence[EventStep]:
        """Return the steps of one run."""
        makers: list[Callable[..., EventStep]] = []
        if self._root is not None:
            makers.append(partial(write_files, self._root))
        if self._called:
            makers.append(partial(call_tools, self._called))
        return [make(approve=approve) for make in makers]
