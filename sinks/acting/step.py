"""`EventStep`: what adds events to a stream; and `StepStream`, which lets its work go on beside the stream."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple, Protocol, TypeAlias, cast, runtime_checkable

from ...events.answer_end import AnswerEnd
from ...events.errors import UsageError
from ...operators.engine.pump import is_async_stream
from ...operators.engine.stage import Failed, How, Interrupted
from ...operators.engine.where_raised import where_raised
from ..running.channel import running_loop
from ..running.event_pump import LoopStream, close_both, how_ended


def check_options(approve: Any, **seconds: Any) -> None:
    """Raise a `UsageError` for an `approve=` that cannot be called, and for times that are not a number above 0."""
    if approve is not None and not callable(approve):
        message = f"approve= must be a function of an ApprovalRequest, or None, got {approve!r:.80}"
        raise UsageError(message)
    for name, value in seconds.items():
        if value is not None and (type(value) not in (int, float) or not isfinite(value) or value <= 0):
            message = f"{name}= must be a number of seconds above 0 or None, got {value!r}"
            raise UsageError(message)


EventStep: TypeAlias = Callable[[AsyncIterable[Any]], AsyncIterable[Any]]
"""Takes an async stream of events and returns one that passes them on, in order, with events of its own."""


@runtime_checkable
class LeavingStep(Protocol):
    """A step that tells its calls by their arguments, and leaves calls of other tools of the same names."""

    def takes(self, tool: Any, /) -> bool: ...

    def fault(self, tool: Any, /, *, is_run_before: bool) -> str | None: ...

    def leaving(self, names: frozenset[str], /) -> EventStep: ...


def checked_steps(steps: Any) -> tuple[EventStep, ...]:
    """Return steps as a tuple; `UsageError` for anything but an iterable of functions."""
    if callable(steps) or isinstance(steps, str | bytes) or not isinstance(steps, Iterable):
        message = f"steps= must be an iterable of steps, such as [call_tools(tools)]; got {steps!r:.80}"
        raise UsageError(message)
    given: tuple[Any, ...] = tuple(cast("Any", steps))
    for each in given:
        if not callable(each):
            message = f"a step is a function of an async stream of events, such as call_tools(tools); got {each!r:.80}"
            raise UsageError(message)
    return given


def fitted(steps: Iterable[EventStep], declared: Iterable[Any]) -> tuple[EventStep, ...]:
    """Return steps that know the tools of each other, and those that are declared.

    `UsageError` for a tool that was meant for a `LeavingStep`, if its calls would do nothing, and for one that reads an
    argument while the model writes it behind a step that acts on its calls, which would both begin.
    """
    steps = tuple(steps)
    several: tuple[object, ...] = steps
    leaving = {at: step for at, step in enumerate(several) if isinstance(step, LeavingStep)}
    run = [_run_by(step) for step in steps]
    _check_readers(run, leaving)
    if not leaving:
        return steps
    tools = {each.name: each for each in (*declared, *(tool for each in run for tool in each.values()))}
    others = frozenset[str]()
    for name, tool in tools.items():
        takers = [at for at, step in leaving.items() if step.takes(tool)]
        for at in takers[:1] or leaving:
            if message := leaving[at].fault(tool, is_run_before=any(name in each for each in run[:at])):
                raise UsageError(message)
        if not takers:
            others |= {name}
    changed = {at: step.leaving(others.union(*run[at + 1 :])) for at, step in leaving.items()}
    return tuple(changed.get(at, step) for at, step in enumerate(steps))


def _check_readers(run: Sequence[Mapping[str, Any]], leaving: Mapping[int, LeavingStep]) -> None:
    """Raise a `UsageError` for a tool that would begin before an earlier step claims its call, when it is sealed."""
    for at, tools in enumerate(run):
        for name, tool in tools.items():
            read = getattr(tool, "read_while_written", None)
            is_taken = any(name in each for each in run[:at])
            if read is None or not (is_taken or any(leaving[each].takes(tool) for each in leaving if each < at)):
                continue
            message = (
                f"tool {name!r} reads {read!r} while the model writes it, and an earlier step acts on its calls, too; "
                "put it into one step only, or rename it"
            )
            raise UsageError(message)


def _run_by(step: object) -> Mapping[str, Any]:
    """Return the tools that a step runs, by name."""
    tools = getattr(step, "run_tools", None)
    return cast("Mapping[str, Any]", tools) if isinstance(tools, Mapping) else {}


def in_a_row(events: AsyncIterable[Any], steps: Iterable[EventStep]) -> list[AsyncIterable[Any]]:
    """Return the stream, and behind it the result of each step; `UsageError` for one that is not an async stream."""
    streams = [events]
    for step in steps:
        stream = step(streams[-1])
        if not is_async_stream(stream):
            message = f"the step {step!r:.80} must return an async stream of events, got {type(stream).__name__}"
            raise UsageError(message)
        streams.append(stream)
    return streams


_LOGGER = logging.getLogger("penstock")
CLEAN_UP = 5.0
"""Seconds that cancelled work has for its cleanup, before it is left alone."""
_ABANDONED: set[asyncio.Task[None]] = set()
"""Work that ignores its cancellation, kept here because the loop has only weak references to it."""


class _Job(NamedTuple):
    coroutine: Coroutine[Any, Any, None]
    turn_id: str | None
    cancelled: Callable[[str], None]


class TaskGroup:
    """The work of one step beside one stream: `start` it, and `emit` its events.

    - `reason`: why everything was cancelled, once it was; a call that comes later must not start.
    - `error`: what ended the stream for its reader.
    - `at_end`: called when the events have ended, before the work is waited for, by an actor whose work waits for them.
    """

    def __init__(self) -> None:
        self.items: deque[Any] = deque()
        self.reason: str | None = None
        self.error: BaseException | None = None
        self.is_over = False
        self.at_end: Callable[[], None] | None = None
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


class StepStream(LoopStream[Any]):
    """What a step returns: an async iterator for one loop, over the stream's events and those of the step.

        events   S C C E invocation C C E AnswerEnd |
        work                  |----------------->
        stream   S C C E invocation C C E AnswerEnd  result |

    A task of its own reads on until an event waits for the loop, and all that came in the same read. The stream ends
    when its events have ended and all work is over. Work is cancelled when the stream is left or fails, by `cancel`,
    and, for the calls of a turn, when its answer is interrupted or fails.
    """

    def __init__(self, events: AsyncIterable[Any], new_actor: Callable[[TaskGroup], Actor]) -> None:
        self._reading = _Reading(events, new_actor)
        super().__init__(_yielded(self._reading), events)

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


class _Reading:
    """Reads the events in a task of its own, which also waits for the work and closes the stream."""

    def __init__(self, events: AsyncIterable[Any], new_actor: Callable[[TaskGroup], Actor]) -> None:
        self.work = TaskGroup()
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
            if work.at_end is not None:
                work.at_end()
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
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - told to the reader
            return how_ended(error, self._interrupted)
        return how_ended(None, self._interrupted)


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
