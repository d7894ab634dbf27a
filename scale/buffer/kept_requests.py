"""`KeptRequests`: the requests whose answers are in the log, whoever asks for them and wherever they are written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Mapping
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Send

from ...events.errors import UsageError, without_credentials
from ...sinks.log.log_writer import LogWriter
from ...sinks.log.stream_log import STREAM_HEADER, FencedError, LogGapError, LogState, LogUnavailableError, StreamLog
from .buffer_metrics import BufferMetrics
from .kept_answer import LEASE, Asked, End, Found, Head, find, frame, parts_of, settle
from .owned_request import OwnedRequest
from .provider import Headers, Provider

_LOGGER: Final = logging.getLogger("penstock.buffer")
_KEYS: Final = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie")
_KEY_PARAMETERS: Final = ("key", "api_key", "access_token")
_SHORTEST_KEY: Final = 8
"""Characters of the shortest key that is looked for in errors."""
FINAL: Final = {"x-should-retry": "false"}
"""The clients of OpenAI and Anthropic would repeat a 409 by themselves."""
LATER: Final = {"retry-after": "1"}


class BufferOptions(NamedTuple):
    """How a buffer works.

    - `name`: which of several it is; one that starts again under its name ends at once what it had left open.
    - `key`: what clients must send as `x-penstock-key`, beside the provider's own; None asks for none, and then only
      clients of this machine are answered.
    - `every`, `most`: seconds for which the bytes of an answer are put together for the log, and at most how many.
    - `beat`: seconds between two signs of life of a stream. `lease`: how long others wait for one.
    - `patience`: seconds for which a log that is away is asked again, for a stream that has begun.
    - `silence`: seconds without a byte of the provider after which an answer counts as broken.
    """

    name: str = "buffer"
    key: str | None = None
    every: float = 0.05
    most: int = 64 * 1024
    beat: float = 10.0
    lease: float = LEASE
    patience: float = 60.0
    silence: float = 600.0


class RefusedError(Exception):
    """A request that is not kept, and the status with which that is told."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class KeptRequests:
    """Asks the provider once for each stream, and sends every client of it the same answer.

    - `owned`: the requests that this process has sent and whose answers it reads, by their streams.
    """

    def __init__(self, provider: Provider, log: StreamLog, options: BufferOptions) -> None:
        self._provider, self._log, self._options = provider, log, options
        self.owned: dict[str, OwnedRequest] = {}
        self.metrics = BufferMetrics(lambda: len(self.owned), lambda: self.lag)
        self._running: set[asyncio.Task[None]] = set()
        self._readers: set[asyncio.Task[Any]] = set()
        self._deciding: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def lag(self) -> float:
        """Seconds for which the oldest byte waits for the log."""
        return max((each.writer.lag for each in self.owned.values() if each.is_kept), default=0.0)

    async def respond(self, request: Request, name: str, body: bytes, send: Send) -> None:
        """Send the answer of a stream, for which the provider is asked if it has none.

        `RefusedError` for a stream of another request, `LogUnavailableError` if the log cannot be asked about it.
        """
        notes, digest = request.state.notes, _digest(request, body)
        owned = await self._owned_for(request, name, body, digest)
        if owned is None:
            notes["from"] = "log"
            await self._send_kept(name, digest, send, notes)
            return
        notes["from"] = "upstream"
        try:
            await self._send_live(name, owned, digest, send, notes)
        finally:
            owned.leave()

    async def ended(self) -> None:
        """Wait until no request is on its way."""
        while self._running:
            await asyncio.wait(self._running)

    def stop(self) -> None:
        """End all requests as interrupted, and let go of those who read others."""
        for each in self.owned.values():
            each.cancel("stopped")
        for reader in self._readers:
            reader.cancel()

    async def cancel(self, name: str) -> None:
        """End a stream as interrupted, whoever owns it; one that has ended stays as it is."""
        if (owned := self.owned.get(name)) is not None:
            owned.cancel("cancelled")
            while self.owned.get(name) is owned:
                await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            return
        found = await find(self._log, name)
        if found is not None and found.end is None:
            await settle(self._log, name, "cancelled")

    async def settle_left(self) -> None:
        """End what an earlier process of this name has left open, and what nobody has written to for too long."""
        while True:
            try:
                for name in await self._log.open_streams():
                    async with self._lock(name):
                        try:
                            await self._found(name)
                        except RefusedError:  # it is none of the buffer's
                            continue
            except LogUnavailableError:
                await asyncio.sleep(self._options.beat)
            else:
                return

    # whose the answer is

    def _lock(self, name: str) -> asyncio.Lock:
        return self._deciding.setdefault(name, asyncio.Lock())

    async def _owned_for(self, request: Request, name: str, body: bytes, digest: str) -> OwnedRequest | None:
        """Return the request that is sent to the provider now; None if its answer is in the log or comes into it."""
        lock = self._lock(name)
        async with lock:
            found = await self._found(name)
            if found is not None:
                if found.asked is not None and found.asked.digest != digest:
                    raise _of_another(name)
                if found.is_answer:
                    return None
                while name in self.owned:  # its end is in the log, which is not closed yet
                    await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                await self._log.expire(name)
            state = await self._log.claim(name)
            if state.last and await self._is_begun(name):  # another buffer was asked at the same time
                return None
            asked = Asked(
                method=request.method,
                path=request.url.path,
                digest=digest,
                owner=self._options.name,
                at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            )
            try:
                last = await self._log.append(name, [frame(asked)], state.fence, after=state.last)
            except FencedError:  # so it was
                return None
            return self._started(request, name, body, state._replace(last=last))

    async def _found(self, name: str) -> Found | None:
        """Return what the log has under a name; what an owner has left open is ended before."""
        try:
            found = await find(self._log, name)
            if found is not None and found.end is None and self._is_left(name, found):
                await settle(self._log, name, "owner_lost")
                self.metrics.settled.inc()
                found = await find(self._log, name)
        except LogGapError:
            message = f"the log has dropped the beginning of the stream {name}; ask under another name"
            raise RefusedError(410, message) from None
        except UsageError as error:
            raise RefusedError(409, str(error)) from None
        return found

    def _is_left(self, name: str, found: Found) -> bool:
        is_own = found.asked is not None and found.asked.owner == self._options.name
        return name not in self.owned and (is_own or found.state.idle > self._options.lease)

    async def _is_begun(self, name: str) -> bool:
        """Return whether a stream that was just claimed from another buffer has a response; it is ended then."""
        found = await find(self._log, name)
        if found is None or found.head is None:
            return False
        await settle(self._log, name, "owner_lost")
        return True

    def _started(self, request: Request, name: str, body: bytes, state: LogState) -> OwnedRequest:
        every, most, patience = self._options.every, self._options.most, self._options.patience
        writer = LogWriter(self._log, name, state, every=every, most=most, joined=True, patience=patience)
        asked = self._provider.request(request, body)
        owned = OwnedRequest(writer, lambda: self._provider.send(asked), _secrets(request), self._options.beat)
        self.owned[name] = owned
        task = asyncio.create_task(self._run(name, owned))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return owned

    async def _run(self, name: str, owned: OwnedRequest) -> None:
        try:
            end = await owned.run()
        finally:
            del self.owned[name]
        self.metrics.ended(end, owned.size, is_fenced=owned.is_fenced)
        _LOGGER.info("stream %s %s %s bytes=%d", name, end.end, end.reason or "-", owned.size)

    # what a client gets

    async def _send_live(self, name: str, owned: OwnedRequest, digest: str, send: Send, notes: dict[str, Any]) -> None:
        await owned.answered.wait()
        if owned.head is None:
            if owned.is_fenced:
                await self._send_kept(name, digest, send, notes)
            else:
                await _send_failure(send, owned.end)
            return
        await begin(send, owned.head.status, owned.head.headers, name=name)
        sent = 0
        async for piece in owned.body:
            sent += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if owned.body.is_behind:
            await self._send_kept(name, digest, send, notes, behind=sent)
        elif owned.end is not None and owned.end.end == "complete":
            await send({"type": "http.response.body", "body": b""})
        else:
            notes["error"] = owned.end and owned.end.reason

    async def _send_kept(
        self, name: str, digest: str, send: Send, notes: dict[str, Any], *, behind: int | None = None
    ) -> None:
        """Send an answer from the log as it comes there.

        - `behind`: the number of bytes of the body that the client has already; None if it has nothing.

        What was interrupted breaks off for this client as for the first: the end of the body is not sent.
        """
        self.metrics.replayed.inc()
        with self._reading():
            is_begun, left = behind is not None, behind or 0
            async with aclosing(parts_of(self._log, name, lease=self._options.lease)) as parts:
                async for part in parts:
                    match part:
                        case Asked() if part.digest != digest:
                            raise _of_another(name)
                        case Head() if not is_begun:
                            headers = [(key.encode("latin-1"), each.encode("latin-1")) for key, each in part.headers]
                            await begin(send, part.status, headers, name=name)
                            is_begun = True
                        case bytes():
                            if len(part) > left:
                                await send({"type": "http.response.body", "body": part[left:], "more_body": True})
                            left = max(left - len(part), 0)
                        case End() if not is_begun:
                            await _send_failure(send, part)
                        case End(end="complete"):
                            await send({"type": "http.response.body", "body": b""})
                        case End():
                            notes["error"] = part.reason
                        case _:
                            pass

    @contextmanager
    def _reading(self) -> Generator[None]:
        """Around what is sent from the log, which `stop` ends."""
        reader = asyncio.current_task()
        assert reader is not None  # noqa: S101 - it runs in one
        self._readers.add(reader)
        try:
            yield
        finally:
            self._readers.discard(reader)


