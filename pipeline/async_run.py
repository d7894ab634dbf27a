"""`AsyncRun`: one stream through a pipeline, in an async loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Iterator, Sequence
from operator import length_hint
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..events.errors import UsageError
from ..operators.engine.pump import aclose_all, call_in, is_async_stream, no_plain_loop
from ..operators.engine.stage import Completed, Failed, Interrupted
from ..sinks.acting.step import EventStep, in_a_row
from ..sinks.running.channel import StreamCutError, running_loop
from ..sinks.running.event_pump import close_stream
from ..sinks.running.fan_out import AsyncFanOut
from ..sinks.running.sink_line import SlowSinkError
from ..sources.streams.sdk_stream import unwrapped
from ..sources.streams.workarounds import is_generator_stream
from .answer import Answer
from .run import AnyFlow, KeptAnswer, PassingFlow, RunState, check_unused
from .strategies import PipelineEvent


class AsyncRun:
    """The events of one stream: an async iterator with backpressure, for one loop.

    The next item is read when the loop asks for it. Leaving early, by `aclose()`, by the end of an `async with` block
    or by garbage collection, closes the provider's stream. `cancel` ends it in order, with an END for each open
    segment.

    A cancellation of the waiting task, as by a timeout around one read, cuts the provider's stream; every further read
    then raises `StreamCutError`. To use a timeout and let the stream go on, read from an `async_queue`.
    """

    def __init__(
        self,
        source: Any,
        flow: AnyFlow,
        fan_out: AsyncFanOut | None,
        kept: KeptAnswer,
        steps: Iterable[EventStep] = (),
    ) -> None:
        if steps := tuple(steps):
            # The provider's stream is a run of its own, so that the steps get it with its ENDs, however it ends.
            first = AsyncRun(source, flow, None, KeptAnswer(keeps=False))
            streams = in_a_row(first, steps)
            self._state: _State = _State(streams[-1], fan_out, kept, first._state, streams)
            flow = PassingFlow()
        else:
            self._state = _State(source, fan_out, kept)
        # The generator does not refer to this object, so that the loop closes it when this is garbage-collected.
        self._events = _events(self._state, flow)

    _instead = ", or loop over stream(...)"
    if not TYPE_CHECKING:  # so that checkers, too, refuse a plain loop
        __getitem__ = no_plain_loop

    def __aiter__(self) -> Self:
        check_unused(is_over=self._state.is_over)
        return self

    async def __anext__(self) -> PipelineEvent:
        try:
            return await anext(self._events)
        except StopAsyncIteration:
            if self._state.is_cut:
                message = "the stream ended because a read was cancelled"
                raise StreamCutError(message) from None
            raise

    def cancel(self, reason: str = "cancelled") -> None:
        """Stop the provider's stream at once; open segments end as `interrupted` with this reason, then the loop ends.

        Call it from any thread. A loop that waits for a sink goes on without it.
        """
        self._state.cancel(reason)

    async def aclose(self) -> None:
        """Close the provider's stream without further events. Call it in the looping task; others call `cancel`."""
        try:
            await self._events.aclose()
        except RuntimeError as error:
            if "already running" not in str(error):
                raise
            message = "another task is iterating this run; call cancel() instead of leaving the block"
            raise UsageError(message) from None
        if not self._state.is_begun:  # a generator that never began has no `finally`
            self._state.is_begun = True
            await self._state.finish(StreamCutError("the stream was left before its first event"))

    @property
    def has_waiting(self) -> bool:
        """Whether more events of the last read have come, so that the next one is there without waiting."""
        return length_hint(self._state.batch) > 0

    @property
    def results(self) -> list[Any]:
        """The results of the sinks in order, after the loop; for a sink that raised, its exception."""
        return self._state.results

    @property
    def answer(self) -> Answer:
        """The whole answer, once the loop has ended or was left; see `Run.answer`."""
        return self._state.kept.answer(is_over=self._state.is_over)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


