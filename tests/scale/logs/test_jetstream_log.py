"""`JetStreamLog` beside what all logs promise: killed servers, lost answers and messages, many readers, long streams."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from nats_server import NatsServer, running_nats, shared_nats

from penstock.scale import (
    FencedError,
    JetStreamLog,
    LogItem,
    LogUnavailableError,
    LogWriter,
    Retention,
    StreamLog,
    stream_name,
)
from penstock.scale.logs import jetstream_log, jetstream_pages
from penstock.scale.logs.jetstream_feed import Feed
from penstock.scale.logs.jetstream_stream import Answered
from penstock.sinks.log.patience import patiently
from penstock.sinks.log.stream_log import KEPT

A = stream_name("a")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """A server of the test's own, which it may kill."""
    with running_nats(tmp_path / "nats") as server:
        yield server


@asynccontextmanager
async def logs(number: int = 1, retention: Retention = KEPT, url: str = "") -> AsyncGenerator[list[JetStreamLog]]:
    """Logs as several processes have them, of the same streams, which are new."""
    name = f"T{token_hex(8)}"
    opened = [JetStreamLog(url or shared_nats().url, retention, name=name) for _ in range(number)]
    try:
        yield opened
    finally:
        for log in opened:
            await log.aclose()


def run(main: Coroutine[Any, Any, None]) -> None:
    async def within_a_minute() -> None:
        async with asyncio.timeout(60):
            await main

    asyncio.run(within_a_minute())


async def followed(log: StreamLog, stream: str, after: int = 0) -> list[LogItem]:
    return [item async for items in log.follow(stream, after) for item in items]


def numbered(*items: bytes) -> list[LogItem]:
    return [LogItem(number, data) for number, data in enumerate(items, 1)]


def test_what_is_acknowledged_outlives_killed_servers_and_writers_and_readers_go_on(
    server: NatsServer, caplog: pytest.LogCaptureFixture
):
    streams = [stream_name("killed", number) for number in range(20)]

    async def main() -> None:
        async with logs(2, url=server.url) as (log, elsewhere):
            writers = [await LogWriter.claimed(log, stream, every=0.01) for stream in streams]
            readers = [asyncio.ensure_future(followed(one, stream)) for stream in streams for one in (log, elsewhere)]
            written: list[list[bytes]] = [[] for _ in streams]

            async def write() -> None:
                """Write until each stream has some more in the log."""
                seen = [writer.last for writer in writers]
                while any(writer.last <= last + 5 for writer, last in zip(writers, seen, strict=True)):
                    for writer, items in zip(writers, written, strict=True):
                        items.append(b"%d" % len(items))
                        writer.put(items[-1])
                        await writer.room()
                    await asyncio.sleep(0.005)

            for _ in range(4):
                await write()
                in_log = [writer.last for writer in writers]
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start)
                for stream, last in zip(streams, in_log, strict=True):
                    items = await patiently(partial(elsewhere.read, stream, most=100_000))
                    assert len(items) >= last
                    assert items == numbered(*(b"%d" % number for number in range(len(items))))
            for writer in writers:
                await writer.close()
            expected = [numbered(*items) for items in written for _ in range(2)]
            assert await asyncio.gather(*readers) == expected

    with caplog.at_level(logging.INFO):
        run(main())
    assert not caplog.records


def test_a_writer_whose_answer_is_lost_asks_again_and_has_written_once():
    async def main() -> None:
        async with logs() as (log,):
            state = await log.claim(A)
            connection, lost = await log._link.connected(), []
            ask = connection.ask

            async def without_answer(subject: str, *arguments: Any, **named: Any) -> Answered:
                answer = await ask(subject, *arguments, **named)
                if ".s." in subject:
                    lost.append(subject)
                    raise LogUnavailableError
                return answer

            connection.ask = without_answer  # type: ignore[method-assign]
            for items, last in (([b"one", b"two"], 2), ([b"three", bytes(500_000), bytes(500_000)], 5)):
                for _ in range(2):
                    after = last - len(items)
                    if len(lost) % 2 == 0:
                        with pytest.raises(LogUnavailableError):
                            await log.append(A, items, state.fence, after=after)
                    else:
                        assert await log.append(A, items, state.fence, after=after) == last
                        lost.append("")
            with pytest.raises(LogUnavailableError):
                await log.close(A, state.fence)
            await log.close(A, state.fence)
            found = await log.state(A)
            assert found is not None
            assert found[1:4] == (1, 5, True)
            assert [len(item.data) for item in await log.read(A)] == [3, 3, 5, 500_000, 500_000]

    run(main())


