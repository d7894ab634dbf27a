"""`to_json_lines`: the frames of `to_sse`, one in a line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import virtual_time
from sse_stream import EVENTS, START, Stream, chunks_of, one_by_one

from penstock.events import ProviderError, SegmentStart, UsageError
from penstock.sinks import JSON_LINES_HEADERS, to_json_lines


def lines_of(stream: Any, **options: Any) -> list[bytes]:
    async def main() -> list[bytes]:
        return [line async for line in one_by_one(to_json_lines(stream, **options))]

    return asyncio.run(main())


@pytest.mark.parametrize("protocol", ["segments", "tool_call_updates"])
def test_each_chunk_is_one_line_with_a_frame_of_to_sse(protocol: str):
    events = [SegmentStart("c", "tool_call", {"tool_name": "f"}, turn_id="t"), *EVENTS]
    lines = lines_of(Stream(events), protocol=protocol)
    assert lines == [chunk[6:-1] for chunk in chunks_of(events, protocol=protocol)]
    assert {line.count(b"\n") for line in lines} == {1}
    assert json.loads(lines[-1]) == {"type": "STREAM_END"}


def test_the_options_of_to_sse_are_its_options():
    stream = Stream(EVENTS, ProviderError("busy"))
    lines = lines_of(stream, select=lambda event: event is START, describe_error=lambda _: {"text": "Later."})
    assert [json.loads(line) for line in lines][2:] == [{"type": "STREAM_ERROR", "error": {"text": "Later."}}]
    assert (len(lines), stream.closed) == (3, 1)


def test_the_headers_are_those_of_lines_of_json():
    assert JSON_LINES_HEADERS["content-type"] == "application/x-ndjson"


def timed(**options: Any) -> list[tuple[float, bytes]]:
    async def events() -> AsyncIterator[Any]:
        await asyncio.sleep(40)
        yield {}

    async def main() -> list[tuple[float, bytes]]:
        now = asyncio.get_running_loop().time
        return [(now(), line) async for line in one_by_one(to_json_lines(events(), **options))]

    return virtual_time.run(main())


def test_there_are_no_empty_lines_unless_asked_for():
    rest = [(40, b"{}\n"), (40, b'{"type":"STREAM_END"}\n')]
    assert timed() == rest
    assert timed(heartbeat=15) == [(15, b"\n"), (30, b"\n"), *rest]


def test_a_reader_that_closes_closes_the_events():
    async def main() -> None:
        stream = Stream(EVENTS, endless=True)
        reader = one_by_one(to_json_lines(stream))
        await anext(reader)
        await reader.aclose()
        assert stream.closed == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


@pytest.mark.parametrize(
    ("events", "options", "words"),
    [([], {}, "to_json_lines.*async stream.*got list"), (Stream([]), {"heartbeat": 0}, "above 0")],
)
def test_wrong_arguments_are_told_at_the_call(events: Any, options: Any, words: str):
    with pytest.raises(UsageError, match=words):
        to_json_lines(events, **options)
