"""`RedisLog`: what it asks of the server, how it goes on without it, and what it says of it."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from own_certificate import own_certificate
from valkey_server import ValkeyServer, shared_server

from penstock.events import UsageError
from penstock.scale import LogItem, LogUnavailableError, RedisLog, Retention, stream_name
from penstock.scale.logs import log_readers

A, B = stream_name("a"), stream_name("b")
Question = Callable[[RedisLog], Awaitable[Any]]


def asked(log_at: Callable[[], RedisLog], question: Question) -> None:
    async def main() -> None:
        log = log_at()
        try:
            async with asyncio.timeout(60):
                await question(log)
        finally:
            await log.aclose()

    asyncio.run(main())


@pytest.fixture
def shared(tmp_path: Path) -> Callable[[], RedisLog]:
    """Return what opens a log of this test's own on the server of all tests."""
    return lambda: RedisLog(shared_server().url, prefix=tmp_path.name)


async def written(log: RedisLog, stream: str, *items: bytes) -> int:
    state = await log.claim(stream)
    await log.append(stream, items, state.fence, after=state.last)
    return state.fence


async def followed(log: RedisLog, stream: str) -> list[LogItem]:
    return [item async for items in log.follow(stream) for item in items]


def test_a_stream_is_two_keys_that_the_server_forgets(tmp_path: Path, shared: Callable[[], RedisLog]):
    asked(shared, lambda log: written(log, A, b"one", b"two"))
    with shared_server().client() as client:
        keys = sorted(key.decode() for key in client.scan_iter(f"{tmp_path.name}:{{*"))
        assert keys == [f"{tmp_path.name}:{{{A}}}", f"{tmp_path.name}:{{{A}}}:items"]
        assert client.xrange(keys[1]) == [(b"1-0", {b"d": b"one"}), (b"2-0", {b"d": b"two"})]
        day = Retention().seconds
        assert all(day - 60 < client.ttl(key) <= day for key in keys)


def test_a_server_that_knows_no_script_is_told_them(shared: Callable[[], RedisLog]):
    async def question(log: RedisLog) -> None:
        fence = await written(log, A, b"one")
        await asyncio.to_thread(flush)
        assert await log.append(A, [b"two"], fence, after=1) == 2
        await asyncio.to_thread(flush)
        assert await log.read(A) == [LogItem(1, b"one"), LogItem(2, b"two")]

    def flush() -> None:
        with shared_server().client() as client:
            client.script_flush()

    asked(shared, question)


def test_one_connection_tells_all_readers_and_few_carry_what_they_read(shared: Callable[[], RedisLog]):
    streams = [stream_name("many", number) for number in range(500)]

    async def question(log: RedisLog) -> None:
        readers = [asyncio.ensure_future(followed(log, stream)) for stream in streams for _ in range(4)]
        fences = await asyncio.gather(*(written(log, stream, stream.encode()) for stream in streams))
        assert await asyncio.to_thread(connections) <= before + 5
        await asyncio.gather(*(log.close(stream, fence) for stream, fence in zip(streams, fences, strict=True)))
        assert await asyncio.gather(*readers) == [[LogItem(1, stream.encode())] for stream in streams for _ in range(4)]

    def connections() -> int:
        with shared_server().client() as client:
            return len(client.client_list())

    before = connections()
    asked(shared, question)


def test_readers_look_again_when_the_connection_that_tells_them_is_lost(shared: Callable[[], RedisLog]):
    async def question(log: RedisLog) -> None:
        reader = asyncio.ensure_future(followed(log, A))
        fence = await written(log, A, b"one")
        for number in range(1, 6):
            assert await asyncio.to_thread(cut)
            await log.append(A, [b"more"], fence, after=number)
        await log.close(A, fence)
        begun = asyncio.get_running_loop().time()
        assert len(await reader) == 6
        assert asyncio.get_running_loop().time() - begun < log_readers.LOOK_AGAIN - 1

    def cut() -> int:
        """Cut what tells the readers, as soon as it is there."""
        with shared_server().client() as client:
            while not (number := client.client_kill_filter(_type="pubsub")):
                pass
            return int(number)

    asked(shared, question)


def test_a_reader_goes_on_though_nobody_told_it(shared: Callable[[], RedisLog], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_readers, "LOOK_AGAIN", 0.05)

    async def question(log: RedisLog) -> None:
        monkeypatch.setattr(log._channels, "_moved", lambda _: None)
        reader = asyncio.ensure_future(followed(log, A))
        fence = await written(log, A, b"one")
        await log.close(A, fence)
        assert await reader == [LogItem(1, b"one")]

    asked(shared, question)


def test_streams_that_are_gone_are_not_noted_as_open_for_ever(
    tmp_path: Path, shared: Callable[[], RedisLog], monkeypatch: pytest.MonkeyPatch
):
    old = [stream_name("old", number) for number in range(20)]
    key = f"{tmp_path.name}:open"

    async def question(log: RedisLog) -> None:
        for stream in old:
            await log.claim(stream)
            await log.expire(stream)
        assert await log.open_streams() == []
        with shared_server().client() as client:
            assert client.zcard(key) == 20  # they might just be claimed
            client.zadd(key, dict.fromkeys(old, 1))
        for number in range(60):
            fence = (await log.claim(stream_name(number))).fence
            await log.close(stream_name(number), fence)
        await log.claim(A)
        assert await log.open_streams() == [A]
        with shared_server().client() as client:
            assert client.zrange(key, 0, -1) == [A.encode()]

    asked(shared, question)


