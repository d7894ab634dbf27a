"""Run one sink in a thread or in a task, to its end, whatever it does with cancellations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from contextlib import suppress
from inspect import isawaitable
from typing import Any

from .channel import as_error, settle
from .sink_line import SinkLine

_TRIES = 10


def run_sink(line: SinkLine) -> None:
    """Run a sink in this thread and return its result."""
    try:
        if line.knows_both and not line.is_async:
            line.take(line.sink(event for event in line.channel))  # iterable in one way only, so it chooses that
        else:
            result = line.sink(line.channel)
            line.take(asyncio.run(_in_task(line, result)) if isawaitable(result) else result)
    except BaseException as error:  # noqa: BLE001 - it is the sink's result
        line.fail(error)
    finally:
        line.channel.close()


async def run_sink_async(line: SinkLine, timeout: float) -> None:  # noqa: ASYNC109 - what timed out is no error here
    """Run a sink in this task, or in a thread that this task awaits, up to `timeout` seconds after a cancellation."""
    is_here = line.knows_both or line.is_async
    try:
        result = line.sink(line.channel) if is_here else await _on_thread(line, timeout)
        line.take(await _Stoppable(line, result) if isawaitable(result) else result)
    except (KeyboardInterrupt, SystemExit) as error:
        line.fail(error)
        if is_here:
            raise
    except BaseException as error:  # noqa: BLE001 - it is the sink's result
        line.fail(error)
    finally:
        line.channel.close()


async def _on_thread(line: SinkLine, timeout: float) -> Any:  # noqa: ASYNC109 - as above
    """Run a sink in its own thread; asyncio's pool is for short work, and a sink runs as long as its stream."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(line.sink(line.channel))
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            failure.append(error)
        with suppress(RuntimeError):  # the loop is closed, so nothing waits
            loop.call_soon_threadsafe(settle, done)

    thread = line.start_thread(work)
    try:
        await asyncio.wait([done])
    except asyncio.CancelledError as error:
        line.end(as_error(error))
        if not line.is_given_up:
            await asyncio.wait([done], timeout=timeout)
        raise
    finally:
        if done.done():
            thread.join()  # it has nothing left to do
        else:
            line.give_up(timeout)
    if failure:
        raise failure[0]
    return outcome[0]


async def _in_task(line: SinkLine, result: Awaitable[Any]) -> Any:
    line.task = asyncio.current_task()
    return await _Stoppable(line, result)


class _Stoppable:
    """Awaits a sink in the current task; after it is abandoned, the next cancellation closes the coroutine.

    A coroutine that catches every cancellation, or waits for ever while it cleans up, would hold its task, and with
    the task the event loop's end.
    """

    def __init__(self, line: SinkLine, sink: Awaitable[Any]) -> None:
        self._line = line
        self._sink = sink

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = _awaited(self._sink)
        try:
            waits = steps.send(None)
            while True:
                try:
                    sent = yield waits
                except BaseException as error:
                    if self._line.is_abandoned or isinstance(error, GeneratorExit):
                        _close(steps)
                        raise
                    waits = steps.throw(error)
                else:
                    waits = steps.send(sent)
        except StopIteration as end:
            return end.value


async def _awaited(waiting: Awaitable[Any]) -> Any:
    return await waiting


def _close(steps: Any) -> None:
    """Close a coroutine, even if it awaits again in each `finally`; its exceptions are ignored."""
    for _ in range(_TRIES):
        if steps.cr_frame is None:
            return
        with suppress(Exception, asyncio.CancelledError):
            steps.close()
