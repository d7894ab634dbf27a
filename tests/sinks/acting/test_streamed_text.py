"""`StreamedText`: what is put is read, then the end or the error; and how far the one is ahead of the other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import pytest
import virtual_time
from hypothesis import given
from hypothesis import strategies as st

from penstock.events import CallCutError
from penstock.sinks.acting.streamed_text import StreamedText, whole_text


async def rest(reader: Any) -> list[str]:
    return [piece async for piece in cast("AsyncIterator[str]", reader)]


def put(text: StreamedText, *pieces: str) -> None:
    for piece in pieces:
        assert text.put(piece) is None


@pytest.mark.parametrize("given", ["", "abc"])
def test_a_whole_text_is_one_piece_or_none(given: str):
    assert [*cast("Iterator[str]", whole_text(given, is_async=False))] == [given] * bool(given)
    assert virtual_time.run(rest(whole_text(given, is_async=True))) == [given] * bool(given)


@given(st.lists(st.text(max_size=3), max_size=20), st.integers(0, 20), st.booleans(), st.booleans())
def test_what_is_put_is_read(pieces: list[str], before: int, is_cut: bool, is_ended_before: bool):
    async def main() -> None:
        text = StreamedText()
        put(text, *pieces[:before])
        if is_ended_before:
            put(text, *pieces[before:])
            text.end(CallCutError("limit") if is_cut else None)
        reader = text.reader(is_async=True)
        if not is_ended_before:
            put(text, *pieces[before:])
            text.end(CallCutError("limit") if is_cut else None)
        read: list[str] = []

        async def read_all() -> None:
            async for piece in cast("AsyncIterator[str]", reader):
                read.append(piece)  # noqa: PERF401 - what came before an error counts

        if is_cut:
            with pytest.raises(CallCutError, match="limit"):
                await read_all()
        else:
            await read_all()
        assert reader.hears_of_cut == is_cut
        assert "".join(read) == "".join(pieces)

    virtual_time.run(main())


def test_a_thread_reads_what_is_put_meanwhile():
    text, read = StreamedText(), list[str]()
    reader = text.reader(is_async=False)
    thread = threading.Thread(target=lambda: read.extend(cast("Iterator[str]", reader)))
    thread.start()
    put(text, "a", "b")
    text.end()
    thread.join(20)
    assert (read, thread.is_alive()) == (["a", "b"], False)


def test_only_the_first_end_counts_and_nothing_comes_behind_it():
    async def main() -> None:
        text = StreamedText()
        text.end()
        text.end(CallCutError("limit"))
        put(text, "late")
        reader = text.reader(is_async=True)
        put(text, "late")
        assert await rest(reader) == []

    virtual_time.run(main())


def test_the_stream_waits_for_a_tool_that_is_behind_and_not_for_ever():
    async def main() -> list[float]:
        now = asyncio.get_running_loop().time
        text = StreamedText()
        reader: Any = text.reader(is_async=True)
        put(text, *map(str, range(64)))
        waiting = text.put("64")
        assert waiting is not None
        task = asyncio.ensure_future(waiting)
        await asyncio.sleep(0.2)
        assert await anext(reader) == "0"
        await task
        times = [now()]
        waiting = text.put("65")
        assert waiting is not None
        await waiting
        times.append(now())
        put(text, *map(str, range(66, 1000)))  # it is never waited for again
        text.end()
        assert await rest(reader) == [str(number) for number in range(1, 1000)]
        return times

    first, second = virtual_time.run(main())
    assert first == pytest.approx(0.2, abs=0.06)
    assert second - first == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("is_done", [True, False])
def test_nothing_waits_for_a_tool_that_has_left(is_done: bool):
    async def main() -> None:
        text = StreamedText()
        reader: Any = text.reader(is_async=True)
        put(text, *map(str, range(64)))
        waiting = text.put("64")
        assert waiting is not None
        task = asyncio.ensure_future(waiting)
        await asyncio.sleep(0)
        text.leave(is_done=is_done)
        await task
        assert asyncio.get_running_loop().time() < 0.1
        put(text, "late")
        with pytest.raises(StopAsyncIteration if is_done else CallCutError):
            await anext(reader)

    virtual_time.run(main())


def test_a_text_that_nobody_has_begun_to_read_can_be_left():
    text = StreamedText()
    put(text, "a")
    text.leave(is_done=False)
    put(text, "b")


def test_a_read_that_is_cancelled_loses_nothing():
    async def main() -> None:
        text = StreamedText()
        reader: Any = text.reader(is_async=True)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await anext(reader)
        assert not reader.hears_of_cut
        put(text, "a")
        assert await anext(reader) == "a"

    virtual_time.run(main())


MUTANTS = {
    "a tool that goes on alone reads a clean end": (["tests/sinks/acting/test_streamed_text.py", "tests/sinks/acting/test_read_calls.py goes_on"], ("sinks/acting/streamed_text.py", 'cut(self._error or CallCutError("interrupted"))', "close()")),
    "a text is lost where the stream does not wait for its tool any more": (["tests/sinks/acting/test_streamed_text.py", "tests/sinks/acting/test_read_calls.py slow_tool"], ("sinks/acting/streamed_text.py", "                channel.release()\n", "")),
}  # fmt: skip