def test_a_writer_is_fenced_by_a_claim_of_another_process_at_once():
    async def main() -> None:
        async with logs(2) as (log, elsewhere):
            old = await log.claim(A)
            await log.append(A, [b"old"], old.fence, after=0)
            new = await elsewhere.claim(A)
            for late in (
                log.append(A, [b"late"], old.fence, after=1),
                log.append(A, [], old.fence, after=1),
                log.close(A, old.fence),
            ):
                with pytest.raises(FencedError):
                    await late
            assert await elsewhere.append(A, [b"new"], new.fence, after=1) == 2
            assert await log.append(A, [b"through another"], new.fence, after=2) == 3
            assert await log.read(A) == numbered(b"old", b"new", b"through another")
            await elsewhere.expire(A)
            again = await elsewhere.claim(A)
            assert (again.first, again.last) == (1, 0)
            with pytest.raises(FencedError):
                await log.append(A, [b"of before"], new.fence, after=3)

    run(main())


async def listens(log: JetStreamLog) -> Feed:
    """Return the one feed of a log, when it knows where its stream is and is told what comes."""
    while not (feeds := [*log._feeds.values()]) or feeds[0].is_stale:  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.01)
    return feeds[0]


def test_of_many_appends_at_once_only_the_fenced_ones_are_refused():
    async def main() -> None:
        async with logs(2) as (log, elsewhere):
            streams = [stream_name("batch", number) for number in range(60)]
            states = await asyncio.gather(*map(log.claim, streams))
            fenced = {*streams[7:60:13]}
            for stream in fenced:
                await elsewhere.claim(stream)

            async def write(stream: str, fence: int) -> bool:
                try:
                    for number in range(3):
                        await log.append(stream, [b"%d" % number, stream.encode()], fence, after=2 * number)
                except FencedError:
                    return False
                return True

            written = await asyncio.gather(*map(write, streams, [state.fence for state in states]))
            assert {stream for stream, is_written in zip(streams, written, strict=True) if not is_written} == fenced
            for stream in streams:
                items = [item for number in range(3) for item in (b"%d" % number, stream.encode())]
                assert await elsewhere.read(stream) == ([] if stream in fenced else numbered(*items))

    run(main())


def test_what_a_server_told_in_vain_is_fetched():
    async def main() -> None:
        async with logs(2) as (log, elsewhere):
            state = await log.claim(A)
            reader = asyncio.ensure_future(followed(elsewhere, A))
            feed = await listens(elsewhere)
            came, lost = feed.came, asyncio.Event()
            feed.came = lambda _: lost.set()  # type: ignore[method-assign, assignment]
            feed.lose()
            await listens(elsewhere)
            await log.append(A, [b"one", b"two"], state.fence, after=0)
            await lost.wait()
            feed.came = came  # type: ignore[method-assign]
            feed.lose()
            feed = await listens(elsewhere)
            await log.append(A, [b"three"], state.fence, after=2)
            lost.clear()
            feed.came = lambda _: lost.set()  # type: ignore[method-assign, assignment]
            feed.lose()
            await listens(elsewhere)
            await log.append(A, [b"four"], state.fence, after=3)
            await lost.wait()
            elsewhere._link._on_dropped(f"{elsewhere._name}.n.{A}")
            await log.close(A, state.fence)
            elsewhere._link._on_dropped(f"{elsewhere._name}.n.{A}")
            assert await reader == numbered(b"one", b"two", b"three", b"four")

    run(main())


