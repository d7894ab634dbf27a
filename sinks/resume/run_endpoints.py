"""`RunEndpoints`: what the routes of `stream_routes` do. Imports starlette."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Hashable, Mapping
from contextlib import suppress
from functools import partial
from secrets import token_urlsafe
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from ...events.errors import UsageError
from ..log.stream_log import LogUnavailableError
from ..remote_readers import JSON_LINES_HEADERS, NOT_JSON, sse_headers
from ..running.event_pump import close_stream
from ..web.protocols import protocol_row
from .stream_runs import StreamRun, StreamRuns, event_number

_INVALID = 1007
"""The standard's code of closing for invalid data; those from 4000 are HTTP's statuses + 4000."""
_AWAY = "the log is away; ask again later"
_LATER = {"retry-after": "1"}


class RunEndpoints:
    """The endpoints of one `stream_routes`; its arguments are those, `how` has the ones for `StreamRuns.start`."""

    def __init__(  # noqa: PLR0913 - those of `stream_routes`
        self,
        runs: StreamRuns,
        start: Callable[[Any], Any],
        *,
        form: str,
        id_of: Callable[[Any], str | None],
        options_of: Callable[[Any], Mapping[str, Any]] | None,
        owner: Callable[[HTTPConnection[Any]], str] | None,
        heartbeat: float | None,
        replays: bool,
        how: Mapping[str, Any],
    ) -> None:
        self._runs = runs
        self._start = start
        self._is_sse = form == "sse"
        self._id_of = id_of
        self._options_of = options_of
        self._owner = owner
        self._heartbeat = heartbeat
        self._replays = replays
        self._how = how
        self._row = protocol_row(how["protocol"])

    def routes(self, path: str) -> list[BaseRoute]:
        base = path.rstrip("/")
        one = base + "/{run_id:path}/stream"
        return [
            Route(path, self.post, methods=["POST"]),
            Route(one, self.get, methods=["GET"]),
            Route(one, self.delete, methods=["DELETE"]),
            WebSocketRoute(path, self.converse),
            WebSocketRoute(one, self.converse_again),
        ]

    async def post(self, request: Request) -> Response:
        try:
            asked = msgspec.json.decode(await request.body())
        except NOT_JSON as error:
            raise HTTPException(400, f"the body must be JSON: {error}") from error
        run, name = await self._begin(asked, request)
        return self._stream(run, name, 0)

    async def get(self, request: Request) -> Response:
        name = request.path_params["run_id"]
        try:
            run, after = await self._to_resume(name, request)
        except UsageError as error:
            raise HTTPException(400, str(error)) from error
        if run is None:
            return Response(status_code=self._row.nothing_to_resume)
        return self._stream(run, name, after)

    async def delete(self, request: Request) -> Response:
        run = await self._find(self._key(request.path_params["run_id"], request))
        if run is not None:
            try:
                await run.cancel("cancelled by the reader")
            except LogUnavailableError as error:
                raise HTTPException(503, _AWAY, _LATER) from error
        return Response(status_code=204)

    async def converse(self, websocket: WebSocket) -> None:
        await websocket.accept()
        if (message := await _received(websocket)) is None:
            return
        try:
            asked = msgspec.json.decode(message)
        except NOT_JSON:
            await websocket.close(_INVALID, "the first message must be JSON")
            return
        try:
            run, _ = await self._begin(asked, websocket)
        except HTTPException as error:
            await websocket.close(4000 + error.status_code)
        else:
            await _converse(run, websocket, 0)

    async def converse_again(self, websocket: WebSocket) -> None:
        await websocket.accept()
        try:
            run, after = await self._to_resume(websocket.path_params["run_id"], websocket)
        except UsageError:
            await websocket.close(4400, "last_event_id must be the number of an event")
            return
        except HTTPException as error:
            await websocket.close(4000 + error.status_code)
            return
        if run is None:
            await websocket.close(4404, "there is nothing to resume")
        else:
            await _converse(run, websocket, after)

    async def _begin(self, asked: Any, connection: HTTPConnection[Any]) -> tuple[StreamRun, str]:
        """Start a run; return it, and its id as its readers know it."""
        name = self._id_of(asked) or token_urlsafe(16)
        key = self._key(name, connection)
        how = self._how if self._options_of is None else {**self._how, **self._options_of(asked)}
        # Last, because it may ask a provider: nothing is to be asked for a request that is refused.
        events = await self._events(asked)
        try:
            return self._runs.start(events, id=key, asked=asked, replays=self._replays, **how), name
        except BaseException:
            await close_stream(events)
            raise

    async def _events(self, asked: Any) -> Any:
        events = self._start(asked)
        return await events if inspect.isawaitable(events) else events

    async def _find(self, key: Hashable) -> StreamRun | None:
        how = {name: self._how[name] for name in ("select", "describe_error")}
        try:
            return await self._runs.find(key, self._events if self._replays else None, **how)
        except LogUnavailableError as error:
            raise HTTPException(503, _AWAY, _LATER) from error

    async def _to_resume(self, name: str, connection: HTTPConnection[Any]) -> tuple[StreamRun | None, int]:
        """Return the run of an id, None if nothing of it is to come, and the number of the reader's last event."""
        last = connection.headers.get("last-event-id") or connection.query_params.get("last_event_id")
        after = event_number(last)
        run = await self._find(self._key(name, connection))
        if run is not None and run.has_ended:
            may_come = after != run.last_event_id if last else self._row.resumes_ended
            run = run if may_come else None
        return run, after

    def _key(self, name: str, connection: HTTPConnection[Any]) -> Hashable:
        return name if self._owner is None else (self._owner(connection), name)

    def _stream(self, run: StreamRun, name: str, after: int) -> Response:
        headers = sse_headers(run.protocol) if self._is_sse else dict(JSON_LINES_HEADERS)
        headers["x-run-id"] = quote(name, safe="")  # a reader may have chosen it
        chunks = run.sse(after, heartbeat=self._heartbeat) if self._is_sse else run.json_lines(after)
        return _RunResponse(chunks, headers=headers)


class _RunResponse(StreamingResponse):
    """Closes its chunks in every case, so that a reader that has left is not waited for."""

    def __init__(self, chunks: AsyncGenerator[bytes, None], *, headers: Mapping[str, str]) -> None:
        super().__init__(chunks, headers=headers)
        self._chunks = chunks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._chunks.aclose()


async def _converse(run: StreamRun, websocket: WebSocket, after: int) -> None:
    with suppress(WebSocketDisconnect):
        await run.websocket(websocket.send_text, partial(_received, websocket), after)
        if websocket.client_state is WebSocketState.CONNECTED:
            await websocket.close()


async def _received(websocket: WebSocket) -> str | bytes | None:
    """Return the next message, None if the reader has left."""
    message = await websocket.receive()
    if message["type"] == "websocket.disconnect":
        return None
    text: str | None = message.get("text")
    return message.get("bytes", b"") if text is None else text
