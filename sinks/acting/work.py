"""`Work`: what runs beside one stream, and the events that wait to be yielded."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from ...operators.engine.where_raised import where_raised

_LOGGER = logging.getLogger("penstock")
CLEAN_UP = 5.0
"""Seconds that cancelled work has for its cleanup, before it is left alone."""
_ABANDONED: set[asyncio.Task[None]] = set()
"""Work that ignores its cancellation, kept here because the loop has only weak references to it."""


class _Job(NamedTuple):
    coroutine: Coroutine[Any, Any, None]
    turn_id: str | None
    cancelled: Callable[[str], None]


class Work:
    """The work of one step beside one stream: `start` it, and `emit` its events.

    - `reason`: why everything was cancelled, once it was; a call that comes later must not start.
    - `error`: what ended the stream for its reader.
    """

    def __init__(self) -> None:
        self.items: deque[Any] = deque()
        self.reason: str | None = None
        self.error: BaseException | None = None
        self.is_over = False
        self._jobs: dict[asyncio.Task[None], _Job] = {}
        self._reasons: dict[asyncio.Task[None], str] = {}
        self._waiting: asyncio.Future[None] | None = None
        self._room = asyncio.Event()

    def emit(self, event: Any) -> None:
        """Let the stream yield an event, behind those that were emitted before."""
        self.items.append(event)
        self.wake()

    def start(
        self, job: Coroutine[Any, Any, None], *, turn_id: str | None, cancelled: Callable[[str], None]
    ) -> asyncio.Task[None]:
        """Run a coroutine beside the stream, which ends after it.

        - `turn_id`: of the call that it is about. If the answer of this turn is interrupted or fails, it is cancelled.
        - `cancelled`: called with the reason when it was cancelled, even if it had not begun.

        Its exceptions end the stream, so contain those of the user's code.
        """
        task = asyncio.get_running_loop().create_task(self._guarded(job))
        self._jobs[task] = _Job(job, turn_id, cancelled)
        task.add_done_callback(self._done)
        if self.reason is not None:
            self._cancel(task, self.reason)
        return task

    def cancel(self, reason: str) -> None:
        """Cancel what runs, and what is started from now on."""
        if self.reason is None:
            self.reason = reason
        for task in [*self._jobs]:
            self._cancel(task, self.reason)

    def cancel_turn(self, turn_id: str | None, reason: str) -> None:
        """Cancel what runs for the calls of one turn."""
        for task, job in [*self._jobs.items()]:
            if job.turn_id == turn_id:
                self._cancel(task, reason)

    def fail(self, error: BaseException) -> None:
        """End the stream for its reader with an exception, after the events that wait."""
        if self.error is None:
            self.error = error
        self.wake()

    async def done(self) -> None:
        """Wait for all work, which `cancel` may shorten; what ignores its cancellation is left alone after a while."""
        while self._jobs:
            is_cancelled = self._reasons.keys() >= self._jobs.keys()
            done, _ = await asyncio.wait(
                [*self._jobs], timeout=CLEAN_UP if is_cancelled else None, return_when="FIRST_COMPLETED"
            )
            if is_cancelled and not done:
                self._abandon()
            await asyncio.sleep(0)  # the callbacks of those that are done

    async def changed(self) -> None:
        """Wait for an event, an error or the end."""
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting

    def wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def take(self) -> Any:
        """Return the next event; there must be one."""
        event = self.items.popleft()
        self._room.set()
        return event

    async def room(self) -> None:
        """Wait until all events were taken."""
        while self.items:
            self._room.clear()
            await self._room.wait()

    async def _guarded(self, job: Coroutine[Any, Any, None]) -> None:
        try:
            await job
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - raised by the reader, in the reader's own task
            self.fail(error)

    def _cancel(self, task: asyncio.Task[None], reason: str) -> None:
        if task not in self._reasons:
            self._reasons[task] = reason
            task.cancel()

    def _done(self, task: asyncio.Task[None]) -> None:
        _ABANDONED.discard(task)
        reason = self._reasons.pop(task, "cancelled")
        job = self._jobs.pop(task, None)
        if job is None:
            return
        job.coroutine.close()  # one that was cancelled before it began is still to be closed
        if task.cancelled():
            job.cancelled(reason)

    def _abandon(self) -> None:
        for task, job in [*self._jobs.items()]:
            _LOGGER.warning("work that was cancelled goes on after %g seconds, and is left alone", CLEAN_UP)
            _ABANDONED.add(task)
            del self._jobs[task]
            job.cancelled(self._reasons[task])


def log_unraised(error: BaseException) -> None:
    """Log an exception that no reader is there to get."""
    _LOGGER.error("a step whose reader had left failed: %s", where_raised(error))
    _LOGGER.debug("a step whose reader had left failed", exc_info=error)
