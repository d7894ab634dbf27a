"""`watchdog`: time limits for each phase of a stream, which do not count what its reader does meanwhile."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextvars import copy_context
from functools import partial
from math import inf
from typing import Any, overload

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.pump import close_all
from ..operators.engine.stage import Completed, Failed, How, Interrupted
from .from_stream import AutoDecoder, check_any_stream, opened, without_await
from .streams.guarded_source import GuardedSource, Reading, is_observable, takes_argument
from .streams.guarded_stream import GuardedStream, SourceReader
from .streams.time_limits import Clock, LoopTimer, Phases, TimeLimits, WatchThread
from .streams.watched_observable import watched_observable

_IDLE = Interrupted("idle")


@overload
def watchdog(  # pyright: ignore[reportOverlappingOverload] - anything else may be a source, too
    source: Observable[Any],
    *,
    first: float | None = None,
    between: float | None = None,
    call: float | None = None,
    total: float | None = None,
) -> Observable[ChunkResponse]: ...
@overload
def watchdog(
    source: Any,
    *,
    first: float | None = None,
    between: float | None = None,
    call: float | None = None,
    total: float | None = None,
    clock: Clock = time.monotonic,
) -> GuardedSource: ...
def watchdog(
    source: Any,
    *,
    first: float | None = None,
    between: float | None = None,
    call: float | None = None,
    total: float | None = None,
    clock: Clock = time.monotonic,
) -> GuardedSource | Observable[ChunkResponse]:
    """Limit how long a stream may be waited for; one that is too slow ends as interrupted, with what came.

        an SDK's items          --"Hel"--ping--ping--ping--ping----"lo"--
        watchdog(between=...)   --"Hel"--------------------(idle)|

    >>> def slow(now=[0.0]):
    ...     for seconds in (1, 2, 60):
    ...         now[0] += seconds
    ...         yield ChunkResponse(content=f"{seconds} s")
    >>> now = [0.0]
    >>> source = watchdog(lambda: slow(now), first=10, between=30, clock=lambda: now[0])
    >>> for chunk in source:
    ...     print(chunk.content or (chunk.interrupted, chunk.notices[0].detail))
    1 s
    2 s
    ('idle', 'no further content came within 30 seconds (between)')

    - `source`: what `Pipeline.stream`, `astream`, `observable` or `from_stream` takes, or an Observable. The result
      goes where the source would go, or into a loop of yours, as ChunkResponses.
    - `first`: seconds until the first content, the request included. `between`: from one content to the next.
      `call`: from a call's start until its arguments are whole. `total`: of the answer. None for no limit.
    - Only waiting counts: not the time that the reader holds the stream. Keep-alives, comments and chunks without
      content are no content.
    - `clock`: tells the seconds in a plain loop. An async loop has its own time, an Observable its scheduler's.

    When a limit is exceeded, a `Notice` with the code `idle` says which. Open segments end as `interrupted` with the
    reason `idle`, an open call fails as `interrupted`, the `AnswerEnd` has the status `interrupted`, and the stream
    completes. The provider's connection is closed. In a plain loop a blocked read is woken as `wake_stream` does it; a
    stream that cannot be woken ends with its next item, which is dropped. Raises `UsageError` without a limit, and for
    one that is not a positive number.
    """
    limits = TimeLimits(*map(_checked_limit, TimeLimits._fields, (first, between, call, total)))
    if limits == (None, None, None, None):
        message = "watchdog needs a limit in seconds: first=, between=, call= or total="
        raise UsageError(message)
    given = without_await(source)
    if is_observable(given):
        return watched_observable(given, AutoDecoder, partial(Phases, limits))
    check_source(given, name="watchdog")
    start = partial(_WatchedStream, given, limits, clock)
    reading = Reading(partial(opened, name="watchdog"), AutoDecoder)
    return GuardedSource(start, reading, takes_argument=takes_argument(given))


def check_source(source: object, *, name: str) -> None:
    """Raise `UsageError` for anything but a stream, or what is guarded."""
    if not isinstance(source, GuardedSource):
        check_any_stream(source, name=name)


def _checked_limit(name: str, seconds: object) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < inf:
        message = f"{name}= must be a positive number of seconds, or None, got {seconds!r:.80}"
        raise UsageError(message)
    return float(seconds)


class _WatchedStream(GuardedStream):
    def __init__(self, source: Any, limits: TimeLimits, clock: Clock, reading: Reading) -> None:
        super().__init__()
        self._clock = clock
        self._phases = Phases(limits)
        self._reader = SourceReader(source, reading)

    @property
    def reader(self) -> SourceReader:
        return self._reader

    def read(self) -> Generator[Any, None, None]:
        reader, phases, clock = self._reader, self._phases, self._clock
        watch = WatchThread(clock, lambda: reader.stream)
        read: Callable[[], Any] | None = None
        item: Any = None
        try:
            while not reader.is_over:
                how: How | None = None
                began, left = clock(), phases.left
                watch.begin(began + left)
                try:
                    if read is None:
                        read = self._begin(left)
                    else:
                        item = read()
                except StopIteration:
                    how = Completed()
                except Exception as error:  # noqa: BLE001 - raised below
                    how = Failed(error)
                is_woken = watch.end()
                took = clock() - began
                phases.waited(took)
                if is_woken or took >= left:
                    yield from _interruption(reader, phases)
                    return
                if how is not None:
                    yield from reader.end(how)
                elif item is not None:
                    chunks = reader.take(item)
                    phases.note(chunks)
                    yield from chunks
                del how  # which may hold an exception, whose traceback holds this frame
            reader.raise_failure()
        finally:
            watch.stop()
            reader.close()

    def _begin(self, left: float) -> Callable[[], Any] | None:
        """Open the stream; return None if it takes too long, which nothing but a thread of its own can tell."""
        reader = self._reader
        if left == inf or not reader.is_callable:
            return reader.begin(reader.request())
        request = _Request(reader)
        if not request.wait(left):
            return None
        return reader.begin(request.result())

    async def aread(self) -> AsyncGenerator[Any, None]:
        reader, phases = self._reader, self._phases
        loop = asyncio.get_running_loop()
        timer, clock = LoopTimer(loop), loop.time
        read: Any = None
        item: Any = None
        try:
            while not reader.is_over:
                how: How | None = None
                began, left = clock(), phases.left
                timer.begin(began + left)
                try:
                    if read is None:
                        read = await reader.abegin(reader.request())
                    else:
                        item = await read()
                except StopAsyncIteration:
                    how = Completed()
                except asyncio.CancelledError:
                    if not timer.is_ours():
                        raise
                except Exception as error:  # noqa: BLE001 - raised below
                    how = Failed(error)
                timer.end()
                took = clock() - began
                phases.waited(took)
                if timer.has_fired or took >= left:
                    for chunk in _interruption(reader, phases):
                        yield chunk
                    return
                if how is not None:
                    for chunk in reader.end(how):
                        yield chunk
                elif item is not None:
                    chunks = reader.take(item)
                    phases.note(chunks)
                    for chunk in chunks:
                        yield chunk
                del how
            reader.raise_failure()
        finally:
            timer.stop()
            await reader.aclose()


def _interruption(reader: SourceReader, phases: Phases) -> list[Any]:
    """Return the last chunks of a stream that took too long."""
    return [*reader.end(_IDLE), *phases.interruption()]


class _Request:
    """A request in a thread of its own, because nothing wakes an SDK that waits for the head of a response."""

    def __init__(self, reader: SourceReader) -> None:
        self._reader = reader
        self._stream: Any = None
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._is_left = False
        self._is_there = threading.Event()
        threading.Thread(target=copy_context().run, args=(self._open,), name="penstock-request", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Return whether it is answered in time; a stream that comes later is closed."""
        try:
            self._is_there.wait(min(seconds, threading.TIMEOUT_MAX))
        finally:
            with self._lock:
                self._is_left = not self._is_there.is_set()
        return not self._is_left

    def result(self) -> Any:
        """Return the stream, or raise what the request raised."""
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error
        return self._stream

    def _open(self) -> None:
        stream: Any = None
        try:
            stream = self._reader.request()
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            self._error = error
        with self._lock:
            self._stream = stream
            self._is_there.set()
            is_left = self._is_left
        if is_left:
            close_all(stream)
