"""`FanOut` and `AsyncFanOut`: the events of one stream for several sinks, each at its own pace."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from typing import Any
from weakref import finalize

from ..events.errors import UsageError
from .channel import Channel, NoReaderError, StreamCutError, as_error, settle
from .sink_line import SinkLine, WhenFull, sink_lines


class _FanOut:
    def __init__(
        self, sinks: Iterable[Callable[..., Any]], *, maxsize: int = 1024, when_full: WhenFull = "block"
    ) -> None:
        self._lines = sink_lines(sinks, maxsize, when_full)
        self._reading: list[SinkLine] = list(self._lines)
        self._maxsize = maxsize
        self._when_full: WhenFull = when_full
        self._is_started = self._is_closed = False
        # Of who forgets to close: the sinks are told when nobody holds this any more.
        finalize(self, _abandon, [line.channel for line in self._lines])

    def release(self) -> None:
        """Wait for no sink any longer: what they have not read waits in their queues, however much it is.

        For a stream that is about to end. From any thread.
        """
        for line in self._lines:
            line.release()

    def _check_open(self) -> None:
        if self._is_closed:
            message = "this fan-out is closed; make a new one for each stream"
            raise UsageError(message)


class FanOut(_FanOut):
    """Gives the events of a plain stream to several sinks, each on a thread of its own.

    >>> fan_out = FanOut([list, lambda events: sum(1 for _ in events)])
    >>> for event in ("a", "b"):
    ...     fan_out.feed(event)
    >>> fan_out.close()
    [['a', 'b'], 2]

    A sink takes an iterable or an async iterable of events to its end; an async one gets an event loop on its thread.
    The threads start with the first event, or with the close, and have the context variables of whoever calls then.
    Each sink has a queue of `maxsize` events. When it is full, `feed` waits for that sink ("block"), or the sink's
    iteration raises `SlowSinkError` after what waited, and the others go on ("drop_sink"), or `feed` raises it
    ("fail"). A sink that raises is logged; as one that returns early it gets nothing more and holds nobody.
    """

    def feed(self, event: Any) -> None:
        """Give one event to every sink that still reads."""
        self._check_open()
        if not self._is_started:
            self._start()
        for line in self._reading:
            try:
                if line.channel.offer(event):
                    continue
                if self._when_full == "block":
                    line.channel.put(event)
                    continue
                line.overflow(self._maxsize, self._when_full)
            except NoReaderError:
                pass
            self._reading = [each for each in self._reading if each is not line]

    def close(self, error: BaseException | None = None) -> list[Any]:
        """End the stream for all sinks, wait for them, and give their results in their order.

        For a sink that raised its exception is in place of the result. `error` is raised inside each sink, after the
        events that wait for it; a KeyboardInterrupt or the like as `StreamCutError`. It waits as long as the sinks
        take; Ctrl-C breaks that off. Called by a sink, it does not wait for that sink.
        """
        if not (self._is_started or self._is_closed):
            self._start()
        self._is_closed = True
        seen = as_error(error)
        traceback = seen.__traceback__ if seen is not None else None
        for line in self._lines:
            line.channel.end(seen)
        for line in self._lines:
            if line.thread is not None and line.thread is not threading.current_thread():
                line.thread.join()
        if seen is not None:
            seen.__traceback__ = traceback  # each sink has raised it, and left its own lines there
        return [line.result for line in self._lines]

    def _start(self) -> None:
        self._is_started = True
        for line in self._lines:
            line.thread = line.start_thread(partial(_run, line))


class AsyncFanOut(_FanOut):
    """Gives the events of an async stream to several sinks, each in a task of its own, or on a thread.

        fan_out = AsyncFanOut([json_lines("turn.jsonl"), on_server])
        await fan_out.feed(event) ...
        results = await fan_out.close()

    As `FanOut`; async sinks, and those for both kinds of streams, run on the loop of whoever feeds first. Others run on
    threads and never block it.
    """

    async def feed(self, event: Any) -> None:
        """Give one event to every sink that still reads."""
        self._check_open()
        if not self._is_started:
            self._start()
        for line in self._reading:
            try:
                if line.channel.offer(event):
                    continue
                if self._when_full == "block":
                    await line.channel.aput(event)
                    continue
                await asyncio.sleep(0)  # a task that never had its turn is not a slow one
                if line.channel.offer(event):
                    continue
                line.overflow(self._maxsize, self._when_full)
            except NoReaderError:
                pass
            self._reading = [each for each in self._reading if each is not line]

    async def close(self, error: BaseException | None = None) -> list[Any]:
        """End the stream for all sinks, wait for them, and give their results in their order.

        As `FanOut.close`. A cancellation while it waits cancels the sinks' tasks, and waits for their cleaning up.
        """
        if not (self._is_started or self._is_closed):
            self._start()
        self._is_closed = True
        seen = as_error(error)
        traceback = seen.__traceback__ if seen is not None else None
        for line in self._lines:
            line.channel.end(seen)
        this = asyncio.current_task()
        await _finished([line.task for line in self._lines if line.task is not None and line.task is not this])
        if seen is not None:
            seen.__traceback__ = traceback
        return [line.result for line in self._lines]

    def _start(self) -> None:
        self._is_started = True
        for line in self._lines:
            line.task = asyncio.create_task(_run_async(line), name=f"penstock {line.name}")


def _run(line: SinkLine) -> None:
    """Run a sink on this thread."""
    try:
        if line.knows_both and not line.is_async:
            line.take(line.sink(event for event in line.channel))  # iterable in one way only, so it chooses that
        else:
            result = line.sink(line.channel)
            line.take(asyncio.run(_awaited(result)) if isawaitable(result) else result)
    except BaseException as error:  # noqa: BLE001 - it is the sink's result
        line.fail(error)
    finally:
        line.channel.close()


async def _run_async(line: SinkLine) -> None:
    """Run a sink in this task, or on a thread that this task waits for."""
    is_here = line.knows_both or line.is_async
    try:
        result = line.sink(line.channel) if is_here else await _on_thread(line)
        line.take(await result if isawaitable(result) else result)
    except (KeyboardInterrupt, SystemExit) as error:
        line.fail(error)
        if is_here:
            raise
    except BaseException as error:  # noqa: BLE001 - it is the sink's result
        line.fail(error)
    finally:
        line.channel.close()


async def _on_thread(line: SinkLine) -> Any:
    """Call a sink on a thread of its own: asyncio's pool is for short work, and a sink lasts as long as its stream."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(line.sink(line.channel))
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            failure.append(error)
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(settle, done)

    thread = line.start_thread(work)
    try:
        await asyncio.wait([done])
    except asyncio.CancelledError as error:
        line.channel.end(error)
        await asyncio.wait([done])
        thread.join()
        raise
    thread.join()  # it has nothing left to do
    if failure:
        raise failure[0]
    return outcome[0]


async def _finished(tasks: list[asyncio.Task[None]]) -> None:
    if not tasks:
        return
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise


async def _awaited(waiting: Awaitable[Any]) -> Any:
    return await waiting


def _abandon(channels: list[Channel]) -> None:
    for channel in channels:
        channel.end(StreamCutError("nobody holds the stream any more"))
