"""`BesideStream`: a stream with work that runs beside it, whose events come in between."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from typing import Any, Protocol, Self

from ...events.answer_end import AnswerEnd
from ...operators.engine.stage import Completed, Failed, How, Interrupted
from ..running.channel import StreamCutError, running_loop
from ..running.event_pump import close_both, close_stream
from .work import Work, log_unraised

_RUNNING: set[asyncio.Task[None]] = set()
"""Readers, kept here because the loop has only weak references to them, and one may outlive its stream's reader."""


class Actor(Protocol):
    """What a step does with the events of one stream: `feed` takes each, `close` comes once, when all work is over.

    `feed` passes an event on with `work.emit(event)`, and starts what takes time with `work.start(...)`. If it returns
    an awaitable, the next event is read after that. `close` gets how the stream ended; work was cancelled before that,
    unless it `Completed`.
    """

    def feed(self, event: Any, /) -> Awaitable[None] | None: ...
    def close(self, how: How, /) -> Awaitable[None] | None: ...


class BesideStream:
    """What a step returns: an async iterator for one loop, over the stream's events and those of the step.

        events   S C C E invocation C C E AnswerEnd |
        work                  |----------------->
        stream   S C C E invocation C C E AnswerEnd  result |

    A task of its own reads on until an event waits for the loop, and all that came in the same read. The stream ends
    when its events have ended and all work is over. Work is cancelled when the stream is left or fails, by `cancel`,
    and, for the calls of a turn, when its answer is interrupted or fails.
    """

    def __init__(self, events: AsyncIterable[Any], new_actor: Callable[[Work], Actor]) -> None:
        self._source: Any = events
        self._reading = _Reading(events, new_actor)
        # The generator does not refer to this object, so that the loop closes it when this is garbage-collected.
        self._events = _yielded(self._reading)
        self._is_begun = self._is_cut = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._is_cut:
            message = "the stream ended because a read was cancelled"
            raise StreamCutError(message)
        self._is_begun = True
        try:
            return await anext(self._events)
        except asyncio.CancelledError:
            self._is_cut = True
            raise

    @property
    def has_waiting(self) -> bool:
        """Whether more events have come, so that the next one is there without waiting."""
        return bool(self._reading.work.items)

    def cancel(self, reason: str = "cancelled") -> None:
        """End the stream in order: its source's own `cancel` is called, and the work is cancelled.

        Call it from any thread. A source without a `cancel` is left, as interrupted.
        """
        cancel = getattr(self._source, "cancel", None)
        if cancel is not None:
            cancel(reason)
        self._reading.cancel(reason, is_left=cancel is None)

    def cancel_work(self, reason: str = "cancelled") -> None:
        """Cancel the work alone, and what would start later; for a source that is cancelled by somebody else."""
        self._reading.cancel(reason, is_left=False)

    async def aclose(self) -> None:
        """Cancel the work and close the stream without further events. Call it in the looping task."""
        await self._events.aclose()
        if not self._is_begun:  # a generator that never began has no `finally`
            self._is_begun = True
            await close_stream(self._source)


class _Reading:
    """Reads the events in a task of its own, which also waits for the work and closes the stream."""

    def __init__(self, events: AsyncIterable[Any], new_actor: Callable[[Work], Actor]) -> None:
        self.work = Work()
        self._events = events
        self._new_actor = new_actor
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_reading = False
        self._interrupted: str | None = None

    def begin(self) -> None:
        self._loop = running_loop()
        self._task = self._loop.create_task(self._run())
        _RUNNING.add(self._task)
        self._task.add_done_callback(_RUNNING.discard)

    def cancel(self, reason: str, *, is_left: bool) -> None:
        if self._loop is None:
            self._cancel(reason, is_left=is_left)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lambda: self._cancel(reason, is_left=is_left))

    async def stop(self) -> None:
        """Cancel everything, and wait until it is over; cancelling this wait leaves the rest to the task."""
        self._cancel("the stream was left", is_left=True)
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    def _cancel(self, reason: str, *, is_left: bool) -> None:
        if is_left and self._interrupted is None:
            self._interrupted = reason
            if self._is_reading and self._task is not None:
                self._is_reading = False
                self._task.cancel()
        self.work.cancel(reason)

    async def _run(self) -> None:
        work = self.work
        try:
            actor = self._new_actor(work)
            how = await self._read(actor)
            if isinstance(how, Failed):
                work.cancel("the stream failed")
            elif isinstance(how, Interrupted):
                work.cancel(how.reason or "cancelled")
            await work.done()
            if inspect.isawaitable(closing := actor.close(how)):
                await closing
            if isinstance(how, Failed):
                work.fail(how.error)
        except Exception as error:  # noqa: BLE001 - raised by the reader
            work.cancel("the step failed")
            await work.done()
            work.fail(error)
        finally:
            work.is_over = True
            work.wake()

    async def _read(self, actor: Actor) -> How:
        """Read to the end, and close the events in every case."""
        iterator: Any = None
        try:
            try:
                iterator = aiter(self._events)
                self._is_reading = self._interrupted is None
                while self._is_reading and self.work.error is None:
                    event = await anext(iterator)
                    feeding = actor.feed(event)
                    if feeding is not None:
                        await feeding
                    if isinstance(event, AnswerEnd) and event.status in ("interrupted", "failed"):
                        self.work.cancel_turn(event.turn_id, f"the answer {_ENDED[event.status]}")
                    if not getattr(self._events, "has_waiting", False):  # what came in one read is given in one turn
                        await self.work.room()
            finally:
                self._is_reading = False
                await close_both(iterator, self._events)
        except StopAsyncIteration:
            return Completed()
        except asyncio.CancelledError:
            return Interrupted(self._interrupted or "cancelled")
        except Exception as error:  # noqa: BLE001 - told to the reader
            return Failed(error)
        return Interrupted(self._interrupted or "cancelled")


_ENDED = {"interrupted": "was interrupted", "failed": "failed"}


async def _yielded(reading: _Reading) -> AsyncGenerator[Any, None]:
    work = reading.work
    reading.begin()
    is_raised = False
    try:
        while True:
            while work.items:
                yield work.take()
            if work.is_over or work.error is not None:
                break
            await work.changed()
        if work.error is not None:
            is_raised = True
            raise work.error
    finally:
        await reading.stop()
        if work.error is not None and not is_raised:
            log_unraised(work.error)
