"""The web application of the replay server: answers requests with recordings, and with faults on demand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ...events.errors import UsageError
from ..recognition.apis import APIS, Api
from .replay_answer import PlayedAnswer
from .replay_apis import RequestCheck, model_in, replay_api_at
from .replay_connections import Connections
from .replay_faults import Fault, answer_with, parse_fault
from .replay_forms import content_type, form_of
from .replay_log import ReplayLog
from .replay_pieces import Chunk, Pace, pieces_of
from .replay_recordings import Recordings
from .replay_requests import TOO_LONG, BodyLeft, BodyTooLongError, OnlyServedHosts, body_within, json_response
from .served_hosts import ServedHosts

FAULT_HEADER = "x-penstock-fault"
RECORDING_HEADER = "x-penstock-recording"
LOG_PATH = "/penstock/log"


class Settings(NamedTuple):
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

    def __init__(self, recordings: Recordings, log: ReplayLog, connections: Connections, settings: Settings) -> None:
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
