"""`Commits`: what is written to JetStream by one process, many appends at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from ...events.errors import PenstockError
from ...sinks.log.stream_log import LogUnavailableError
from .jetstream_stream import Refused, sequence_of

if TYPE_CHECKING:
    from .nats_connection import NatsConnection

_MOST: Final = 500
"""Messages that are stored together; a server takes up to 1,000."""
_LARGEST: Final = 4 * 1024 * 1024
"""Bytes of them."""
_MOVED: Final = frozenset({10071, 10164})
"""JetStream's numbers of the error that the last message is another than the one that was named."""


@dataclass
class _Append:
    subject: str
    messages: Sequence[bytes]
    headers: dict[str, str]
    """Of its first message."""
    stored: asyncio.Future[int | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Commits:
    """Writes what waits together: a server that writes to its disk before it answers does so once for all of it.

    The messages of several streams are a batch of JetStream's, which is stored as a whole or not at all. One that is
    refused is halved until it is known for which stream that is.
    """

    def __init__(self, connected: Callable[[], Awaitable[NatsConnection]]) -> None:
        self._connected = connected
        self._waiting: list[_Append] = []
        self._task: asyncio.Task[None] | None = None

    async def store(self, subject: str, messages: Sequence[bytes], headers: dict[str, str]) -> int | None:
        """Return the number of the last message, all of which are stored; None if the stream has moved on."""
        append = _Append(subject, messages, headers)
        self._waiting.append(append)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        return await append.stored

    async def aclose(self) -> None:
        """Wait until all is answered."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._commit(self._taken())
        finally:
            self._task = None

    def _taken(self) -> list[_Append]:
        """Return what is stored next, of each stream one append."""
        taken: dict[str, _Append] = {}
        left: list[_Append] = []
        number = size = 0
        for append in self._waiting:
            number += len(append.messages)
            size += sum(map(len, append.messages))
            if append.subject in taken or (taken and (number > _MOST or size > _LARGEST)):
                left.append(append)
            else:
                taken[append.subject] = append
        self._waiting = left
        return [*taken.values()]

    async def _commit(self, appends: Sequence[_Append]) -> None:
        try:
            seq = await _stored(await self._connected(), appends)
        except Refused as refused:
            if (half := len(appends) // 2) > 0:
                await self._commit(appends[:half])
                await self._commit(appends[half:])
            elif refused.code in _MOVED:
                _answer(appends[0], None)
            else:
                _fail(appends[0], LogUnavailableError(str(refused)))
        except Exception as error:  # noqa: BLE001 - raised to all that wait
            for append in appends:
                _fail(append, type(error)(*error.args) if isinstance(error, PenstockError) else error)
        else:
            seq -= sum(len(append.messages) for append in appends)
            for append in appends:
                seq += len(append.messages)
                _answer(append, seq)


async def _stored(connection: NatsConnection, appends: Sequence[_Append]) -> int:
    """Return the number of the last message."""
    messages = [
        (append.subject, data, {} if at else append.headers)
        for append in appends
        for at, data in enumerate(append.messages)
    ]
    subject, data, headers = messages.pop()
    if messages:
        batch = {"Nats-Batch-Id": token_hex(8)}
        for number, (of, one, first) in enumerate(messages, 1):
            await connection.tell(of, one, {**first, **batch, "Nats-Batch-Sequence": str(number)})
        headers = {**headers, **batch, "Nats-Batch-Sequence": str(len(messages) + 1), "Nats-Batch-Commit": "1"}
    return sequence_of(await connection.ask(subject, data, headers))


def _answer(append: _Append, seq: int | None) -> None:
    if not append.stored.done():  # whoever waited may have left
        append.stored.set_result(seq)


def _fail(append: _Append, error: Exception) -> None:
    if not append.stored.done():
        append.stored.set_exception(error)
