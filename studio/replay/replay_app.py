"""The web application of the replay server: checks and answers requests with recordings, and with faults on demand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...events.errors import UsageError
from ...sources.base.sdk_fields import plain_json
from ...sources.base.served_hosts import ServedHosts
from ...sources.recognition.apis import APIS, Api
from ...sources.streams.bounded_read import LONGEST_BODY
from .replay_log import Outcome, ReplayEntry, ReplayLog
from .replay_pieces import Chunk, Ending, Fault, Pace, TimedWrite, answer_with, parse_fault, pieces_of
from .replay_recordings import Recordings, RequestCheck, content_type, form_of, model_in, replay_api_at
from .replay_thread import Connections


class PlayedAnswer(Response):
    """A response that sends pieces and ends as its fault demands."""

    def __init__(
        self,
        log: ReplayLog,
        connections: Connections,
        entry: ReplayEntry,
        kind: str,
        pieces: list[TimedWrite],
        ending: Ending = "finished",
        gate: asyncio.Semaphore | None = None,
    ) -> None:
        super().__init__(headers={"content-type": kind, "cache-control": "no-cache", "x-request-id": str(entry.id)})
        del self.headers["content-length"]  # the end of the connection ends the body
        self._log = log
        self._connections = connections
        self._entry = entry
        self._pieces = pieces
        self._ending: Ending = ending
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.ensure_future(_left(receive))
        outcome: Outcome = "server_stopped"
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            outcome = await self._send(scope, send, leaving)
        finally:
            leaving.cancel()
            stopped = self._connections.is_stopping and outcome == "client_left"
            self._log.end(self._entry, "server_stopped" if stopped else outcome)

    async def _send(self, scope: Scope, send: Send, leaving: asyncio.Future[None]) -> Outcome:
        for piece in self._pieces:
            await asyncio.wait({leaving}, timeout=piece.delay)  # also without a delay: lets the loop see closed clients
            if self._gate is not None:
                allowed = asyncio.ensure_future(self._gate.acquire())
                waiting: set[asyncio.Future[Any]] = {leaving, allowed}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                allowed.cancel()
            if leaving.done():
                return "client_left"
            await _write(send, piece.data)
            self._log.sent(self._entry, len(piece.data))
        match self._ending:
            case "finished":
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return "finished"
            case "stall":
                await leaving
                return "client_left"
            case "cut":
                self._connections.close(scope)
            case "reset":
                self._connections.reset(scope)
        await leaving
        return self._ending


async def _write(send: Send, data: bytes) -> None:
    """Write, and wait until the operating system has accepted the bytes; the server waits only before a write."""
    for body in (data, b""):
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


TOO_LONG = f"the request's body is longer than {LONGEST_BODY // 1024**2} MiB, the most that the replay server reads"


class BodyTooLongError(Exception):
    """The request's body is too long; the rest was not read."""


async def body_within(request: Request, longest: int = LONGEST_BODY) -> bytes:
    """Read a request's body; `BodyTooLongError` as soon as its header or its size shows that it is too long."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > longest:
        raise BodyTooLongError
    body = bytearray()
    async for piece in request.stream():
        if len(body) + len(piece) > longest:
            raise BodyTooLongError
        body += piece
    return bytes(body)


def json_response(content: Any, status: int) -> Response:
    """Return a JSON response; lone surrogates become U+FFFD."""
    return JSONResponse(plain_json(content), status)


class BodyLeft:
    """Sends a whole answer while the request's body is still arriving, so that the sender can read the answer.

    If the sender does not stop within twice the size limit of a body, the connection is closed with `close`. One that
    sends a bit more than the limit, which it has told before, sends all of it until it reads.
    """

    def __init__(self, response: Response, close: Callable[[Scope], None], longest: int = 2 * LONGEST_BODY) -> None:
        self._response = response
        self._close = close
        self._longest = longest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_unfinished(message: Message) -> None:
            await send({**message, "more_body": True} if message["type"] == "http.response.body" else message)

        if any(name == b"expect" for name, _ in scope["headers"]):  # the sender waits for a word, and this is it
            await self._response(scope, receive, send)
            self._close(scope)
            return
        await self._response(scope, receive, send_unfinished)
        left = self._longest
        while left >= 0:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            left -= len(message.get("body", b""))
            if not message.get("more_body", False):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
        self._close(scope)


class OnlyServedHosts:
    """An ASGI application that refuses requests whose `Host` is not the server's, before anything else is read."""

    def __init__(self, app: ASGIApp, hosts: ServedHosts, refused: Callable[[int], object]) -> None:
        self._app = app
        self._hosts = hosts
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        host = hosts[0] if len(hosts) == 1 else None
        if self._hosts.has(host):
            await self._app(scope, receive, send)
            return
        self._refused(403)
        message = f"{self._hosts.refusal(host)}, and to names given with --allow-host (hosts=)"
        await json_response({"error": {"message": message, "type": "permission_error"}}, 403)(scope, receive, send)


FAULT_HEADER = "x-penstock-fault"
RECORDING_HEADER = "x-penstock-recording"
LOG_PATH = "/penstock/log"


