"""`NatsLink`: one connection to NATS for a log, made when it is needed, and anew when it was lost."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from ...events.errors import UsageError, shown_url, without_credentials
from ...sinks.resume.stream_log import LogUnavailableError
from .jetstream_stream import Answered, Refused

Ask: TypeAlias = Callable[[str, bytes], Awaitable[Answered]]
Prepare: TypeAlias = Callable[[Ask, tuple[int, int], int], Awaitable[None]]
"""Is called with what asks over a new connection, the version of its server, and the bytes of its largest message."""

_LOGGER: Final = logging.getLogger("penstock")
_ANSWER: Final = 10.0
"""Seconds in which a server answers; one that keeps what it is told on a busy disk takes its time."""
_CONNECT: Final = 5.0
_PING: Final = 10
"""Seconds between pings; two that are not answered end a connection."""
_AGAIN: Final = 0.2
"""Seconds after an attempt to connect that failed in which there is no further one, however many ask."""
_SCHEMES: Final = frozenset({"nats", "tls", "ws", "wss"})
_UNANSWERED: Final = "503"
_SWITCHED_OFF: Final = frozenset({10039, 10076})
"""JetStream's numbers of the error that the account, or the server, has none."""
_LAST_OF_MANY: Final = frozenset({"204", "404"})


class Silent(LogUnavailableError):  # noqa: N818 - says what is, and is one of the errors
    """Nobody listens to what was asked."""


class _Client(Client):
    """A client that sends no credentials over a connection that was to be encrypted and is not.

    nats-py goes on in plain text where a server asks for no TLS, whatever the URL says.
    """

    is_to_be_encrypted = False

    def _connect_command(self) -> Any:
        if self.is_to_be_encrypted and not self._server_info.get("tls_required"):
            message = "the server does not encrypt"
            raise nats.errors.SecureConnRequiredError(message)
        return super()._connect_command()


