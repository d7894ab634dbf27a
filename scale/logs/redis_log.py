"""`RedisLog`: streams on a server of Redis or Valkey."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from ...events.errors import PenstockError, UsageError, how_to_install, shown_url, without_credentials
from ...sinks.log.stream_log import (
    KEPT,
    FencedError,
    LogGapError,
    LogItem,
    LogState,
    LogUnavailableError,
    Retention,
    checked_name,
    new_items,
)
from .log_readers import LogReaders, Seen, read_on
from .redis_scripts import APPEND, CLAIM, CLOSE, EXPIRE, LOOK, NOT_OPEN, OPENED, Script

try:
    from redis import exceptions
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
except ModuleNotFoundError as _error:
    if (_error.name or "").partition(".")[0] != "redis":
        raise
    _MESSAGE = f"a log on Redis or Valkey needs redis; {how_to_install('redis')}"
    raise UsageError(_MESSAGE) from _error

_SECONDS: Final = 10.0
"""How long an answer of the server may take."""
_AT_ONCE: Final = 500
"""Questions that are sent together, and the bytes of them."""
_BYTES: Final = 8 * 1024 * 1024
_READ: Final = 1000
"""Items that a follower gets at once."""
_PIECE: Final = 256 * 1024
"""Bytes that one reader gets at once, about."""
_PAUSE: Final = 0.2
"""Seconds before the connection that tells what has moved is made anew."""
_REFUSED: Final = (
    exceptions.AuthenticationError,
    exceptions.AuthorizationError,
    exceptions.AuthenticationWrongNumberOfArgsError,
    exceptions.NoPermissionError,
)
_AWAY: Final = (
    OSError,
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.ClusterDownError,
    exceptions.TryAgainError,
    exceptions.OutOfMemoryError,
)
_AWAY_CODES: Final = ("MISCONF", "NOREPLICAS", "LOADING", "BUSY", "UNBLOCKED")
"""How errors begin that have no class."""

_CLOSED: Final = "the log was closed by aclose(); open it again"


class RedisLog:
    """A `StreamLog` on a server of Redis (7.0 or newer) or Valkey, of one event loop.

        log = RedisLog("redis://127.0.0.1:6379")
        log = RedisLog("rediss://penstock:PASSWORD@redis.example:6380/1")

    It promises what the server is configured for: with `appendonly yes` and `appendfsync always` what is appended is on
    the server's disk when `append` returns; with `everysec`, the default of `appendonly yes`, the last second may be
    lost; without, everything since the last snapshot. The server must not evict: `maxmemory-policy noeviction`.

    - `url`: `redis://` or `rediss://` (TLS), with user and password if need be; parameters as those of the client
      `redis` (`ssl_ca_certs=...`).
    - `retention`: how long each stream is kept, and how much of it.
    - `prefix`: what the names of the keys begin with.

    `UsageError` for a wrong URL, and where the server refuses the user, or a key belongs to something else.
    """

    def __init__(self, url: str, retention: Retention = KEPT, *, prefix: str = "penstock") -> None:
        self._url = shown_url(url)
        self._prefix = prefix
        self._items = str(retention.items)
        self._kept = str(int(retention.seconds * 1000))
        try:
            connect: Any = Redis
            self._client: Redis = connect.from_url(
                url,
                decode_responses=False,
                health_check_interval=15,
                retry=Retry(NoBackoff(), 1),  # the server has ended a connection that was idle
                socket_connect_timeout=_SECONDS,
                socket_keepalive=True,
                socket_timeout=_SECONDS,
            )
        except (ValueError, TypeError) as error:
            message = f"the log is at redis://HOST:PORT or rediss://HOST:PORT, got {self._url}"
            raise UsageError(message) from error
        self._readers = LogReaders(self._seen, self._watch, self._leave)
        self._writing = _Questions(self._client, self._told)
        self._reading = _Questions(self._client, self._told)
        self._channels = _Channels(self._client, self._moved)

    async def claim(self, stream: str) -> LogState:
        meta, items = self._keys(stream)
        some = await self._writing.ask(OPENED, [self._open], [stream])
        fence, last, is_closed, length = map(int, await self._writing.ask(CLAIM, [meta, items], [self._kept]))
        await self._remove_closed([each.decode() for each in some if each.decode() != stream])
        return LogState(fence, last - length + 1, last, bool(is_closed), 0.0)

    async def append(self, stream: str, items: Sequence[bytes], fence: int, *, after: int) -> int:
        new_items(items, after, last=after, is_closed=False)  # one that is too large goes nowhere
        arguments: list[str | bytes] = [str(fence), str(after), self._items, self._kept, *items]
        is_mine, last, is_closed = await self._writing.ask(APPEND, self._keys(stream), arguments)
        if not is_mine:
            raise FencedError(stream)
        new_items(items, after, last=last, is_closed=bool(is_closed))
        return after + len(items)

    async def close(self, stream: str, fence: int) -> None:
        if not await self._writing.ask(CLOSE, self._keys(stream), [str(fence), self._kept]):
            raise FencedError(stream)
        await self._writing.ask("ZREM", [self._open], [stream])

    async def state(self, stream: str) -> LogState | None:
        found = await self._look(stream, 0, 0)
        return None if found is None else found.state

    async def read(self, stream: str, after: int = 0, *, most: int = 1000) -> list[LogItem]:
        return await read_on(partial(self._look, stream), after, most)

    async def follow(self, stream: str, after: int = 0) -> AsyncGenerator[list[LogItem], None]:
        checked_name(stream)
        async for items in self._readers.follow(stream, after):
            yield items

    async def open_streams(self) -> list[str]:
        noted = [each.decode() for each in await self._reading.ask("ZRANGE", [self._open], ["0", "-1"])]
        closed = {*await self._remove_closed(noted)}
        return [stream for stream in noted if stream not in closed]

    async def expire(self, stream: str) -> None:
        await self._writing.ask(EXPIRE, self._keys(stream), [])

    async def aclose(self) -> None:
        await self._channels.aclose()
        await self._writing.aclose()
        await self._reading.aclose()
        await self._client.aclose()

    @property
    def _open(self) -> str:
        return f"{self._prefix}:open"

    def _keys(self, stream: str) -> tuple[str, str]:
        meta = f"{self._prefix}:{{{checked_name(stream)}}}"
        return meta, f"{meta}:items"

    async def _look(self, stream: str, after: int, most: int) -> _Found | None:
        found = await self._reading.ask(LOOK, self._keys(stream), [str(after), str(most), str(_PIECE)])
        if found is None:
            return None
        *numbers, items = found
        origin, fence, last, is_closed, idle, length = map(int, numbers)
        first = last - length + 1
        if most and after + 1 < first:
            raise LogGapError(after, first)
        state = LogState(fence, first, last, bool(is_closed), idle / 1_000_000)
        return _Found(origin, state, [LogItem(int(name.partition(b"-")[0]), data) for name, (_, data) in items])

    async def _seen(self, stream: str, after: int) -> Seen | None:
        found = await self._look(stream, after, _READ)
        return found and Seen(found.origin, found.state.last, found.state.is_closed, found.items)

    async def _remove_closed(self, streams: Sequence[str]) -> list[str]:
        """Return which of the streams are closed or gone, and note them no more."""
        states = await asyncio.gather(*map(self.state, streams))
        closed = [stream for stream, state in zip(streams, states, strict=True) if state is None or state.is_closed]
        for at in range(0, len(closed), _AT_ONCE):
            await self._writing.ask(NOT_OPEN, [self._open], closed[at : at + _AT_ONCE])
        return closed

    def _watch(self, stream: str) -> None:
        self._channels.watch(self._keys(stream)[0])

    def _leave(self, stream: str) -> None:
        self._channels.leave(self._keys(stream)[0])

    def _moved(self, channel: str) -> None:
        self._readers.wake([channel[len(self._prefix) + 2 : -1]])

    def _told(self, error: Exception) -> PenstockError:
        """Return an error of the client as the one that says what to do."""
        said = without_credentials(str(error)).partition(" script: ")[0]
        if isinstance(error, _REFUSED):
            return UsageError(f"{self._url} refuses this user: {said}; look at the user and the password of the URL")
        if isinstance(error, _AWAY) or said.startswith(_AWAY_CODES):
            return LogUnavailableError(f"{self._url} does not answer as a log now: {said}")
        hint = "it has to be Redis 7 or Valkey, and prefix= must not be used by anything else"
        return UsageError(f"{self._url} cannot keep streams: {said}; {hint}")


class _Found(NamedTuple):
    origin: int
    state: LogState
    items: list[LogItem]


class _Question(NamedTuple):
    what: Script | str
    keys: Sequence[str]
    arguments: Sequence[str | bytes]
    answer: asyncio.Future[Any]

    @property
    def command(self) -> tuple[str | bytes, ...]:
        if isinstance(self.what, str):
            return (self.what, *self.keys, *self.arguments)
        return ("EVALSHA", self.what.digest, str(len(self.keys)), *self.keys, *self.arguments)


class _Questions:
    """Asks the server: what comes while an answer is awaited is sent together, and written to its disk at once.

    - `told`: returns the error that is raised in place of one of the client.
    """

    def __init__(self, client: Any, told: Callable[[Exception], Exception]) -> None:  # typed in part
        self._client, self._told = client, told
        self._waiting: list[_Question] = []
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    async def ask(self, what: Script | str, keys: Sequence[str], arguments: Sequence[str | bytes]) -> Any:
        if self._is_closed:
            raise UsageError(_CLOSED)
        loop = asyncio.get_running_loop()
        question = _Question(what, keys, arguments, loop.create_future())
        self._waiting.append(question)
        if self._task is None:
            self._task = loop.create_task(self._send())
        try:
            return await question.answer
        except (exceptions.RedisError, OSError) as error:
            raise self._told(error) from error

    async def aclose(self) -> None:
        """Answer what waits, and take no more."""
        self._is_closed = True
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _send(self) -> None:
        try:
            while self._waiting:
                taken = self._taken()
                answers: list[Any]
                try:
                    answers = await self._answers(taken)
                except Exception as error:  # noqa: BLE001 - raised to all who ask
                    answers = [error] * len(taken)
                for question, answer in zip(taken, answers, strict=True):
                    if question.answer.done():  # who asked has left
                        continue
                    if isinstance(answer, Exception):
                        question.answer.set_exception(answer)
                    else:
                        question.answer.set_result(answer)
        finally:
            self._task = None

    def _taken(self) -> list[_Question]:
        size = 0
        for count, question in enumerate(self._waiting):
            size += sum(map(len, question.arguments))
            if count == _AT_ONCE or (count and size > _BYTES):
                taken, self._waiting = self._waiting[:count], self._waiting[count:]
                return taken
        taken, self._waiting = self._waiting, []
        return taken

    async def _answers(self, questions: Sequence[_Question]) -> list[Any]:
        answers = await self._pipelined(questions)
        unknown = [at for at, each in enumerate(answers) if isinstance(each, exceptions.NoScriptError)]
        if unknown:  # a server that was started anew knows no script
            again = [questions[at] for at in unknown]
            for script in {each.what for each in again if isinstance(each.what, Script)}:
                await self._client.script_load(script.text)
            for at, answer in zip(unknown, await self._pipelined(again), strict=True):
                answers[at] = answer
        return answers

    async def _pipelined(self, questions: Sequence[_Question]) -> list[Any]:
        async with self._client.pipeline(transaction=False) as pipeline:
            for question in questions:
                pipeline.pipeline_execute_command(*question.command)
            answers: list[Any] = await pipeline.execute(raise_on_error=False)
            return answers


class _Channels:
    """One connection that tells when a stream has moved, for all that are watched.

    - `moved`: called with a channel that was published to, and with one that is told of from now on: at first, and
      whenever the connection was made anew.
    """

    def __init__(self, client: Any, moved: Callable[[str], None]) -> None:  # typed in part
        self._client, self._moved = client, moved
        self._wanted: set[str] = set()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def watch(self, channel: str) -> None:
        self._wanted.add(channel)
        self._changed.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def leave(self, channel: str) -> None:
        self._wanted.discard(channel)
        self._changed.set()

    async def aclose(self) -> None:
        await _end(self._task)
        for channel in self._wanted:
            self._moved(channel)

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except (exceptions.RedisError, OSError):  # readers see for themselves that the server is away
                await asyncio.sleep(_PAUSE)

    async def _listen(self) -> None:
        pubsub = self._client.pubsub()
        told: set[str] = set()
        reading: asyncio.Task[None] | None = None
        try:
            while True:
                self._changed.clear()
                if new := [*self._wanted - told]:
                    await pubsub.subscribe(*new)
                if old := [*told - self._wanted]:
                    await pubsub.unsubscribe(*old)
                told = {*self._wanted}
                if told and reading is None:
                    reading = asyncio.get_running_loop().create_task(self._read(pubsub))
                    reading.add_done_callback(lambda _: self._changed.set())
                await self._changed.wait()
                if reading is not None and reading.done():
                    await reading
        finally:
            await _end(reading)
            await pubsub.aclose()

    async def _read(self, pubsub: Any) -> None:
        while True:
            message = await pubsub.get_message(timeout=None)
            if message is not None and message["type"] in ("message", "subscribe"):
                self._moved(message["channel"].decode())


async def _end(task: asyncio.Task[None] | None) -> None:
    """Cancel a task until it has ended: `asyncio.wait_for` of Python 3.11, which the client uses, may lose it once."""
    while task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.1)
