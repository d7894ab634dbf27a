"""Logs of several processes: what one writes the others read, and a killed one loses nothing that it was told is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from log_process import appended, item, writing
from valkey_server import ValkeyServer

from penstock.scale import FencedError, LogItem, LogUnavailableError, LogWriter, StreamLog, open_log, stream_name

STREAMS = [stream_name("shared", number) for number in range(8)]
A = STREAMS[0]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ValkeyServer]:
    """Return a server that a test may kill."""
    server = ValkeyServer(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "redis"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'streams.sqlite'}"
    server: ValkeyServer = request.getfixturevalue("server")
    return server.url


def asked(address: str, question: Callable[[StreamLog], Awaitable[object]]) -> None:
    async def main() -> None:
        log = open_log(address)
        async with asyncio.timeout(60):
            await question(log)
        await log.aclose()

    asyncio.run(main())


async def followed(log: StreamLog, stream: str, last: int) -> list[LogItem]:
    """Return the items up to a number, as a reader gets them."""
    got: list[LogItem] = []
    reader = log.follow(stream)
    async for items in reader:
        got += items
        if got[-1].number >= last:
            break
    await reader.aclose()
    return got


def test_what_another_process_writes_is_read_while_it_does(address: str):
    async def question(log: StreamLog) -> None:
        early = [asyncio.ensure_future(followed(log, stream, 30)) for stream in STREAMS]
        with writing(address, *STREAMS):
            for stream, got in zip(STREAMS, await asyncio.gather(*early), strict=True):
                assert got[:30] == [LogItem(number, item(stream, number)) for number in range(1, 31)]
        assert {*await log.open_streams()} == {*STREAMS}

    asked(address, question)


def test_of_two_processes_the_later_writes_and_the_earlier_is_told(address: str):
    async def question(log: StreamLog) -> None:
        with writing(address, *STREAMS) as process:
            await asyncio.to_thread(appended, process, 50)
            states = {stream: await log.claim(stream) for stream in STREAMS}
            for stream, state in states.items():
                await log.append(stream, [b"mine"], state.fence, after=state.last)
            output, _ = await asyncio.to_thread(process.communicate)
        assert {line.split()[0] for line in output.splitlines() if line.endswith("fenced")} == {*STREAMS}
        for stream, state in states.items():
            expected = [item(stream, number) for number in range(1, state.last + 1)]
            assert [each.data for each in await log.read(stream, most=100_000)] == [*expected, b"mine"]

    asked(address, question)


def test_a_killed_writer_has_written_all_that_it_was_told(address: str):
    last: dict[str, int] = {}
    for _ in range(3):
        with writing(address, *STREAMS) as process:
            last |= appended(process, 200)
            process.kill()

    async def question(log: StreamLog) -> None:
        for stream in STREAMS:
            found = await log.read(stream, most=100_000)
            assert found == [LogItem(number, item(stream, number)) for number in range(1, len(found) + 1)]
            assert len(found) >= last[stream]
            state = await log.claim(stream)
            assert state.last == len(found)

    asked(address, question)


def test_over_a_killed_server_nothing_is_lost_nor_doubled_and_readers_go_on(server: ValkeyServer):
    sent = {stream: [f"{stream} {number}".encode() for number in range(150)] for stream in STREAMS}

    async def question(log: StreamLog) -> None:
        async def write(stream: str) -> None:
            writer = await LogWriter.claimed(log, stream, every=0.01)
            for data in sent[stream]:
                writer.put(data)
                await asyncio.sleep(0.01)
            await writer.close()

        async def read(stream: str) -> list[bytes]:
            return [each.data async for items in log.follow(stream) for each in items]

        work = [asyncio.ensure_future(one) for stream in STREAMS for one in (write(stream), read(stream))]
        for _ in range(2):
            await followed_everywhere(log)
            await asyncio.to_thread(server.kill)
            with pytest.raises(LogUnavailableError, match="does not answer"):
                await log.claim(stream_name("another"))
            await asyncio.to_thread(server.start)
        got = (await asyncio.gather(*work))[1::2]
        assert got == [*sent.values()]
        for stream in STREAMS:
            assert [each.data for each in await log.read(stream)] == sent[stream]

    async def followed_everywhere(log: StreamLog) -> None:
        states = [await log.state(stream) for stream in STREAMS]
        for stream, state in zip(STREAMS, states, strict=True):
            await followed(log, stream, 10 + (state.last if state is not None else 0))

    asked(server.url, question)


def test_what_was_acknowledged_is_there_after_the_server_was_killed(server: ValkeyServer):
    async def question(log: StreamLog) -> None:
        acknowledged = dict.fromkeys(STREAMS, 0)

        async def write(stream: str) -> None:
            state = await log.claim(stream)
            try:
                while True:
                    last = acknowledged[stream]
                    data = item(stream, last + 1)
                    acknowledged[stream] = await log.append(stream, [data], state.fence, after=last)
            except LogUnavailableError:
                return

        writers = [asyncio.ensure_future(write(stream)) for stream in STREAMS]
        await followed(log, A, 50)
        await asyncio.to_thread(server.kill)
        await asyncio.gather(*writers)
        await asyncio.to_thread(server.start)
        for stream in STREAMS:
            found = await log.read(stream, most=100_000)
            assert found == [LogItem(number, item(stream, number)) for number in range(1, len(found) + 1)]
            assert acknowledged[stream] <= len(found) <= acknowledged[stream] + 1
            state = await log.claim(stream)
            with pytest.raises(FencedError):
                await log.append(stream, [b"late"], state.fence - 1, after=len(found))

    asked(server.url, question)
