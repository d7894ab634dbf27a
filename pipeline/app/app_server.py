"""Serve the app on this machine until Ctrl-C."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from secrets import token_urlsafe

import uvicorn
from starlette.types import ASGIApp

from ...events.errors import UsageError
from .app_routes import app_of
from .app_session import AppSession


def serve_app(session: AppSession, *, port: int, ready: Callable[[str], object], page: str = "/") -> None:
    """Serve until Ctrl-C; `ready` gets the address of a page, with the token behind `#`, which no server is sent."""
    token = token_urlsafe(32)
    with _listening(port) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}{page}#token={token}"
        server = _Server(app_of(session, token), session, lambda: ready(address))
        asyncio.run(server.serve(sockets=[listening]))


class _Server(uvicorn.Server):
    """Closes the runs before it waits for its connections, because their readers would wait for the runs."""

    def __init__(self, app: ASGIApp, session: AppSession, ready: Callable[[], object]) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=3,
        )
        super().__init__(config)
        self._session = session
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._session.aclose()
        await super().shutdown(sockets)


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        message = f"cannot listen on 127.0.0.1, port {port}: {error}"
        raise UsageError(message) from error