class NatsLink:
    """Asks a server, over one connection for all that ask.

    nats-py's own reconnecting is off: it sends later what was given up before, and lets what waits for an answer wait.

    - `prepare`: is called for each new connection, before anything else is asked over it.
    - `on_change`: is called when the connection is there and when it is lost.
    - `on_dropped`: is called with a subject of which messages were dropped.
    """

    def __init__(
        self,
        url: str,
        *,
        tls: ssl.SSLContext | None,
        prepare: Prepare,
        on_change: Callable[[], None],
        on_dropped: Callable[[str], None],
    ) -> None:
        self._servers = [each.strip() for each in url.split(",")]
        for server in self._servers:
            if not _is_address(server):
                message = f"the address of a NATS server is like nats://host:4222, got {shown_url(server)!r}"
                raise UsageError(message)
        self.shown = ", ".join(map(shown_url, self._servers))
        self._tls = tls
        self._prepare, self._on_change, self._on_dropped = prepare, on_change, on_dropped
        self._client: Client | None = None
        self._opening: asyncio.Task[Client] | None = None
        self._again = 0.0
        self._why = ""
        """Why the last attempt to connect failed."""
        self._told = ""
        """What the client told last of something that went wrong."""
        self._was_open = False
        self._is_ended = False
        self._inbox = ""
        self._tokens = count()
        self._waiting: dict[str, asyncio.Future[Answered]] = {}
        self._many: dict[str, list[Answered]] = {}

    async def ask(self, subject: str, data: bytes = b"", headers: dict[str, str] | None = None) -> Answered:
        """Return the answer to a message. `LogUnavailableError` if there is none."""
        return await self._ask(await self._connected(), subject, data, headers)

    async def ask_for_many(self, subject: str, data: bytes) -> list[Answered]:
        """Return the answers to a message, which end with one that says so."""
        client = await self._connected()
        found: list[Answered] = []
        last = await self._ask(client, subject, data, found=found)
        if last.headers["Status"] not in _LAST_OF_MANY:
            raise Refused(int(last.headers["Status"]), 0, last.headers.get("Description", ""))
        return found

    async def _ask(
        self,
        client: Client,
        subject: str,
        data: bytes = b"",
        headers: dict[str, str] | None = None,
        found: list[Answered] | None = None,
    ) -> Answered:
        """Return the answer to a message over this connection; `found` takes those in front of it."""
        token = str(next(self._tokens))
        answer = self._waiting[token] = asyncio.get_running_loop().create_future()
        if found is not None:
            self._many[token] = found
        try:
            await client.publish(subject, data, reply=f"{self._inbox}.{token}", headers=headers)
            async with asyncio.timeout(_ANSWER):
                answered = await answer
        except TimeoutError as error:
            message = f"no answer within {_ANSWER:.0f} s from {self.shown}{self._told and f' ({self._told})'}"
            raise LogUnavailableError(message) from error
        except (OSError, nats.errors.Error) as error:
            raise self._unavailable(error) from error
        finally:
            self._waiting.pop(token, None)
            self._many.pop(token, None)
        if answered.headers.get("Status") == _UNANSWERED:
            await client.close()  # what is prepared anew tells why, or makes what is missing
            message = f"JetStream does not answer at {self.shown}: it has no leader, or was switched off"
            raise Silent(message)
        return answered

    async def tell(self, subject: str, data: bytes, headers: dict[str, str]) -> None:
        """Send a message that has no answer."""
        client = await self._connected()
        try:
            await client.publish(subject, data, headers=headers)
        except (OSError, nats.errors.Error) as error:
            raise self._unavailable(error) from error

    async def subscribe(self, subject: str, take: Callable[[Answered], None]) -> Callable[[], Awaitable[None]]:
        """Have each message of a subject taken; return what ends that."""
        client = await self._connected()

        async def came(message: Msg) -> None:
            take(Answered(message.data, message.headers or {}))

        try:
            subscription = await client.subscribe(subject, cb=came)
        except (OSError, nats.errors.Error) as error:
            raise self._unavailable(error) from error

        async def leave() -> None:
            if not client.is_closed:
                await subscription.unsubscribe()

        return leave

    async def pull(self, subject: str, data: bytes, most: int) -> list[tuple[str, dict[str, str]]]:
        """Return the subjects and the headers of the messages that a consumer is asked for, at most so many."""
        client = await self._connected()
        inbox = client.new_inbox()
        found: list[tuple[str, dict[str, str]]] = []
        ended = asyncio.get_running_loop().create_future()

        async def came(message: Msg) -> None:
            headers = message.headers or {}
            if "Status" not in headers:
                found.append((message.subject, headers))
            if ("Status" in headers or len(found) == most) and not ended.done():
                ended.set_result(None)

        self._waiting[inbox] = ended
        try:
            subscription = await client.subscribe(inbox, cb=came)
            await client.publish(subject, data, reply=inbox)
            async with asyncio.timeout(_ANSWER):
                await ended
            await subscription.unsubscribe()
        except (OSError, TimeoutError, nats.errors.Error) as error:
            raise self._unavailable(error) from error
        finally:
            del self._waiting[inbox]
        return found

    async def aclose(self) -> None:
        """Close the connection; nothing can be asked any more."""
        self._is_ended = True
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening})
        if self._client is not None:
            await self._client.close()

    async def _connected(self) -> Client:
        if self._client is not None:
            return self._client
        if self._is_ended:
            message = "the log is closed"
            raise UsageError(message)
        if self._opening is None:
            if asyncio.get_running_loop().time() < self._again:
                raise LogUnavailableError(self._why)
            self._opening = asyncio.get_running_loop().create_task(self._open())
            self._opening.add_done_callback(self._opened)
        return await asyncio.shield(self._opening)

    def _opened(self, opening: asyncio.Task[Client]) -> None:
        self._opening = None
        if opening.cancelled():
            return
        if (error := opening.exception()) is None:
            self._was_open = True
            self._client = None if (client := opening.result()).is_closed else client
            self._on_change()
        elif isinstance(error, LogUnavailableError):
            self._why = str(error)
            self._again = asyncio.get_running_loop().time() + _AGAIN

    async def _open(self) -> Client:
        """Return a connection to the first server that answers, prepared."""
        reasons = []
        for server in self._servers:
            client = _Client()
            client.is_to_be_encrypted = self._tls is not None or server.startswith(("tls:", "wss:"))
            try:
                async with asyncio.timeout(2 * _CONNECT):
                    await self._connect(client, server)
                version = client.connected_server_version
                await self._prepare(partial(self._ask, client), (version.major, version.minor), client.max_payload)
            except (OSError, TimeoutError, nats.errors.Error, LogUnavailableError, Refused) as error:
                await client.close()
                reasons.append(self._reason(server, error))
            except BaseException:
                await client.close()
                raise
            else:
                return client
        raise LogUnavailableError("; ".join(reasons))

    async def _connect(self, client: Client, server: str) -> None:
        self._told = ""

        async def failed(error: Exception) -> None:
            self._told = without_credentials(str(error) or type(error).__name__)
            _LOGGER.debug("NATS at %s: %s", shown_url(server), self._told)
            if isinstance(error, nats.errors.SlowConsumerError):
                self._on_dropped(error.subject)

        async def lost() -> None:
            self._lose(client)

        await client.connect(
            servers=[server],
            name="penstock",
            error_cb=failed,
            closed_cb=lost,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=int(_CONNECT),
            ping_interval=_PING,
            tls=self._tls,
        )
        self._inbox = client.new_inbox()
        await client.subscribe(f"{self._inbox}.*", cb=self._answered)

    async def _answered(self, message: Msg) -> None:
        token = message.subject.rpartition(".")[2]
        answered = Answered(message.data, message.headers or {})
        if (found := self._many.get(token)) is not None and "Status" not in answered.headers:
            found.append(answered)
        elif (answer := self._waiting.get(token)) is not None and not answer.done():
            answer.set_result(answered)

    def _lose(self, client: Client) -> None:
        """See that a connection has ended: nobody waits for its answers."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(LogUnavailableError(f"the connection to {self.shown} was lost"))
        if self._client is client:
            self._client = None
            self._on_change()

    def _reason(self, server: str, error: Exception) -> str:
        """Return why a server cannot be used. `UsageError` for what does not pass by itself."""
        shown = shown_url(server)
        words = f"{error} {self._told}".lower()
        mistake = ""
        if isinstance(error, nats.errors.SecureConnRequiredError):
            mistake = f"the server at {shown} does not encrypt: give it a certificate, or the address as nats://"
        elif "authorization" in words or "authentication" in words:
            mistake = f"the server at {shown} refuses the credentials: give those of a user that it knows"
        elif isinstance(error, Silent) or (isinstance(error, Refused) and error.code in _SWITCHED_OFF):
            mistake = f"JetStream is not switched on at {shown}: start nats-server with -js, and let the account use it"
        elif isinstance(error, Refused) and error.status < 500:
            mistake = f"{error} at {shown}"
        elif isinstance(error, ssl.SSLError):
            mistake = f"the certificate of {shown} is not accepted ({error}): give tls= a context that knows it"
        if mistake and not self._was_open:
            raise UsageError(mistake) from error
        if isinstance(error, (LogUnavailableError, Refused)):
            return mistake or str(error)
        told = self._told or str(error) or type(error).__name__
        return mistake or f"no NATS server answers at {shown} ({told}): start one, or give its address"

    def _unavailable(self, error: Exception) -> LogUnavailableError:
        return LogUnavailableError(without_credentials(f"{self.shown}: {error}"))


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        return parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
