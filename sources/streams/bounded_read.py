"""Read whole files up to a maximum size, because `/dev/zero` has no end."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import IO, AnyStr

from ...events.errors import UsageError

LONGEST = 64 * 1024 * 1024
"""The most bytes of a recording, and of every other file that is read whole."""
LONGEST_BODY = 32 * 1024 * 1024
"""The most bytes of a request's body: the largest that a provider accepts."""
LONGEST_TEXT = 16 * 1024 * 1024
"""The most bytes of a model's text, or characters of a prompt: more than any model writes or reads."""


def read_bounded(file: IO[AnyStr], longest: int = LONGEST) -> AnyStr:
    """Read a file to its end; `UsageError` if it is too long.

    >>> import io
    >>> read_bounded(io.BytesIO(b"data: 1"))
    b'data: 1'
    """
    content = file.read(longest + 1)
    if len(content) > longest:
        raise UsageError(too_long(longest))
    return content


def read_file(path: str | PathLike[str]) -> bytes:
    """Read a whole file; `UsageError` says why it cannot be read, and what to do where that is known."""
    try:
        with open(fspath(path), "rb") as file:  # noqa: PTH123 - a Path would change what was typed
            return read_bounded(file)
    except (OSError, TypeError, ValueError) as error:  # ValueError: a path with a NUL
        message = why_unreadable(path, error)
    raise UsageError(message)


def why_unreadable(path: str | PathLike[str], error: Exception) -> str:
    """Return why a file cannot be read, and what to do where that is known."""
    return f"{reason_of(error)}{_advice(path, error)}"


def reason_of(error: Exception) -> object:
    """Return why a file cannot be read, in the system's words if there are any."""
    return (error.strerror or error) if isinstance(error, OSError) else error


def _advice(path: str | PathLike[str], error: Exception) -> str:
    """Return what to do about a file that cannot be read: another name, if one is near."""
    if isinstance(error, IsADirectoryError):
        return "; name a file in it"
    if isinstance(error, FileNotFoundError):
        with suppress(OSError):  # a folder that may not be listed
            folder, name = Path(path).parent, Path(path).name
            names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
            return "".join(f"; did you mean {str(folder / near)!r}?" for near in get_close_matches(name, names, n=1))
    return ""


def too_long(longest: int) -> str:
    """Return the error message for input that is too long."""
    unit = f"{longest // 1024**2} MiB" if longest >= 1024**2 else f"{longest:,} bytes"
    return f"it is longer than {unit}, the most that is read"