def test_a_message_behind_one_that_was_lost_shows_it():
    async def main() -> None:
        async with logs(2) as (log, elsewhere):
            state = await log.claim(A)
            reader = asyncio.ensure_future(followed(elsewhere, A))
            feed = await listens(elsewhere)
            came: list[Answered] = []
            take = feed.came

            def late(message: Answered) -> None:
                came.append(message)
                if len(came) == 3:
                    take(came[2])

            feed.came = late  # type: ignore[method-assign, assignment]
            feed.lose()
            await listens(elsewhere)
            for number in range(3):
                await log.append(A, [b"%d" % number], state.fence, after=number)
            await log.close(A, state.fence)
            feed.lose()
            assert await reader == numbered(b"0", b"1", b"2")

    run(main())


def test_a_reader_looks_itself_where_nothing_was_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jetstream_log, "_LOOK_AGAIN", 0.05)

    async def main() -> None:
        async with logs(2) as (log, elsewhere):
            state = await log.claim(A)
            reader = asyncio.ensure_future(followed(elsewhere, A))
            feed = await listens(elsewhere)
            assert feed.leave is not None
            await feed.leave()
            feed.leave = None  # it would end what has ended
            await log.append(A, [b"one"], state.fence, after=0)
            await log.close(A, state.fence)
            assert await reader == numbered(b"one")

    run(main())


def test_a_stream_that_is_not_written_is_forgotten_and_its_readers_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jetstream_log, "_LOOK_AGAIN", 0.2)

    async def main() -> None:
        async with logs(retention=Retention(seconds=1)) as (log,):
            state = await log.claim(A)
            await log.append(A, [b"one"], state.fence, after=0)
            assert await followed(log, A) == numbered(b"one")
            assert await log.state(A) is None
            with pytest.raises(FencedError):
                await log.append(A, [b"two"], state.fence, after=1)

    run(main())


def test_signs_of_life_take_no_room():
    async def main() -> None:
        async with logs(retention=Retention(items=3)) as (log,):
            state = await log.claim(A)
            await log.append(A, [b"one"], state.fence, after=0)
            for _ in range(50):
                assert await log.append(A, [], state.fence, after=1) == 1
            assert await log.append(A, [b"two"], state.fence, after=1) == 2
            assert await log.read(A) == numbered(b"one", b"two")
            info = await log._api(f"STREAM.INFO.{log._name}", {})
            assert info is not None
            assert info["state"]["messages"] == 4

    run(main())


def test_the_end_of_a_long_stream_is_found_without_reading_all_of_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jetstream_pages, "_NEAR", 10)

    async def main() -> None:
        async with logs() as (log,):
            state, other = await log.claim(A), await log.claim("other")
            for number in range(0, 600, 2):
                await log.append(A, [b"%d" % number, b"%d" % (number + 1)], state.fence, after=number)
                await log.append("other", [b"x"], other.fence, after=number // 2)
            page, read = log._pages.page, []

            async def counted(stream: str, seq: int, most: int) -> Any:
                found = await page(stream, seq, most)
                read.append(len(found))
                return found

            log._pages.page = counted  # type: ignore[method-assign]
            for after in (0, 9, 10, 11, 333, 592, 599):
                read.clear()
                found = await log.read(A, after, most=7)
                assert found == [LogItem(at, b"%d" % (at - 1)) for at in range(after + 1, min(after + 8, 601))]
                assert sum(read) < 30

    run(main())


def test_thousands_read_at_once_over_one_connection():
    async def main() -> None:
        async with logs(2) as (log, elsewhere):
            streams = [stream_name("many", number) for number in range(40)]
            readers = [asyncio.ensure_future(followed(elsewhere, stream)) for stream in streams for _ in range(50)]
            states = [await log.claim(stream) for stream in streams]
            for number in range(5):
                await asyncio.gather(
                    *(
                        log.append(stream, [b"%d" % number], state.fence, after=number)
                        for stream, state in zip(streams, states, strict=True)
                    )
                )
            await asyncio.gather(
                *(log.close(stream, state.fence) for stream, state in zip(streams, states, strict=True))
            )
            expected = numbered(*(b"%d" % number for number in range(5)))
            assert all(got == expected for got in await asyncio.gather(*readers))
            assert not elsewhere._feeds
            assert len((await elsewhere._link.connected())._subs) == 1

    run(main())
