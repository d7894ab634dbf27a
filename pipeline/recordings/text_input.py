"""`TextInput`: read text as it arrives, from the standard input or a file."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...events.errors import UsageError
from ...sources.streams.bounded_read import LONGEST_TEXT, too_long
from .read_input import reason_of, standard_input

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
