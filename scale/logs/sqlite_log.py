"""`SqliteLog`: streams in one file, for the processes of one machine."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final

from ...events.errors import PenstockError, UsageError
from ...sinks.log.stream_log import KEPT, LogItem, LogState, Retention, checked_name
from .log_readers import LogReaders, Seen, read_on
from .sqlite_file import Change, Found, Look, SqliteFile

_POLL: Final = 0.015
"""Seconds between looks whether another process has written, while somebody follows."""
_AT_ONCE: Final = 4000
"""Questions that are answered in one transaction."""
_LOOKS_AT_ONCE: Final = 100
_READ: Final = 1000
"""Items that a follower gets at once."""


class SqliteLog:
    """A `StreamLog` in a file of SQLite, of one event loop; several processes of one machine may have the same file.

        log = SqliteLog("streams.sqlite")
        log = SqliteLog("/var/lib/penstock/streams.sqlite", Retention(seconds=3600, items=10_000))

    What is appended is on the disk when `append` returns: it survives the process, and the machine as far as its disk
    keeps what it says it has. A file on a network is not for this. Appends that wait are written together.

    - `path`: the file, which only this user can read if it is made; its folder has to be there. Beside it are
      `-wal` and `-shm` while it is open.
    - `retention`: how long each stream is kept, and how much of it. The file grows to what was kept at most.

    `UsageError` for a file that is something else.
    """

    def __init__(self, path: str | PathLike[str], retention: Retention = KEPT) -> None:
        place = Path(path).absolute()
        self._writing = SqliteFile(place, retention)
        self._reading = SqliteFile(place, retention)
        self._readers = LogReaders(self._seen, self._watch, self._leave)
        self._watched: set[str] = set()
        self._places: dict[str, tuple[int, int, int] | None] = {}
        """Where the watched streams were when another process had written last."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rest = 0.0
        """When to look again whether another process has written."""
        self._writer = _Worker(self._writing.change, self._done, self._look_around, self._writing.close, _AT_ONCE)
        self._reader = _Worker(self._answers, lambda _: None, lambda: None, self._reading.close, _LOOKS_AT_ONCE)

    async def claim(self, stream: str) -> LogState:
        checked_name(stream)
        state: LogState = await self._change(stream, lambda made: made.claim(stream))
        return state

    async def append(self, stream: str, items: Sequence[bytes], fence: int, *, after: int) -> int:
        checked_name(stream)
        last: int = await self._change(stream, lambda made: made.append(stream, items, fence, after))
        return last

    async def close(self, stream: str, fence: int) -> None:
        checked_name(stream)
        await self._change(stream, lambda made: made.close(stream, fence))

    async def state(self, stream: str) -> LogState | None:
        found = await self._look(stream, 0, 0)
        return None if found is None else found.state

    async def read(self, stream: str, after: int = 0, *, most: int = 1000) -> list[LogItem]:
        return await read_on(partial(self._look, stream), after, most)

    async def follow(self, stream: str, after: int = 0) -> AsyncGenerator[list[LogItem], None]:
        checked_name(stream)
        self._loop = asyncio.get_running_loop()
        async for items in self._readers.follow(stream, after):
            yield items

    async def open_streams(self) -> list[str]:
        names: list[str] = await self._reader.ask(None)
        return names

    async def expire(self, stream: str) -> None:
        checked_name(stream)
        await self._change(stream, lambda made: made.expire(stream))

    async def aclose(self) -> None:
        await asyncio.gather(asyncio.to_thread(self._writer.stop), asyncio.to_thread(self._reader.stop))
        self._readers.wake([*self._watched])

    def _change(self, stream: str, make: Callable[[Any], Any]) -> asyncio.Future[Any]:
        return self._writer.ask(Change(stream, make))

    async def _look(self, stream: str, after: int, most: int) -> Found | None:
        found: Found | None = await self._reader.ask(Look(checked_name(stream), after, most))
        return found

    async def _seen(self, stream: str, after: int) -> Seen | None:
        found = await self._look(stream, after, _READ)
        return found and Seen(found.id, found.state.last, found.state.is_closed, found.items)

    def _answers(self, questions: list[Look | None]) -> list[Any]:
        """Return what the looks find; the question None is for the streams that are open."""
        found = iter(self._reading.look([each for each in questions if each is not None]))
        return [self._reading.open_streams() if each is None else next(found) for each in questions]

    def _done(self, changes: list[Change]) -> None:
        self._readers.wake({each.stream for each in changes})

    def _watch(self, stream: str) -> None:
        self._watched.add(stream)
        self._writer.every = _POLL

    def _leave(self, stream: str) -> None:
        self._watched.discard(stream)
        if not self._watched:
            self._writer.every = None

    def _look_around(self) -> None:
        """Wake the readers of those streams that another process has written."""
        begun, watched, loop = time.monotonic(), [*self._watched], self._loop
        if not watched or begun < self._rest or loop is None:
            return
        try:
            if not self._writing.was_changed() and self._places.keys() >= {*watched}:
                return
            there = self._writing.places(watched)
        except PenstockError:  # they will see it themselves
            self._rest = begun + 1
            _call(loop, lambda: self._readers.wake(watched))
            return
        before, self._places = self._places, {stream: there.get(stream) for stream in watched}
        moved = [stream for stream, place in self._places.items() if stream not in before or before[stream] != place]
        self._rest = begun + 5 * (time.monotonic() - begun)
        _call(loop, lambda: self._readers.wake(moved))


