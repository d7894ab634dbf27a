"""`SqliteLedger`: a ledger in a file, for all processes of one machine."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from time import time
from typing import Final, TypeVar

from ...events.errors import UsageError
from ...sinks.acting.ledger import KEPT, LEASE, Change, LedgerEntry, LedgerUnavailableError, as_of, check_times
from ...sinks.log.write_ahead import write_ahead

T = TypeVar("T")

_APPLICATION: Final = 0x50656E6C
"""What says in the file that it is a ledger: "Penl"."""
_VERSION: Final = 1
_TABLE: Final = f"""
create table calls (
    key text primary key, tool text not null, digest text not null, state text not null, owner text not null,
    until real not null, outcome text not null, changed real not null
) without rowid;
create index calls_by_change on calls (changed);
pragma application_id = {_APPLICATION};
pragma user_version = {_VERSION};
"""
_BUSY: Final = 10.0
"""Seconds to wait for another process that writes."""
_UNKNOWN: Final = (
    "select * from calls where state = 'unknown' or state = 'started' and until < ? order by changed limit ?"
)


class SqliteLedger:
    """A `Ledger` in a file of SQLite, for the processes of one machine.

        call_tools(tools, ledger=SqliteLedger("calls.sqlite"))

    - `lease`: seconds after which a call that nobody has renewed counts as unknown: that of a process that has died.
    - `keep`: seconds for which an entry is kept after its last change. A call that comes again after that runs again.

    What it says is on the disk: each change is written with `synchronous=FULL`. The file belongs on a disk of this
    machine, because SQLite's locks do not hold on network drives. `UsageError`, at the first use, for a file that is no
    ledger of this version; at once for times that are not above 0.
    """

    def __init__(self, path: str | PathLike[str], *, lease: float = LEASE, keep: float = KEPT) -> None:
        check_times(lease=lease, keep=keep)
        self._rows = LedgerRows(path, keep)
        self._lease = lease
        self._thread: ThreadPoolExecutor | None = None

    @property
    def lease(self) -> float:
        """Seconds after which a call that nobody has renewed counts as unknown."""
        return self._lease

    async def change(self, key: str, change: Change) -> LedgerEntry | None:
        return await self._in_thread(partial(self._rows.change, key, change))

    async def entry(self, key: str) -> LedgerEntry | None:
        return await self._in_thread(partial(self._rows.entry, key))

    async def unknown_calls(self, *, most: int = 1000) -> list[LedgerEntry]:
        return await self._in_thread(partial(self._rows.unknown_calls, most))

    async def aclose(self) -> None:
        if self._thread is not None:
            await self._in_thread(self._rows.close)
            self._thread.shutdown()
            self._thread = None

    async def _in_thread(self, ask: Callable[[], T]) -> T:
        """Ask in a thread of its own, since writing to a disk may take a while."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "penstock ledger")
        return await asyncio.get_running_loop().run_in_executor(self._thread, ask)

    def __repr__(self) -> str:
        return f"SqliteLedger({self._rows.path!r})"


class LedgerRows:
    """The rows of the file, in whatever thread asks; one at a time."""

    def __init__(self, path: str | PathLike[str], keep: float, now: Callable[[], float] = time) -> None:
        self.path = fspath(Path(path).absolute())
        self._keep = keep
        self._now = now
        self._database: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        """The device and the number of the file that is open."""
        self._forgot = float("-inf")
        """When old rows were looked for the last time."""

    def change(self, key: str, change: Change) -> LedgerEntry | None:
        return self._asked(partial(self._change, key, change))

    def entry(self, key: str) -> LedgerEntry | None:
        found = self._asked(lambda database: _found(database, key))
        return None if found is None else as_of(found, self._now())

    def unknown_calls(self, most: int) -> list[LedgerEntry]:
        now = self._now()
        return [as_of(each, now) for each in self._asked(lambda database: _entries(database, _UNKNOWN, now, most))]

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _change(self, key: str, change: Change, database: sqlite3.Connection) -> LedgerEntry | None:
        database.execute("begin immediate")
        try:
            now = self._now()
            before = _found(database, key)
            after = change(before, now)
            if after is not None and after != before:
                database.execute("insert or replace into calls values (?, ?, ?, ?, ?, ?, ?, ?)", after)
            if now >= self._forgot + 3600:
                self._forgot = now
                database.execute("delete from calls where changed < ? and state != 'started'", (now - self._keep,))
            database.execute("commit")
        except BaseException:
            with suppress(sqlite3.Error):
                database.execute("rollback")
            raise
        return after

    def _asked(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._database is not None and not self._is_there():
                self.close()  # SQLite would write into a file that nobody else sees
            if self._database is None:
                self._database = self._opened()
            return ask(self._database)
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                self.close()
            message = f"the ledger {self.path} cannot be used: {error}"
            raise LedgerUnavailableError(message) from error

    def _is_there(self) -> bool:
        """Return whether the file that is open is still the one that others open, and was not removed or replaced."""
        return _file_at(self.path) == self._file

    def _opened(self) -> sqlite3.Connection:
        Path(self.path).touch(mode=0o600)  # it holds what tools answer, in whatever folder
        self._file = _file_at(self.path)
        database = sqlite3.connect(self.path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
        try:
            _prepare(database, self.path)
        except BaseException:
            database.close()
            raise
        return database


def _file_at(path: str) -> tuple[int, int] | None:
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _prepare(database: sqlite3.Connection, path: str) -> None:
    """Make the table of a new file, and refuse a file that is something else."""
    database.execute("pragma synchronous = full")
    database.execute("begin immediate")  # who opens it first makes the table
    ((tables,),) = database.execute("select count(*) from sqlite_master")
    ((application,),) = database.execute("pragma application_id")
    ((version,),) = database.execute("pragma user_version")
    if (tables, application, version) == (0, 0, 0):
        for statement in _TABLE.split(";\n"):
            database.execute(statement)
    elif (application, version) != (_APPLICATION, _VERSION):
        what = f"a ledger of version {version}" if application == _APPLICATION else "another database"
        message = (
            f"{path} is {what}, and this Penstock needs version {_VERSION}; name another file, or run the Penstock "
            "that wrote it"
        )
        raise UsageError(message)
    database.execute("commit")
    if (mode := write_ahead(database, _BUSY)) != "wal":
        message = f"the journal mode is {mode}, not wal"
        raise sqlite3.OperationalError(message)


def _found(database: sqlite3.Connection, key: str) -> LedgerEntry | None:
    return next(iter(_entries(database, "select * from calls where key = ?", key)), None)


def _entries(database: sqlite3.Connection, query: str, *values: object) -> list[LedgerEntry]:
    return [LedgerEntry(*row) for row in database.execute(query, values)]
