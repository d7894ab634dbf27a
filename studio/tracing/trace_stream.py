"""`trace_stream` and `atrace_stream`: trace a stream through a provider's machine and a strategy."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Callable, Iterable
from contextlib import aclosing, closing
from os import PathLike
from time import perf_counter_ns
from typing import Any, cast

from ...events.errors import UsageError
from ...operators.engine.operator_call import OperatorCall
from ...operators.engine.pump import apump, is_async_stream, pump
from ...operators.engine.stage import Completed, How, Operator
from ...pipeline.chain import operator_of
from ...pipeline.pipeline import Pipeline
from ...pipeline.strategy_choice import StreamParts
from ...sources.base.machine import Machine, json_value
from ...sources.framing.sse import SseDecoder
from ...sources.from_stream import AutoDecoder, decode_sdk, decode_through
from ...sources.from_wire import decode_wire
from ...sources.recordings.from_recording import RecordedItems, recorded_items
from ...sources.recordings.recording_format import raw_form
from ...sources.streams.guarded_source import GuardedSource
from .trace import LIMIT, Clock, Trace, clock_of, no_time


def trace_stream(
    source: Any, pipeline: Pipeline | None = None, *, turn_id: str | None = None, limit: int = LIMIT
) -> Trace:
    r"""Run a stream and return what each stage did with each item; the provider's machine is the first stage.

    >>> answer = [{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}]
    >>> seen = trace_stream(answer)
    >>> seen.stages[:2], seen[0].raw["choices"][0]["delta"]
    (('decode_sdk()', 'to_segments()'), {'content': 'Hi'})

    - `source` as with `Pipeline.stream`, or the path of a recording, of the body of a response, or of a cassette. The
      times are those of a recording, or when the items came; items that are all there already have none.
    - `pipeline`: runs it; by default `Pipeline()`. Its sinks and `steps` do not run.
    - `limit`: the items that are kept. How the stream ended, also by an error, is `Trace.ended`.
    """
    parts = (pipeline or Pipeline()).parts(turn_id)
    tracer = _StreamTracer(parts, limit)
    if isinstance(source, str | PathLike):
        return tracer.of_recording(cast("str | PathLike[str]", source))
    return tracer.of_stream(parts.opened(source))


async def atrace_stream(
    source: Any, pipeline: Pipeline | None = None, *, turn_id: str | None = None, limit: int = LIMIT
) -> Trace:
    """Run an async stream, and return what `trace_stream` returns.

    seen = await atrace_stream(lambda: client.messages.create(..., stream=True), pipeline)
    """
    parts = (pipeline or Pipeline()).parts(turn_id)
    return await _StreamTracer(parts, limit).of_async_stream(parts.opened(source))


class _StreamTracer:
    """Traces one stream: `feed` takes its items, and returns something once its machine takes no more."""

    def __init__(self, parts: StreamParts, limit: int) -> None:
        self._parts = parts
        self._new_machine = parts.new_machine
        self._strategy = operator_of(parts.chain, "trace_stream(...)")
        self._in_text = None if parts.text_chain is None else operator_of(parts.text_chain, "trace_stream(...)")
        self._limit = limit
        self._decode: Callable[..., Any] = decode_sdk
        self._api = parts.api
        self._clock: Clock = perf_counter_ns
        self._machine: Machine | None = None
        self._trace: Trace | None = None
        self._begun: list[Any] = []
        """The items that have yet to be traced, as they do not show whether the stream is text."""

    def of_stream(self, source: Any) -> Trace:
        """Trace what `opened` returned, up to where the machine stops or the stream ends."""
        source = self._decoded(source)
        stream: Any = source() if callable(source) else source
        if (hasattr(stream, "__aiter__") and not hasattr(stream, "__iter__")) or hasattr(stream, "__await__"):
            if inspect.iscoroutine(stream):
                stream.close()
            message = "this stream is async; use await atrace_stream(...) inside a coroutine"
            raise UsageError(message)
        self._clock = clock_of(stream)
        return self._run(stream)

    async def of_async_stream(self, source: Any) -> Trace:
        """Trace what `opened` returned of an async client."""
        source = self._decoded(source)
        stream: Any = source() if callable(source) else source
        if hasattr(stream, "__await__"):
            stream = await stream
        return await self._arun(stream) if is_async_stream(stream) else self.of_stream(stream)

    def of_recording(self, path: str | PathLike[str]) -> Trace:
        """Trace a recording at its own times; a body is cut into its events."""
        recorded = recorded_items(path, self._parts.api, **self._parts.machine_options)
        self._new_machine, self._api = recorded.new_machine, recorded.api
        if recorded.items and isinstance(recorded.items[0].item, bytes):
            self._decode = decode_wire
        self._clock = no_time if recorded.ends_at is None else _recorded_times(recorded)
        return self._run(recorded.untimed())

    def _decoded(self, source: Any) -> Any:
        """Return a source whose items can be traced: those of a guarded one are ChunkResponses already."""
        if not isinstance(source, GuardedSource):
            return source
        source = source.decoded_by(self._new_machine, keeps_text=True)
        self._new_machine, self._api = AutoDecoder, None
        return source

    def _run(self, items: Iterable[Any]) -> Trace:
        try:
            with closing(pump(items, self)) as read:
                next(read, None)
                self.close(Completed())
        except Exception:
            if self._begin().ended is None:
                raise
        return self._begin()

    async def _arun(self, items: AsyncIterable[Any]) -> Trace:
        try:
            async with aclosing(apump(items, self)) as read:
                await anext(read, None)
                self.close(Completed())
        except Exception:
            if self._begin().ended is None:
                raise
        return self._begin()

    def feed(self, item: Any, /) -> tuple[None, ...]:
        self._begun.append(item)
        if item is not None or self._trace is not None:
            self._feed_begun()
        return (None,) if self._machine is not None and self._machine.stopped else ()

    def close(self, how: How, /) -> tuple[None, ...]:
        """End the trace, unless it has ended."""
        self._feed_begun()
        if (seen := self._begin()).ended is None:
            seen.close(how, t_ns=self._clock())
        return ()

    def _feed_begun(self) -> None:
        seen, begun = self._begin(), self._begun
        self._begun = []
        for item in begun:
            seen.feed(item, t_ns=self._clock())

    def _begin(self) -> Trace:
        """Return the trace, which begins with the strategy for what has come."""
        if self._trace is None:
            machine = self._machine = self._new_machine()
            factories = decode_through(lambda: machine).factories
            step = OperatorCall(
                self._decode, self._decode.__name__, () if self._api is None else (self._api,), {}, factories
            )
            is_text = bool(self._begun) and isinstance(self._begun[-1], str)
            strategy = self._in_text if is_text and self._in_text is not None else self._strategy
            self._trace = Trace((Operator(steps=(step,)), strategy), limit=self._limit, read_raw=_raw_of)
        return self._trace


def _recorded_times(recorded: RecordedItems) -> Clock:
    """Return a clock that returns the time of each item in turn, then that of the end."""
    times = iter([*(each.at for each in recorded.items), recorded.ends_at or 0.0])
    return lambda: round(next(times) * 1_000_000_000)


def _raw_of(item: Any) -> Any:
    """Return the JSON of an SDK's item, or of an event of the wire; its text if it has no JSON."""
    if not isinstance(item, bytes):
        return raw_form(item)
    text = item.decode(errors="replace")
    data = [event.data for event in SseDecoder().feed(item + b"\n\n")]
    try:
        return json_value(data[0] if data else text.strip(" \r\n,[]"))
    except ValueError:
        return text
