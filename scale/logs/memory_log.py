"""`MemoryLog`: streams in the memory of this process, for tests and for a single machine."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ...sinks.log.stream_log import (
    KEPT,
    FencedError,
    LogGapError,
    LogItem,
    LogState,
    Retention,
    checked_name,
    new_items,
)


@dataclass
class _Stream:
    fence: int = 0
    first: int = 1
    items: deque[bytes] = field(default_factory=deque[bytes])
    is_closed: bool = False
    touched: float = 0.0
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def last(self) -> int:
        return self.first + len(self.items) - 1

    def wake(self) -> None:
        self.moved.set()
        self.moved = asyncio.Event()


class MemoryLog:
    """A `StreamLog` in memory, of one event loop. It promises nothing when the process ends: all is gone.

    >>> async def main():
    ...     log = MemoryLog()
    ...     state = await log.claim("a")
    ...     await log.append("a", [b"one", b"two"], state.fence, after=state.last)
    ...     return await log.read("a", after=1)
    >>> asyncio.run(main())
    [LogItem(number=2, data=b'two')]

    - `retention`: how long each stream is kept, and how much of it.
    """

    def __init__(self, retention: Retention = KEPT) -> None:
        self._retention = retention
        self._fence = 0
        self._streams: dict[str, _Stream] = {}
        """The one that was touched longest ago comes first."""
        self._made = asyncio.Event()

    async def claim(self, stream: str) -> LogState:
        self._forget_old()
        one = self._streams.get(checked_name(stream))
        if one is None:
            one = self._streams[stream] = _Stream()
            self._made.set()
            self._made = asyncio.Event()
        self._fence += 1
        one.fence = self._fence
        self._touch(stream, one)
        return self._state(one)

    async def append(self, stream: str, items: Sequence[bytes], fence: int, *, after: int) -> int:
        one = self._claimed(stream, fence)
        last = after + len(items)
        new = new_items(items, after, last=one.last, is_closed=one.is_closed)
        one.items += new
        while len(one.items) > self._retention.items:
            one.items.popleft()
            one.first += 1
        self._touch(stream, one)
        return last

    async def close(self, stream: str, fence: int) -> None:
        one = self._claimed(stream, fence)
        one.is_closed = True
        self._touch(stream, one)

    async def state(self, stream: str) -> LogState | None:
        self._forget_old()
        one = self._streams.get(checked_name(stream))
        return None if one is None else self._state(one)

    async def read(self, stream: str, after: int = 0, *, most: int = 1000) -> list[LogItem]:
        one = self._streams.get(checked_name(stream))
        return [] if one is None else _items(one, after, most)

    async def follow(self, stream: str, after: int = 0) -> AsyncGenerator[list[LogItem], None]:
        checked_name(stream)
        while (one := self._streams.get(stream)) is None:
            await self._made.wait()
        while True:
            while items := _items(one, after, 1000):
                after = items[-1].number
                yield items
            if one.is_closed or self._streams.get(stream) is not one:
                return
            await one.moved.wait()

    async def open_streams(self) -> list[str]:
        self._forget_old()
        return [name for name, one in self._streams.items() if not one.is_closed]

    async def expire(self, stream: str) -> None:
        if (one := self._streams.pop(checked_name(stream), None)) is not None:
            one.wake()

    async def aclose(self) -> None:
        for stream in [*self._streams]:
            await self.expire(stream)

    def _claimed(self, stream: str, fence: int) -> _Stream:
        one = self._streams.get(checked_name(stream))
        if one is None or one.fence != fence:
            raise FencedError(stream)
        return one

    def _touch(self, stream: str, one: _Stream) -> None:
        one.touched = asyncio.get_running_loop().time()
        self._streams[stream] = self._streams.pop(stream)
        one.wake()

    def _state(self, one: _Stream) -> LogState:
        return LogState(one.fence, one.first, one.last, one.is_closed, asyncio.get_running_loop().time() - one.touched)

    def _forget_old(self) -> None:
        oldest = asyncio.get_running_loop().time() - self._retention.seconds
        for stream in [name for name, one in self._streams.items() if one.touched < oldest]:
            self._streams.pop(stream).wake()


def _items(one: _Stream, after: int, most: int) -> list[LogItem]:
    if after + 1 < one.first:
        raise LogGapError(after, one.first)
    found = islice(one.items, after + 1 - one.first, after + 1 - one.first + most)
    return [LogItem(number, data) for number, data in enumerate(found, after + 1)]
