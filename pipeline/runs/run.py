"""`Run`: one stream through a pipeline, in a plain loop."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Generator
from types import TracebackType
from typing import Any, Self

from ...events.errors import UsageError
from ...operators.engine.pump import close_all
from ...operators.engine.stage import Failed, Interrupted
from ...sinks.running.channel import StreamCutError
from ...sinks.running.fan_out import FanOut
from ...sinks.running.sink_line import SlowSinkError
from ...sources.streams.wake_stream import wake_stream
from ..answers.answer import Answer
from ..strategies.strategy import StrategyEvent
from .flow import Emitted, Flow, KeptAnswer, RunState, check_unused


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
        step = Emitted([])
        while not step.is_last:
            step = _step(state, flow)
            error = step.error
            slow: SlowSinkError | None = None
            for event in step.events:
                slow = state.feed(event) or slow
                yield event
            if slow is not None and not step.is_last:
                error = slow
                for event in flow.end(Failed(slow)).events:
                    state.feed(event)
                    yield event
                break
        if error is not None:
            raise error  # noqa: TRY301 - the sinks are told below, as of any other
    except BaseException as raised:
        error = raised
        raise
    finally:
        state.finish(error)


def _step(state: _State, flow: Flow) -> Emitted:
    """Open the stream, or take its next item."""
    if state.stopped is not None:
        return flow.end(state.stopped)
    try:
        if state.iterator is None:
            state.iterator = _open(state)
            return Emitted([])
        item = next(state.iterator)
    except Exception as error:  # noqa: BLE001 - raised after the ENDs
        return state.end(flow, error)
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
