"""`Flow`: turn a provider's items into a strategy's events, for one stream; and what a run keeps of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ...events.chunk_response import ChunkResponse
from ...events.errors import UsageError
from ...operators.engine.stage import Completed, Failed, How, Interrupted, StageChain
from ...sinks.collect import Collector
from ...sinks.running.fan_out import AsyncFanOut, FanOut
from ...sources.base.machine import Machine
from ...sources.from_stream import any_exception
from ..answers.answer import Answer


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

    def take(self, flow: AnyFlow, item: Any) -> Emitted:
        """Return what an item gives, or the end if it came too late."""
        return flow.feed(item) if self.stopped is None else flow.end(self.stopped)

    def end(self, flow: AnyFlow, error: Exception) -> Emitted:
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


class Emitted(NamedTuple):
    """The events of a step; if `is_last`, `error` is the error that the stream ends with."""

    events: list[Any]
    is_last: bool = False
    error: Exception | None = None


class AnyFlow(Protocol):
    def feed(self, item: Any, /) -> Emitted: ...
    def end(self, how: How, /) -> Emitted: ...


class PassingFlow:
    """Passes events on that were made elsewhere."""

    def feed(self, item: Any) -> Emitted:
        return Emitted([item])

    def end(self, how: How) -> Emitted:
        return Emitted([], is_last=True, error=how.error if isinstance(how, Failed) else None)


class Flow:
    """A provider's machine and the strategy after it; `in_text` returns the strategy for plain text.

    The two are separate chains, because chains of three stages run faster, and most strategies have three.
    """

    __slots__ = ("_in_text", "_machine", "_strategy")

    def __init__(
        self,
        machine: Machine,
        strategy: StageChain[ChunkResponse, Any],
        in_text: Callable[[], StageChain[ChunkResponse, Any]] | None = None,
    ) -> None:
        self._machine = machine
        self._strategy = strategy
        self._in_text = in_text

    def feed(self, item: Any) -> Emitted:
        if self._in_text is not None and item is not None:
            if isinstance(item, str):
                self._strategy = self._in_text()
            self._in_text = None
        try:
            responses = self._machine.feed(item)
        except Exception as error:  # noqa: BLE001 - a wrong item of the caller's, who gets it after the ENDs
            return self.end(Failed(error))
        step = self._through(responses)
        if step.is_last or not self._machine.stopped:
            return step
        end = self.end(Completed())
        return Emitted(step.events + end.events, is_last=True, error=end.error)

    def end(self, how: How) -> Emitted:
        """Close the machine and the strategy; the stream ends with the error of `how`, or with the machine's."""
        error: Exception | None = None
        if isinstance(how, Failed):
            error = any_exception(how.error) or how.error
            how = Failed(error)
        step = self._through(self._machine.close(how))
        if step.is_last:
            return step
        if isinstance(how, Completed) and (error := self._machine.failure) is not None:
            how = Failed(error)
        try:
            return Emitted(step.events + self._strategy.close(how), is_last=True, error=error)
        except Exception as raised:  # noqa: BLE001 - a bug or the user's code; the caller raises it after the ENDs
            return Emitted(step.events + self._strategy.last_words, is_last=True, error=raised)

    def _through(self, responses: list[ChunkResponse]) -> Emitted:
        events: list[Any] = []
        for response in responses:
            try:
                events += self._strategy.feed(response)
            except Exception as raised:  # noqa: BLE001 - a bug or the user's code; the caller raises it after the ENDs
                return Emitted(events + self._strategy.last_words, is_last=True, error=raised)
        return Emitted(events)
