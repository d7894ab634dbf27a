"""`NatsConnection`: a connection to one server of NATS, which asks and is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Final, cast
from urllib.parse import unquote, urlsplit, urlunsplit

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from ...events.errors import shown_url, without_credentials
from ...sinks.log.stream_log import LogUnavailableError
from .jetstream_stream import Answered, Refused

_LOGGER: Final = logging.getLogger("penstock")
_ANSWER: Final = 5.0
"""Seconds in which a server answers. One that has died does not, and its connection may still be there."""
CONNECT: Final = 5.0
"""Seconds in which a server takes a connection."""
_CLOSE: Final = 2.0
"""Seconds in which a connection ends by itself."""
_PING: Final = 10
"""Seconds between pings; two that are not answered end a connection."""
_UNANSWERED: Final = "503"
_LAST_OF_MANY: Final = frozenset({"204", "404"})


class SilentError(LogUnavailableError):
    """Nobody listens to what was asked."""


class NatsConnection(Client):
    """A connection of nats-py's that ends for good when it is lost, and lets nobody wait then.

    nats-py's own reconnecting is off: it sends later what was given up before. What is asked raises
    `LogUnavailableError` where there is no answer.

    - `server`: its URL. `is_encrypted`: whether nothing may be sent in plain text.
    - `on_end`: called when the connection has ended. `on_dropped`: with a subject of which messages were dropped.
    - `told`: what it told last of something that went wrong.
    """

    def __init__(
        self,
        server: str,
        *,
        is_encrypted: bool,
        on_end: Callable[[NatsConnection], None],
        on_dropped: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._server = server
        self.shown = shown_url(server)
        self.told = ""
        self._is_encrypted, self._on_end, self._on_dropped = is_encrypted, on_end, on_dropped
        self._answers = ""
        """The subject of the answers."""
        self._tokens = count()
        self._waiting: dict[str, asyncio.Future[Answered]] = {}
        self._many: dict[str, list[Answered]] = {}

    async def open(self, tls: Any) -> None:
        """Connect."""

        async def failed(error: Exception) -> None:
            self.told = without_credentials(str(error) or type(error).__name__)
            _LOGGER.debug("NATS at %s: %s", self.shown, self.told)
            if isinstance(error, nats.errors.SlowConsumerError):
                self._on_dropped(error.subject)

        parts = urlsplit(self._server)
        user, password = unquote(parts.username or "") or None, unquote(parts.password or "") or None
        await self.connect(
            servers=[urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))],
            user=user if password else None,
            password=password,
            token=None if password else user,
            name="penstock",
            error_cb=failed,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=int(CONNECT),
            ping_interval=_PING,
            tls=tls,
        )
        self._answers = self.new_inbox()
        await self._take(f"{self._answers}.*", self._answered)

    async def ask(
        self,
        subject: str,
        data: bytes = b"",
        headers: dict[str, str] | None = None,
        found: list[Answered] | None = None,
    ) -> Answered:
        """Return the answer to a message; `found` takes those in front of it."""
        token = str(next(self._tokens))
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._waiting[token] = answer
        if found is not None:
            self._many[token] = found
        try:
            await self.publish(subject, data, reply=f"{self._answers}.{token}", headers=headers)
            async with asyncio.timeout(_ANSWER):
                answered = await answer
        except TimeoutError as error:
            told = f" ({self.told})" if self.told else ""
            message = f"no answer from {self.shown} within {_ANSWER:.0f} s{told}"
            raise LogUnavailableError(message) from error
        except (OSError, nats.errors.Error) as error:
            raise self._unavailable(error) from error
        finally:
            self._waiting.pop(token, None)
            self._many.pop(token, None)
        if answered.headers.get("Status") == _UNANSWERED:
            await self.close()  # the next one finds out why, and makes the stream that is missing
            message = f"JetStream does not answer at {self.shown}: it has no leader, or was switched off"
            raise SilentError(message)
        return answered

    async def ask_for_many(self, subject: str, data: bytes) -> list[Answered]:
        """Return the answers to a message, behind which there is one that ends them."""
        found: list[Answered] = []
        last = (await self.ask(subject, data, found=found)).headers
        if last["Status"] not in _LAST_OF_MANY:
            raise Refused(int(last["Status"]), 0, last.get("Description", ""))
        return found

    async def tell(self, subject: str, data: bytes, headers: dict[str, str]) -> None:
        """Send a message that has no answer."""
        try:
            await self.publish(subject, data, headers=headers)
        except (OSError, nats.errors.Error) as error:
            raise self._unavailable(error) from error

    async def listen(self, subject: str, take: Callable[[Answered], None]) -> Callable[[], Awaitable[None]]:
        """Have each message of a subject taken; return what ends that."""

        async def came(message: Msg) -> None:
            take(Answered(message.data, message.headers or {}))

        try:
            subscription = await self._take(subject, came)
        except (OSError, nats.errors.Error) as error:
            raise self._unavailable(error) from error

        async def leave() -> None:
            if not self.is_closed:
                await subscription.unsubscribe()

        return leave

    async def pull(self, subject: str, data: bytes, most: int) -> list[tuple[str, dict[str, str]]]:
        """Return subject and headers of each message that a consumer has, of which it is asked for so many at most."""
        inbox = self.new_inbox()
        found: list[tuple[str, dict[str, str]]] = []
        ended = self._waiting[inbox] = asyncio.get_running_loop().create_future()

        async def came(message: Msg) -> None:
            headers = message.headers or {}
            if "Status" not in headers:
                found.append((message.subject, headers))
            if ("Status" in headers or len(found) == most) and not ended.done():
                ended.set_result(Answered(b"", headers))

        try:
            subscription = await self._take(inbox, came)
            await self.publish(subject, data, reply=inbox)
            async with asyncio.timeout(_ANSWER):
                await ended
            await subscription.unsubscribe()
        except (OSError, TimeoutError, nats.errors.Error) as error:
            raise self._unavailable(error) from error
        finally:
            del self._waiting[inbox]
        return found

    async def _take(self, subject: str, came: Callable[[Msg], Awaitable[None]]) -> Subscription:
        return await self.subscribe(subject, cb=came)  # pyright: ignore[reportUnknownMemberType]

    async def _answered(self, message: Msg) -> None:
        token = message.subject.rpartition(".")[2]
        answered = Answered(message.data, message.headers or {})
        if (found := self._many.get(token)) is not None and "Status" not in answered.headers:
            found.append(answered)
        elif (answer := self._waiting.get(token)) is not None and not answer.done():
            answer.set_result(answered)

    def _connect_command(self) -> Any:
        # nats-py goes on in plain text where a server asks for no TLS, whatever the URL says.
        if self._is_encrypted and not self._server_info.get("tls_required"):
            raise nats.errors.SecureConnRequiredError
        return super()._connect_command()

    async def _close(self, status: int, do_cbs: bool = True) -> None:  # noqa: FBT001, FBT002, ARG002 - nats-py's own
        # nats-py leaves the socket open, and calls nobody, where the last that it sends comes to nothing.
        try:
            async with asyncio.timeout(_CLOSE):
                await super()._close(status, do_cbs=False)
        except (OSError, TimeoutError) as error:
            _LOGGER.debug("NATS at %s: %s", self.shown, error)
        finally:
            if (transport := cast("Any", self._transport)) is not None:
                transport.close()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(LogUnavailableError(f"the connection to {self.shown} was lost"))
            self._on_end(self)

    def _unavailable(self, error: Exception) -> LogUnavailableError:
        told = str(error) or type(error).__name__
        return LogUnavailableError(without_credentials(f"{self.shown}: {told}"))
