"""Run uvicorn in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future

import uvicorn
from starlette.types import ASGIApp

from .replay_connections import Connections

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
