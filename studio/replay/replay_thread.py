"""Run uvicorn in a thread of its own, with connections that can be broken off as networks do it."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

_LINGER_0 = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


class Connections:
    """The open connections by the client's address, the only thing that an ASGI application gets of its connection."""

    def __init__(self) -> None:
        self._open: dict[Any, asyncio.Transport] = {}
        self.is_stopping = False

    def opened(self, client: Any, transport: asyncio.Transport) -> None:
        if self.is_stopping:
            transport.abort()
        transport.set_write_buffer_limits(0)  # what counts as sent is what the operating system has taken
        self._open[client] = transport

    def lost(self, client: Any) -> None:
        self._open.pop(client, None)

    def close(self, scope: Scope) -> None:
        """End the connection with an orderly close (FIN) in the middle of an answer."""
        if transport := self._open.get(scope["client"]):
            transport.close()

    def reset(self, scope: Scope) -> None:
        """End the connection with a TCP reset (RST)."""
        if transport := self._open.get(scope["client"]):
            connection = cast("socket.socket", transport.get_extra_info("socket"))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
            transport.abort()

    def stop(self) -> None:
        """Close all open connections, and those opened later."""
        self.is_stopping = True
        for transport in list(self._open.values()):
            transport.abort()

    async def all_lost(self) -> None:
        """Wait until the sockets of all connections are closed, which happens soon after `stop`."""
        while self._open:  # noqa: ASYNC110 - they tell their transports only
            await asyncio.sleep(0)

    def protocol(self) -> type[H11Protocol]:
        """Return uvicorn's protocol class, extended to register its connections here."""
        connections = self

        class Kept(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                self.access_log = False  # addresses may have keys in their query
                connections.opened(self.client, transport)

            def connection_lost(self, exc: Exception | None) -> None:
                connections.lost(self.client)
                super().connection_lost(exc)

        return Kept


LONGEST_HEAD = 64 * 1024
"""The most bytes of a request's headers."""


class ReplayThread:
    """Serve an application on a listening socket, which is closed with it."""

    def __init__(self, app: ASGIApp, listening: socket.socket, connections: Connections) -> None:
        config = uvicorn.Config(
            app,
            interface="asgi3",
            http=connections.protocol(),
            loop="asyncio",
            ws="none",
            h11_max_incomplete_event_size=LONGEST_HEAD,
            lifespan="off",
            log_config=None,
            proxy_headers=False,  # they would change the address by which a connection is known
            server_header=False,
        )
        self._server = _Server(config, connections)
        self._listening = listening
        self._stopping = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="penstock-replay", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._server.ready.result()

    def call(self, callback: Callable[[], object]) -> None:
        """Schedule a function to be called in the serving thread."""
        self._server.call(callback)

    def stop(self) -> None:
        with self._stopping:
            if self._thread.is_alive():
                self._server.call(self._server.stopped.set)
                self._thread.join()

    def _run(self) -> None:
        try:
            with self._listening:
                asyncio.run(self._server.serve(sockets=[self._listening]))
        except BaseException as error:
            if self._server.ready.done():
                raise
            self._server.ready.set_exception(error)


class _Server(uvicorn.Server):
    """A uvicorn server that waits for an event to stop it instead of checking ten times a second, and stops at once."""

    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self.ready: Future[None] = Future()
        self._connections = connections

    async def main_loop(self) -> None:
        await self.on_tick(0)
        self._loop, self.stopped = asyncio.get_running_loop(), asyncio.Event()
        self.ready.set_result(None)
        await self.stopped.wait()
        self._connections.stop()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - uvicorn's argument
        """End without uvicorn's delay for connections to finish: all of them are closed here."""
        # A listener that closes while a connection is being accepted would leave that one open for ever.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
        for server in self.servers:
            server.close()
        await self._connections.all_lost()
        for server in self.servers:
            await server.wait_closed()

    def call(self, callback: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(callback)
