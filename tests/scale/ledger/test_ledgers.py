"""What every ledger promises; each backend is asked all of it."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ledger_backends import BACKENDS, AnyLedger, at, new_address, opened
from looped import looped

from penstock.events import UsageError
from penstock.scale import LedgerEntry, LedgerUnavailableError, PostgresLedger, SqliteLedger
from penstock.scale.ledger.sqlite_ledger import LedgerRows
from penstock.sinks.acting.ledger import deny, finish, intend, lose, release, renew, start

KEY, OTHER = "a" * 40, "b" * 40
INTEND = intend(KEY, "pay", "digest")
ODD = '{"value": "\\u0000 \\ud800 \' \\" %s ? ; --"}'


@pytest.fixture(params=BACKENDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where a new ledger is."""
    server = request.getfixturevalue("postgres") if request.param == "postgres" else ""
    return new_address(request.param, tmp_path, server)


def ask(question: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(60):
            await question()

    asyncio.run(main())


def started(owner: str, lease: float = 30.0, *, again: bool = False, digest: str = "digest"):
    return start(intend(KEY, "pay", digest), digest, owner, lease, again=again)


async def changed(ledger: AnyLedger, change) -> LedgerEntry:
    entry = await ledger.change(KEY, change)
    assert entry is not None
    return entry


def test_what_one_has_written_another_reads(address: str):
    async def question() -> None:
        async with opened(address) as one, opened(address) as other:
            assert await other.entry(KEY) is None
            entry = await changed(one, INTEND)
            assert entry[:7] == (KEY, "pay", "digest", "intended", "", 0.0, "")
            assert await other.entry(KEY) == entry
            begun = await changed(other, started("me"))
            assert (begun.state, begun.owner) == ("started", "me")
            assert 20 < begun.until - begun.changed < 40
            assert (await changed(one, started("you"))) == begun
            done = await changed(other, finish("me", ODD))
            assert (done.state, done.outcome) == ("done", ODD)
            assert await one.entry(KEY) == done
        async with opened(address) as later:
            assert await later.entry(KEY) == done
            assert await later.entry(OTHER) is None

    ask(question)


def test_a_change_that_was_not_heard_of_is_asked_for_again_and_changes_nothing(address: str):
    async def question() -> None:
        async with opened(address) as ledger:
            for change in (INTEND, started("me"), renew("me", 60.0), finish("me", "{}")):
                first = await changed(ledger, change)
                again = await changed(ledger, change)
                assert again[:5] == first[:5]
                assert again.outcome == first.outcome

    ask(question)


def test_of_many_that_start_a_call_at_once_one_does(address: str):
    async def question() -> None:
        ledgers = [at(address) for _ in range(8)]
        for number in range(5):
            key = f"{number}" * 40
            change = [start(intend(key, "pay", "d"), "d", f"owner {n}", 30.0, again=False) for n in range(len(ledgers))]
            found = await asyncio.gather(
                *(ledger.change(key, each) for ledger, each in zip(ledgers, change, strict=True))
            )
            assert {each.state for each in found if each} == {"started"}
            assert len({each.owner for each in found if each}) == 1
        for ledger in ledgers:
            await ledger.aclose()

    ask(question)


def test_a_call_whose_worker_has_died_is_unknown_when_its_lease_ends(address: str):
    async def question() -> None:
        async with opened(address) as ledger:
            await changed(ledger, started("me", -1.0))
            seen = await ledger.entry(KEY)
            assert seen is not None
            assert seen.state == "unknown"
            assert seen.reason == "the worker that ran it has died, or was cut off from the ledger"
            (listed,) = await ledger.unknown_calls()
            assert (listed.key, listed.state, listed.reason) == (KEY, "unknown", seen.reason)
            assert (await changed(ledger, started("you"))).state == "unknown"
            assert (await changed(ledger, renew("me", 30.0))).state == "unknown"
            assert (await changed(ledger, finish("you", "{}"))).state == "unknown"
            assert (await changed(ledger, finish("me", "{}"))).state == "done"
            assert await ledger.unknown_calls() == []

    ask(question)


def test_an_unknown_call_may_start_again_if_it_is_asked_so_and_its_first_worker_is_fenced(address: str):
    async def question() -> None:
        async with opened(address) as ledger:
            await changed(ledger, started("me"))
            assert (await changed(ledger, lose("you", "no"))).state == "started"
            assert (await changed(ledger, lose("me", "cut \ud800"))).reason == "cut \ud800"
            begun = await changed(ledger, started("you", again=True))
            assert (begun.state, begun.owner) == ("started", "you")
            for change in (finish("me", "{}"), lose("me", "late"), release("me"), renew("me", 99.0), deny("{}")):
                assert await changed(ledger, change) == begun
            assert (await changed(ledger, release("you"))).reason == "cut \ud800"

    ask(question)


def test_a_call_whose_tool_has_not_begun_is_released_and_a_denial_is_kept(address: str):
    async def question() -> None:
        async with opened(address) as ledger:
            await changed(ledger, started("me"))
            assert (await changed(ledger, release("me")))[3:7] == ("intended", "", 0.0, "")
            assert (await changed(ledger, deny('{"denied": "no"}'))).state == "done"
            assert (await changed(ledger, started("me", again=True))).state == "done"

    ask(question)


def test_a_key_with_another_digest_does_not_start(address: str):
    async def question() -> None:
        async with opened(address) as ledger:
            await changed(ledger, INTEND)
            assert (await changed(ledger, started("me", digest="other")))[2:4] == ("digest", "intended")

    ask(question)


def test_a_change_that_raises_changes_nothing(address: str):
    def broken(entry: LedgerEntry | None, now: float) -> LedgerEntry | None:
        raise LookupError

    async def question() -> None:
        async with opened(address) as ledger:
            entry = await changed(ledger, INTEND)
            with pytest.raises(LookupError):
                await ledger.change(KEY, broken)
            assert await ledger.entry(KEY) == entry
            assert (await changed(ledger, started("me"))).state == "started"

    ask(question)


def test_what_is_older_than_is_kept_is_forgotten_but_no_call_that_runs(address: str):
    async def question() -> None:
        async with opened(address) as ledger:
            for key, change in ((KEY, INTEND), (OTHER, start(intend(OTHER, "t", "d"), "d", "me", 30.0, again=False))):
                await ledger.change(key, change)
        async with opened(address, keep=1e-9) as ledger:  # it looks at its first change, and then once an hour
            await ledger.change("c" * 40, lambda entry, now: entry)
            assert await ledger.entry(KEY) is None
            found = await ledger.entry(OTHER)
            assert found is not None
            assert found.state == "started"

    ask(question)


def test_unknown_calls_are_listed_from_the_oldest_on(address: str):
    async def question() -> None:
        async with opened(address) as ledger:
            keys = [f"{number}" * 40 for number in (3, 1, 2)]
            for key in keys:
                await ledger.change(key, start(intend(key, "t", "d"), "d", "me", 30.0, again=False))
                await ledger.change(key, lose("me", key))
            await ledger.change(KEY, INTEND)
            assert [each.key for each in await ledger.unknown_calls()] == keys
            assert [each.key for each in await ledger.unknown_calls(most=2)] == keys[:2]

    ask(question)


def test_it_can_be_closed_and_used_again(address: str):
    async def question() -> None:
        ledger = at(address)
        await ledger.aclose()
        entry = await changed(ledger, INTEND)
        await ledger.aclose()
        await ledger.aclose()
        assert await ledger.entry(KEY) == entry
        await ledger.aclose()

    ask(question)


def test_a_ledger_of_another_version_is_refused_and_left_as_it_is(address: str):
    async def question() -> None:
        async with opened(address) as ledger:
            await changed(ledger, INTEND)
        if "://" in address:
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute("update penstock_ledger set version = 2")
        else:
            with closing(sqlite3.connect(address)) as database:
                database.execute("pragma user_version = 2")
        async with opened(address) as ledger:
            with pytest.raises(UsageError, match="version 2, and this Penstock needs version 1"):
                await ledger.change(OTHER, intend(OTHER, "pay", "digest"))
            with pytest.raises(UsageError, match="version 2"):
                await ledger.unknown_calls()

    ask(question)


@pytest.mark.parametrize("ledger", [SqliteLedger, PostgresLedger])
@looped("times", [{"lease": 0}, {"lease": -1.0}, {"keep": 0}, {"keep": float("nan")}, {"lease": "30"}, {"keep": True}])
def test_a_time_that_is_not_above_zero_is_refused(ledger: Callable[..., AnyLedger], times: dict[str, Any]):
    (name,) = times
    with pytest.raises(UsageError, match=f"{name}= must be a number of seconds above 0"):
        ledger("calls.sqlite", **times)
    ledger("calls.sqlite", **{name: float("inf")})


def test_a_file_that_is_something_else_is_refused(tmp_path: Path):
    file = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.execute("create table own (a)")
    with pytest.raises(UsageError, match="is another database"):
        asyncio.run(SqliteLedger(file).change(KEY, INTEND))
    text = tmp_path / "text"
    text.write_text("no database at all " * 100)
    for path in (text, tmp_path, tmp_path / "missing" / "file"):
        with pytest.raises(LedgerUnavailableError, match="cannot be used"):
            asyncio.run(SqliteLedger(path).change(KEY, INTEND))
    assert text.read_text().startswith("no database at all")


def test_a_file_that_was_removed_or_replaced_is_left_for_the_one_that_others_open(tmp_path: Path):
    file = tmp_path / "calls.sqlite"
    one, other, third = (LedgerRows(file, keep=60) for _ in range(3))
    owners: list[str] = []

    def starts(rows: LedgerRows, owner: str) -> None:
        entry = rows.change(KEY, started(owner))
        assert entry is not None
        owners.append(entry.owner)

    starts(one, "before")
    for left in tmp_path.iterdir():
        left.unlink()
    starts(one, "one")
    starts(other, "other")
    file.rename(tmp_path / "away.sqlite")
    starts(third, "third")
    starts(one, "one")
    assert owners == ["before", "one", "one", "third", "third"]
    for rows in (one, other, third):
        rows.close()


def test_the_file_is_for_nobody_else_to_read_and_is_written_through(tmp_path: Path):
    file = tmp_path / "calls.sqlite"

    async def question() -> None:
        async with opened(str(file)) as ledger:
            await changed(ledger, INTEND)
            assert isinstance(ledger, SqliteLedger)
            database = ledger._rows._database
            assert database is not None
            assert [*database.execute("pragma synchronous"), *database.execute("pragma journal_mode")] == [
                (2,),
                ("wal",),
            ]

    ask(question)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_another_process_has_locked_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("penstock.scale.ledger.sqlite_ledger._BUSY", 0.01)
    file = tmp_path / "calls.sqlite"

    async def question() -> None:
        async with opened(str(file)) as ledger:
            await changed(ledger, INTEND)
            with closing(sqlite3.connect(file, isolation_level=None)) as other:
                other.execute("begin immediate")
                with pytest.raises(LedgerUnavailableError, match="locked"):
                    await ledger.change(KEY, started("me"))
                found = await ledger.entry(KEY)
                assert found is not None
                assert found.state == "intended"
            assert (await changed(ledger, started("me"))).state == "started"

    ask(question)


def test_a_server_that_is_away_is_unavailable_and_no_password_is_told():
    ledger = PostgresLedger("postgresql://me:secret@127.0.0.1:1/none")
    with pytest.raises(LedgerUnavailableError, match="cannot be used") as caught:
        asyncio.run(ledger.change(KEY, INTEND))
    assert "secret" not in str(caught.value) + repr(ledger)


def test_a_connection_that_was_lost_is_made_anew(postgres: str, tmp_path: Path):
    address = new_address("postgres", tmp_path, postgres)

    async def question() -> None:
        async with opened(address) as ledger:
            await changed(ledger, INTEND)
            with psycopg.connect(postgres, autocommit=True) as other:
                other.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'penstock ledger'"
                )
            assert (await changed(ledger, started("me"))).state == "started"

    ask(question)


def test_a_server_that_does_not_answer_is_unavailable_after_a_while(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("penstock.scale.ledger.postgres_ledger._PATIENCE", 0.5)
    address = new_address("postgres", tmp_path, postgres)

    async def question() -> None:
        async with opened(address) as ledger:
            await changed(ledger, INTEND)
            with psycopg.connect(address) as other:
                other.execute("select * from penstock_calls for update")
                with pytest.raises(LedgerUnavailableError, match=r"no answer within 0\.5 seconds"):
                    await ledger.change(KEY, started("me"))
            assert (await changed(ledger, started("me"))).state == "started"

    ask(question)


def test_changes_wait_for_the_disk_of_a_server_that_would_not(postgres: str, tmp_path: Path):
    address = f"{new_address('postgres', tmp_path, postgres)}%20-csynchronous_commit%3Doff"

    async def question() -> None:
        async with opened(address) as ledger:
            await changed(ledger, INTEND)
            assert isinstance(ledger, PostgresLedger)
            assert ledger._connection is not None
            ((said,),) = await (await ledger._connection.execute("show synchronous_commit")).fetchall()
            assert said == "on"

    ask(question)
