"""`SinkLine`: one of several sinks of a stream, and its queue; `run_sink`: run one in a thread or in a task.

A sink is run to its end, whatever it does with cancellations.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import suppress
from contextvars import copy_context
from inspect import isasyncgen, isasyncgenfunction, isawaitable, isgenerator, isgeneratorfunction, signature
from time import monotonic
from types import FunctionType, ModuleType
from typing import Any, Literal, TypeAlias, get_args

from ...events.errors import PenstockError, UsageError
from ...operators.engine.where_raised import where_raised
from .channel import Channel, as_error, settle
from .coalesce import CoalescedStream
from .queues import EventQueue
from .sink import TwinSink, is_async_function

_LOGGER = logging.getLogger("penstock")

WhenFull: TypeAlias = Literal["block", "drop_sink", "fail"]
"""What to do when a sink's queue is full: wait for it, go on without it, or end the stream."""


class SlowSinkError(PenstockError):
    """A sink's queue was full and it took nothing. The sink (`drop_sink`) or your loop (`fail`) gets this error."""

    def __init__(self, sink: str, maxsize: int) -> None:
        super().__init__(sink, maxsize)
        self.sink = sink
        self.maxsize = maxsize

    def __str__(self) -> str:
        return (
            f'{self.sink} did not keep up: {self.maxsize} events were waiting; use a longer queue, or when_full="block"'
        )


class StuckSinkError(SlowSinkError):
    """A sink did not return in time after its stream: its result, and with `when_full="fail"` your loop gets it too."""

    def __init__(self, sink: str, maxsize: int, timeout: float) -> None:
        super().__init__(sink, maxsize)
        self.args = sink, maxsize, timeout
        self.timeout = timeout

    def __str__(self) -> str:
        return (
            f"{self.sink} did not finish, and took no event, within {self.timeout:g} seconds after its stream; "
            "see where it hangs, or raise close_timeout="
        )


class SinkLine:
    """One sink and its queue."""

    __slots__ = (
        "channel",
        "ended_at",
        "is_abandoned",
        "is_given_up",
        "left",
        "maxsize",
        "name",
        "result",
        "sink",
        "task",
        "thread",
    )

    def __init__(self, sink: Callable[..., Any], maxsize: int) -> None:
        self.sink = sink
        self.maxsize = maxsize
        function: Any = getattr(sink, "func", sink)  # of a partial
        self.name: str = getattr(function, "__qualname__", None) or repr(function)
        self.channel = Channel(maxsize)
        self.result: Any = None
        self.thread: threading.Thread | None = None
        self.task: asyncio.Task[Any] | None = None
        self.ended_at: float | None = None
        """The time at which the end was passed to the sink; `left` is the number of events in its queue at that
        time."""
        self.left = 0
        self.is_given_up = self.is_abandoned = False

    def take(self, result: Any) -> None:
        """Store the sink's result; `UsageError` for a coroutine or generator, which never ran."""
        if self.is_given_up:
            return
        if isinstance(result, TwinSink | EventQueue | CoalescedStream) or isgenerator(result) or isasyncgen(result):
            message = f"not a sink: it returned {result!r}, which never runs"
            raise UsageError(message)
        self.result = result

    def release(self) -> None:
        """Stop limiting the queue of this sink, and of a queue that is the sink, so that the stream never waits."""
        self.channel.release()
        if isinstance(self.sink, EventQueue):
            self.sink.release()

    def end(self, error: Exception | None) -> None:
        """Pass the end of the stream to the sink."""
        if self.ended_at is None:
            self.ended_at, self.left = monotonic(), self.channel.waiting
            if isinstance(self.sink, EventQueue):
                self.sink.release()  # its reader may take the rest at any time
        self.channel.end(error)

    def give_up(self, timeout: float, *, is_raised: bool = False) -> None:
        """Abandon this sink and ignore what it does from now on; log it, unless the stream raises it."""
        if self.is_given_up:
            return
        self.is_given_up = True
        error = StuckSinkError(self.name, self.maxsize, timeout)
        error.__cause__ = self.channel.error
        self.result = error
        self.channel.cut(error)
        if not is_raised:
            _LOGGER.warning("%s; the stream ends without it", error)

    def cancel(self) -> None:
        """Cancel the task of an async sink, from any thread."""
        if self.task is not None:
            with suppress(RuntimeError):  # that loop is closed
                self.task.get_loop().call_soon_threadsafe(self.task.cancel)

    def abandon(self) -> None:
        """End the task of an abandoned sink, even if it ignores cancellations."""
        self.is_abandoned = True
        self.cancel()

    def fail(self, error: BaseException) -> None:
        """Store an exception of the sink, and log it if the sink caused it."""
        if self.is_given_up:
            return
        self.result = error
        if error is not self.channel.error and not isinstance(error, asyncio.CancelledError):
            # The message of another's may be a tool's arguments.
            said = f"UsageError: {error}" if isinstance(error, UsageError) else where_raised(error)
            _LOGGER.error("sink %s raised %s; the stream goes on without it", self.name, said)
            _LOGGER.debug("sink %s", self.name, exc_info=error)

    @property
    def knows_both(self) -> bool:
        """Whether the sink accepts plain and async streams."""
        return isinstance(self.sink, TwinSink | EventQueue)

    @property
    def is_async(self) -> bool:
        """Whether the sink is known to return an awaitable; for others this is seen only when it is called."""
        return bool(getattr(self.sink, "needs_async", is_async_function(self.sink)))

    def overflow(self, when_full: WhenFull) -> None:
        """Raise `SlowSinkError`, or end this line with it."""
        error = SlowSinkError(self.name, self.maxsize)
        if when_full == "fail":
            raise error
        _LOGGER.warning("%s; the stream goes on without it", error)
        self.end(error)

    def start_thread(self, work: Callable[[], None]) -> threading.Thread:
        """Start a daemon thread with the caller's context variables; a stuck sink then cannot block the exit."""
        context = copy_context()
        thread = threading.Thread(target=context.run, args=(work,), name=f"penstock {self.name}", daemon=True)
        thread.start()
        return thread


