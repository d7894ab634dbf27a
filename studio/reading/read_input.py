"""Read the input of a command, whole or as it arrives; `checked_stream`, `PipedBody`: and detect its API."""

from __future__ import annotations

import json
import re
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

from ...events.chunk_response import ChunkResponse
from ...events.errors import ProviderError, UsageError
from ...operators.engine.drive import drive
from ...operators.engine.stage import Completed, StageChain, stage
from ...sources.base.endings import error_in_body, reported_error
from ...sources.base.sdk_fields import entries_of, fields_of
from ...sources.from_wire import decode_wire
from ...sources.recognition.apis import APIS, api_of
from ...sources.recognition.checked_machine import has_content
from ...sources.recognition.recognised_api import apis_of_body, recognised_api
from ...sources.streams.bounded_read import LONGEST_TEXT, read_bounded, too_long
from ...sources.streams.taps import Tap

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


_UNREADABLE = frozenset({"invalid_json", "invalid_utf8"})
_GZIP = b"\x1f\x8b"
_RECORD = "record the body of a streamed answer"


def checked_stream(body: bytes, api: str | None = None) -> str:
    """Return the name of a body's API: the one given, else the one detected from the body.

    Raises `UsageError` for a body that is empty, is not a stream, or has no event of the API. A provider's error in
    mid-stream is part of the stream; an error response is not a stream.
    """
    given = None if api is None else api_of(api).name
    _refuse_what_is_no_answer(body)
    if _begin_of(body).startswith(b"<"):
        message = f"it is HTML or XML, not a stream; check the URL that was requested, and {_RECORD}"
        raise UsageError(message)
    try:
        recognised = recognised_api(body)
    except UsageError as error:
        if given is None:
            known = ", ".join(each.name for each in APIS)
            begin = "" if _whole_json(body) is None else "a whole JSON document, not a stream of a known API; "
            message = f"{begin}cannot tell which API this is; name it with api=, one of: {known}"
            raise UsageError(message) from error
        recognised = ""
    if given in (None, recognised):
        return recognised
    if _has_events(given, body, _is_answer if recognised else _is_understood):
        return given
    if recognised:
        message = f"it has no event of {given}; its events are those of {recognised}, so leave api= out"
    elif _whole_json(body) is not None:
        message = f"a whole JSON document, not a stream of {given}; {_RECORD} (stream=True)"
    else:
        message = f"it has no event of {given} in {len(body):,} bytes; {_RECORD}, or name another api="
    raise UsageError(message)


def _begin_of(body: bytes) -> bytes:
    return body.lstrip(b" \t\r\n\xef\xbb\xbf")


def _refuse_what_is_no_answer(body: bytes) -> None:
    begin = _begin_of(body)
    if not begin:
        message = f"it is empty; {_RECORD}"
    elif begin.startswith(_GZIP):
        message = f"it is packed with gzip; unpack it with gunzip, let curl do so with --compressed, and {_RECORD}"
    elif (error := _error_alone(body)) is not None:
        message = f"it is an error response, not a stream: {error}; repeat the request, and {_RECORD}"
    else:
        return
    raise UsageError(message)


def _error_alone(body: bytes) -> ProviderError | None:
    """Return the error of a JSON document that is an error response."""
    first = next(iter(entries_of(_whole_json(body))), None)
    told = reported_error(fields_of(first) or {})
    return None if told is None else error_in_body(told.body)


def _whole_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


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
    _refuse_what_is_no_answer(body)
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
