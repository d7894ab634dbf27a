"""What a command reads: a file or the standard input, within a bound."""

from __future__ import annotations

import sys
from typing import BinaryIO

from ...events.errors import UsageError
from ...sources.streams.bounded_read import read_bounded

INPUT_IS_CLOSED = "the input is closed; name a file, or pipe something in"


def read_input(path: str) -> bytes:
    """Read a file whole, `-` for the standard input; `UsageError` where it cannot be read or is too long."""
    try:
        if path == "-":
            return read_bounded(standard_input())
        with open(path, "rb") as file:  # noqa: PTH123 - a Path would change what was typed
            return read_bounded(file)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        message = f"cannot be read: {reason_of(error)}"
    except UsageError as error:
        message = f"cannot be read: {error}"
    raise UsageError(message)


def standard_input() -> BinaryIO:
    """Return the standard input in bytes; `UsageError` where the command was started without one."""
    if sys.stdin is None:
        raise UsageError(INPUT_IS_CLOSED)
    return sys.stdin.buffer


def reason_of(error: OSError | ValueError) -> object:
    """Return why a file cannot be read, in the system's words where there are some."""
    return (error.strerror or error) if isinstance(error, OSError) else error
