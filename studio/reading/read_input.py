"""Read the input of a command, a file or the standard input: whole up to a maximum size, or as it arrives."""

from __future__ import annotations

import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

from ...events.errors import UsageError
from ...sources.streams.bounded_read import LONGEST_TEXT, read_bounded, too_long

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


LONGEST_READ = 65536


class TextInput:
    """Yields the pieces of a UTF-8 text as soon as they are there; invalid bytes become U+FFFD.

    A text beyond 16 MiB is a `UsageError`: it may have no end.

    `stop`, from a signal's handler, ends it, also where it waits for the next piece.
    """

    def __init__(self, path: str = "-") -> None:
        """Open a file, `-` for the standard input; `UsageError` for one that cannot be read."""
        try:
            self._file: Any = standard_input() if path == "-" else Path(path).open("rb")  # noqa: SIM115 - closed below
        except (OSError, ValueError) as error:  # ValueError: a path with a NUL
            message = f"{path} cannot be read: {reason_of(error)}"
            raise UsageError(message) from error
        self._path = path
        self._left = LONGEST_TEXT
        self._waits = False
        self._is_stopped = False

    def stop(self) -> None:
        self._is_stopped = True
        if self._waits:
            raise _StoppedError

    def __iter__(self) -> Iterator[str]:
        decoder = getincrementaldecoder("utf-8")("replace")
        for piece in self.pieces():
            if text := decoder.decode(piece):
                yield text
        if rest := decoder.decode(b"", final=True):
            yield rest

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes instead."""
        try:
            while piece := self._read():
                self._left -= len(piece)
                if self._left < 0:
                    message = f"{self._path} cannot be read: {too_long(LONGEST_TEXT)}"
                    raise UsageError(message)
                yield piece
        finally:
            if self._path != "-":
                self._file.close()

    def _read(self) -> bytes:
        try:
            self._waits = True
            # One system read at most, which returns what is there, so nothing waits for a full buffer.
            return b"" if self._is_stopped else bytes(self._file.read1(LONGEST_READ))
        except _StoppedError:
            return b""
        except OSError as error:  # a folder, say
            message = f"{self._path} cannot be read: {error.strerror}"
            raise UsageError(message) from error
        finally:
            self._waits = False


class _StoppedError(Exception):
    """Raised in a signal handler to interrupt a waiting read."""
