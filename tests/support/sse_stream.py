"""A stream of events that somebody reads as it is sent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any

from penstock.events import InvocationFailed, Notice, SegmentContent, SegmentEnd, SegmentStart, ToolInvocation
from penstock.events.json_form import Event
from penstock.sinks.remote_readers import to_sse

START = SegmentStart("s", "text", turn_id="t")
EVENTS: list[Event] = [
    START,
    SegmentContent("s", "text", "Zürich 🌱\r\n\u2028", turn_id="t"),
    SegmentEnd("s", "text", "complete", turn_id="t"),
    ToolInvocation("c", "t", "f", {"a": [1, None]}),
    InvocationFailed("d", "t", "g", '{"a', "truncated"),
    Notice("code", "detail"),
]


class Stream:
    """Events as an async stream that knows what became of it."""

    def __init__(self, events: Iterable[Any], error: Exception | None = None, *, endless: bool = False) -> None:
        self.asked = self.closed = 0
        self._events = self._run(events, error, endless)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._events)

    async def aclose(self) -> None:
        await self._events.aclose()

    async def _run(self, events: Iterable[Any], error: Exception | None, endless: bool) -> Any:
        try:
            for event in events:
                self.asked += 1
                yield event
            if error is not None:
                raise error
            if endless:
                await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # as the closing of a connection, which a cancellation could break off
            self.closed += 1


_FRAME = re.compile(rb"(?:[^\n]+\n)+\n|[^\n]*\n")


async def one_by_one(chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield each server-sent event, or each line, of chunks that hold those which were ready together."""
    try:
        async for chunk in chunks:
            frames = _FRAME.findall(chunk)
            assert b"".join(frames) == chunk
            for frame in frames:
                yield frame
    finally:
        await chunks.aclose()


def chunks_of(events: Any, **options: Any) -> list[bytes]:
    """Return the server-sent events that a reader gets of events that may be a plain iterable."""

    async def main() -> list[bytes]:
        stream = events if hasattr(events, "__aiter__") else Stream(events)
        return [chunk async for chunk in one_by_one(to_sse(stream, **options))]

    return asyncio.run(main())
