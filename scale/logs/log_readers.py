"""`LogReaders`: those who follow streams of a log, each woken when its stream moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from ...sinks.log.patience import patiently
from ...sinks.log.stream_log import LogItem

LOOK_AGAIN: Final = 10.0
"""Seconds after which a reader looks again though it was not woken: nobody tells of a stream that has expired."""


class Seen(NamedTuple):
    """What a reader finds in a stream.

    - `origin`: the same for one stream, another one for a stream that is made after it was forgotten.
    - `last`: the number of the newest item that is kept.
    - `items`: the next ones, at least one if there is one.
    """

    origin: int
    last: int
    is_closed: bool
    items: list[LogItem]


class Page(Protocol):
    """What one question finds of a stream."""

    @property
    def items(self) -> list[LogItem]: ...


async def read_on(look: Callable[[int, int], Awaitable[Page | None]], after: int, most: int) -> list[LogItem]:
    """Return the items behind a number, at most so many, where one question may find fewer than there are."""
    items: list[LogItem] = []
    while len(items) < most:
        found = await look(after, most - len(items))
        if found is None or not found.items:
            break
        items += found.items
        after = items[-1].number
    return items


@dataclass
class _Followed:
    readers: int = 0
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    is_watched: bool = False


class LogReaders:
    """Lets readers follow streams of a log in one event loop.

    - `look`: returns what is behind a number of a stream; None if there is no such stream.
    - `watch`, `leave`: called with a stream for which the first reader waits, and which the last one has left. In
      between, `wake` is to be called whenever it may have moved, and once when that has begun.
    """

    def __init__(
        self,
        look: Callable[[str, int], Awaitable[Seen | None]],
        watch: Callable[[str], None],
        leave: Callable[[str], None],
    ) -> None:
        self._look, self._watch, self._leave = look, watch, leave
        self._followed: dict[str, _Followed] = {}

    def wake(self, streams: Iterable[str]) -> None:
        """Let the readers of these streams look again."""
        for stream in streams:
            if (one := self._followed.get(stream)) is not None:
                one.moved.set()
                one.moved = asyncio.Event()

    async def follow(self, stream: str, after: int) -> AsyncGenerator[list[LogItem], None]:
        """Yield as `StreamLog.follow` does; a log that does not answer is asked again for a minute."""
        one = self._followed.setdefault(stream, _Followed())
        one.readers += 1
        origin: int | None = None
        try:
            while True:
                moved = one.moved
                seen = await patiently(lambda: self._look(stream, after))  # noqa: B023 - awaited here
                if seen is not None and origin in (None, seen.origin):
                    origin = seen.origin
                    if seen.items:
                        after = seen.items[-1].number
                        yield seen.items
                    if after < seen.last:
                        continue
                    if seen.is_closed:
                        return
                elif origin is not None:
                    return
                if not one.is_watched:
                    one.is_watched = True
                    self._watch(stream)
                await _set_or_late(moved)
        finally:
            one.readers -= 1
            if not one.readers:
                del self._followed[stream]
                if one.is_watched:
                    self._leave(stream)


async def _set_or_late(event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(LOOK_AGAIN):
            await event.wait()
    except TimeoutError:
        return