class _Worker:
    """A thread that answers the questions of an event loop, all at once that wait.

    - `answer`: returns what each question is answered with; a `PenstockError` is raised to the one who asks.
    - `done`: called in the event loop with the questions that were answered.
    - `between`: called behind each time, and each `every` seconds if that is not None.
    - `end`: called when no more is to be answered.
    """

    def __init__(
        self,
        answer: Callable[[list[Any]], list[Any]],
        done: Callable[[list[Any]], None],
        between: Callable[[], None],
        end: Callable[[], None],
        at_once: int,
    ) -> None:
        self._answer, self._done, self._between, self._end, self._at_once = answer, done, between, end, at_once
        self._every: float | None = None
        self._waiting: list[tuple[Any, asyncio.Future[Any]]] = []
        self._is_stopped = False
        self._asked = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="penstock log", daemon=True)
        self._thread.start()

    @property
    def every(self) -> float | None:
        return self._every

    @every.setter
    def every(self, seconds: float | None) -> None:
        with self._asked:
            self._every = seconds
            self._asked.notify()

    def ask(self, question: Any) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        with self._asked:
            if self._is_stopped:
                message = "the log was closed by aclose(); open it again"
                raise UsageError(message)
            self._waiting.append((question, future))
            self._asked.notify()
        return future

    def stop(self) -> None:
        """Answer what waits, and end."""
        with self._asked:
            self._is_stopped = True
            self._asked.notify()
        self._thread.join()

    def _run(self) -> None:
        while (taken := self._taken()) is not None:
            if taken:
                questions = [question for question, _ in taken]
                try:
                    answers = self._answer(questions)
                except Exception as error:  # noqa: BLE001 - raised to all who ask
                    answers = [error] * len(taken)
                _call(taken[0][1].get_loop(), partial(self._tell, taken, answers))
            self._between()
        self._end()

    def _taken(self) -> list[tuple[Any, asyncio.Future[Any]]] | None:
        """Return what is to be answered now, which may be nothing; None at the end."""
        with self._asked:
            if not self._waiting and not self._is_stopped:
                self._asked.wait(self._every)
            if not self._waiting and self._is_stopped:
                return None
            taken, self._waiting = self._waiting[: self._at_once], self._waiting[self._at_once :]
            return taken

    def _tell(self, asked: list[tuple[Any, asyncio.Future[Any]]], answers: list[Any]) -> None:
        for (_, future), answer in zip(asked, answers, strict=True):
            if future.done():  # who asked has left
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        self._done([question for question, _ in asked])


def _call(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop is closed, and with it all who wait there
        loop.call_soon_threadsafe(function)
