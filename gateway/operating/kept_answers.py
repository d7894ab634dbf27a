"""What is kept from answer to answer: conversations by response id, and reasoning by call id."""

from __future__ import annotations

import logging
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace

from ...events.errors import PenstockError, UsageError
from ...sinks.log.stream_log import LARGEST_ITEM, StreamLog, stream_name
from ...sinks.log.write_ahead import write_ahead
from ..neutral import Call, Message, NeutralRequest, Reasoning, RequestError
from ..typed_body import arguments_of

_LOGGER: Final = logging.getLogger("penstock.gateway")


class Store(Protocol):
    """Where bytes are kept by a name; it may forget what is old."""

    async def get(self, name: str) -> bytes | None:
        """Return what is kept under a name; None if nothing is."""
        ...

    async def put(self, name: str, value: bytes) -> None:
        """Keep bytes under a name, instead of those that were kept before."""
        ...

    def close(self) -> None:
        """Release what the store holds open."""
        ...


class MemoryStore:
    """A `Store` of so many bytes at most: what was not asked for the longest is forgotten first.

    A longer value is not kept.

    >>> import asyncio
    >>> async def main():
    ...     store = MemoryStore(most=10)
    ...     for name in ("a", "b", "c"):
    ...         await store.put(name, b"four")
    ...     return await store.get("a"), await store.get("c")
    >>> asyncio.run(main())
    (None, b'four')
    """

    def __init__(self, most: int = 64 * 1024 * 1024) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    async def get(self, name: str) -> bytes | None:
        if (value := self._kept.get(name)) is not None:
            self._kept.move_to_end(name)
        return value

    async def put(self, name: str, value: bytes) -> None:
        self._size -= len(self._kept.pop(name, b""))
        if len(value) > self._most:  # all others would go for it
            return
        self._kept[name] = value
        self._size += len(value)
        while self._size > self._most:
            self._size -= len(self._kept.popitem(last=False)[1])

    def close(self) -> None:
        self._kept.clear()
        self._size = 0


class OwnStore:
    """What one client keeps in a `Store`: another one does not find it, even by its name.

    - `owner`: what only this client sends, such as its key; all clients that send nothing have one store.

    >>> import asyncio
    >>> async def main():
    ...     store = MemoryStore()
    ...     await OwnStore(store, "key of one").put("a", b"four")
    ...     return [await OwnStore(store, owner).get("a") for owner in ("key of one", "key of another")]
    >>> asyncio.run(main())
    [b'four', None]
    """

    def __init__(self, store: Store, owner: str) -> None:
        self._store = store
        self._before = f"{sha256(owner.encode(errors='surrogatepass')).hexdigest()} " if owner else ""

    async def get(self, name: str) -> bytes | None:
        return await self._store.get(self._before + name)

    async def put(self, name: str, value: bytes) -> None:
        await self._store.put(self._before + name, value)

    def close(self) -> None:
        self._store.close()


_TABLE = """
pragma synchronous = normal;
create table if not exists kept (name blob primary key, value blob not null, used integer not null);
create index if not exists kept_by_use on kept (used);
"""
_BUSY: Final = 1.0
"""Seconds to wait for another process that writes."""
_NOW = "(select coalesce(max(used), 0) + 1 from kept)"


class DiskStore:
    """A `Store` in a file, of so many bytes at most, that other processes find again, and may use at the same time.

    A value that cannot be written or read, as on a full disk, counts as forgotten, with a warning of the logger
    `penstock.gateway`. `UsageError` for a file that is no such store.
    """

    def __init__(self, path: str | PathLike[str], most: int = 256 * 1024 * 1024) -> None:
        self._most = most
        try:
            Path(path).touch(mode=0o600)  # it holds what people say, in whatever folder
            self._database = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
            write_ahead(self._database, _BUSY)
            self._database.executescript(_TABLE)
            self._size = self._version = 0
            self._measure()
        except (sqlite3.Error, OSError) as error:
            message = f"cannot keep conversations in {path}: {error}; move that file away, or name another folder"
            raise UsageError(message) from error

    async def get(self, name: str) -> bytes | None:
        key = _key(name)
        try:
            value: bytes | None = self._one("select value from kept where name = ?", key)
            if value is not None:
                self._database.execute(f"update kept set used = {_NOW} where name = ?", (key,))  # noqa: S608
        except sqlite3.Error as error:
            _LOGGER.warning("a conversation cannot be read: %s", error)
            return None
        return value

    async def put(self, name: str, value: bytes) -> None:
        key = _key(name)
        try:
            self._database.execute("begin immediate")
            try:
                self._replace(key, value)
            finally:
                self._database.execute("commit")
        except sqlite3.Error as error:
            self._version = 0  # what was counted may not be there
            _LOGGER.warning("a conversation cannot be kept: %s", error)

    def close(self) -> None:
        self._database.close()

    def _replace(self, key: bytes, value: bytes) -> None:
        self._measure()
        self._size -= self._one("select length(value) from kept where name = ?", key) or 0
        self._database.execute("delete from kept where name = ?", (key,))
        if len(value) > self._most:  # all others would go for it
            return
        self._database.execute(f"insert into kept values (?, ?, {_NOW})", (key, value))  # noqa: S608
        self._size += len(value)
        while self._size > self._most:
            oldest, length = self._row("select name, length(value) from kept order by used limit 1")
            self._database.execute("delete from kept where name = ?", (oldest,))
            self._size -= length

    def _measure(self) -> None:
        """Count all values again if another process has written since."""
        if (version := self._one("pragma data_version")) != self._version:
            self._size = self._one("select coalesce(sum(length(value)), 0) from kept")
            self._version = version

    def _row(self, query: str, *values: Any) -> Any:
        return self._database.execute(query, values).fetchone()

    def _one(self, query: str, *values: Any) -> Any:
        row = self._row(query, *values)
        return None if row is None else row[0]


