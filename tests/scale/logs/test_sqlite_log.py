"""`SqliteLog`: what its file is, what it refuses, and what it keeps."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from penstock.events import UsageError
from penstock.scale import LogItem, LogUnavailableError, Retention, SqliteLog, stream_name
from penstock.scale.logs import log_readers, sqlite_file

A, B = stream_name("a"), stream_name("b")
Question = Callable[[SqliteLog], Awaitable[object]]


def asked(path: Path, question: Question, retention: Retention | None = None) -> None:
    async def main() -> None:
        log = SqliteLog(path, retention or Retention())
        try:
            async with asyncio.timeout(30):
                await question(log)
        finally:
            await log.aclose()

    asyncio.run(main())


async def written(log: SqliteLog, stream: str, *items: bytes) -> int:
    state = await log.claim(stream)
    await log.append(stream, items, state.fence, after=state.last)
    return state.fence


def modes(folder: Path) -> dict[str, int]:
    return {each.name: each.stat().st_mode & 0o777 for each in folder.iterdir()}


def rows(path: Path, query: str) -> int:
    with sqlite3.connect(path) as connection:
        found: int = connection.execute(query).fetchone()[0]
    connection.close()
    return found


def test_the_file_is_for_nobody_else_to_read(tmp_path: Path):
    path = tmp_path / "streams.sqlite"

    async def question(log: SqliteLog) -> None:
        await written(log, A, b"one")
        seen.update(modes(tmp_path))

    seen: dict[str, int] = {}
    asked(path, question)
    assert seen == {"streams.sqlite": 0o600, "streams.sqlite-wal": 0o600, "streams.sqlite-shm": 0o600}
    assert modes(tmp_path) == {"streams.sqlite": 0o600}


def test_what_was_written_is_there_when_the_file_is_opened_again(tmp_path: Path):
    fences: list[int] = []

    async def question(log: SqliteLog) -> None:
        fences.append(await written(log, A, b"one"))
        await log.expire(B)
        fences.append(await written(log, B, b"two"))
        await log.expire(B)

    async def again(log: SqliteLog) -> None:
        assert await log.read(A) == [LogItem(1, b"one")]
        assert (await log.claim(B)).fence > max(fences)  # also of a stream that was forgotten

    asked(tmp_path / "streams.sqlite", question)
    asked(tmp_path / "streams.sqlite", again)


def test_a_database_of_something_else_is_refused_and_stays_as_it_is(tmp_path: Path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table streams (name text)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(
        UsageError, match=rf"^{re.escape(str(path))} is a database of something else; name another file"
    ):
        SqliteLog(path)
    assert path.read_bytes() == before


def test_a_log_of_another_version_is_refused(tmp_path: Path):
    path = tmp_path / "streams.sqlite"
    asked(path, lambda log: written(log, A, b"one"))
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 2")
    connection.close()
    with pytest.raises(UsageError, match="is a log of version 2, this library has version 1; name another file"):
        SqliteLog(path)


def test_a_file_that_is_no_database_is_refused_and_stays_as_it_is(tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_bytes(b"not a database " * 1000)
    with pytest.raises(
        UsageError, match=r"damaged or something else, move it away or name another one: .* not a database"
    ):
        SqliteLog(path)
    assert path.read_bytes() == b"not a database " * 1000


def test_a_folder_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(UsageError, match=r"cannot keep streams in .*No such file.*; name another file, in a folder"):
        SqliteLog(tmp_path / "nowhere" / "streams.sqlite")


def test_a_file_that_is_damaged_later_is_told_and_not_misread(tmp_path: Path):
    path = tmp_path / "streams.sqlite"
    asked(path, lambda log: written(log, A, *(b"%d" % number * 1000 for number in range(100))))
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))

    async def question(log: SqliteLog) -> None:
        with pytest.raises(UsageError, match="damaged"):
            await log.read(A)

    asked(path, question)


def test_an_item_that_is_missing_is_told(tmp_path: Path):
    path = tmp_path / "streams.sqlite"
    asked(path, lambda log: written(log, A, *(b"%d" % number for number in range(1, 11))))
    with sqlite3.connect(path) as connection:
        connection.execute("delete from items where number in (5, 10)")
    connection.close()

    async def question(log: SqliteLog) -> None:
        for after in range(10):
            with pytest.raises(UsageError, match="damaged"):
                await log.read(A, after)

    asked(path, question)


def test_a_full_disk_is_told_and_when_there_is_space_it_goes_on(tmp_path: Path):
    async def question(log: SqliteLog) -> None:
        state = await log.claim(A)
        pages = log._writing._connection.execute("pragma page_count").fetchone()[0]
        log._writing._connection.execute(f"pragma max_page_count = {pages + 2}")
        with pytest.raises(LogUnavailableError, match=r"database or disk is full; free some space"):
            await log.append(A, [bytes(100_000)], state.fence, after=0)
        assert await log.read(A) == []
        log._writing._connection.execute("pragma max_page_count = 1000000")
        assert await log.append(A, [bytes(100_000)], state.fence, after=0) == 1
        assert await log.read(A) == [LogItem(1, bytes(100_000))]

    asked(tmp_path / "streams.sqlite", question)


def test_a_file_that_another_process_holds_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sqlite_file, "_PATIENCE", 0.1)
    path = tmp_path / "streams.sqlite"

    async def question(log: SqliteLog) -> None:
        state = await log.claim(A)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("begin immediate")
        with pytest.raises(LogUnavailableError, match="is locked; another process holds it for long"):
            await log.append(A, [b"one"], state.fence, after=0)
        other.execute("rollback")
        other.close()
        assert await log.append(A, [b"one"], state.fence, after=0) == 1

    asked(path, question)


def test_many_processes_may_make_the_file_at_once(tmp_path: Path):
    path = tmp_path / "streams.sqlite"
    code = (
        "import checkout, sys; from penstock.scale import SqliteLog; print('ready', flush=True); sys.stdin.read(1);"
        "SqliteLog(sys.argv[1]); print('opened')"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "support")}
    command = [sys.executable, "-c", code, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    processes = [subprocess.Popen(command, **pipes) for _ in range(6)]  # type: ignore[call-overload]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate(timeout=60)[0] for process in processes] == ["opened\n"] * 6


def test_appends_that_wait_are_written_in_one_transaction(tmp_path: Path):
    async def question(log: SqliteLog) -> None:
        commits: list[str] = []
        log._writing._connection.set_trace_callback(lambda text: commits.append(text) if text == "commit" else None)

        async def write(stream: str) -> None:
            state = await log.claim(stream)
            for number in range(10):
                await log.append(stream, [b"one"], state.fence, after=number)

        await asyncio.gather(*(write(stream_name(number)) for number in range(300)))
        log._writing._connection.set_trace_callback(None)
        assert len(commits) < 100  # of 3300

    asked(tmp_path / "streams.sqlite", question)


def test_a_long_stream_is_read_from_any_place_and_loses_its_oldest_items(tmp_path: Path):
    path = tmp_path / "streams.sqlite"

    async def question(log: SqliteLog) -> None:
        for stream in (A, B):
            state = await log.claim(stream)
            for at in range(0, 12_000, 400):
                await log.append(stream, [b"%d" % (at + each + 1) for each in range(400)], state.fence, after=at)
        found = await log.state(A)
        assert found is not None
        assert 5000 <= 12_000 - found.first + 1 <= 10_000
        for after in (found.first - 1, found.first, 9000, 9215, 9216, 9217, 11_000, 11_999, 12_000):
            for most in (1, 2, 512, 513, 100_000):
                expected = [
                    LogItem(number, b"%d" % number) for number in range(after + 1, min(after + most, 12_000) + 1)
                ]
                assert await log.read(A, after, most=most) == expected
        await log.expire(A)
        assert [each.number for each in await log.read(B, 11_990)] == [*range(11_991, 12_001)]

    asked(path, question, Retention(items=5000))
    assert 5000 <= rows(path, "select count(*) from items") <= 10_000
    assert rows(path, "select count(*) from marks where number < (select first from streams)") == 0


def test_a_stream_that_is_not_written_for_long_leaves_the_file_and_its_readers_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(log_readers, "LOOK_AGAIN", 0.05)
    monkeypatch.setattr(sqlite_file, "_SWEEP_EVERY", 0.0)
    path = tmp_path / "streams.sqlite"

    async def question(log: SqliteLog) -> None:
        await asyncio.gather(*(written(log, stream_name("old", number), b"one", b"two") for number in range(40)))
        reader = log.follow(stream_name("old", 0))
        assert await anext(reader) == [LogItem(1, b"one"), LogItem(2, b"two")]
        assert await anext(reader, None) is None
        while rows(path, "select count(*) from streams where name not in ('a', 'b')"):
            await written(log, "a", b"new")
            await written(log, "b", b"new")

    asked(path, question, Retention(seconds=1))
    assert rows(path, "select count(*) from items where number <= 2") <= 4


def test_a_log_that_was_closed_says_so(tmp_path: Path):
    async def main() -> None:
        log = SqliteLog(tmp_path / "streams.sqlite")
        fence = await written(log, A, b"one")
        reader = asyncio.ensure_future(anext(log.follow(A, 1)))
        await log.state(B)  # behind the first look of the reader
        await log.aclose()
        for late in (reader, log.read(A), log.append(A, [b"two"], fence, after=1)):
            with pytest.raises(UsageError, match=r"was closed by aclose\(\); open it again"):
                await late

    asyncio.run(main())
