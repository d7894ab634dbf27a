"""Limits of requests to the replay server: the size of the body, and the allowed `Host`s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..fields.surrogates import plain_json
from ..streams.bounded_read import LONGEST_BODY
from .served_hosts import ServedHosts

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

    If the sender does not stop within the size limit of a body, the connection is closed with `close`.
    """

    def __init__(self, response: Response, close: Callable[[Scope], None], longest: int = LONGEST_BODY) -> None:
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
