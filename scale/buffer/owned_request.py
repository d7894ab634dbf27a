"""`OwnedRequest`: one request to the provider, whose response goes into the log and to the client that is there."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final, NamedTuple

import httpx2

from ...sinks.log.log_writer import LogWriter
from ...sinks.log.stream_log import FencedError, LogUnavailableError
from .kept_answer import COMPLETE, End, Head, Part, frame
from .provider import read_response

_LOGGER: Final = logging.getLogger("penstock.buffer")
_MOST_BEHIND: Final = 1024 * 1024
"""Bytes that wait for a client; one that is slower reads on in the log."""
_MOST_WAITING: Final = 64 * 1024 * 1024
"""Bytes that wait for a log that is away."""
_KEPT_HEADERS: Final = frozenset(
    ("content-encoding", "content-type", "location", "request-id", "retry-after", "retry-after-ms", "x-request-id")
) | {"x-should-retry"}
"""Headers of a response that a client needs and that tell nothing of the account."""
_FIRST: Final = 1.0
"""Seconds for which a client waits until the log has the head: two buffers may have been asked at the same time."""
HIDDEN: Final = b"***"


class Answered(NamedTuple):
    """What a client gets in front of the body."""

    status: int
    headers: list[tuple[bytes, bytes]]


class OwnedRequest:
    """Reads a response to its end, whether or not its client stays.

    - `writer`: of the stream, into which the request has been written.
    - `ask`: returns the open response. `secrets`: what must not be kept if an error of the provider cites it.
    - `beat`: seconds between two signs of life in the log.
    - `answered`: set when `head` is there, or the end is. `end`: None while it runs; `is_fenced`: another buffer has
      the stream now.
    """

    def __init__(
        self, writer: LogWriter, ask: Callable[[], Awaitable[httpx2.Response]], secrets: Iterable[bytes], beat: float
    ) -> None:
        self.writer = writer
        self.body = LiveBody()
        self.answered = asyncio.Event()
        self.head: Answered | None = None
        self.end: End | None = None
        self.is_fenced = False
        self.is_kept = True
        self.size = 0
        self._ask, self._secrets, self._beat = ask, [*secrets], beat
        self._reason: str | None = None
        self._reading: asyncio.Task[None] | None = None

    async def run(self) -> End:
        """Return how it ended; the log has it then, if it can be reached."""
        self._reading = reading = asyncio.create_task(self._read())
        beating = asyncio.create_task(self.writer.keep_alive(self._beat))
        if self._reason is not None:
            reading.cancel()
        try:
            await asyncio.wait({reading, beating}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done() and isinstance(beating.exception(), LogUnavailableError):
                self._lose_log()
                await asyncio.wait({reading})
        finally:
            reading.cancel()
            beating.cancel()
            await asyncio.wait({reading, beating})
        self.end = end = self._end_of(reading, beating)
        self.answered.set()
        self.body.finish()
        if self.is_kept:
            await self._finish(end)
        return end

    def cancel(self, reason: str) -> None:
        """Close the upstream's response; the stream ends as interrupted, with this reason."""
        self._reason = reason
        if self._reading is not None:
            self._reading.cancel()

    def leave(self) -> None:
        """Go on without the client."""
        self.body.close()
        if not self.is_kept:
            self.cancel("log_lost")

    async def _read(self) -> None:
        response = await self._ask()
        try:
            headers, pieces = read_response(response)
            said = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
            self._put(Head(response.status_code, [each for each in said if each[0] in _KEPT_HEADERS]))
            with suppress(TimeoutError, LogUnavailableError):  # a client need not wait for a log that is away
                async with asyncio.timeout(_FIRST):
                    await self.writer.flush()
            self.head = Answered(response.status_code, headers)
            self.answered.set()
            if response.is_success:
                async for piece in pieces:
                    self._put(piece)
                    self.body.put(piece)
            else:
                await self._read_error(pieces)
        finally:
            await response.aclose()

    async def _read_error(self, pieces: AsyncIterator[bytes]) -> None:
        """Read the body of an error, which the log gets when it is whole: a key in it may be cut."""
        body = bytearray()
        async for piece in pieces:
            self.body.put(piece)
            body += piece
        for secret in self._secrets:
            body = body.replace(secret, HIDDEN)
        self._put(bytes(body))

    def _put(self, part: Part) -> None:
        if isinstance(part, bytes):
            self.size += len(part)
        if not self.is_kept:
            return
        try:
            self.writer.put(frame(part))
        except LogUnavailableError:
            self._lose_log()
        else:
            if self.writer.size > _MOST_WAITING:
                self._lose_log()

    def _lose_log(self) -> None:
        """Go on for the client alone, from a log that has been away for too long."""
        _LOGGER.error("the log is away for too long: an answer goes on without it, for its client")
        self.is_kept = False
        if self.body.is_closed:
            self.cancel("log_lost")

    def _end_of(self, reading: asyncio.Task[None], beating: asyncio.Task[None]) -> End:
        lost = None if beating.cancelled() else beating.exception()
        error = None if reading.cancelled() else reading.exception()
        for each in (lost, error):
            match each:
                case None | LogUnavailableError():
                    pass
                case FencedError():
                    self.is_fenced, self.is_kept = True, False
                    return End("interrupted", "fenced")
                case httpx2.TimeoutException():
                    return End("interrupted", "timeout")
                case httpx2.RequestError():
                    return End("interrupted", "connection_lost")
                case _:
                    _LOGGER.error("an answer failed", exc_info=each)
                    return End("interrupted", "failed")
        return End("interrupted", self._reason) if reading.cancelled() else COMPLETE

    async def _finish(self, end: End) -> None:
        try:
            self.writer.put(frame(end))
            await self.writer.close()
        except FencedError:
            self.is_fenced = True
        except LogUnavailableError:
            _LOGGER.error("the log is away: how an answer ended is not in it")  # noqa: TRY400 - that is all to know
            self.is_kept = False


class LiveBody:
    """The pieces of a body for one client, as long as it keeps up; `is_behind` says that it does not."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._came = asyncio.Event()
        self._is_finished = False
        self.is_behind = False
        self.is_closed = False

    def put(self, piece: bytes) -> None:
        if self.is_closed or self.is_behind:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        self.is_behind = self._size > _MOST_BEHIND
        self._came.set()

    def finish(self) -> None:
        self._is_finished = True
        self._came.set()

    def close(self) -> None:
        """Take no more pieces, for the client has left."""
        self.is_closed = True
        self._pieces.clear()

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        while True:
            while self._pieces:
                piece = self._pieces.popleft()
                self._size -= len(piece)
                yield piece
            if self._is_finished or self.is_behind:
                return
            self._came.clear()
            await self._came.wait()
