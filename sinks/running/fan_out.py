"""`FanOut` and `AsyncFanOut`: the events of one stream for several sinks, each at its own pace.

`Patience` is how long a finished stream waits for one of its sinks.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any
from weakref import finalize

from ...events.errors import UsageError
from .channel import Channel, NoReaderError, StreamCutError, as_error
from .sink_line import SinkLine, StuckSinkError, WhenFull, run_sink, run_sink_async, sink_lines


class Patience:
    """A timeout that begins when the sink gets the end, and again whenever it takes an event."""

    __slots__ = ("_deadline", "_left", "_line", "_timeout")

    def __init__(self, line: SinkLine, timeout: float) -> None:
        self._line = line
        self._timeout = timeout
        self._left = line.left
        self._deadline = (monotonic() if line.ended_at is None else line.ended_at) + timeout

    def seconds(self) -> float:
        """Return how many seconds to wait now."""
        return max(0.0, self._deadline - monotonic())

    def is_over(self, *, in_all: bool) -> bool:
        """Return whether to abandon the sink after that wait; `in_all`: even if it has taken events since the end."""
        left = self._line.channel.waiting
        if in_all or left == self._left:
            return True
        self._left = left
        self._deadline = monotonic() + self._timeout
        return False


_CLEAN_UP = 1.0
"""Seconds that an abandoned and cancelled async sink has for its cleanup."""


class _FanOut(ABC):
    def __init__(
        self,
        sinks: Iterable[Callable[..., Any]],
        *,
        maxsize: int = 1024,
        when_full: WhenFull = "block",
        close_timeout: float = 10.0,
    ) -> None:
        self._lines = sink_lines(sinks, maxsize, when_full, close_timeout)
        self._reading: list[SinkLine] = list(self._lines)
        self._when_full: WhenFull = when_full
        self._close_timeout = close_timeout
        self._is_started = self._is_closed = self._is_left = False
        self.raises_failure = False
        """Whether who closes this raises `failure`, which is then not logged as well."""
        # Without a close, the sinks are ended when this object is garbage-collected.
        finalize(self, _abandon, [line.channel for line in self._lines])

    def release(self) -> None:
        """Stop waiting for the sinks: unread events stay in their queues, without a limit.

        For a stream that is about to be cut; from any thread.
        """
        self._is_left = True
        for line in self._lines:
            line.release()

    @property
    def failure(self) -> StuckSinkError | None:
        """The error that a stream raises after its end because of a stuck sink, with `when_full="fail"`."""
        if self._when_full != "fail" or self._is_left:
            return None
        return next((line.result for line in self._lines if isinstance(line.result, StuckSinkError)), None)

    def _is_told(self) -> bool:
        """Return whether the next sink that is given up is the failure that the stream raises."""
        return self.raises_failure and self._when_full == "fail" and not self._is_left and self.failure is None

    def start(self) -> None:
        """Start the sinks before the first event, so that they know when the stream was asked for."""
        if self._is_closed:
            message = "this fan-out is closed; make a new one for each stream"
            raise UsageError(message)
        self._start()

    def _start(self) -> None:
        if not self._is_started:
            self._is_started = True
            for line in self._lines:
                self._start_line(line)

    @abstractmethod
    def _start_line(self, line: SinkLine) -> None: ...

    def _without_room(self, event: Any) -> Iterator[SinkLine]:
        """Send an event to the sinks that read and have room; yield each one whose room is to be waited for."""
        if self._is_closed or not self._is_started:
            self.start()
        for line in self._reading:
            try:
                has_room = line.channel.offer(event)
            except NoReaderError:
                self._drop(line)
                continue
            if not has_room:
                yield line

    def _overflow(self, line: SinkLine) -> None:
        """Drop a sink that took nothing, or raise `SlowSinkError`."""
        line.overflow(self._when_full)
        self._drop(line)

    def _drop(self, line: SinkLine) -> None:
        self._reading = [each for each in self._reading if each is not line]

    @contextmanager
    def _closing(self, error: BaseException | None) -> Generator[None, None, None]:
        """End the stream for the sinks, which are waited for inside."""
        if not self._is_closed:
            self._start()
        seen = as_error(error)
        traceback = seen.__traceback__ if seen is not None else None
        self._is_closed = True
        # A stream with such an error was cut, and has not ended by itself.
        self._is_left |= isinstance(error, StreamCutError) or not (error is None or isinstance(error, Exception))
        for line in self._lines:
            line.end(seen)
        yield
        if seen is not None:
            seen.__traceback__ = traceback  # each sink has raised it, and left its own lines there


class FanOut(_FanOut):
    """Feeds the events of a plain stream to several sinks, each in its own thread.

    >>> fan_out = FanOut([list, lambda events: sum(1 for _ in events)])
    >>> for event in ("a", "b"):
    ...     fan_out.feed(event)
    >>> fan_out.close()
    [['a', 'b'], 2]

    A sink takes an iterable or an async iterable of events to its end; an async one gets an event loop on its thread.
    The threads start with `start`, the first event, or the close, and have the context variables of that caller.
    Each sink has a queue of `maxsize` events. When it is full, `feed` waits for that sink ("block"). Otherwise `feed`
    waits half a second. If the sink takes nothing in that time, its iteration raises `SlowSinkError` after the queued
    events and the others go on ("drop_sink"), or `feed` raises it ("fail"). A sink that raises is logged. A sink that
    raised or returned early gets no more events and delays nothing.
    """

    def feed(self, event: Any) -> None:
        """Send one event to every sink that still reads."""
        for line in self._without_room(event):
            try:
                if self._when_full == "block":
                    line.channel.put(event)
                elif not line.channel.put_in_turn(event):
                    self._overflow(line)
            except NoReaderError:
                self._drop(line)

    def close(self, error: BaseException | None = None) -> list[Any]:
        """End the stream for all sinks, wait for them, and return their results in order.

        If a sink raised, its exception takes the place of the result. `error` is raised inside each sink, after its
        queued events; a KeyboardInterrupt or the like as `StreamCutError`. A sink that takes no event for
        `close_timeout` seconds is abandoned: it is logged, and its result is a `StuckSinkError`. If the stream was cut,
        by `release` or by an `error` such as a KeyboardInterrupt, the sinks have that time in total; Ctrl-C ends the
        wait at once. An abandoned async sink is cancelled first. Called by a sink, it does not wait for that sink.
        """
        with self._closing(error):
            this = threading.current_thread()
            lines = [line for line in self._lines if line.thread is not None and line.thread is not this]
            try:
                patience = [(line, Patience(line, self._close_timeout)) for line in lines]
                self._give_up([line for line, its in patience if not self._has_ended(line, its)])
            except BaseException:
                for line in lines:
                    if _is_alive(line):
                        line.give_up(self._close_timeout, is_raised=self._is_told())
                        line.abandon()
                raise
        return [line.result for line in self._lines]

    def _start_line(self, line: SinkLine) -> None:
        line.thread = line.start_thread(partial(run_sink, line))

    def _has_ended(self, line: SinkLine, patience: Patience) -> bool:
        while _is_alive(line, patience.seconds()):
            if patience.is_over(in_all=self._is_left):
                return False
        return True

    def _give_up(self, lines: list[SinkLine]) -> None:
        for line in lines:
            line.give_up(self._close_timeout, is_raised=self._is_told())
            line.cancel()
        in_tasks = [line for line in lines if line.task is not None]
        deadline = monotonic() + _CLEAN_UP
        for line in in_tasks:
            if _is_alive(line, max(0.0, deadline - monotonic())):
                line.abandon()
        deadline = monotonic() + _CLEAN_UP
        for line in in_tasks:
            _is_alive(line, max(0.0, deadline - monotonic()))


class AsyncFanOut(_FanOut):
    """Feeds the events of an async stream to several sinks, each in its own task or thread.

        fan_out = AsyncFanOut([json_lines("turn.jsonl"), on_server])
        await fan_out.feed(event) ...
        results = await fan_out.close()

    Works like `FanOut`. Async sinks and sinks for both kinds of streams run on the event loop of the first `feed` or
    of `start`; others run in threads and never block it.
    """

    async def feed(self, event: Any) -> None:
        """Send one event to every sink that still reads."""
        for line in self._without_room(event):
            try:
                if self._when_full == "block":
                    await line.channel.aput(event)
                elif not await line.channel.aput_in_turn(event):
                    self._overflow(line)
            except NoReaderError:
                self._drop(line)

    async def close(self, error: BaseException | None = None) -> list[Any]:
        """End the stream for all sinks, wait for them, and return their results in order.

        Works like `FanOut.close`. A cancellation while it waits cancels the sinks' tasks and waits `close_timeout`
        seconds in total for their cleanup; a second one ends the wait at once.
        """
        with self._closing(error):
            this = asyncio.current_task()
            lines = [line for line in self._lines if line.task is not None and line.task is not this]
            try:
                patience = [(line, Patience(line, self._close_timeout)) for line in lines]
                stuck = [line for line, its in patience if not await self._has_ended(line, its)]
            except asyncio.CancelledError:
                await self._stopped(lines, self._close_timeout)
                raise
            for line in stuck:
                line.give_up(self._close_timeout, is_raised=self._is_told())
            await self._stopped(stuck, _CLEAN_UP)
        return [line.result for line in self._lines]

    def _start_line(self, line: SinkLine) -> None:
        work = run_sink_async(line, self._close_timeout)
        line.task = asyncio.create_task(work, name=f"penstock {line.name}")

    async def _has_ended(self, line: SinkLine, patience: Patience) -> bool:
        while await _is_pending(line, patience.seconds()):
            if patience.is_over(in_all=self._is_left):
                return False
        return True

    async def _stopped(self, lines: list[SinkLine], seconds: float) -> None:
        """Cancel the tasks of sinks, and end those that still run after the timeout."""
        for line in lines:
            line.cancel()
        deadline = monotonic() + seconds
        try:
            for line in lines:
                await _is_pending(line, max(0.0, deadline - monotonic()))
        finally:
            for line in lines:
                if line.task is not None and not line.task.done():
                    line.give_up(self._close_timeout, is_raised=self._is_told())
                    line.abandon()
        deadline = monotonic() + _CLEAN_UP
        for line in lines:
            await _is_pending(line, max(0.0, deadline - monotonic()))


def _is_alive(line: SinkLine, seconds: float = 0.0) -> bool:
    """Wait for the sink's thread; return whether it still runs after the timeout."""
    if line.thread is None:
        return False
    line.thread.join(seconds)
    return line.thread.is_alive()


async def _is_pending(line: SinkLine, seconds: float) -> bool:
    """Wait for the sink's task; return whether it still runs after the timeout."""
    if line.task is None or line.task.done():
        return False
    await asyncio.wait([line.task], timeout=seconds)
    return not line.task.done()


def _abandon(channels: list[Channel]) -> None:
    for channel in channels:
        channel.end(StreamCutError("the stream was dropped before its end"))