def test_a_key_of_something_else_is_told(tmp_path: Path, shared: Callable[[], RedisLog]):
    with shared_server().client() as client:
        client.set(f"{tmp_path.name}:{{{A}}}", "other")

    async def question(log: RedisLog) -> None:
        for ask in (log.claim(A), log.read(A)):
            with pytest.raises(UsageError, match=r"cannot keep streams: .*prefix= must not be used by anything else"):
                await ask

    asked(shared, question)


def test_a_wrong_password_is_told_without_it(tmp_path: Path):
    server = ValkeyServer(tmp_path, "--requirepass", "right-secret")
    server.start(password="right-secret")
    try:
        for user in (":wrong-secret@", "somebody:wrong-secret@", ""):
            address = f"redis://{user}127.0.0.1:{server.port}"

            async def question(log: RedisLog) -> None:
                for ask in (log.claim(A), anext(log.follow(A))):
                    with pytest.raises(
                        UsageError, match=r"refuses this user: .*; look at the user and the password"
                    ) as told:
                        await ask
                    assert "secret" not in str(told.value)

            asked(lambda address=address: RedisLog(address), question)  # type: ignore[misc]
        asked(lambda: RedisLog(f"redis://:right-secret@127.0.0.1:{server.port}"), lambda log: written(log, A, b"one"))
    finally:
        server.stop()


def test_a_server_that_is_not_there_is_told_without_credentials():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    async def question(log: RedisLog) -> None:
        for ask in (log.claim(A), log.read(A), log.open_streams()):
            with pytest.raises(
                LogUnavailableError, match=rf"^redis://\*\*\*@127\.0\.0\.1:{port} does not answer"
            ) as told:
                await ask
            assert "secret" not in str(told.value)

    asked(lambda: RedisLog(f"redis://me:secret@127.0.0.1:{port}"), question)


def test_a_server_without_memory_is_told_and_nothing_is_written_in_part(tmp_path: Path):
    server = ValkeyServer(tmp_path, "--maxmemory-policy", "noeviction")
    server.start()

    async def question(log: RedisLog) -> None:
        fence = await written(log, A, b"one")
        await asyncio.to_thread(limit, 1)
        with pytest.raises(LogUnavailableError, match=r"does not answer as a log now: .*memory"):
            await log.append(A, [b"two", b"three"], fence, after=1)
        assert await log.read(A) == [LogItem(1, b"one")]
        await asyncio.to_thread(limit, 0)
        assert await log.append(A, [b"two", b"three"], fence, after=1) == 3

    def limit(size: int) -> None:
        with server.client() as client:
            client.config_set("maxmemory", size)

    try:
        asked(lambda: RedisLog(server.url), question)
    finally:
        server.stop()


def test_a_server_of_a_cluster_takes_all_that_is_asked(tmp_path: Path):
    server = ValkeyServer(tmp_path, "--cluster-enabled", "yes")
    server.start()

    async def question(log: RedisLog) -> None:
        reader = asyncio.ensure_future(followed(log, A))
        fence = await written(log, A, b"one", b"two")
        await written(log, B, b"three")
        assert {*await log.open_streams()} == {A, B}
        await log.close(A, fence)
        assert await reader == [LogItem(1, b"one"), LogItem(2, b"two")]
        await log.expire(B)
        assert await log.open_streams() == []

    try:
        with server.client() as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
            while b"cluster_state:ok" not in client.execute_command("CLUSTER", "INFO"):
                pass
        asked(lambda: RedisLog(server.url), question)
    finally:
        server.stop()


def test_with_tls_the_certificate_of_the_server_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one_for_all: Any = ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", one_for_all.__wrapped__)  # of these tests, which each may change
    own_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")

    async def unwrap(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what comes, without TLS: the server of the tests has none."""
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", shared_server().port)
        await asyncio.gather(passed(reader, inner_writer), passed(inner_reader, writer))

    async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(unwrap, "127.0.0.1", 0, ssl=context)
        address = f"rediss://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        log = RedisLog(f"{address}?ssl_ca_certs={tmp_path / 'cert.pem'}", prefix=tmp_path.name)
        reader = asyncio.ensure_future(followed(log, A))
        fence = await written(log, A, b"one")
        await log.close(A, fence)
        assert await reader == [LogItem(1, b"one")]
        await log.aclose()
        stranger = RedisLog(address)
        with pytest.raises(LogUnavailableError, match="certificate verify failed"):
            await stranger.claim(A)
        await stranger.aclose()
        server.close()

    asyncio.run(main())


@pytest.mark.parametrize("url", ["http://127.0.0.1", "redis://me:secret@127.0.0.1:port", "redis://127.0.0.1?db=first"])
def test_a_wrong_address_is_told(url: str):
    with pytest.raises(UsageError, match=r"^the log is at redis://HOST:PORT or rediss://HOST:PORT, got ") as told:
        RedisLog(url)
    assert "secret" not in str(told.value)


def test_a_log_that_was_closed_says_so(shared: Callable[[], RedisLog]):
    async def main() -> None:
        log = shared()
        fence = await written(log, A, b"one")
        reader = asyncio.ensure_future(anext(log.follow(A, 1)))
        await log.state(A)  # behind the first look of the reader
        await log.aclose()
        for late in (reader, log.read(A), log.append(A, [b"two"], fence, after=1)):
            with pytest.raises(UsageError, match=re.escape("was closed by aclose(); open it again")):
                await late

    asyncio.run(main())
