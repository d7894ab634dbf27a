"""`Away`: a log that cannot be reached for a while."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from penstock.scale import LogItem, LogState, LogUnavailableError, MemoryLog


class Away(MemoryLog):
    """A log that cannot be reached while `is_away`."""

    is_away = False

    def _check(self) -> None:
        if self.is_away:
            message = "has gone"
            raise LogUnavailableError(message)

    async def claim(self, stream: str) -> LogState:
        self._check()
        return await super().claim(stream)

    async def append(self, stream: str, items: Sequence[bytes], fence: int, *, after: int) -> int:
        self._check()
        return await super().append(stream, items, fence, after=after)

    async def state(self, stream: str) -> LogState | None:
        self._check()
        return await super().state(stream)

    async def follow(self, stream: str, after: int = 0) -> AsyncGenerator[list[LogItem], None]:
        self._check()
        async for items in super().follow(stream, after):
            yield items
