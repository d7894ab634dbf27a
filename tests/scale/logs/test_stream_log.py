"""What every `StreamLog` promises; each backend is asked all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from log_backends import BACKENDS

from penstock.events import UsageError
from penstock.scale import ClosedError, FencedError, LogGapError, LogItem, Retention, StreamLog, stream_name
from penstock.sinks.log.stream_log import LARGEST_ITEM

Ask: TypeAlias = Callable[[Callable[[StreamLog], Awaitable[None]]], None]
A, B = stream_name("a"), stream_name("b")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def ask(backend: str, tmp_path: Path) -> Ask:
    """Run a question of a log that is new."""
    return asking(backend, tmp_path, Retention())


def asking(backend: str, folder: Path, retention: Retention) -> Ask:
    def ask(question: Callable[[StreamLog], Awaitable[None]]) -> None:
        async def main() -> None:
            async with asyncio.timeout(30), BACKENDS[backend](folder, retention) as log:
                await question(log)

        asyncio.run(main())

    return ask


def numbered(*items: bytes, after: int = 0) -> list[LogItem]:
    return [LogItem(number, data) for number, data in enumerate(items, after + 1)]


async def followed(log: StreamLog, stream: str, after: int = 0) -> list[LogItem]:
    return [item async for items in log.follow(stream, after) for item in items]


async def followed_until(log: StreamLog, stream: str, number: int) -> list[LogItem]:
    got: list[LogItem] = []
    reader = log.follow(stream)
    while len(got) < number:
        got += await anext(reader)
    await reader.aclose()
    return got


def test_what_is_appended_is_read_by_its_numbers(ask: Ask):
    async def question(log: StreamLog) -> None:
        state = await log.claim(A)
        assert (state.first, state.last, state.is_closed) == (1, 0, False)
        assert await log.append(A, [b"one", b"", b"\x00\xff\r\n"], state.fence, after=0) == 3
        assert await log.append(A, [b"four"], state.fence, after=3) == 4
        everything = numbered(b"one", b"", b"\x00\xff\r\n", b"four")
        assert await log.read(A) == everything
        assert await log.read(A, 2) == everything[2:]
        assert await log.read(A, 1, most=2) == everything[1:3]
        assert await log.read(A, 4) == await log.read(A, 9) == await log.read(B) == []
        found = await log.state(A)
        assert found is not None
        assert found[:4] == (state.fence, 1, 4, False)
        assert 0 <= found.idle < 20

    ask(question)


def test_to_append_nothing_tells_only_that_the_writer_is_alive(ask: Ask):
    async def question(log: StreamLog) -> None:
        state = await log.claim(A)
        assert await log.append(A, [], state.fence, after=0) == 0
        assert await log.read(A) == []
        assert await log.append(A, [b"one"], state.fence, after=0) == 1
        await asyncio.sleep(0.3)  # time has to pass, whose clock is the log's
        before = await log.state(A)
        assert await log.append(A, [], state.fence, after=1) == 1
        after = await log.state(A)
        assert before is not None
        assert after is not None
        assert after.idle < before.idle >= 0.2
        assert after[:4] == before[:4]
        assert await log.append(A, [b"two"], state.fence, after=1) == 2
        assert await followed_until(log, A, 2) == numbered(b"one", b"two")
        await log.claim(A)
        with pytest.raises(FencedError):
            await log.append(A, [], state.fence, after=2)

    ask(question)


def test_an_item_may_be_as_large_as_is_said_and_no_larger(ask: Ask):
    async def question(log: StreamLog) -> None:
        state = await log.claim(A)
        large = bytes(range(256)) * (LARGEST_ITEM // 256)
        assert await log.append(A, [large, large, large], state.fence, after=0) == 3
        assert await log.read(A) == numbered(large, large, large)
        with pytest.raises(UsageError, match=f"at most {LARGEST_ITEM} bytes"):
            await log.append(A, [large + b"1"], state.fence, after=3)

    ask(question)


def test_who_was_claimed_from_writes_and_closes_no_more(ask: Ask):
    async def question(log: StreamLog) -> None:
        old = await log.claim(A)
        await log.append(A, [b"old"], old.fence, after=0)
        new = await log.claim(A)
        assert new.fence > old.fence
        assert new.last == 1
        with pytest.raises(FencedError):
            await log.append(A, [b"late"], old.fence, after=1)
        with pytest.raises(FencedError):
            await log.close(A, old.fence)
        assert await log.append(A, [b"new"], new.fence, after=1) == 2
        with pytest.raises(FencedError):
            await log.append(A, [b"later"], old.fence, after=2)
        assert await log.read(A) == numbered(b"old", b"new")

    ask(question)


def test_of_many_writers_at_once_one_wins_and_nothing_mixes(ask: Ask):
    async def question(log: StreamLog) -> None:
        async def write(mark: int) -> int:
            state = await log.claim(A)
            last, written = state.last, 0
            try:
                for _ in range(20):
                    last = await log.append(A, [b"%d first" % mark, b"%d second" % mark], state.fence, after=last)
                    written += 2
            except FencedError:
                pass
            return written

        written = await asyncio.gather(*(write(mark) for mark in range(8)))
        found = await log.read(A)
        assert [each.number for each in found] == [*range(1, sum(written) + 1)]
        assert max(written) == 40
        said = [each.data.split() for each in found]
        assert all(
            one == [other[0], b"first"] and other[1] == b"second"
            for one, other in zip(said[::2], said[1::2], strict=True)
        )
        for mark, number in enumerate(written):
            assert sum(each[0] == b"%d" % mark for each in said) == number

    ask(question)


def test_to_append_the_same_again_changes_nothing(ask: Ask):
    async def question(log: StreamLog) -> None:
        state = await log.claim(A)
        for _ in range(3):
            assert await log.append(A, [b"one", b"two"], state.fence, after=0) == 2
        await log.close(A, state.fence)
        assert await log.append(A, [b"two"], state.fence, after=1) == 2
        assert await log.read(A) == numbered(b"one", b"two")

    ask(question)


def test_who_appends_at_another_place_is_told_where_the_stream_is(ask: Ask):
    async def question(log: StreamLog) -> None:
        state = await log.claim(A)
        await log.append(A, [b"one", b"two", b"three"], state.fence, after=0)
        for after in (0, 1, 4):
            with pytest.raises(UsageError, match=f"after= must be 3.*got {after}"):
                await log.append(A, [b"another"], state.fence, after=after)
        assert await log.read(A) == numbered(b"one", b"two", b"three")

    ask(question)


def test_a_closed_stream_takes_nothing_whoever_claims_it(ask: Ask):
    async def question(log: StreamLog) -> None:
        state = await log.claim(A)
        await log.append(A, [b"one"], state.fence, after=0)
        await log.close(A, state.fence)
        await log.close(A, state.fence)
        with pytest.raises(ClosedError):
            await log.append(A, [b"two"], state.fence, after=1)
        again = await log.claim(A)
        assert (again.last, again.is_closed) == (1, True)
        with pytest.raises(ClosedError):
            await log.append(A, [b"two"], again.fence, after=1)
        found = await log.state(A)
        assert found is not None
        assert found.is_closed

    ask(question)


def test_a_reader_follows_what_is_there_and_what_comes_to_the_end(ask: Ask):
    async def question(log: StreamLog) -> None:
        early = asyncio.ensure_future(followed(log, A))  # before the stream is there
        state = await log.claim(A)
        await log.append(A, [b"one"], state.fence, after=0)
        got: list[LogItem] = []
        reader = log.follow(A)
        got += await anext(reader)
        waiting = asyncio.ensure_future(anext(reader))
        behind = asyncio.ensure_future(followed(log, A, 1))
        await log.append(A, [b"two", b"three"], state.fence, after=1)
        got += await waiting
        await log.append(A, [b"four"], state.fence, after=3)
        await log.close(A, state.fence)
        got += [item async for items in reader for item in items]
        everything = numbered(b"one", b"two", b"three", b"four")
        assert got == await early == await followed(log, A) == everything
        assert await behind == await followed(log, A, 1) == everything[1:]
        assert await followed(log, A, 4) == []

    ask(question)


def test_a_reader_is_told_by_the_next_writer_too(ask: Ask):
    async def question(log: StreamLog) -> None:
        first = await log.claim(A)
        await log.append(A, [b"one"], first.fence, after=0)
        reader = asyncio.ensure_future(followed(log, A))
        second = await log.claim(A)
        await log.append(A, [b"two"], second.fence, after=1)
        await log.close(A, second.fence)
        assert await reader == numbered(b"one", b"two")

    ask(question)


def test_many_read_many_streams_at_once(ask: Ask):
    async def question(log: StreamLog) -> None:
        names = [stream_name("many", number) for number in range(20)]
        readers = [asyncio.ensure_future(followed(log, name)) for name in names for _ in range(3)]

        async def write(name: str) -> None:
            state = await log.claim(name)
            for number in range(10):
                await log.append(name, [f"{name} {number}".encode()], state.fence, after=number)
            await log.close(name, state.fence)

        await asyncio.gather(*map(write, names))
        expected = [
            numbered(*(f"{name} {number}".encode() for number in range(10))) for name in names for _ in range(3)
        ]
        assert await asyncio.gather(*readers) == expected

    ask(question)


def test_a_reader_that_leaves_leaves_nothing_behind(ask: Ask):
    async def question(log: StreamLog) -> None:
        state = await log.claim(A)
        await log.append(A, [b"one"], state.fence, after=0)
        reader = log.follow(A)
        await anext(reader)
        await reader.aclose()
        waiting = asyncio.ensure_future(followed(log, A, 1))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
        assert waiting.cancelled()
        assert await log.append(A, [b"two"], state.fence, after=1) == 2

    ask(question)


def test_a_forgotten_stream_is_gone_and_its_name_is_free(ask: Ask):
    async def question(log: StreamLog) -> None:
        state = await log.claim(A)
        await log.append(A, [b"one"], state.fence, after=0)
        reader = log.follow(A)
        await anext(reader)
        waiting = asyncio.ensure_future(anext(reader, None))
        await asyncio.sleep(0)
        await log.expire(A)
        await log.expire(A)
        assert await waiting is None
        assert await log.state(A) is None
        assert await log.read(A) == []
        with pytest.raises(FencedError):
            await log.append(A, [b"two"], state.fence, after=1)
        again = await log.claim(A)
        assert (again.first, again.last, again.is_closed) == (1, 0, False)
        with pytest.raises(FencedError):
            await log.append(A, [b"of before"], state.fence, after=0)

    ask(question)


def test_the_open_streams_are_told(ask: Ask):
    async def question(log: StreamLog) -> None:
        assert await log.open_streams() == []
        state = await log.claim(A)
        await log.claim(B)
        assert {*await log.open_streams()} == {A, B}
        await log.close(A, state.fence)
        assert await log.open_streams() == [B]
        await log.expire(B)
        assert await log.open_streams() == []

    ask(question)


def test_a_name_that_could_mean_something_to_a_server_is_refused(ask: Ask):
    async def question(log: StreamLog) -> None:
        for name in ("", "a.b", "a b", "a*", ">", "ä", "{a}", "a\n", "x" * 65):
            for asked in (log.claim(name), log.state(name), log.read(name), log.expire(name), anext(log.follow(name))):
                with pytest.raises(UsageError, match=r"use stream_name\(...\)"):
                    await asked

    ask(question)


def test_a_long_stream_keeps_its_newest_items_and_tells_of_those_that_are_gone(backend: str, tmp_path: Path):
    async def question(log: StreamLog) -> None:
        state = await log.claim(A)
        for number in range(30):
            await log.append(A, [b"%d" % (number + 1)], state.fence, after=number)
        found = await log.state(A)
        assert found is not None
        assert found.last == 30
        assert 10 <= found.last - found.first + 1 <= 20
        kept = numbered(*(b"%d" % number for number in range(found.first, 31)), after=found.first - 1)
        assert await log.read(A, found.first - 1) == kept
        for gone in (log.read(A), anext(log.follow(A, 1))):
            with pytest.raises(LogGapError) as told:
                await gone
            assert told.value.first == found.first

    asking(backend, tmp_path, Retention(items=10))(question)


def test_a_stream_that_is_not_written_for_long_is_forgotten(backend: str, tmp_path: Path):
    async def question(log: StreamLog) -> None:
        state = await log.claim(A)
        await log.append(A, [b"old"], state.fence, after=0)
        while await log.state(A) is not None:  # noqa: ASYNC110 - the log has the clock
            await asyncio.sleep(0.05)
        assert await log.read(A) == []
        assert await log.open_streams() == []
        with pytest.raises(FencedError):
            await log.append(A, [b"late"], state.fence, after=1)
        again = await log.claim(A)
        assert again.fence > state.fence
        assert (again.first, again.last) == (1, 0)
        await log.append(A, [b"new"], again.fence, after=0)
        assert await log.read(A) == numbered(b"new")

    asking(backend, tmp_path, Retention(seconds=1))(question)
