"""`StreamTracer`: trace a stream through a provider's machine and a strategy."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from os import PathLike
from time import perf_counter_ns
from typing import Any

from ...events.chunk_response import ChunkResponse
from ...events.errors import UsageError
from ...operators.engine.stage import Operator
from ...operators.engine.step import Step
from ...operators.tracing.trace import Clock, Trace, clock_of, no_time
from ...sources.decode_sdk import decode_sdk, decode_through
from ...sources.decode_wire import decode_wire
from ...sources.from_recording import RecordedItems, recorded_items
from ...sources.machine.machine import Machine
from ...sources.recordings.raw_form import raw_form
from ...sources.recordings.wire_events import WireEvents
from ...sources.wire.lane import json_value

_LINE_END = re.compile("\r\n|\r|\n")


class StreamTracer:
    """Traces one stream; `in_text` is the strategy for plain text, if that is another one."""

    def __init__(
        self,
        new_machine: Callable[[], Machine],
        api: str | None,
        strategy: Operator[ChunkResponse, Any],
        in_text: Operator[ChunkResponse, Any] | None,
        limit: int,
    ) -> None:
        self._new_machine = new_machine
        self._api = api
        self._strategy = strategy
        self._in_text = in_text
        self._limit = limit
        self._machine: Machine | None = None

    def of_stream(self, source: Any) -> Trace:
        """Trace what `opened` returned, up to where the machine stops or the stream ends."""
        stream: Any = source() if callable(source) else source
        if (hasattr(stream, "__aiter__") and not hasattr(stream, "__iter__")) or hasattr(stream, "__await__"):
            if inspect.iscoroutine(stream):
                stream.close()
            message = "this stream is async; use await atrace(...) inside a coroutine"
            raise UsageError(message)
        begun = _Begun(stream)
        seen = self._trace(decode_sdk, self._api, is_text=begun.is_text)
        return seen.run(self._upto_stop(begun), clock=clock_of(stream))

    async def of_async_stream(self, source: Any) -> Trace:
        """Trace what `opened` returned of an async client."""
        stream: Any = source() if callable(source) else source
        if hasattr(stream, "__await__"):
            stream = await stream
        if not hasattr(stream, "__aiter__"):
            return self.of_stream(stream)
        begun = await _AsyncBegun(stream).begin()
        seen = self._trace(decode_sdk, self._api, is_text=begun.is_text)
        return await seen.arun(self._aupto_stop(begun), clock=perf_counter_ns)

    def of_recording(self, path: str | PathLike[str], options: Mapping[str, Any]) -> Trace:
        """Trace a recording at its own times; a body is cut into its events."""
        recorded = recorded_items(path, self._api, **options)
        items = [each.item for each in recorded.items]
        if recorded.ends_at is None:
            events = WireEvents()
            items = [*events.feed(b"".join(items)), *events.close()]
        self._new_machine = recorded.new_machine
        first = items[0] if items else None
        decode = decode_wire if isinstance(first, bytes) else decode_sdk
        seen = self._trace(decode, recorded.api, is_text=isinstance(first, str))
        clock: Clock = no_time if recorded.ends_at is None else _recorded_times(recorded)
        return seen.run(self._upto_stop(_raising(items, recorded.error)), clock=clock)

    def _trace(self, decode: Callable[..., Any], api: str | None, *, is_text: bool) -> Trace:
        machine = self._machine = self._new_machine()
        factories = decode_through(lambda: machine).factories
        step = Step(decode, decode.__name__, () if api is None else (api,), {}, factories)
        strategy = self._in_text if is_text and self._in_text is not None else self._strategy
        return Trace((Operator(steps=(step,)), strategy), limit=self._limit, read_raw=_raw_of)

    @property
    def _is_stopped(self) -> bool:
        return self._machine is not None and self._machine.stopped

    def _upto_stop(self, items: Iterable[Any]) -> Iterator[Any]:
        try:
            for item in items:
                yield item
                if self._is_stopped:
                    return
        finally:
            if (close := getattr(items, "close", None)) is not None:
                close()

    async def _aupto_stop(self, items: AsyncIterable[Any]) -> AsyncIterator[Any]:
        try:
            async for item in items:
                yield item
                if self._is_stopped:
                    return
        finally:
            close = getattr(items, "aclose", None) or getattr(items, "close", None)
            if close is not None and inspect.isawaitable(closing := close()):
                await closing


class _Begun:
    """A stream of which the first item has been read, because it says whether the stream is plain text."""

    def __init__(self, stream: Iterable[Any]) -> None:
        self._stream = stream
        self._rest = iter(stream)
        self._seen: list[Any] = []
        self._error: Exception | None = None
        try:
            while not self._seen or self._seen[-1] is None:
                self._seen.append(next(self._rest))
        except StopIteration:
            pass
        except Exception as error:  # noqa: BLE001 - raised again in its place
            self._error = error

    @property
    def is_text(self) -> bool:
        return bool(self._seen) and isinstance(self._seen[-1], str)

    def __iter__(self) -> Iterator[Any]:
        yield from self._seen
        if self._error is not None:
            raise self._error
        yield from self._rest

    def close(self) -> None:
        for each in (self._rest, self._stream):
            if (close := getattr(each, "close", None)) is not None:
                close()


class _AsyncBegun:
    """The same of an async stream."""

    def __init__(self, stream: AsyncIterable[Any]) -> None:
        self._stream = stream
        self._rest = aiter(stream)
        self._seen: list[Any] = []
        self._error: Exception | None = None

    async def begin(self) -> _AsyncBegun:
        try:
            while not self._seen or self._seen[-1] is None:
                self._seen.append(await anext(self._rest))
        except StopAsyncIteration:
            pass
        except Exception as error:  # noqa: BLE001 - raised again in its place
            self._error = error
        return self

    @property
    def is_text(self) -> bool:
        return bool(self._seen) and isinstance(self._seen[-1], str)

    async def __aiter__(self) -> AsyncIterator[Any]:
        for each in self._seen:
            yield each
        if self._error is not None:
            raise self._error
        async for each in self._rest:
            yield each

    async def aclose(self) -> None:
        for each in (self._rest, self._stream):
            close = getattr(each, "aclose", None) or getattr(each, "close", None)
            if close is not None and inspect.isawaitable(closing := close()):
                await closing


def _raising(items: Iterable[Any], error: Exception | None) -> Iterator[Any]:
    yield from items
    if error is not None:
        raise error


def _recorded_times(recorded: RecordedItems) -> Clock:
    """Return a clock that returns the time of each item in turn, then that of the end."""
    times = iter([*(each.at for each in recorded.items), recorded.ends_at or 0.0])
    return lambda: round(next(times) * 1_000_000_000)


def _raw_of(item: Any) -> Any:
    """Return the JSON of an SDK's item, or of an event of the wire; its text if it has no JSON."""
    if not isinstance(item, bytes):
        return raw_form(item)
    text = item.decode(errors="replace")
    data = "\n".join(line[5:].strip() for line in _LINE_END.split(text) if line.startswith("data:")) or text.strip(
        " \r\n,[]"
    )
    try:
        return json_value(data)
    except ValueError:
        return text
