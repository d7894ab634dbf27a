"""`Run`: one stream through a pipeline, in a plain loop; `Flow` makes events of its items, and keeps its answers."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable, Generator, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.pump import close_all, no_async_for
from ..operators.engine.stage import Completed, Failed, How, Interrupted, StageChain, StreamStopped
from ..sinks.collect import Collector
from ..sinks.running.channel import StreamCutError
from ..sinks.running.fan_out import AsyncFanOut, FanOut
from ..sinks.running.sink_line import SlowSinkError
from ..sources.base.machine import Machine
from ..sources.from_stream import any_exception
from ..sources.streams.wake_stream import wake_stream
from .answer import Answer
from .strategies import StrategyEvent


class KeptAnswer:
    """Collects the events of one stream, unless the pipeline was asked not to keep them."""

    __slots__ = ("_answer", "_collector", "feed")

    def __init__(self, *, keeps: bool) -> None:
        self._collector: Collector[Any] | None = Collector(keep_events=False) if keeps else None
        self._answer: Answer | None = None
        self.feed: Callable[[Any], None] = _ignore if self._collector is None else self._collector.feed
        """Takes each event."""

    def answer(self, *, is_over: bool) -> Answer:
        """Return the answer; `UsageError` if it is not over, or was not kept."""
        if self._collector is None:
            message = "this pipeline does not keep its answers; make it with keep_answer=True"
            raise UsageError(message)
        if not is_over:
            message = "the answer is there once the loop over this run has ended; read it to the end, or close the run"
            raise UsageError(message)
        if self._answer is None:
            self._answer = Answer(self._collector.close())
        return self._answer


def _ignore(_: Any) -> None:
    pass


def check_unused(*, is_over: bool) -> None:
    """Raise `UsageError` if the stream of a run is over, where a second loop would see nothing."""
    if is_over:
        message = (
            "this run was used: its stream is over; call stream(...) or astream(...) for another, or keep its events "
            "with collect(...)"
        )
        raise UsageError(message)


class RunState:
    """What a run, plain or async, knows of its stream and its sinks."""

    def __init__(self, source: Any, fan_out: FanOut | AsyncFanOut | None, kept: KeptAnswer) -> None:
        self.kept = kept
        self.source = source
        self.stream: Any = None if callable(source) else source
        self.iterator: Any = None
        self.is_begun = self.is_over = False
        self.stopped: Interrupted | Failed | None = None
        """How the stream ends although it goes on, if so."""
        self.results: list[Any] = []
        self._sinks = fan_out

    def begin(self) -> None:
        self.is_begun = True
        if self._sinks is not None:
            self._sinks.start()

    def take(self, flow: AnyFlow, item: Any) -> Iterable[Any]:
        """Return what an item gives, or the end if it came too late."""
        return flow.feed(item) if self.stopped is None else flow.end(self.stopped)

    def end(self, flow: AnyFlow, error: Exception) -> Iterable[Any]:
        """Return what the end gives of a stream whose opening or reading raised this."""
        if self.stopped is not None:
            return flow.end(self.stopped)
        return flow.end(Completed() if isinstance(error, StopIteration | StopAsyncIteration) else Failed(error))

    def begin_end(self, error: BaseException | None) -> None:
        """Note that the stream is over; without an error of its own, the failure of a sink will be raised."""
        self.is_over = True
        if self._sinks is not None:
            self._sinks.raises_failure = error is None

    def raise_failure(self, error: BaseException | None) -> None:
        """Raise the failure of a sink, if the stream ended without an error."""
        if error is None and self._sinks is not None and self._sinks.failure is not None:
            raise self._sinks.failure


class AnyFlow(Protocol):
    """Makes events of items; once it `is_over`, `error` is the error that the stream ends with.

    If it `asks`, its `question` is to be awaited, and answered, before the next item.
    """

    is_over: bool
    error: Exception | None

    @property
    def asks(self) -> bool: ...
    @property
    def question(self) -> Callable[[], Awaitable[Any]] | None: ...
    def answer(self, value: Any, /) -> Iterable[Any]: ...
    def feed(self, item: Any, /) -> Iterable[Any]: ...
    def end(self, how: How, /) -> Iterable[Any]: ...


class PassingFlow:
    """Passes events on that were made elsewhere."""

    asks = False
    question = None

    def __init__(self) -> None:
        self.is_over = False
        self.error: Exception | None = None

    def answer(self, _: Any) -> NoReturn:
        raise NotImplementedError

    def feed(self, item: Any) -> Iterable[Any]:
        return (item,)

    def end(self, how: How) -> Iterable[Any]:
        self.is_over = True
        self.error = how.error if isinstance(how, Failed) else None
        return ()


class Flow:
    """A provider's machine and the strategy after it; `in_text` returns the strategy for plain text.

    The two are separate chains, because chains of three stages run faster, and most strategies have three.
    """

    __slots__ = ("_in_text", "_is_ending", "_machine", "_strategy", "error", "is_over")

    def __init__(
        self,
        machine: Machine,
        strategy: StageChain[ChunkResponse, Any],
        in_text: Callable[[], StageChain[ChunkResponse, Any]] | None = None,
    ) -> None:
        self._machine = machine
        self._strategy = strategy
        self._in_text = in_text
        self._is_ending = self.is_over = False
        self.error: Exception | None = None

    @property
    def asks(self) -> bool:
        return self._strategy.asks

    @property
    def question(self) -> Callable[[], Awaitable[Any]] | None:
        return self._strategy.question

    def answer(self, value: Any) -> list[Any]:
        """Return what the answer to the question makes certain."""
        try:
            events = self._strategy.answer(value)
        except StreamStopped as stop:
            return [*stop.events, *self.end(Interrupted(stop.reason))]
        except Exception as raised:  # noqa: BLE001 - as in `feed`
            self.is_over, self.error = True, raised
            return self._strategy.last_words
        self.is_over = self._is_ending and self.question is None
        return events

    def feed(self, item: Any) -> list[Any]:
        if self._in_text is not None and item is not None:
            if isinstance(item, str):
                self._strategy = self._in_text()
            self._in_text = None
        try:
            responses = self._machine.feed(item)
        except Exception as error:  # noqa: BLE001 - a wrong item of the caller's, who gets it after the ENDs
            return self.end(Failed(error))
        events: list[Any] = []
        try:
            for response in responses:
                events += self._strategy.feed(response)
        except StreamStopped as stop:
            return [*events, *stop.events, *self.end(Interrupted(stop.reason))]
        except Exception as raised:  # noqa: BLE001 - a bug or the user's code; the caller raises it after the ENDs
            self.is_over, self.error = True, raised
            return events + self._strategy.last_words
        if self._machine.stopped:
            events += self.end(Completed())
        return events

    def end(self, how: How) -> list[Any]:
        """Close the machine and the strategy; the stream ends with the error of `how`, or with the machine's."""
        error: Exception | None = None
        if isinstance(how, Failed):
            error = any_exception(how.error) or how.error
            how = Failed(error)
        responses = self._machine.close(how)
        if isinstance(how, Completed) and (error := self._machine.failure) is not None:
            how = Failed(error)
        self._is_ending, self.error = True, error
        events: list[Any] = []
        try:
            for response in responses:
                events += self._strategy.feed(response)
        except StreamStopped as stop:
            events += stop.events
            how = Interrupted(stop.reason)
        except Exception as raised:  # noqa: BLE001 - as above
            self.is_over, self.error = True, raised
            return events + self._strategy.last_words
        try:
            events += self._strategy.close(how)
        except Exception as raised:  # noqa: BLE001 - as above
            self.is_over, self.error = True, raised
            return events + self._strategy.last_words
        self.is_over = self.question is None
        return events


