"""`Buffer`: a proxy in front of a provider that writes the answers into a log, as an ASGI app."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...events.errors import UsageError, without_credentials
from ...gateway.operating.listening import while_there
from ...sinks.log.patience import ASKING
from ...sinks.log.stream_log import STREAM_HEADER, LogGapError, LogUnavailableError, StreamLog, checked_name
from ...sinks.parts.event_words import printable
from ...sources.base.request import is_this_machine
from ...sources.streams.bounded_read import LONGEST_BODY
from .buffer_metrics import METRICS
from .kept_answer import find
from .kept_requests import FINAL, LATER, BufferOptions, KeptRequests, RefusedError, begin, refusal
from .provider import Provider, end_to_end, has_body

__all__ = ["Buffer", "BufferOptions"]

_LOGGER: Final = logging.getLogger("penstock.buffer")
KEY_HEADER: Final = "x-penstock-key"
HEALTH: Final = "/penstock/health"
STREAMS: Final = "/penstock/streams/{name}"
_CLIENT_LEFT: Final = 499
"""What the line of a request has as its status where the client left before there was one."""
_LONGEST_STOP: Final = 5.0
"""Seconds that streams have to end in the log when the process stops."""
_LONGEST_PATH: Final = 500


class Buffer:
    """A proxy whose requests outlive their clients: `Buffer("https://api.openai.com", log).app()`.

    A POST with the header `x-penstock-stream` is kept in the log under that name; everything else passes. The log is
    not closed with it. `UsageError` for what is no address.
    """

    def __init__(self, upstream: str, log: StreamLog, options: BufferOptions | None = None) -> None:
        self._options = options or BufferOptions()
        self._provider, self._log = Provider(upstream, silence=self._options.silence), log
        self.kept = KeptRequests(self._provider, log, self._options)
        self.is_draining = False

    def app(self) -> Starlette:
        """Return the app; at its start it ends what an earlier process of its name has left open."""

        @asynccontextmanager
        async def lifespan(_: Any) -> AsyncGenerator[None, None]:
            async with self._provider:
                settling = asyncio.create_task(self.kept.settle_left())
                try:
                    yield
                finally:
                    settling.cancel()
                    self.stop()
                    await asyncio.wait({settling})
                    with suppress(TimeoutError):  # what the log then lacks is ended by the next process
                        async with asyncio.timeout(_LONGEST_STOP):
                            await self.kept.ended()

        routes = [
            Route(HEALTH, self._health),
            Route(STREAMS, self._where, methods=["GET", "DELETE"]),
            Route(METRICS, self._metrics),
            Route("/{path:path}", _Proxy(self)),
        ]
        return Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(self._around)])

    def drain(self) -> None:
        """Refuse kept requests from now on; those that are on their way go on."""
        self.is_draining = True

    def stop(self) -> None:
        """End all kept requests as interrupted, and refuse new ones."""
        self.drain()
        self.kept.stop()

    async def respond(self, request: Request, send: Send, is_read: asyncio.Event) -> None:
        """Answer a request; `is_read` is set when its body has been read."""
        try:
            if request.method == "POST" and STREAM_HEADER in request.headers:
                await self._keep(request, send, is_read)
            else:
                await self._pass(request, send, is_read)
        except RefusedError as refused:
            response = refusal(refused.status, str(refused), FINAL)
        except UsageError as error:
            response = refusal(400, str(error), FINAL)
        except LogUnavailableError as error:
            _LOGGER.warning("the log is away: %s", without_credentials(str(error)))
            response = refusal(503, "the log is away; ask again later", LATER)
        except httpx2.RequestError as error:
            request.state.notes["error"] = why = without_credentials(str(error) or type(error).__name__)
            response = refusal(502, f"the upstream cannot be reached: {why}")
        else:
            return
        if not request.state.notes["_is_begun"]:  # else the connection breaks
            await response(request.scope, request.receive, send)

    async def _keep(self, request: Request, send: Send, is_read: asyncio.Event) -> None:
        request.state.notes["stream"] = name = checked_name(request.headers[STREAM_HEADER])
        if self.is_draining:
            await refusal(503, "the buffer is stopping; ask again", LATER)(request.scope, request.receive, send)
            return
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > LONGEST_BODY:
                raise RefusedError(413, f"a request that is kept has at most {LONGEST_BODY} bytes")
        is_read.set()
        await self.kept.respond(request, name, bytes(body), send)

    async def _pass(self, request: Request, send: Send, is_read: asyncio.Event) -> None:
        async def body() -> AsyncGenerator[bytes, None]:
            async for piece in request.stream():
                yield piece
            is_read.set()

        if not has_body(request):
            is_read.set()
        response = await self._provider.send(self._provider.request(request, body()))
        try:
            await begin(send, response.status_code, end_to_end(response.headers.raw))
            async for piece in response.aiter_raw():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await response.aclose()

    async def _where(self, request: Request) -> Response:
        """Tell where a stream is; it is cancelled before by DELETE."""
        name = request.path_params["name"]
        try:
            checked_name(name)
            if request.method == "DELETE":
                await self.kept.cancel(name)
            found = await find(self._log, name)
        except UsageError as error:
            return refusal(400, str(error))
        except LogGapError as error:
            return refusal(410, str(error))
        except LogUnavailableError:
            return refusal(503, "the log is away; ask again later", LATER)
        if found is None:
            return refusal(404, f"there is nothing under the name {name}")
        end, asked, head = found.end, found.asked, found.head
        return JSONResponse(
            {
                "state": "open" if end is None else end.end,
                "reason": None if end is None else end.reason,
                "owner": None if asked is None else asked.owner,
                "status": None if head is None else head.status,
                "items": found.state.last,
                "bytes": found.size,
                "idle": round(found.state.idle, 3),
            }
        )

    async def _health(self, _: Request) -> Response:
        """Return how the buffer is, without a key: for a balancer, and for what adds buffers."""
        status = "draining" if self.is_draining else "ok"
        try:
            async with asyncio.timeout(ASKING):
                await self._log.state("health")
        except (LogUnavailableError, UsageError, TimeoutError):  # a user that it refuses has no log either
            status = "log_away"
        state = {
            "status": status,
            "open_streams": len(self.kept.owned),
            "log_lag_seconds": round(self.kept.lag, 3),
        }
        return JSONResponse(state, 200 if status == "ok" else 503)

    async def _metrics(self, request: Request) -> Response:
        return self.kept.metrics.exposed(request)

    def _around(self, app: ASGIApp) -> ASGIApp:
        """Return an app that refuses strangers, and pages in browsers, and tells of each request in a line."""

        async def told(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            began, status = monotonic(), _CLIENT_LEFT
            notes: dict[str, Any] = {"_is_begun": False}
            scope.setdefault("state", {})["notes"] = notes

            async def noted(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status, notes["_is_begun"] = message["status"], True
                await send(message)

            refused = self._refusal(Request(scope))
            try:
                await (refused or app)(scope, receive, noted)
            finally:
                if scope["path"] not in (HEALTH, METRICS):
                    path, took = scope["path"][:_LONGEST_PATH], f"{monotonic() - began:.2f}s"
                    said = (f"{key}={value}" for key, value in notes.items() if not key.startswith("_"))
                    _LOGGER.info("%s", printable(" ".join((scope["method"], path, str(status), took, *said))))

        return told

    def _refusal(self, request: Request) -> Response | None:
        headers, key = request.headers, self._options.key
        if "origin" in headers:  # any page that a browser shows could else ask on this machine
            return refusal(403, "pages in a browser are not answered")
        if key is None and not _is_local(headers.get("host", "")):  # a page can give this machine a name of its own
            return refusal(403, "without a key only clients of this machine are answered, by the name localhost")
        given = headers.get(KEY_HEADER, "").encode("latin-1")
        if key is None or request.url.path == HEALTH or hmac.compare_digest(given, key.strip().encode()):
            return None
        return refusal(401, f"the key of the buffer is missing or wrong; send it as {KEY_HEADER}", FINAL)


class _Proxy:
    """What is passed on or kept. What is done for a client alone ends when it leaves."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = asyncio.Event()
        work = await while_there(self._buffer.respond(Request(scope, receive), send, is_read), receive, is_read)
        if not (work.cancelled() or isinstance(work.exception(), ClientDisconnect)):
            work.result()


def _is_local(host: str) -> bool:
    """Return whether a `Host` header names this machine, with any port."""
    try:
        return is_this_machine(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
