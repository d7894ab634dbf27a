"""Read the input of a command, whole or as it arrives; `checked_stream`, `PipedBody`: and detect its API."""

from __future__ import annotations

import re
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

from ...events.chunk_response import ChunkResponse
from ...events.errors import ProviderError, UsageError
from ...operators.engine.drive import drive
from ...operators.engine.stage import Completed, StageChain, stage
from ...sources.from_wire import decode_wire
from ...sources.recognition.apis import APIS, api_of
from ...sources.recognition.checked_machine import has_content
from ...sources.recognition.recognised_api import (
    RECORD_A_STREAM,
    apis_of_body,
    recognised_api,
    whole_json,
    why_no_stream,
)
from ...sources.streams.bounded_read import LONGEST_TEXT, read_bounded, read_file, reason_of, too_long, why_unreadable
from ...sources.streams.taps import Tap

INPUT_IS_CLOSED = "the input is closed; name a file, or pipe something in"


def read_input(path: str) -> bytes:
    """Read a whole file, `-` for the standard input; `UsageError` if it cannot be read or is too long."""
    try:
        return read_bounded(standard_input()) if path == "-" else read_file(path)
    except OSError as error:  # of the standard input
        message = f"cannot be read: {reason_of(error)}"
    except UsageError as error:
        message = f"cannot be read: {error}"
    raise UsageError(message)


def standard_input() -> BinaryIO:
    """Return the standard input as a binary file; `UsageError` if it is closed."""
    if sys.stdin is None:
        raise UsageError(INPUT_IS_CLOSED)
    return sys.stdin.buffer


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
            message = f"{path} cannot be read: {why_unreadable(path, error)}"
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


_UNREADABLE = frozenset({"invalid_json", "invalid_utf8"})


def checked_stream(body: bytes, api: str | None = None) -> str:
    """Return the name of a body's API: the one given, else the one detected from the body.

    Raises `UsageError` for a body that is empty, is not a stream, or has no event of the API. A provider's error in
    mid-stream is part of the stream; an error response is not a stream.
    """
    given = None if api is None else api_of(api).name
    if (why := why_no_stream(body)) is not None:
        raise UsageError(why)
    try:
        recognised = recognised_api(body)
    except UsageError as error:
        if given is None:
            known = ", ".join(each.name for each in APIS)
            begin = "" if whole_json(body) is None else "a whole JSON document, not a stream of a known API; "
            message = f"{begin}cannot tell which API this is; name it with api=, one of: {known}"
            raise UsageError(message) from error
        recognised = ""
    if given in (None, recognised):
        return recognised
    if _has_events(given, body, _is_answer if recognised else _is_understood):
        return given
    if recognised:
        message = f"it has no event of {given}; its events are those of {recognised}, so leave api= out"
    elif whole_json(body) is not None:
        message = f"a whole JSON document, not a stream of {given}; {RECORD_A_STREAM} (stream=True)"
    else:
        message = f"it has no event of {given} in {len(body):,} bytes; {RECORD_A_STREAM}, or name another api="
    raise UsageError(message)


def _has_events(api: str, body: bytes, is_understood: Callable[[ChunkResponse], bool]) -> bool:
    pieces = (body[start : start + 4096] for start in range(0, len(body), 4096))
    try:
        return any(map(is_understood, drive(pieces, decode_wire(api, choices="all"))))
    except (ProviderError, UsageError):
        return False


def _is_understood(chunk: ChunkResponse) -> bool:
    if chunk.error is not None:
        return chunk.error.get("type") not in _UNREADABLE
    return has_content(chunk)


def _is_answer(chunk: ChunkResponse) -> bool:
    # Errors and token counts look alike in several APIs.
    return bool(chunk.content or chunk.reasoning or chunk.refusal or chunk.tool_calls or chunk.finish_reason)


MOST_PIECES = 10_000
_TOKEN = re.compile(r" ?\w{1,12}| ?[^\w\s]{1,12}|\s{1,12}")


def text_pieces(body: bytes) -> list[str]:
    r"""Return a model's text in pieces as short as tokens, and of a long one in larger ones, 10,000 at most.

    >>> text_pieces(b'Hi <tool_call>{"name": "add"')
    ['Hi', ' <', 'tool_call', '>{"', 'name', '":', ' "', 'add', '"']

    Invalid UTF-8 becomes U+FFFD. `UsageError` for what is empty, packed, an error response, or longer than 16 MiB.
    """
    if not body.strip():
        message = "it is empty; name the file that has the model's text"
        raise UsageError(message)
    if (why := why_no_stream(body, may_be_text=True)) is not None:
        raise UsageError(why)
    if len(body) > LONGEST_TEXT:
        raise UsageError(too_long(LONGEST_TEXT))
    return list(_pieces_of(body.decode(errors="replace")))


def _pieces_of(text: str) -> Iterator[str]:
    short, piece = len(text) // MOST_PIECES, ""
    for token in _TOKEN.finditer(text):
        piece += token[0]
        if len(piece) > short:
            yield piece
            piece = ""
    if piece:
        yield piece


SOON = 64 * 1024
"""The bytes within which a body shows its API, if it is a stream."""


class PipedBody:
    """A body of which `begin` reads as much as shows the API, and `chunks` the rest; `tap` sees all bytes as they come.

    `stop` ends it, from a signal's handler. Without `api` the API is detected.
    """

    def __init__(self, tap: Callable[[Any], Tap], api: str | None = None) -> None:
        self._api = None if api is None else api_of(api).name
        self._input = TextInput()
        self._pieces = tap(self._input.pieces())
        self._begin = b""

    def stop(self) -> None:
        self._pieces.is_given_up = True
        self._input.stop()

    def begin(self) -> None:
        """Read until the API is known; `UsageError` for what is no stream, of which no recording is left."""
        try:
            if not self._is_recognised():
                self._api = checked_stream(self._begin, self._api)
        except UsageError:
            self._pieces.discard()
            raise
        except BaseException:
            self._pieces.close()
            raise

    def _is_recognised(self) -> bool:
        """Read until the API is known and something is there; False if the body ended before."""
        looked_at = 0
        for piece in self._pieces:
            self._begin += piece
            # What is long and still not known is looked at again when it has doubled, so the work grows with the body.
            if self._api is None and len(self._begin) >= (looked_at * 2 if looked_at > SOON else 0):
                looked_at = len(self._begin)
                self._api = next(apis_of_body(self._begin), None)
            if self._api is not None and not self._begin.isspace():
                return True
        return False

    def chunks(self) -> Generator[ChunkResponse, None, None]:
        """Yield each chunk, of all choices, with the bytes that complete it."""
        if self._api is None:
            self.begin()
        chain = stage(decode_wire(self._api or "", choices="all"))
        with closing(self._pieces):
            if self._begin:
                yield from self._fed(chain, self._begin)
            for piece in self._pieces:
                yield from self._fed(chain, piece)
            yield from chain.close(Completed())

    def _fed(self, chain: StageChain[bytes, ChunkResponse], piece: bytes) -> Generator[ChunkResponse, None, None]:
        try:
            yield from chain.feed(piece)
        except ProviderError:
            yield from chain.last_words
            raise