def _of_another(name: str) -> RefusedError:
    return RefusedError(409, f"the stream {name} belongs to another request; use a name of its own for each request")


async def begin(send: Send, status: int, headers: Headers, *, name: str | None = None) -> None:
    """Send the head of a response."""
    own = [] if name is None else [(STREAM_HEADER.encode(), name.encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *own]})


def refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error of the buffer itself, in a form that the clients of OpenAI and Anthropic show."""
    body = {"type": "error", "error": {"type": "penstock_buffer", "message": message}}
    return JSONResponse(body, status, headers=dict(headers or {}))


async def _send_failure(send: Send, end: End | None) -> None:
    reason = "failed" if end is None else end.reason
    status, headers = (503, LATER) if reason == "stopped" else (502, {})
    response = refusal(status, f"the provider has not answered: {reason}", headers)
    await send({"type": "http.response.start", "status": status, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body})


def _digest(request: Request, body: bytes) -> str:
    """Return what tells one request from another, without its keys."""
    target = without_credentials(f"{request.url.path}?{request.url.query}")
    return sha256(b"\n".join((request.method.encode(), target.encode(), body))).hexdigest()


def _secrets(request: Request) -> list[bytes]:
    """Return the keys of a request, which a provider may cite in an error."""
    parameters = parse_qsl(request.url.query)
    given = [request.headers.get(name, "").removeprefix("Bearer ") for name in _KEYS]
    given += [value for name, value in parameters if name in _KEY_PARAMETERS]
    return [each.encode("latin-1", "replace") for each in given if len(each) >= _SHORTEST_KEY]
