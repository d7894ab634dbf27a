"""Readers that leave at any event and come back get the whole, in every protocol and every form."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from itertools import count
from typing import Any, get_args

import pytest
import virtual_time
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from sse_stream import EVENTS, one_by_one

from penstock.events import ChunkResponse, Notice, ProviderError
from penstock.operators import adrive
from penstock.pipeline import api_tool_call
from penstock.sinks import StreamRuns, to_sse
from penstock.sinks.resume.stream_runs import StreamRun
from penstock.sinks.web.protocols import PROTOCOLS, UiProtocol
from penstock.sources import from_recording

PROTOCOLS_OF_TYPE: tuple[UiProtocol, ...] = get_args(UiProtocol)
Frames = list[tuple[int | None, bytes]]
"""Each frame with its number, None for one that has none."""


async def by_sse(run: StreamRun, after: int | None, most: int) -> Frames:
    frames: Frames = []
    chunks = one_by_one(run.sse(after, heartbeat=None))
    while len(frames) < most and (chunk := await anext(chunks, None)) is not None:
        lines = chunk.decode().rstrip("\n").split("\n")
        fields = dict(line.split(": ", 1) for line in lines)
        if fields["data"].encode() != PROTOCOLS[run.protocol].ending:
            frames.append((int(fields["id"]) if "id" in fields else None, fields["data"].encode()))
    await chunks.aclose()
    return frames


async def by_lines(run: StreamRun, after: int | None, most: int) -> Frames:
    frames: Frames = []
    lines = one_by_one(run.json_lines(after))
    while len(frames) < most and (line := await anext(lines, None)) is not None:
        frames.append(((after or 0) + len(frames) + 1, line.rstrip(b"\n")))
    await lines.aclose()
    return frames


async def by_websocket(run: StreamRun, after: int | None, most: int) -> Frames:
    frames: Frames = []

    async def send(text: str) -> None:
        frames.append(((after or 0) + len(frames) + 1, text.encode()))
        if len(frames) == most:
            raise ConnectionResetError

    with suppress(ConnectionResetError):
        await run.websocket(send, None, after)
    return frames


FORMS: list[Callable[[StreamRun, int | None, int], Coroutine[Any, Any, Frames]]] = [by_sse, by_lines, by_websocket]
WHOLE = 10**9


async def in_pieces(read: Any, run: StreamRun, pieces: list[int]) -> Frames:
    """Read as a reader that leaves after so many frames, each time; at last it stays to the end."""
    frames: Frames = []
    last = None
    for most in [*pieces, WHOLE]:
        frames += await read(run, last, most)
        last = frames[-1][0]
    return frames


async def paced(events: Any, pauses: list[int]) -> AsyncIterator[Any]:
    """Yield events with pauses between them, so that a reader is now behind, now waiting."""
    following = iter(pauses)
    async for event in events:
        if pause := next(following, 0):
            await asyncio.sleep(pause)
        yield event


async def each(events: list[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event


def recorded() -> list[ChunkResponse]:
    chunks: list[ChunkResponse] = []
    from_recording("tests/streams/openai_chat/write_file.sse").subscribe(chunks.append)
    return chunks


CHUNKS = recorded()


@looped("read", FORMS)
@looped("protocol", PROTOCOLS_OF_TYPE)
def test_a_reader_that_leaves_at_every_event_gets_the_whole(protocol: UiProtocol, read: Any):
    async def main() -> None:
        runs = StreamRuns()
        events = adrive(paced(each(CHUNKS), [0, 1] * 100), api_tool_call())
        run = runs.start(events, protocol=protocol)
        whole, again = await asyncio.gather(by_sse(run, None, WHOLE), in_pieces(read, run, [1] * 400))
        assert [number for number, _ in whole] == [*range(1, run.last_event_id + 1)]
        assert again == whole
        assert len(whole) > 10

    virtual_time.run(main())


@given(
    st.lists(st.text(max_size=3), max_size=30),
    st.lists(st.integers(0, 2), max_size=30),
    st.lists(st.lists(st.integers(1, 9), max_size=12), min_size=3, max_size=3),
    st.sampled_from([None, ProviderError("busy")]),
)
def test_readers_that_come_and_go_at_once_all_get_what_to_sse_sends(
    texts: list[str], pauses: list[int], pieces: list[list[int]], error: Exception | None
):
    async def stream() -> AsyncIterator[Any]:
        for text in texts:
            yield Notice("n", text)
        if error is not None:
            raise error

    async def main() -> None:
        run = StreamRuns().start(paced(stream(), pauses))
        readers = [in_pieces(read, run, left) for read, left in zip(FORMS, pieces, strict=True)]
        all_read = await asyncio.gather(*readers)
        whole = [chunk.partition(b"data: ")[2].rstrip(b"\n") async for chunk in one_by_one(to_sse(stream()))]
        assert all_read == [[*zip(count(1), whole, strict=False)]] * 3

    virtual_time.run(main())


@pytest.mark.parametrize("protocol", PROTOCOLS_OF_TYPE)
def test_who_comes_late_gets_what_to_sse_sends_with_ids(protocol: UiProtocol):
    async def main() -> None:
        run = StreamRuns().start(each(EVENTS), protocol=protocol)
        first = [chunk async for chunk in one_by_one(run.sse())]
        assert [chunk async for chunk in one_by_one(run.sse(""))] == first
        assert [chunk async for chunk in one_by_one(run.sse(str(run.last_event_id - 1)))] == first[
            run.last_event_id - 1 :
        ]
        assert len(first) == run.last_event_id + bool(PROTOCOLS[protocol].ending)
        if PROTOCOLS[protocol].goes_on_after_gap:  # ours, in which nothing is random
            assert first == [chunk async for chunk in one_by_one(to_sse(each(EVENTS), protocol=protocol, ids=True))]

    virtual_time.run(main())


@pytest.mark.parametrize("protocol", PROTOCOLS_OF_TYPE)
def test_a_gap_is_told_first_in_every_protocol(protocol: UiProtocol):
    async def main() -> None:
        runs = StreamRuns(max_frames=2)
        run = runs.start(adrive(each(CHUNKS), api_tool_call()), protocol=protocol)
        whole = await by_sse(run, None, WHOLE)
        (number, told), *rest = await by_sse(run, 1, WHOLE)
        assert number is None
        if PROTOCOLS[protocol].goes_on_after_gap:
            assert told == b'{"type":"STREAM_GAP","after":1,"next":%d}' % (len(whole) - 1)
            assert rest == whole[-2:]
        else:
            assert {number for number, _ in rest} <= {None}
            assert b"no longer kept" in b"".join([told, *(frame for _, frame in rest)])
        assert await by_sse(run, len(whole) - 2, WHOLE) == whole[-2:]

    virtual_time.run(main())


def test_rows_say_what_their_official_clients_need():
    for name, row in PROTOCOLS.items():
        if "x-vercel-ai-ui-message-stream" in row.headers:  # it appends what it gets to the message that it has
            assert (row.resumes_ended, row.nothing_to_resume) == (False, 204)
        if name.startswith("ag"):
            assert row.nothing_to_resume == 404


MUTANTS = {
    "a reader that comes back misses a frame": ("", ("sinks/resume/stream_runs.py", "        self.taken = taken\n", "        self.taken = taken + bool(taken)\n")),
    "a gap is not told": ("", ("sinks/resume/stream_runs.py", "            self._gap.extend(frames)\n", "")),
}  # fmt: skip
