"""Servers that are no log for `JetStreamLog`, and how it says so; clusters, TLS and credentials."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from looped import looped
from nats_server import KEPT_AT_ONCE, NatsServer, free_port, running_nats, shared_nats
from own_certificate import own_certificate

from penstock.events import UsageError
from penstock.scale import FencedError, JetStreamLog, LogItem, LogUnavailableError, LogWriter, Retention, stream_name
from penstock.scale.logs.jetstream_stream import (
    OPEN,
    Joined,
    Place,
    check_server,
    configuration,
    decoded,
    encoded_items,
)
from penstock.sinks.log.patience import patiently

A = stream_name("a")
STORE = "jetstream { store_dir: '%s' }"


def run(main: Coroutine[Any, Any, None]) -> None:
    async def within_a_minute() -> None:
        async with asyncio.timeout(60):
            await main

    asyncio.run(within_a_minute())


def told(log: JetStreamLog) -> Exception:
    """Return the error with which a log tells what is wrong with its server."""
    found: list[Exception] = []

    async def main() -> None:
        async with aclosing(log):
            with pytest.raises((UsageError, LogUnavailableError)) as error:
                await log.claim(A)
            found.append(error.value)

    run(main())
    return found[0]


@looped(
    "url, words",
    [
        ("http://127.0.0.1", "is like nats://host:4222, got 'http://127.0.0.1'"),
        ("nats://", "is like nats://host:4222"),
        ("nats://127.0.0.1:99999", "is like nats://host:4222"),
        ("nats://127.0.0.1,redis://me:secret@127.0.0.1", r"got 'redis://\*\*\*@127.0.0.1'"),
    ],
)
def test_what_is_no_address_is_told(url: str, words: str):
    with pytest.raises(UsageError, match=words):
        JetStreamLog(url)


@looped(
    "named, words",
    [
        ({"name": "a.b"}, r"name= has 1 to 32 of A-Z a-z 0-9 _ -, got 'a\.b'"),
        ({"name": ""}, "name= has 1 to 32"),
        ({"retention": Retention(seconds=0.5)}, "for a second or longer"),
        ({"retention": Retention(items=0)}, "an item or more"),
    ],
)
def test_what_no_stream_can_be_is_told(named: dict[str, Any], words: str):
    with pytest.raises(UsageError, match=words):
        JetStreamLog(**named)


def test_where_no_server_is_it_is_told_without_credentials():
    for _ in range(2):
        error = told(JetStreamLog(f"nats://me:secret@127.0.0.1:{free_port()}, nats://token@127.0.0.1:{free_port()}"))
        assert isinstance(error, LogUnavailableError)
        assert str(error).count("no NATS server answers at nats://***@127.0.0.1:") == 2
        assert "start one, or give its address" in str(error)
        assert "secret" not in str(error)
        assert "token" not in str(error)


@looped(
    "settings, url, words",
    [
        ("", "nats://127.0.0.1:%d", "JetStream is not switched on at nats://127.0.0.1:.*start nats-server with -js"),
        (
            STORE + "\nauthorization { user: me, password: 'a@b/c' }",
            "nats://me:other@127.0.0.1:%d",
            r"nats://\*\*\*@127.0.0.1:.* refuses the credentials",
        ),
        (STORE + "\nauthorization { token: mine }", "nats://127.0.0.1:%d", "refuses the credentials"),
        (STORE, "tls://me:secret@127.0.0.1:%d", r"tls://\*\*\*@127.0.0.1:.* does not encrypt"),
        (
            STORE + "\nmax_payload: 8KB",
            "nats://127.0.0.1:%d",
            "max_payload of the server is 8192 bytes: set it to 65536",
        ),
        (
            "accounts { A { users: [{ user: me, password: pw }] } }\n" + STORE,
            "nats://me:pw@127.0.0.1:%d",
            "JetStream is not switched on",
        ),
    ],
)
def test_a_server_that_is_no_log_is_told_with_what_to_do(tmp_path: Path, settings: str, url: str, words: str):
    with running_nats(tmp_path / "nats", settings) as server:
        error = told(JetStreamLog(url % server.port))
    assert isinstance(error, UsageError)
    assert re.search(words, str(error))
    assert "secret" not in str(error)
    assert "other" not in str(error)


def test_the_configuration_of_the_docs_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = (Path(__file__).parents[3] / "docs/log.md").read_text(encoding="utf-8")
    found = re.search(r"```text\nlisten: .*\n((?:.*\n)*?)```", page)
    assert found is not None
    monkeypatch.setenv("PENSTOCK_NATS_PASSWORD", "secret")
    with running_nats(tmp_path / "nats", found[1].replace("/var/lib/nats", "%s")) as server:

        async def main() -> None:
            async with aclosing(JetStreamLog(f"nats://penstock:secret@127.0.0.1:{server.port}")) as log:
                assert await log.append(A, [b"one"], (await log.claim(A)).fence, after=0) == 1

        run(main())
        assert "refuses the credentials" in str(told(JetStreamLog(server.url)))


def test_an_old_server_is_told():
    for version in ((2, 12), (2, 15), (3, 0)):
        check_server(version, 1024 * 1024)
    for version in ((0, 0), (1, 99), (2, 11)):
        with pytest.raises(UsageError, match=r"needs nats-server 2\.12 or later, and this is"):
            check_server(version, 1024 * 1024)


def test_replicas_that_a_server_does_not_have_are_told():
    error = told(JetStreamLog(shared_nats().url, replicas=3, name="three"))
    assert isinstance(error, UsageError)
    assert re.search("replicas > 1 not supported", str(error))


@looped(
    "changed, words",
    [
        ({"metadata": {}}, "is of something else than Penstock: .*nats stream rm other"),
        ({"metadata": {"penstock": "7"}}, r"another version of Penstock \(7\)"),
        ({"max_age": 5_000_000_000}, "max_age is 5000000000 and must be 86400000000000.*one retention="),
        ({"allow_atomic": False}, "allow_atomic is None and must be True"),
        ({"republish": None}, "republish is None"),
        (
            {"allow_direct": False, "max_msg_size": 1000},
            "allow_direct is False.*max_msg_size is 1000 and must be 65536",
        ),
    ],
)
def test_a_stream_that_is_set_up_otherwise_is_refused(changed: dict[str, Any], words: str):
    async def made() -> None:
        wanted = configuration("other", Retention(), 1)
        async with aclosing(JetStreamLog(shared_nats().url, name="unused")) as log:
            connection = await log._link.connected()
            await connection.ask("$JS.API.STREAM.DELETE.other")
            answer = await connection.ask("$JS.API.STREAM.CREATE.other", json.dumps({**wanted, **changed}).encode())
            assert "error" not in json.loads(answer.data)

    run(made())
    error = told(JetStreamLog(shared_nats().url, name="other"))
    assert isinstance(error, UsageError)
    assert re.search(words, str(error))


def test_messages_that_another_version_wrote_are_refused():
    async def main() -> None:
        async with aclosing(JetStreamLog(shared_nats().url, name="strange")) as log:
            connection = await log._link.connected()
            for message in (b"", b"hello", b"\x96\x02\x00\x00\x00\x00\x90", b"\x95\x01\x00\x00\x00"):
                state = await log.claim(A)
                waiting = asyncio.ensure_future(anext(log.follow(A)))
                await asyncio.sleep(0.05)
                await connection.ask(f"strange.s.{A}", message)
                for asked in (waiting, log.state(A), log.read(A), anext(log.follow(A)), log.claim(A)):
                    with pytest.raises(UsageError, match=r"did not write.*another name="):
                        await asked
                with pytest.raises(UsageError, match="did not write"):
                    await log.append(A, [b"one"], state.fence, after=0)
                await connection.ask("$JS.API.STREAM.PURGE.strange")

    run(main())


def test_processes_that_begin_together_make_one_stream():
    async def main() -> None:
        async with AsyncExitStack() as stack:
            logs = [JetStreamLog(shared_nats().url, name="together") for _ in range(5)]
            for log in logs:
                stack.push_async_callback(log.aclose)
            assert len({state.fence for state in await asyncio.gather(*(log.claim(A) for log in logs))}) == 5

    run(main())


def test_a_closed_log_says_so_and_its_readers_end():
    async def main() -> None:
        log = JetStreamLog(shared_nats().url, name="closed")
        await log.claim(A)
        waiting = asyncio.ensure_future(anext(log.follow(A)))
        await asyncio.sleep(0.05)
        await log.aclose()
        await log.aclose()
        for asked in (log.claim(A), log.read(A), waiting):
            with pytest.raises(UsageError, match="the log is closed"):
                await asked

    run(main())


def test_a_small_server_holds_large_items(tmp_path: Path):
    items = [b"small", bytes(range(256)) * 1024, b"", b"x" * 200_000, b"end", *[b"y" * 30_000] * 5]
    expected = [LogItem(number, data) for number, data in enumerate(items, 1)]

    async def main(url: str) -> None:
        async with aclosing(JetStreamLog(url)) as log, aclosing(JetStreamLog(url)) as elsewhere:
            state = await log.claim(A)
            reader = elsewhere.follow(A)
            live = asyncio.ensure_future(anext(reader))
            await asyncio.sleep(0.05)
            assert await log.append(A, items[:2], state.fence, after=0) == 2
            assert await log.append(A, items[2:], state.fence, after=2) == 10
            await log.close(A, state.fence)
            assert [*await live, *[item async for each in reader for item in each]] == expected
            for after in range(11):
                assert await elsewhere.read(A, after, most=1) == expected[after : after + 1]
                assert [item async for each in log.follow(A, after) for item in each] == expected[after:]

    with running_nats(tmp_path / "nats", f"max_payload: 64KB\n{STORE}") as server:
        run(main(server.url))


def test_items_go_into_as_few_messages_as_hold_them_and_come_out_whole():
    place = Place(9, 1, 5, OPEN, 100)
    for sizes in ([], [0], [10, 20], [5000], [1, 5000, 1], [3000, 3000], [8976], [8977], [20_000, 20_000]):
        items = [bytes([number]) * size for number, size in enumerate(sizes)]
        messages = [*encoded_items(place, items, 10_000)]
        assert all(len(message) <= 10_000 for message in messages)
        joined = Joined(100)
        found = [item for seq, message in enumerate(messages) for item in joined.items(seq, decoded(message))]
        assert found == [LogItem(number, data) for number, data in enumerate(items, 101)]
        assert len(messages) == {20_000: 6, 8977: 2, 8976: 1}.get(sizes[-1] if sizes else 0, len(messages))


def certificates(folder: Path) -> tuple[str, ssl.SSLContext]:
    """Return the settings of a server with a certificate of its own, and what knows it."""
    own_certificate(folder)
    settings = f"{STORE}\ntls {{ cert_file: '{folder / 'cert.pem'}', key_file: '{folder / 'key.pem'}' }}"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(folder / "cert.pem")
    return settings + "\nauthorization { user: me, password: 'a@b/c:d' }", context


def test_with_tls_and_a_password_of_any_characters(tmp_path: Path):
    settings, context = certificates(tmp_path)

    async def main(url: str) -> None:
        async with aclosing(JetStreamLog(url, tls=context)) as log:
            state = await log.claim(A)
            assert await log.append(A, [b"one"], state.fence, after=0) == 1

    with running_nats(tmp_path / "nats", settings) as server:
        run(main(f"tls://me:a%40b%2Fc%3Ad@127.0.0.1:{server.port}"))
        error = told(JetStreamLog(f"tls://me:a%40b%2Fc%3Ad@127.0.0.1:{server.port}"))
        assert isinstance(error, UsageError)
        assert re.search(r"certificate of tls://\*\*\*@127.0.0.1:.* is not accepted", str(error))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[NatsServer]]:
    routes = [free_port() for _ in range(3)]
    with ExitStack() as stack:
        servers = []
        for number, route in enumerate(routes):
            settings = (
                f"server_name: n{number}\n{KEPT_AT_ONCE}\ncluster {{ name: test, listen: '127.0.0.1:{route}', "
                f"routes: [{', '.join(f'nats://127.0.0.1:{each}' for each in routes)}] }}"
            )
            servers.append(stack.enter_context(running_nats(tmp_path / f"n{number}", settings)))
        yield servers


@pytest.mark.slow
def test_of_three_replicas_the_one_that_leads_may_be_killed(cluster: list[NatsServer]):
    url = ",".join(server.url for server in cluster)

    async def main() -> None:
        async with (
            aclosing(JetStreamLog(url, replicas=3)) as log,
            aclosing(JetStreamLog(url, replicas=3)) as elsewhere,
        ):
            await patiently(partial(log.claim, A))  # until the cluster has a leader
            streams = [stream_name("cluster", number) for number in range(5)]
            writers = [await LogWriter.claimed(log, stream, every=0.01) for stream in streams]
            readers = [asyncio.ensure_future(_followed(elsewhere, stream)) for stream in streams]
            for number in range(1, 21):
                for writer in writers:
                    writer.put(b"%d" % number)
                await asyncio.sleep(0.01)
            info = await log._api(f"STREAM.INFO.{log._name}", {})
            assert info is not None
            cluster[int(info["cluster"]["leader"].removeprefix("n"))].kill()
            for writer in writers:
                writer.put(b"21")
            for writer in writers:
                await writer.flush()
            state = await patiently(partial(elsewhere.claim, streams[0]))
            writers[0].put(b"late")
            with pytest.raises(FencedError):
                await writers[0].flush()
            await elsewhere.close(streams[0], state.fence)
            for writer in writers[1:]:
                await writer.close()
            expected = [LogItem(number, b"%d" % number) for number in range(1, 22)]
            assert await asyncio.gather(*readers) == [expected] * 5

    run(main())


async def _followed(log: JetStreamLog, stream: str) -> list[LogItem]:
    return [item async for items in log.follow(stream) for item in items]
