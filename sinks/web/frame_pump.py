"""Read one stream of events as frames, in a task of its own, so that the reader may wait, send heartbeats or leave."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Iterable
from typing import Any

from ...events.errors import ProviderError, UsageError
from ...operators.engine.stage import Failed, How
from ..running.event_pump import EventPump, log_unread
from .ui_frames import UiFrames

_LOGGER = logging.getLogger("penstock")
AHEAD = 16
"""The most frames queued for a slow reader; while the queue is full, nothing is read from the provider."""


class FramePump:
    """Reads events and queues their frames; see `EventPump`."""

    def __init__(self, events: AsyncIterable[Any], encoder: UiFrames) -> None:
        self._encoder = encoder
        self._error: Exception | None = None
        self.has_end = False
        self._pump = EventPump(events, encoder.feed, self._last_frames, AHEAD)

    async def wait(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - what timed out is no error here
        """Wait until a frame is there; return False after `timeout` seconds without one."""
        while not (self._pump.items or self._pump.is_over):
            if not await self._pump.changed(timeout):
                return False
        return True

    def take(self) -> bytes | None:
        """Return the next frame, None after the last; raise the exception if the reader was sent only its class."""
        if self._pump.items:
            frame: bytes = self._pump.take()
            return frame
        error = self._pump.error or self._error
        if error is not None:
            raise error
        return None

    async def cancel(self, reason: str) -> None:
        """Cancel the stream: open segments end as interrupted, then the last object follows."""
        await self._pump.cancel(reason)

    async def aclose(self) -> None:
        """Stop reading, and wait until the events are closed."""
        await self._pump.aclose()

    def _last_frames(self, how: How) -> Iterable[bytes]:
        if isinstance(how, Failed):
            self._note(how.error)
        if self._pump.is_left:
            return ()
        frames = self._encoder.close(how)
        self.has_end = True
        self._error = self._encoder.error or self._error
        return frames

    def _note(self, error: Exception) -> None:
        if isinstance(error, ProviderError):
            _LOGGER.warning("a stream on its way to a reader failed: %s", error)
        elif self._pump.is_left:
            log_unread(error)
        else:
            self._error = error


def checked(events: AsyncIterable[Any], name: str) -> AsyncIterable[Any]:
    """Return the events; `UsageError` for anything but an async stream."""
    if isinstance(events, AsyncIterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
        return events
    given = type(events).__name__
    message = f"{name}(...) takes an async stream, such as pipeline.astream(...) or adrive(...); got {given}"
    raise UsageError(message)
