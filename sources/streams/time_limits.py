"""The time limits of a stream by phase, and what wakes a read that exceeds them: a thread, or a loop's timer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, NamedTuple, TypeAlias

from ...events.chunk_response import ChunkResponse
from ...events.tool_invocation import Notice
from .wake_stream import wake_stream

Clock: TypeAlias = Callable[[], float]
"""Returns seconds, as `time.monotonic` does."""
RESOLUTION = 1e-6
"""Seconds that a timer may come too early."""
_WOKEN_AGAIN = 0.05
"""Seconds until a read is woken once more: it may not have been connected, or have reconnected."""


class TimeLimits(NamedTuple):
    """Seconds that a stream may be waited for, by phase; None for no limit."""

    first: float | None
    between: float | None
    call: float | None
    total: float | None


def note_choice(choices: dict[int, bool], chunk: ChunkResponse) -> None:
    """Note of the choice of a chunk that it came, and whether it has ended."""
    if choices.get(chunk.choice) is not True:
        choices[chunk.choice] = bool(chunk.finish_reason or chunk.is_complete)


def interruption(choices: Mapping[int, bool], notice: Notice) -> list[ChunkResponse]:
    """Return the chunks that end the answers which have not ended; the reason is the code of the notice.

    - `choices`: those that came, and whether they have ended.

    >>> [(each.choice, each.interrupted) for each in interruption({0: True, 1: False}, Notice("idle", "late"))]
    [(1, 'idle')]
    """
    is_open = [choice for choice, has_ended in (choices or {0: False}).items() if not has_ended]
    if not is_open:  # all that is missing is the end of the connection
        return [ChunkResponse(notices=(notice,))]
    chunks = [ChunkResponse(interrupted=notice.code, choice=each) for each in is_open]
    chunks[0] = ChunkResponse(interrupted=notice.code, choice=is_open[0], notices=(notice,))
    return chunks


class Phases:
    """How long a stream has been waited for, and in which phase: what the reader does meanwhile does not count.

    `waited` adds the seconds of a read, `note` takes what it gave, and `left` is what the next one may take.
    """

    def __init__(self, limits: TimeLimits) -> None:
        self._limits = limits
        self._waited = 0.0
        self._last = 0.0
        """When content came last, in seconds of waiting."""
        self._has_begun = False
        self._began: dict[tuple[int, int], float] = {}
        """When each call began, by choice and index."""
        self._open: dict[tuple[int, int], float] = {}
        """The calls that are being written, and when they began."""
        self._choices: dict[int, bool] = {}
        """The choices that came, and whether they have ended."""

    @property
    def left(self) -> float:
        """The seconds that the next read may take."""
        first, between, call, total = self._limits
        waited = self._waited
        left = inf if total is None else total - waited
        if not self._has_begun:
            if first is not None and first - waited < left:
                left = first - waited
        elif between is not None and between - (waited - self._last) < left:
            left = between - (waited - self._last)
        if call is not None:
            for began in self._open.values():
                left = min(left, call - (waited - began))
        return left

    def waited(self, seconds: float) -> None:
        """Count a read that took so many seconds."""
        self._waited += seconds

    def note(self, chunks: Iterable[Any]) -> None:
        """Take what a read gave; keep-alives and empty chunks change nothing."""
        for chunk in chunks:
            if isinstance(chunk, ChunkResponse):
                if has_content(chunk):
                    self._has_begun, self._last = True, self._waited
                    if chunk.tool_calls or self._open:
                        self._note_calls(chunk)
                note_choice(self._choices, chunk)
            elif chunk:
                self._has_begun, self._last = True, self._waited

    def _note_calls(self, chunk: ChunkResponse) -> None:
        choice = chunk.choice
        if chunk.content or chunk.finish_reason:  # a call that another one follows has ended, unless more of it comes
            self._end_calls(choice)
        for delta in chunk.tool_calls:
            call = choice, delta.index
            if call not in self._began:
                self._end_calls(choice)
                self._began[call] = self._waited
            if delta.done or delta.status:
                self._open.pop(call, None)
            else:
                self._open[call] = self._began[call]

    def _end_calls(self, choice: int) -> None:
        for call in [each for each in self._open if each[0] == choice]:
            del self._open[call]

    def interruption(self) -> list[ChunkResponse]:
        """Return the chunks that end the answers which have not ended, and say which limit was exceeded."""
        return interruption(self._choices, Notice("idle", self._detail()))

    def _detail(self) -> str:
        first, between, call, total = self._limits
        waited = self._waited
        passed: list[tuple[float, str]] = []
        if total is not None:
            passed.append((total - waited, f"the answer was not whole after {total:g} seconds of waiting (total)"))
        if not self._has_begun and first is not None:
            passed.append((first - waited, f"no content came within {first:g} seconds (first)"))
        if self._has_begun and between is not None:
            left = between - (waited - self._last)
            passed.append((left, f"no further content came within {between:g} seconds (between)"))
        if call is not None and self._open:
            left = call - (waited - min(self._open.values()))
            passed.append((left, f"a call was not whole {call:g} seconds after its start (call)"))
        return min(passed)[1]


def has_content(chunk: ChunkResponse) -> bool:
    """Return whether a chunk says anything of the answer, unlike a keep-alive or a count of tokens."""
    return bool(
        chunk.content
        or chunk.tool_calls
        or chunk.reasoning
        or chunk.finish_reason
        or chunk.is_complete
        or chunk.refusal
        or chunk.native
        or chunk.provider_events
        or chunk.image_urls
        or chunk.audio_urls
        or chunk.video_urls
        or chunk.error
    )


class WatchThread:
    """Wakes a read in a plain loop that takes too long, by shutting its connection down.

    The loop says when it reads and until when it may; the thread sleeps until then, and no read has to wake it unless
    its deadline comes before the one that the thread sleeps for.
    """

    def __init__(self, clock: Clock, stream: Callable[[], Any]) -> None:
        self._clock = clock
        self._stream = stream
        self._until: float | None = None
        self._wakes_at = inf
        self._changed = threading.Event()
        self._lock = threading.Lock()
        self._is_over = self._has_fired = False
        self._thread: threading.Thread | None = None

    def begin(self, until: float) -> None:
        """Note that a read begins."""
        self._until = until
        if until < self._wakes_at:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="penstock-watchdog", daemon=True)
                self._thread.start()
            self._changed.set()

    def end(self) -> bool:
        """Note that it has ended; return whether it was woken."""
        with self._lock:
            self._until = None
            return self._has_fired

    def stop(self) -> None:
        """End the thread."""
        self._is_over = True
        self._changed.set()
        # The collector may run in the thread itself, and close a stream there.
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _watch(self) -> None:
        while not self._is_over:
            self._changed.clear()
            until = self._until
            now = self._clock()
            if until is not None and now >= until:
                self._fire(until)
                self._changed.wait(_WOKEN_AGAIN)
                continue
            self._wakes_at = inf if until is None else until
            if self._until is until and not self._is_over:  # else the loop compared with what was there before
                self._changed.wait(None if until is None else min(until - now, threading.TIMEOUT_MAX))

    def _fire(self, until: float) -> None:
        with self._lock:
            if self._until is until:
                self._has_fired = True
                wake_stream(self._stream())


class LoopTimer:
    """Cancels an await in an async loop that takes too long, as `asyncio.timeout` does, with one timer for all."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._until = inf
        self._handle: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self.has_fired = False
        """Whether an await was cancelled."""

    def begin(self, until: float) -> None:
        """Note that an await begins."""
        self._until = until
        self._task = task = asyncio.current_task(self._loop)
        if task is not None:
            self._cancelling = task.cancelling()
        if self._handle is not None:
            if self._handle.when() <= until:
                return
            self._handle.cancel()
        self._handle = self._loop.call_at(until, self._fire) if until < inf else None

    def end(self) -> None:
        """Note that it has ended by itself."""
        task, self._task = self._task, None
        if self.has_fired and task is not None:  # at that very moment
            task.uncancel()

    def is_ours(self) -> bool:
        """Return, where an await was cancelled, whether the timer did it alone, and undo that."""
        task, self._task = self._task, None
        return self.has_fired and task is not None and task.uncancel() <= self._cancelling

    def stop(self) -> None:
        """Stop the timer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fire(self) -> None:
        self._handle = None
        if self._task is None:
            return
        if self._until - self._loop.time() > RESOLUTION:
            self._handle = self._loop.call_at(self._until, self._fire)
            return
        self.has_fired = True
        self._task.cancel()
