"""`NatsLink`: the connection to NATS that a log has, made when it is needed, and anew when it was lost."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

import nats.errors

from ...events.errors import UsageError, shown_url
from ...sinks.log.stream_log import LogUnavailableError
from .jetstream_stream import Refused
from .nats_connection import CONNECT, NatsConnection, SilentError

_AGAIN: Final = 0.2
"""Seconds after an attempt to connect that failed in which there is no further one, however many ask."""
_SCHEMES: Final = frozenset({"nats", "tls", "ws", "wss"})
_SWITCHED_OFF: Final = frozenset({10039, 10076})
"""JetStream's numbers of the error that the account, or the server, has none."""
_NO_CLUSTER: Final = 10074
"""That of a server alone which is to keep replicas."""


class NatsLink:
    """Has one connection for all that ask.

    - `url`: those of several servers have commas between.
    - `prepare`: called with each new connection, before anything else is asked over it.
    - `on_change`: called when there is another connection, and when it is lost.
    - `on_dropped`: called with a subject of which messages were dropped.
    """

    def __init__(
        self,
        url: str,
        *,
        tls: ssl.SSLContext | None,
        prepare: Callable[[NatsConnection], Awaitable[None]],
        on_change: Callable[[], None],
        on_dropped: Callable[[str], None],
    ) -> None:
        self._servers = [each.strip() for each in url.split(",")]
        for server in self._servers:
            if not _is_address(server):
                message = f"the address of a NATS server is like nats://host:4222, got {shown_url(server)!r}"
                raise UsageError(message)
        self._tls = tls
        self._prepare, self._on_change, self._on_dropped = prepare, on_change, on_dropped
        self._connection: NatsConnection | None = None
        self._opening: asyncio.Task[NatsConnection] | None = None
        self._again = 0.0
        self._why = ""
        """Why the last attempt to connect failed."""
        self._was_open = False
        self._is_ended = False

    async def connected(self) -> NatsConnection:
        """Return the connection. `LogUnavailableError` if no server takes one, `UsageError` if none ever would."""
        if self._connection is not None:
            return self._connection
        if self._is_ended:
            message = "the log is closed"
            raise UsageError(message)
        if self._opening is None:
            if asyncio.get_running_loop().time() < self._again:
                raise LogUnavailableError(self._why)
            self._opening = asyncio.get_running_loop().create_task(self._open())
            self._opening.add_done_callback(self._opened)
        return await asyncio.shield(self._opening)

    async def aclose(self) -> None:
        """Close the connection; there is no further one."""
        self._is_ended = True
        while self._opening is not None:  # asyncio.wait_for of Python 3.11, which the client uses, may lose it once
            self._opening.cancel()
            await asyncio.wait({self._opening}, timeout=0.1)
        if self._connection is not None:
            await self._connection.close()

    def _opened(self, opening: asyncio.Task[NatsConnection]) -> None:
        self._opening = None
        if opening.cancelled():
            return
        if (error := opening.exception()) is None:
            self._was_open = True
            self._connection = None if (connection := opening.result()).is_closed else connection
            self._on_change()
        elif isinstance(error, LogUnavailableError):
            self._why = str(error)
            self._again = asyncio.get_running_loop().time() + _AGAIN

    def _ended(self, connection: NatsConnection) -> None:
        if self._connection is connection:
            self._connection = None
            self._on_change()

    async def _open(self) -> NatsConnection:
        """Return a connection to the first server that takes one, prepared."""
        reasons: list[str] = []
        for server in self._servers:
            is_encrypted = self._tls is not None or server.startswith(("tls:", "wss:"))
            connection = NatsConnection(
                server, is_encrypted=is_encrypted, on_end=self._ended, on_dropped=self._on_dropped
            )
            try:
                async with asyncio.timeout(2 * CONNECT):
                    await connection.open(self._tls)
                await self._prepare(connection)
            except (OSError, TimeoutError, nats.errors.Error, LogUnavailableError, Refused) as error:
                await connection.close()
                reasons.append(self._reason(connection, error))
            except BaseException:
                await connection.close()
                raise
            else:
                return connection
        raise LogUnavailableError("; ".join(reasons))

    def _reason(self, connection: NatsConnection, error: Exception) -> str:
        """Return why a server cannot be used; `UsageError` if it never could, and that does not pass by itself."""
        shown = connection.shown
        words = f"{error} {connection.told}".lower()
        mistake = ""
        if isinstance(error, nats.errors.SecureConnRequiredError):
            mistake = f"the server at {shown} does not encrypt: give it a certificate, or the address as nats://"
        elif "authorization" in words or "authentication" in words:
            mistake = f"the server at {shown} refuses the credentials: give those of a user that it knows"
        elif isinstance(error, SilentError) or (isinstance(error, Refused) and error.code in _SWITCHED_OFF):
            mistake = f"JetStream is not switched on at {shown}: start nats-server with -js, and let the account use it"
        elif isinstance(error, Refused) and (error.status < 500 or error.code == _NO_CLUSTER):
            mistake = f"{error} at {shown}: change what it does not have, or its configuration"
        elif isinstance(error, ssl.SSLError):
            mistake = f"the certificate of {shown} is not accepted ({error}): give tls= a context that knows it"
        if mistake and not self._was_open:
            raise UsageError(mistake) from error
        if mistake or isinstance(error, (LogUnavailableError, Refused)):
            return mistake or str(error)
        told = connection.told or str(error) or type(error).__name__
        return f"no NATS server answers at {shown} ({told}): start one, or give its address"


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        return parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