class _State(RunState):
    def __init__(
        self,
        source: Any,
        fan_out: AsyncFanOut | None,
        kept: KeptAnswer,
        first: _State | None = None,
        streams: Sequence[AsyncIterable[Any]] = (),
    ) -> None:
        super().__init__(source, fan_out, kept)
        self.fan_out = fan_out
        self.is_cut = False
        self._first = first
        self._streams = streams
        """The provider's run, and what each step made of the one before."""
        self.batch: Iterator[Any] = iter(())
        """The events of the last read that the loop has yet to get."""
        self.loop: asyncio.AbstractEventLoop | None = None
        self._waiting: asyncio.Task[Any] | None = None
        self._is_woken = False

    def cancel(self, reason: str) -> None:
        if self.fan_out is not None:
            self.fan_out.release()
        self.stop(Interrupted(reason))

    @property
    def is_stepped(self) -> bool:
        return self._first is not None

    def stop(self, how: Interrupted | Failed) -> None:
        """End the provider's stream in order, from any thread."""
        if self._first is not None:
            self._first.stop(how)
            reason = how.reason if isinstance(how, Interrupted) else "the stream failed"
            for each in self._streams:
                if (cancel_work := getattr(each, "cancel_work", None)) is not None:
                    cancel_work(reason)
            return
        if self.stopped is None:
            self.stopped = how
        if self.loop is not None:
            call_in(self.loop, self._wake)

    def _wake(self) -> None:
        if self._waiting is not None and not self._is_woken:
            self._is_woken = True
            self._waiting.cancel()

    async def wait_for(self, step: Awaitable[Any]) -> Any:
        """Await something that `cancel` may interrupt; raises `_WokenError` if it did."""
        task = self._waiting = asyncio.current_task(self.loop)
        before = task.cancelling() if task is not None else 0
        try:
            return await step
        except asyncio.CancelledError:
            # As in asyncio.timeout: our own cancellation is undone, any other one passes.
            if self._is_woken and task is not None:
                self._is_woken = False
                if task.uncancel() <= before:
                    raise _WokenError from None
            raise
        finally:
            self._waiting = None
            if self._is_woken and task is not None:  # it ended by itself at that very moment
                self._is_woken = False
                task.uncancel()
            del task  # which holds the exception that it ends with, whose traceback holds this frame

    async def without_reading(self, flow: AnyFlow) -> Iterable[Any]:
        """Return the end if the stream was stopped, else what the answer to a question gives."""
        question = flow.question
        if self.stopped is not None or question is None:
            return flow.end(self.stopped or Completed())
        try:
            answer = await self.wait_for(question())
        except Exception as raised:  # noqa: BLE001 - raised after the ENDs
            return self.end(flow, raised)
        return flow.answer(answer)

    async def feed(self, event: Any) -> SlowSinkError | None:
        """Keep an event, and send it to the sinks; return the error of a slow sink that ends the stream, if any."""
        self.kept.feed(event)
        if self.fan_out is not None:
            try:
                await self.fan_out.feed(event)
            except SlowSinkError as error:
                return error
        return None

    async def finish(self, error: BaseException | None) -> None:
        """Close the provider's stream, then end the sinks."""
        self.begin_end(error)
        try:
            await aclose_all(self.iterator, self.stream)
            for each in reversed(self._streams):
                await close_stream(each)
        finally:
            if self.fan_out is not None:
                self.results = await self.fan_out.close(error)
        self.raise_failure(error)


class _WokenError(Exception):
    pass


async def _events(state: _State, flow: AnyFlow) -> AsyncGenerator[Any, None]:
    state.loop = running_loop()  # before the request
    read: Callable[[], Awaitable[Any]] | None = None
    error: BaseException | None = None
    asks = flow.asks
    try:
        state.begin()
        while not flow.is_over:
            # Here rather than in a function of its own, because each await within an await costs every item once more.
            if state.stopped is not None or (asks and flow.question is not None):
                events = await state.without_reading(flow)
            else:
                try:
                    if read is None:
                        state.iterator = await _open(state)
                        read = state.iterator.__anext__
                        continue
                    item = await state.wait_for(read())
                except Exception as raised:  # noqa: BLE001 - raised after the ENDs
                    events = state.end(flow, raised)
                else:
                    events = state.take(flow, item)
            error = flow.error
            slow: SlowSinkError | None = None
            state.batch = iter(events)
            for event in state.batch:
                if state.fan_out is None:
                    state.kept.feed(event)  # `feed` is for sinks, and would be a coroutine for each event
                else:
                    slow = await state.feed(event) or slow
                yield event
            if slow is not None and not flow.is_over:
                if state.is_stepped:
                    state.stop(Failed(slow))
                    continue
                for event in flow.end(Failed(slow)):
                    await state.feed(event)
                    yield event
                error = slow
        if error is not None:
            raise error  # noqa: TRY301 - the sinks are told below, as of any other
    except BaseException as raised:
        state.is_cut = isinstance(raised, asyncio.CancelledError)
        error = raised
        raise
    finally:
        del flow  # as in a plain loop
        try:
            await state.finish(error)
        finally:
            del error


async def _open(state: _State) -> Any:
    stream: Any = state.source() if callable(state.source) else state.source
    if inspect.isawaitable(stream):
        stream = await state.wait_for(stream)
    state.stream = stream
    if is_async_stream(stream):
        return aiter(stream)
    if hasattr(stream, "__next__") and _blocks(stream):
        message = "this stream would block the event loop; use the SDK's async client, or stream(...) in a thread"
        raise UsageError(message)
    return _as_async(stream)


def _blocks(stream: Any) -> bool:
    """Return whether a source is an SDK's sync stream, maybe in our wrappers."""
    inner = unwrapped(stream)
    return hasattr(inner, "response") or is_generator_stream(inner)


async def _as_async(items: Iterable[Any]) -> AsyncGenerator[Any, None]:
    for item in items:
        yield item
