"""`PostgresLedger`: a ledger in a database of Postgres, for any number of machines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, LiteralString, TypeAlias, TypeVar

from ...events.errors import UsageError, how_to_install, without_credentials
from ...sinks.acting.ledger import KEPT, LEASE, Change, LedgerEntry, LedgerUnavailableError, as_of, check_times

if TYPE_CHECKING:
    from psycopg import AsyncConnection

T = TypeVar("T")
_Connection: TypeAlias = "AsyncConnection[tuple[Any, ...]]"

_VERSION: Final = 1
_LOCK: Final = 0x50656E6C
"""The advisory lock under which the tables are made: "Penl"."""
_TABLES: Final = (
    "create table if not exists penstock_ledger (version integer not null)",
    """create table if not exists penstock_calls (
        key text primary key, tool text not null, digest text not null, state text not null, owner text not null,
        until double precision not null, outcome text not null, changed double precision not null
    )""",
    "create index if not exists penstock_calls_by_change on penstock_calls (changed)",
)
_FIRST: Final = "insert into penstock_ledger select %s where not exists (select from penstock_ledger)"
_PATIENCE: Final = 10.0
"""Seconds for the answer to one question, with the connection that it may need."""
_SYNCHRONOUS: Final = """select set_config('synchronous_commit', 'on', false)
    where current_setting('synchronous_commit') = 'off'"""
_NOW: Final = "select extract(epoch from clock_timestamp())::double precision"
_ENTRIES: Final = "select key, tool, digest, state, owner, until, outcome, changed from penstock_calls where "
_UNKNOWN: Final = f"{_ENTRIES} state = 'unknown' or state = 'started' and until < %s order by changed limit %s"
_ADD: Final = "insert into penstock_calls values (%s, %s, %s, %s, %s, %s, %s, %s) on conflict (key) do nothing"
_PUT: Final = """update penstock_calls
    set tool = %s, digest = %s, state = %s, owner = %s, until = %s, outcome = %s, changed = %s where key = %s"""
_FORGET: Final = "delete from penstock_calls where changed < %s and state <> 'started'"


class PostgresLedger:
    """A `Ledger` in the tables `penstock_ledger` and `penstock_calls`, for any number of machines.

        call_tools(tools, ledger=PostgresLedger("postgresql://app@db.internal/app?sslmode=verify-full"))

    - `conninfo`: what libpq takes: a URL, or `host=... dbname=...`; without one, what the variables `PGHOST` and so on
      say.
    - `lease`: seconds after which a call that nobody has renewed counts as unknown: that of a process that has died.
    - `keep`: seconds for which an entry is kept after its last change. A call that comes again after that runs again.

    What it says is committed: on the disk of the server, and of its standbys where `synchronous_commit` says so. Where
    that is off, it is turned on for these changes. It has one connection, of one event loop, and makes the tables at
    its first use. `UsageError`, then, for tables of another version, and at once for times that are
    not above 0. It needs `pip install ".[postgres]"`.
    """

    def __init__(self, conninfo: str = "", *, lease: float = LEASE, keep: float = KEPT) -> None:
        check_times(lease=lease, keep=keep)
        try:
            import psycopg  # noqa: PLC0415 - of an extra
        except ImportError as error:
            message = f"PostgresLedger needs psycopg: {how_to_install('postgres')}"
            raise UsageError(message) from error
        self._psycopg = psycopg
        self._conninfo = conninfo
        self._lease = lease
        self._keep = keep
        self._connection: _Connection | None = None
        self._turn = asyncio.Lock()
        self._forgot = float("-inf")
        """When old rows were looked for the last time."""

    @property
    def lease(self) -> float:
        """Seconds after which a call that nobody has renewed counts as unknown."""
        return self._lease

    async def change(self, key: str, change: Change) -> LedgerEntry | None:
        return await self._asked(partial(self._change, key, change))

    async def entry(self, key: str) -> LedgerEntry | None:
        async def ask(connection: _Connection) -> LedgerEntry | None:
            found = await _entries(connection, f"{_ENTRIES} key = %s", key)
            return as_of(found[0], await _now(connection)) if found else None

        return await self._asked(ask)

    async def unknown_calls(self, *, most: int = 1000) -> list[LedgerEntry]:
        async def ask(connection: _Connection) -> list[LedgerEntry]:
            now = await _now(connection)
            return [as_of(each, now) for each in await _entries(connection, _UNKNOWN, now, most)]

        return await self._asked(ask)

    async def aclose(self) -> None:
        async with self._turn:
            await self._drop()

    async def _change(self, key: str, change: Change, connection: _Connection) -> LedgerEntry | None:
        after, now = await _changed(connection, key, change)
        if now >= self._forgot + 3600:
            self._forgot = now
            await connection.execute(_FORGET, (now - self._keep,))
        return after

    async def _asked(self, ask: Callable[[_Connection], Awaitable[T]]) -> T:
        async with self._turn:
            for is_last in (self._connection is None, True):  # an old connection may have been lost meanwhile
                try:
                    async with asyncio.timeout(_PATIENCE):
                        if self._connection is None:
                            self._connection = await self._opened()
                        return await ask(self._connection)
                except (self._psycopg.Error, OSError) as error:  # a timeout is an OSError
                    await self._drop()
                    if is_last or isinstance(error, TimeoutError):
                        said = str(error) or f"no answer within {_PATIENCE:g} seconds"
                        message = f"the ledger in Postgres cannot be used: {without_credentials(said)}"
                        raise LedgerUnavailableError(message) from error
                except BaseException:  # in the middle of a question nothing else can be asked
                    await self._drop()
                    raise
            raise AssertionError

    async def _opened(self) -> _Connection:
        connect = self._psycopg.AsyncConnection.connect
        connection: _Connection = await connect(self._conninfo, autocommit=True, application_name="penstock ledger")
        try:
            await connection.set_isolation_level(self._psycopg.IsolationLevel.READ_COMMITTED)
            await connection.execute(_SYNCHRONOUS)
            await _prepare(connection)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _drop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()

    def __repr__(self) -> str:
        return "PostgresLedger(...)"


async def _changed(connection: _Connection, key: str, change: Change) -> tuple[LedgerEntry | None, float]:
    """Return the entry of a key after a change, and the time."""
    async with connection.transaction():
        while True:
            found = await _entries(connection, f"{_ENTRIES} key = %s for update", key)
            before = found[0] if found else None
            now = await _now(connection)
            after = change(before, now)
            if after is None or after == before:
                return after, now
            if before is not None:
                await connection.execute(_PUT, (*after[1:], key))
                return after, now
            if (await connection.execute(_ADD, after)).rowcount:  # else another worker was faster
                return after, now


async def _prepare(connection: _Connection) -> None:
    """Make the tables where there are none, and refuse those of another version."""
    async with connection.transaction():
        ((found,),) = await (await connection.execute("select to_regclass('penstock_ledger')")).fetchall()
        if found is None:
            await connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
            for statement in _TABLES:  # to_regclass would not see here what another worker has made meanwhile
                await connection.execute(statement)
            await connection.execute(_FIRST, (_VERSION,))
        ((version,),) = await (await connection.execute("select version from penstock_ledger")).fetchall()
    if version != _VERSION:
        message = (
            f"the ledger in Postgres has version {version}, and this Penstock needs version {_VERSION}; name another "
            "database or search_path, or run the Penstock that wrote it"
        )
        raise UsageError(message)


async def _now(connection: _Connection) -> float:
    ((now,),) = await (await connection.execute(_NOW)).fetchall()
    return float(now)


async def _entries(connection: _Connection, query: LiteralString, *values: object) -> list[LedgerEntry]:
    return [LedgerEntry(*row) for row in await (await connection.execute(query, values)).fetchall()]