def sink_lines(
    sinks: Iterable[Callable[..., Any]], maxsize: int, when_full: WhenFull, close_timeout: float
) -> list[SinkLine]:
    """Return the lines for several sinks; `UsageError` for anything that is not a sink."""
    if when_full not in get_args(WhenFull):
        message = f"when_full= must be one of {', '.join(map(repr, get_args(WhenFull)))}, got {when_full!r}"
        raise UsageError(message)
    if type(close_timeout) not in (int, float) or not 0 < close_timeout <= threading.TIMEOUT_MAX:
        message = f"close_timeout= must be a number of seconds above 0, got {close_timeout!r}"
        raise UsageError(message)
    Channel(maxsize)  # checks maxsize even without sinks
    lines: list[SinkLine] = []
    for sink in sinks:
        if (wrong := _what_is_wrong(sink)) is not None:
            raise UsageError(wrong)
        if isinstance(sink, EventQueue):
            sink.check_unused()  # here it reaches the caller, on the sink's thread only the log
        lines.append(SinkLine(sink, maxsize))
    return lines


_TAKE_EVENTS = ("collect", "acollect")
"""The functions of this package that are sinks themselves; most others return a sink."""
_CALLED_WITH_THE_STREAM = {
    "coalesce": "coalesce(...)(pipeline.astream(...))",
    "to_sse": "to_sse(pipeline.astream(...), ...)",
    "to_websocket": "to_websocket(pipeline.astream(...), ...)",
}
"""The functions of this package whose result is for a loop of one's own, and how they are called."""


def _what_is_wrong(sink: object) -> str | None:
    """Return why a value cannot be a sink, as far as can be seen before the first event; None if it may be one."""
    if not callable(sink):
        return f"a sink must be a function that takes a stream of events, got {sink!r}"
    if isgeneratorfunction(sink) or isasyncgenfunction(sink):
        return f"{sink!r} is a generator function, which would never run; a sink must loop over the events itself"
    made: Any = getattr(sink, "func", sink)  # of a partial
    ours = isinstance(made, FunctionType) and getattr(_package(), made.__name__, None) is made
    if (ours and made.__name__ not in _TAKE_EVENTS) or (
        isinstance(made, type) and issubclass(made, TwinSink | EventQueue)
    ):
        name = made.__name__
        if name in _CALLED_WITH_THE_STREAM:
            call = _CALLED_WITH_THE_STREAM[name]
            return f"{name} is not a sink of a pipeline; call it with the stream: {call}"
        return f"{name} is not a sink but makes one; write {name}(...)"
    try:
        shape = signature(sink, follow_wrapped=False)
    except (TypeError, ValueError):  # of some builtins nothing is known
        return None
    try:
        shape.bind(None)
    except TypeError as error:
        return f"a sink must take one argument, the stream of events; {sink!r} does not: {error}"
    return None


def _package() -> ModuleType:
    return sys.modules["penstock.sinks"]


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
