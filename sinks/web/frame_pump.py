"""Read one stream of events in a task of its own, so that the reader may wait, send heartbeats or leave."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncIterable
from typing import Any

from ...events.errors import ProviderError, UsageError
from ...operators.engine.stage import Completed, Failed, How, Interrupted
from ...operators.engine.where_raised import where_raised
from .ui_frames import UiFrames

_LOGGER = logging.getLogger("penstock")
AHEAD = 16
"""The most frames queued for a slow reader; while the queue is full, nothing is read from the provider."""


class FramePump:
    """Reads events and queues their frames.

    The task that reads also closes the events, so that repeated cancellations of the reader cannot interrupt the
    closing.
    """

    def __init__(self, events: AsyncIterable[Any], encoder: UiFrames) -> None:
        self._events = events
        self._encoder = encoder
        self._frames: deque[bytes] = deque()
        self._arrived, self._room = asyncio.Event(), asyncio.Event()
        self._is_reading = self._is_over = self._is_left = False
        self._reason: str | None = None
        self._error: Exception | None = None
        self._task = asyncio.get_running_loop().create_task(self._run())
        _RUNNING.add(self._task)
        self._task.add_done_callback(_RUNNING.discard)

    async def wait(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - what timed out is no error here
        """Wait until a frame is there; return False after `timeout` seconds without one."""
        while not (self._frames or self._is_over):
            self._arrived.clear()
            try:
                async with asyncio.timeout(timeout):
                    await self._arrived.wait()
            except TimeoutError:
                return False
        return True

    def take(self) -> bytes | None:
        """Return the next frame, None after the last; raise the exception if the reader was sent only its class."""
        if self._frames:
            frame = self._frames.popleft()
            self._room.set()
            return frame
        if self._error is not None:
            raise self._error
        return None

    async def cancel(self, reason: str) -> None:
        """Cancel the stream: open segments end as interrupted, then the last object follows."""
        cancel = getattr(self._events, "cancel", None)
        if cancel is not None:
            if inspect.isawaitable(cancelling := cancel(reason)):
                await cancelling
        elif self._reason is None:
            self._reason = reason
            self._stop_reading()

    async def aclose(self) -> None:
        """Stop reading, and wait until the events are closed."""
        self._is_left = True
        self._stop_reading()
        if not self._task.done():
            await asyncio.wait({self._task})

    def _stop_reading(self) -> None:
        if self._is_reading:  # else it has yet to begin, and will not, or is closing, which nobody breaks off
            self._is_reading = False
            self._task.cancel()

    async def _run(self) -> None:
        try:
            how = await self._read()
            if isinstance(how, Failed):
                self._note(how.error)
            if not self._is_left:
                self._frames.extend(self._encoder.close(how))
                self._error = self._encoder.error or self._error
        except Exception as error:  # noqa: BLE001 - raised by `take`
            self._error = error
        finally:
            self._is_over = True
            self._arrived.set()

    async def _read(self) -> How:
        """Read to the end, and close the events in every case."""
        iterator: Any = None
        try:
            try:
                iterator = aiter(self._events)
                self._is_reading = self._reason is None and not self._is_left
                while self._is_reading:
                    self._frames.extend(self._encoder.feed(await anext(iterator)))
                    self._arrived.set()
                    while len(self._frames) >= AHEAD:
                        self._room.clear()
                        await self._room.wait()
            finally:
                self._is_reading = False
                await _aclose(iterator)
                if iterator is not self._events:
                    await _aclose(self._events)
        except StopAsyncIteration:
            return Completed()
        except asyncio.CancelledError:
            return Interrupted(self._reason or "cancelled")
        except Exception as error:  # noqa: BLE001 - told to the reader, and logged or raised
            return Failed(error)
        return Interrupted(self._reason or "cancelled")

    def _note(self, error: Exception) -> None:
        if isinstance(error, ProviderError):
            _LOGGER.warning("a stream on its way to a reader failed: %s", error)
        elif self._is_left:
            # Its message may be a tool's arguments.
            _LOGGER.error("a stream whose reader had left failed: %s", where_raised(error))
            _LOGGER.debug("a stream whose reader had left failed", exc_info=error)
        else:
            self._error = error


_RUNNING: set[asyncio.Task[None]] = set()
"""Running tasks, kept here because the loop has only weak references to them, and a task may outlive its reader."""


def checked(events: AsyncIterable[Any], name: str) -> AsyncIterable[Any]:
    """Return the events; `UsageError` for anything but an async stream."""
    if isinstance(events, AsyncIterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
        return events
    given = type(events).__name__
    message = f"{name}(...) takes an async stream, such as pipeline.astream(...) or adrive(...); got {given}"
    raise UsageError(message)


async def _aclose(stream: Any) -> None:
    close = getattr(stream, "aclose", None)
    if close is None:
        return
    try:
        await close()
    except Exception:
        _LOGGER.debug("closing a stream failed", exc_info=True)
