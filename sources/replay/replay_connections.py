"""The connections under a running uvicorn, so that an answer can be broken off as networks do it."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from typing import Any, cast

from starlette.types import Scope
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
