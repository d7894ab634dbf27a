"""Replay a recording over HTTP on this machine, to run a real SDK against it without a network."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from ...events.errors import UsageError
from .loopback_request import LONGEST_HEAD, next_request

LogKind: TypeAlias = Literal["request", "sent", "finished", "client_left"]


class LogEntry(NamedTuple):
    """An event in the log, `at` on the monotonic clock; `number` is the request's number, or the bytes sent."""

    at: float
    kind: LogKind
    number: int


class LoopbackServer:
    """Serve one body to every request, in pieces, on 127.0.0.1.

        with LoopbackServer(body, pieces=20) as server:
            client = OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0)

    - `pieces`: bytes of each piece, a number or a list (the rest follows in one); None for all at once.
    - `gated`: a piece is sent only when `allow()` has allowed it. `pace`: seconds before each piece.
    - `cut`: the connection breaks after so many bytes of the body. `status`: of the answer.
    - `log`: what happened, as it happens; `wait_for(kind)` waits for an entry.

    Refused are a `Host` that is not this machine (403), headers beyond 64 KiB (431), a body beyond 32 MiB (413) and a
    streamed one (411).
    """

    def __init__(
        self,
        body: bytes,
        *,
        pieces: int | Sequence[int] | None = None,
        gated: bool = False,
        pace: float = 0.0,
        cut: int | None = None,
        status: int = 200,
        content_type: str = "text/event-stream",
    ) -> None:
        self.log: list[LogEntry] = []
        self.url = ""
        self._pieces = _cut(body if cut is None else body[:cut], pieces)
        self._pace, self._is_gated, self._is_cut = pace, gated, cut is not None
        head = f"HTTP/1.1 {status} -", f"content-type: {content_type}", "transfer-encoding: chunked", "", ""
        self._head = "\r\n".join(head).encode()
        self._requests = 0
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="penstock-loopback", daemon=True)
        self._allowed = asyncio.Semaphore(0)
        self._connections: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._connected, "127.0.0.1", 0, limit=LONGEST_HEAD),
            self._loop,
        ).result()
        host, port = self._server.sockets[0].getsockname()[:2]
        self.url = f"http://{host}:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def allow(self, pieces: int = 1) -> None:
        """Allow a gated server to send more pieces."""
        for _ in range(pieces):
            self._loop.call_soon_threadsafe(self._allowed.release)

    def wait_for(self, kind: LogKind, *, number: int = 0, timeout: float = 20.0) -> LogEntry:
        """Wait for the first entry of a kind with at least `number`; `UsageError` after `timeout` seconds."""

        def found() -> LogEntry | None:
            return next((entry for entry in self.log if entry.kind == kind and entry.number >= number), None)

        with self._changed:
            entry = self._changed.wait_for(found, timeout)
        if entry is None:
            message = f"no {kind!r} with number {number} within {timeout} s; the log has {self.log}"
            raise UsageError(message)
        return entry

    def _note(self, kind: LogKind, number: int) -> None:
        with self._changed:
            self.log.append(LogEntry(time.monotonic(), kind, number))
            self._changed.notify_all()

    async def _stop(self) -> None:
        self._server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs this callback as a task
        self._connections.add(task)
        try:
            while await next_request(reader, writer):
                self._requests += 1
                self._note("request", self._requests)
                if not await self._answer(reader, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            self._note("client_left", 0)
        except asyncio.CancelledError:
            pass  # by `_stop`; asyncio's streams would print a traceback if the task ended as cancelled
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Send the body; return whether the connection can be used again."""
        sent = 0
        leaving: asyncio.Future[Any] = asyncio.ensure_future(reader.read(1))
        ready: asyncio.Future[Any] = leaving
        try:
            writer.write(self._head)
            for piece in self._pieces:
                ready = asyncio.ensure_future(self._ready())
                await asyncio.wait({ready, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if leaving.done():
                    self._note("client_left", sent)
                    return False
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
                sent += len(piece)
                self._note("sent", sent)
            if self._is_cut:
                writer.transport.abort()
                return False
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        except ConnectionError:
            self._note("client_left", sent)
            return False
        finally:
            ready.cancel()
            leaving.cancel()
            await asyncio.wait({ready, leaving})
        self._note("finished", sent)
        return not (leaving.done() and not leaving.cancelled())

    async def _ready(self) -> None:
        if self._is_gated:
            await self._allowed.acquire()
        if self._pace:
            await asyncio.sleep(self._pace)


def _cut(body: bytes, pieces: int | Sequence[int] | None) -> list[bytes]:
    if pieces is None or isinstance(pieces, int):
        size = pieces or max(len(body), 1)
        return [body[start : start + size] for start in range(0, len(body), size)]
    cut: list[bytes] = []
    start = 0
    for size in pieces:
        cut.append(body[start : start + size])
        start += size
    return [piece for piece in [*cut, body[start:]] if piece]
