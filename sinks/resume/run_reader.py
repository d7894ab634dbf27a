"""`RunReader`: one reader of a run, from a frame on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from .kept_stream import KeptStream


class RunReader:
    """Takes the frames of a stream after number `taken`: first those that are kept, then those that arrive.

    It is attached when it first waits.

    - `tell_gap`: returns the frames that tell of a gap, and whether the stream goes on behind them.
    - `number`: that of the frame that was taken last, None for one that tells of a gap.
    """

    __slots__ = ("_gap", "_is_over", "_stream", "_tell_gap", "arrived", "number", "taken")

    def __init__(self, stream: KeptStream, taken: int, tell_gap: Callable[[int], tuple[list[bytes], bool]]) -> None:
        self._stream = stream
        self._tell_gap = tell_gap
        self._gap: deque[bytes] = deque()
        self._is_over = False
        self.taken = taken
        self.number: int | None = None
        self.arrived = asyncio.Event()

    @property
    def has_end(self) -> bool:
        return self._is_over or self._stream.has_end

    async def wait(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - what timed out is no error here
        """Wait until a frame is there; return False after `timeout` seconds without one."""
        self._stream.attach(self)
        while not (self._stream.has_ended or self._is_over or self._gap or self.taken != self._stream.frames.last):
            self.arrived.clear()
            try:
                async with asyncio.timeout(timeout):
                    await self.arrived.wait()
            except TimeoutError:
                return False
        return True

    def take(self) -> bytes | None:
        """Return the next frame, None after the last."""
        kept = self._stream.frames
        if not (self._is_over or kept.first - 1 <= self.taken <= kept.last):
            frames, goes_on = self._tell_gap(self.taken)
            self._gap.extend(frames)
            self._is_over = not goes_on
            self.taken = kept.first - 1
        if self._gap:
            self.number = None
            return self._gap.popleft()
        if self._is_over or self.taken == kept.last:
            return None
        self.taken += 1
        self.number = self.taken
        self._stream.was_read()
        return kept[self.taken]

    async def cancel(self, reason: str) -> None:
        await self._stream.cancel(reason)

    async def aclose(self) -> None:
        self._stream.detach(self)
