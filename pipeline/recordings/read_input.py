"""Read the input of a command, a file or the standard input, up to a maximum size."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from ...events.errors import UsageError
from ...sources.streams.bounded_read import read_bounded

INPUT_IS_CLOSED = "the input is closed; name a file, or pipe something in"


def read_input(path: str) -> bytes:
    """Read a whole file, `-` for the standard input; `UsageError` if it cannot be read or is too long."""
    try:
        if path == "-":
            return read_bounded(standard_input())
        with open(path, "rb") as file:  # noqa: PTH123 - a Path would change what was typed
            return read_bounded(file)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        message = f"cannot be read: {reason_of(error)}{_advice(path, error)}"
    except UsageError as error:
        message = f"cannot be read: {error}"
    raise UsageError(message)


def _advice(path: str, error: OSError | ValueError) -> str:
    """Return what to do about a file that cannot be read: another name, if one is near."""
    if isinstance(error, IsADirectoryError):
        return "; name a file in it"
    if isinstance(error, FileNotFoundError):
        folder, name = Path(path).parent, Path(path).name
        names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        return "".join(f"; did you mean {str(folder / near)!r}?" for near in get_close_matches(name, names, n=1))
    return ""


def standard_input() -> BinaryIO:
    """Return the standard input as a binary file; `UsageError` if it is closed."""
    if sys.stdin is None:
        raise UsageError(INPUT_IS_CLOSED)
    return sys.stdin.buffer


def reason_of(error: OSError | ValueError) -> object:
    """Return why a file cannot be read, in the system's words if there are any."""
    return (error.strerror or error) if isinstance(error, OSError) else error
