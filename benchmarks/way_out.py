"""What a chunk costs on its way through an async loop, and an event on its way into a frame, in plain calls.

The async way is what `async for` costs above the same loop over the source alone, which gives each chunk behind a turn
of the event loop. A frame is one server-sent event of a protocol, with everything that the protocol says besides: the
mean of a whole answer, be it text, a call, or a file that is written; the costliest of these counts.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any, Final

from peers.wires import WIRES

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.operators import adrive, drive, stream_fields, to_invocations, to_segments
from penstock.pipeline import Pipeline
from penstock.sinks.remote_readers import sse_event
from penstock.sinks.web.protocols import UiFrames, UiProtocol, protocol_row
from penstock.sources import decode_wire

ROUNDS = 9
DELTA = 4
DELTAS = 4_000
SOURCE = Path(tempfile.__file__).read_text(encoding="utf-8")[: DELTA * DELTAS]
TEXT = json.dumps({"path": "src/app.py", "content": SOURCE})
TO_CALLS = to_segments(), to_invocations(keep_segments=True)
TO_FILES = to_segments(), stream_fields(), to_invocations(keep_segments=True)
# A quarter or more above what was measured, for the noise.
BOUNDS: Final[dict[UiProtocol, float]] = {
    "segments": 40,
    "ag-ui": 130,
    "ai-sdk": 70,
    "openai-chat": 45,
    "openai-responses": 70,
    "anthropic-messages": 105,
}


def cut(text: str) -> list[str]:
    return [text[place : place + DELTA] for place in range(0, len(text), DELTA)]


def text_chunks() -> list[Any]:
    answer = [ChunkResponse(content=each, response_id="r", model="m") for each in cut(SOURCE)]
    return [*answer, ChunkResponse(finish_reason="stop", is_complete=True)]


def call_chunks() -> list[Any]:
    first = ChunkResponse(tool_calls=(ToolCallDelta(0, "call_1", "write_file"),), response_id="r", model="m")
    rest = [ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=each),)) for each in cut(TEXT)]
    return [first, *rest, ChunkResponse(finish_reason="tool_calls", is_complete=True)]


def wire_chunks() -> list[Any]:
    return WIRES["openai-chat"]([(0, each) for each in cut(TEXT)], "write_file")


class Arriving:
    """Items that arrive one in a turn of the event loop."""

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = iter(items)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)
        for item in self._items:
            return item
        raise StopAsyncIteration


async def _seconds_of(stream: AsyncIterable[Any]) -> float:
    begin = thread_time()
    async for _ in stream:
        pass
    return thread_time() - begin


def _nothing(_: Any) -> None:
    """Stand for one plain Python call."""


def _seconds(feed: Callable[[Any], Any], items: Sequence[Any]) -> float:
    begin = thread_time()
    for item in items:
        feed(item)
    return thread_time() - begin


def _above(new_items: Callable[[], list[Any]], through: Callable[[Any], AsyncIterable[Any]]) -> float:
    """Return what a chunk costs above the bare loop, in plain calls; the three take turns."""
    ratios: list[float] = []
    for _ in range(ROUNDS):
        items = new_items()

        async def both(items: list[Any] = items) -> float:
            ours = await _seconds_of(through(Arriving(items)))
            return ours - await _seconds_of(Arriving(items))

        ratios.append(asyncio.run(both()) / _seconds(_nothing, items))
    return median(ratios)


def _frame(protocol: UiProtocol, events: Sequence[Any]) -> float:
    """Return what an event costs, in plain calls."""
    row = protocol_row(protocol)
    ratios: list[float] = []
    for _ in range(ROUNDS):
        frames = UiFrames(protocol)

        def feed(event: Any, frames: UiFrames = frames) -> None:
            for frame in frames.feed(event):
                sse_event(frame, row, None)

        ratios.append(_seconds(feed, events) / _seconds(_nothing, events))
    return median(ratios)


def way_out_rows() -> list[tuple[str, float, float]]:
    """Return what each row costs in plain calls, with its bound."""
    pipeline = Pipeline(keep_answer=False)
    wire = decode_wire("openai-chat"), *TO_FILES
    answers = [
        [*drive(chunks, *operators)]
        for chunks, operators in ((text_chunks(), TO_CALLS), (call_chunks(), TO_CALLS), (call_chunks(), TO_FILES))
    ]
    return [
        ("a chunk through astream(...), above the bare loop", _above(call_chunks, pipeline.astream), 150),
        (
            "its bytes through adrive(...), above the bare loop",
            _above(wire_chunks, lambda each: adrive(each, *wire)),
            250,
        ),
        *(
            (f"an event as frames of {protocol}", max(_frame(protocol, events) for events in answers), bound)
            for protocol, bound in BOUNDS.items()
        ),
    ]