class Run:
    """The events of one stream: an iterator for one loop.

    Leaving early, by `close()`, by the end of a `with` block or by garbage collection, closes the provider's stream.
    `cancel` ends it in order, with an END for each open segment.
    """

    def __init__(self, source: Any, flow: Flow, fan_out: FanOut | None, kept: KeptAnswer) -> None:
        self._state = _State(source, fan_out, kept)
        # The generator does not refer to this object, so that it is closed at once when this is garbage-collected.
        self._events = _events(self._state, flow)

    def __iter__(self) -> Self:
        check_unused(is_over=self._state.is_over)
        return self

    if not TYPE_CHECKING:  # so that checkers, too, refuse it
        __aiter__ = no_async_for

    def __next__(self) -> StrategyEvent:
        return next(self._events)

    def cancel(self, reason: str = "cancelled") -> None:
        """Stop the provider's stream; open segments end as `interrupted` with this reason, then the loop ends.

        Call it from any thread. A loop that waits for the provider is woken if the SDK's connection can be reached,
        else it ends with the next item. A loop that waits for a sink goes on without it.
        """
        self._state.cancel(reason)

    def close(self) -> None:
        """Close the provider's stream without further events. Call it in the looping thread; others call `cancel`."""
        try:
            self._events.close()
        except ValueError:
            message = "another thread is iterating this run; call cancel() instead of leaving the block"
            raise UsageError(message) from None
        if not self._state.is_begun:  # a generator that never began has no `finally`
            self._state.is_begun = True
            self._state.finish(StreamCutError("the stream was left before its first event"))

    @property
    def results(self) -> list[Any]:
        """The results of the sinks in order, after the loop; for a sink that raised, its exception."""
        return self._state.results

    @property
    def answer(self) -> Answer:
        """The whole answer, once the loop has ended or was left; its `to_messages` makes the next turn.

        `UsageError` while the stream goes on, and for a pipeline with `keep_answer=False`.
        """
        return self._state.kept.answer(is_over=self._state.is_over)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not self._state.is_begun:
            self.close()


