"""`new_output`: the file that a command makes, checked before the work and written after it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ....events.errors import UsageError
from ...recordings.read_input import reason_of

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
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        made = Path(file.name)
        try:
            file.write(content)
            file.flush()
            shutil.copymode(target, made)
            made.replace(target)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
