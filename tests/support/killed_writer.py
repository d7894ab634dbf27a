"""Writes files through `write_files` in processes that are to be killed; `test_killed_writer.py` asks for each.

A line `ROOT COUNT` on stdin forks a process, whose pid is printed. It writes file after file for ever, or is killed by
itself right before its COUNTth call of the operating system; if it comes to its end before that, it exits with 0. The
exit status is printed then, negative for a signal.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 - first of all

PIECES = 40
PIECE = 4096
SYSTEM_CALLS = ("open", "write", "fsync", "fchmod", "rename", "unlink", "mkdir", "close", "fstat", "stat", "listdir")
PATCH = (
    "*** Begin Patch\n*** Update File: b\n@@\n-old\n+new\n*** Add File: made/c\n+new\n*** Delete File: d\n*** End Patch"
)


def main() -> None:
    import file_calls  # noqa: F401, PLC0415 - of that checkout, and is imported once for all
    import unidiff.patch  # noqa: F401, PLC0415

    for line in sys.stdin:
        root, count = line.rsplit(maxsplit=1)
        pid = os.fork()
        if pid == 0:
            try:
                work(Path(root), int(count))
                status = 0
            except BaseException as error:  # noqa: BLE001 - seen by its status
                sys.stderr.write(repr(error))
                status = 1
            os._exit(status)
        print(pid, flush=True)  # noqa: T201
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201


def work(root: Path, count: int) -> None:
    from file_calls import carried_out, invocation, streamed  # noqa: PLC0415 - of that checkout

    if count < 0:
        for number in itertools.count():
            carried_out(root, *streamed("a", *(chr(ord("a") + number % 26) * PIECE,) * PIECES))
    die_before(count)
    carried_out(root, *streamed("a", "new" * PIECE, "new" * PIECE), invocation("apply_patch", "d", input=PATCH))


def die_before(count: int) -> None:
    left = count
    lock = threading.Lock()

    def counted(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        nonlocal left
        with lock:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)

    for name in SYSTEM_CALLS:
        wrapped = partial(counted, getattr(os, name))
        for known in (os.supports_dir_fd, os.supports_fd, os.supports_effective_ids, os.supports_follow_symlinks):
            if getattr(os, name) in known:
                known.add(wrapped)
        setattr(os, name, wrapped)


if __name__ == "__main__":
    main()