class _State(RunState):
    def __init__(self, source: Any, fan_out: FanOut | None, kept: KeptAnswer) -> None:
        super().__init__(source, fan_out, kept)
        self.fan_out = fan_out
        self._lock = threading.RLock()  # a signal's handler may cancel while its own thread does

    def cancel(self, reason: str) -> None:
        with self._lock:
            if self.stopped is None:
                self.stopped = Interrupted(reason)
        if self.fan_out is not None:
            self.fan_out.release()
        if self.stream is not None:
            wake_stream(self.stream)

    def feed(self, event: Any) -> SlowSinkError | None:
        """Keep an event, and send it to the sinks; return the error of a slow sink that ends the stream, if any."""
        self.kept.feed(event)
        if self.fan_out is not None:
            try:
                self.fan_out.feed(event)
            except SlowSinkError as error:
                return error
        return None

    def finish(self, error: BaseException | None) -> None:
        """Close the provider's stream, then end the sinks."""
        self.begin_end(error)
        try:
            close_all(self.iterator, self.stream)
        finally:
            if self.fan_out is not None:
                self.results = self.fan_out.close(error)
        self.raise_failure(error)


def _events(state: _State, flow: Flow) -> Generator[StrategyEvent, None, None]:
    error: BaseException | None = None
    try:
        state.begin()
        keep, has_sinks = state.kept.feed, state.fan_out is not None
        while not flow.is_over:
            events = _step(state, flow)
            error = flow.error
            slow: SlowSinkError | None = None
            for event in events:
                if has_sinks:
                    slow = state.feed(event) or slow
                else:
                    keep(event)
                yield event
            if slow is not None and not flow.is_over:
                for event in flow.end(Failed(slow)):
                    state.feed(event)
                    yield event
                error = slow
        if error is not None:
            raise error  # noqa: TRY301 - the sinks are told below, as of any other
    except BaseException as raised:
        error = raised
        raise
    finally:
        del flow  # the exception's traceback holds this frame, which would hold the exception
        try:
            state.finish(error)
        finally:
            del error


def _step(state: _State, flow: Flow) -> Iterable[Any]:
    """Open the stream, or take its next item."""
    if state.stopped is not None:
        return flow.end(state.stopped)
    try:
        if state.iterator is None:
            state.iterator = _open(state)
            return ()
        item = next(state.iterator)
    except Exception as error:  # noqa: BLE001 - raised after the ENDs
        events = state.end(flow, error)
        del flow  # as above
        return events
    return state.take(flow, item)


def _open(state: _State) -> Any:
    stream: Any = state.source() if callable(state.source) else state.source
    if (hasattr(stream, "__aiter__") and not hasattr(stream, "__iter__")) or hasattr(stream, "__await__"):
        if inspect.iscoroutine(stream):
            stream.close()
        message = "this stream is async; use astream(...) inside a coroutine"
        raise UsageError(message)
    state.stream = stream
    return iter(stream)