class ReplaySettings(NamedTuple):
    """The defaults for replaying recordings."""

    pace: Pace = "instant"
    chunk: Chunk | None = None
    fault: Fault | None = None
    hosts: ServedHosts = ServedHosts()
    gate: asyncio.Semaphore | None = None
    """The semaphore that must be acquired before each piece is sent; None sends without waiting."""
    check: RequestCheck | None = None
    """What looks at each request before it is answered."""
    strict: bool = False
    """Whether a model that no recording is named like is refused."""


class _Refusal(Exception):  # noqa: N818 - an answer, not an error
    def __init__(self, status: int, message: str, fault: Fault | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.fault = fault


class ReplayApp:
    """The ASGI application that answers requests from `recordings` and records them in `log`."""

    def __init__(
        self, recordings: Recordings, log: ReplayLog, connections: Connections, settings: ReplaySettings
    ) -> None:
        self._recordings = recordings
        self._log = log
        self._connections = connections
        self._settings = settings
        served = Starlette(
            routes=[Route(LOG_PATH, self._show_log, methods=["GET"]), Route("/{path:path}", _Endpoint(self._asked))]
        )
        self.asgi: ASGIApp = OnlyServedHosts(served, settings.hosts, lambda status: log.begin(status=status))

    async def _show_log(self, _: Request) -> Response:
        return Response(self._log.json(), media_type="application/json")

    async def _asked(self, request: Request) -> ASGIApp:
        path: str = request.scope["path"]
        api = replay_api_at(path) if request.method == "POST" else None
        if api is None:
            known = ", ".join(f"POST {each.served.shown_path}" for each in APIS)
            message = f"no such path: {request.method} {path[:200]}; known are {known}, GET {LOG_PATH}"
            self._log.begin(status=404)
            return json_response({"error": {"message": message, "type": "not_found_error"}}, 404)
        model = ""
        try:
            body = await _json_object(request)
            model = model_in(api, path, body)
            if (check := self._settings.check) is not None:
                await _checked(check, api.name, body)
            return self._play(api, model, request, wants_stream=api.served.wants_stream(path, body))
        except _Refusal as refusal:
            fault = str(refusal.fault) if refusal.fault else None
            self._log.begin(api=api.name, model=model, fault=fault, status=refusal.status)
            response = json_response(api.served.error_body(refusal.status, str(refusal)), refusal.status)
            return BodyLeft(response, self._connections.close) if refusal.status == 413 else response

    def _play(self, api: Api, model: str, request: Request, *, wants_stream: bool) -> Response:
        fault = self._settings.fault
        if asked := request.headers.get(FAULT_HEADER):
            try:
                fault = parse_fault(asked)
            except UsageError as error:
                raise _Refusal(400, str(error)) from error
        if fault is not None and fault.kind == "status":
            message = f"HTTP status {fault.number}, as the fault demands"
            raise _Refusal(fault.number, message, fault)
        if not wants_stream:
            message = "the replay server plays recorded streams only; request one with stream=True"
            raise _Refusal(400, message)
        try:
            named = request.headers.get(RECORDING_HEADER)
            recording = self._recordings.choose(api.name, model=model, name=named, strict=self._settings.strict)
        except UsageError as error:
            raise _Refusal(404, str(error)) from error
        try:
            body_sent = api.served.as_sent(recording.body)
            answer = answer_with(fault, body_sent, api)
        except UsageError as error:
            raise _Refusal(400, str(error), fault) from error
        pieces = pieces_of(
            answer.events,
            pace=self._settings.pace,
            chunk=self._settings.chunk,
            timing=recording.timing if body_sent == recording.body else None,
            inserted_at=answer.inserted_at,
            inserted=answer.inserted,
        )
        entry = self._log.begin(
            api=api.name,
            model=model,
            recording=recording.name,
            fault=str(fault) if fault else None,
            bytes_total=len(body_sent),
        )
        kind = content_type(api.name, form_of(body_sent))
        gate = self._settings.gate
        return PlayedAnswer(self._log, self._connections, entry, kind, pieces, answer.ending, gate)


class _Endpoint:
    """A function as an ASGI application, because Starlette passes requests of every method to such an application."""

    def __init__(self, asked: Callable[[Request], Any]) -> None:
        self._asked = asked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._asked(Request(scope, receive))
        except ClientDisconnect:
            return  # before it had asked for anything
        await response(scope, receive, send)


async def _checked(check: RequestCheck, api: str, body: dict[str, Any]) -> None:
    try:
        await asyncio.to_thread(check, api, body)
    except Exception as error:
        message = f"the check refuses this request: {str(error) or type(error).__name__}"
        raise _Refusal(400, message) from error


async def _json_object(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await body_within(request))
    except BodyTooLongError as error:
        raise _Refusal(413, TOO_LONG) from error
    except (ValueError, RecursionError) as error:
        message = f"the request's body is not JSON: {type(error).__name__}"
        raise _Refusal(400, message) from error
    if not isinstance(body, dict):
        message = f"the request's body is not a JSON object but a {type(body).__name__}"
        raise _Refusal(400, message)
    return cast("dict[str, Any]", body)
