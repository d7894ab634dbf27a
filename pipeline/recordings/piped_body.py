"""`PipedBody`: decode the body of a provider's response while it arrives on the standard input."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any

from ...events.chunk_response import ChunkResponse
from ...events.errors import ProviderError, UsageError
from ...operators.engine.stage import Completed, StageChain, stage
from ...sources.from_wire import decode_wire
from ...sources.recognition.apis import api_of
from ...sources.recognition.recognised_api import apis_of_body
from ...sources.recordings.taps import Tap
from .checked_stream import checked_stream
from .text_input import TextInput

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