class LogStore:
    """A `Store` in a log, which all gateways of the log share; what is kept is as old as the log lets it be.

    A value is kept once under its name. One that cannot be written or read counts as forgotten, as in `DiskStore`.
    """

    def __init__(self, log: StreamLog) -> None:
        self._log = log

    async def get(self, name: str) -> bytes | None:
        stream = stream_name("kept", name)
        try:
            state = await self._log.state(stream)
            if state is None or not state.is_closed:
                return None
            return b"".join([each.data for each in await self._log.read(stream, most=state.last)])
        except PenstockError as error:
            _LOGGER.warning("a conversation cannot be read: %s", error)
            return None

    async def put(self, name: str, value: bytes) -> None:
        stream = stream_name("kept", name)
        pieces = [value[at : at + LARGEST_ITEM] for at in range(0, len(value), LARGEST_ITEM)]
        try:
            state = await self._log.claim(stream)
            if not state.is_closed:
                await self._log.append(stream, pieces, state.fence, after=state.last)
                await self._log.close(stream, state.fence)
        except PenstockError as error:
            _LOGGER.warning("a conversation cannot be kept: %s", error)

    def close(self) -> None:
        """Leave the log to whoever has opened it."""


def _key(name: str) -> bytes:
    """Return a key of a bounded length for any text: ids are what a model wrote."""
    return sha256(name.encode(errors="surrogatepass")).digest()


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(tuple[Message, ...])


async def keep_answer(store: Store, response_id: str, request: NeutralRequest, answer: Message) -> None:
    """Keep a conversation with its answer, so that a request with `previous_response_id` goes on from there.

    The instructions of the request are not kept: each request has its own. Nor is anything that the client does not
    want to be stored.
    """
    if request.store:
        await store.put(f"response {response_id}", _encoder.encode((*request.messages, answer)))


async def with_previous(store: Store, request: NeutralRequest) -> NeutralRequest:
    """Return a request with the conversation from which it goes on; `RequestError` if it is not kept."""
    if request.previous_response_id is None:
        return request
    kept = await store.get(f"response {request.previous_response_id}")
    try:
        before = None if kept is None else _decoder.decode(kept)
    except ValueError:  # another version has written it, or the file is damaged
        before = None
    if before is None:
        detail = f"the response {request.previous_response_id!r:.80} is not kept here, or not any longer"
        raise RequestError(detail, field="previous_response_id", code="previous_response_not_found")
    return replace(request, messages=(*before, *request.messages), previous_response_id=None)


async def keep_reasoning(store: Store, answer: Message) -> None:
    """Keep what the model thought by the calls that it then made, for clients that do not send it back."""
    thought = "\n\n".join(each.text for each in answer.parts if isinstance(each, Reasoning))
    for name in _call_names(answer) if thought else ():
        await store.put(name, thought.encode(errors="replace"))


async def with_reasoning(store: Store, request: NeutralRequest) -> NeutralRequest:
    """Return a request in which the calls of the assistant follow what was thought before them."""
    return replace(request, messages=tuple([await _thought(store, each) for each in request.messages]))


async def _thought(store: Store, message: Message) -> Message:
    if any(isinstance(each, Reasoning) and each.text for each in message.parts):
        return message
    for name in _call_names(message):
        if (kept := await store.get(name)) is not None:
            return replace(message, parts=(Reasoning(kept.decode()), *message.parts))
    return message


def _call_names(message: Message) -> Iterator[str]:
    """Yield a name for each call: its id alone, as `functions.now:0`, may be that of another conversation."""
    for each in message.parts:
        if isinstance(each, Call):
            said = msgspec.json.encode([each.name, arguments_of(each.arguments)], order="deterministic")
            yield f"call {each.id} {sha256(said).hexdigest()}"
