"""The file of a `SqliteLog`: what is in it, how it is opened, and transactions that write and read many streams.

Items of all streams stand in one table, one behind the other as they come, and each knows the one before it in its
stream. So a transaction writes a few pages at the end, however many streams it has items of: a table that keeps each
stream together costs a page for each, ten times as much to write. A stream is read from its newest item back; `marks`
has every so manieth item, so that the way back to an old one is short.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from ...events.errors import PenstockError, UsageError
from ...sinks.log.stream_log import (
    FencedError,
    LogGapError,
    LogItem,
    LogState,
    LogUnavailableError,
    Retention,
    new_items,
)
from ...sinks.log.write_ahead import write_ahead

_APPLICATION: Final = 0x50_65_4C_6F
"""Says that a file of SQLite is a log: "PeLo"."""
_VERSION: Final = 1
_TABLES: Final = """
create table fences (newest integer not null);
insert into fences values (0);
create table streams (
    id integer primary key, name text not null unique, fence integer not null, first integer not null,
    last integer not null, newest integer not null, is_closed integer not null, touched integer not null
);
create table items (id integer primary key, number integer not null, previous integer not null, data blob not null);
create table marks (
    stream integer not null, number integer not null, item integer not null, primary key (stream, number)
) without rowid;
"""
_PATIENCE: Final = 10.0
"""Seconds for which another process may hold the file."""
_MARKED: Final = 512
"""One item of so many is marked."""
_SLACK: Final = 4096
"""The most items that a stream may have more than are to be kept, so that not each append deletes one."""
_PIECE: Final = 256 * 1024
"""Bytes that one reader gets at once; one item may be more."""
_SWEPT, _PURGED, _SWEEP_EVERY = 200, 16, 0.05
"""How many streams a sweep looks at, how many it forgets at most, and the seconds between two sweeps."""

_DAMAGED: Final = "the file of the log is damaged or something else, move it away or name another one"

_BACK: Final = """
with recursive back (id, number, previous) as (
    select id, number, previous from items where id = ?1
    union all select i.id, i.number, i.previous from back join items i on i.id = back.previous where back.number > ?2
)
"""
"""The items of a stream from one of them back to a number."""


@dataclass(slots=True)
class _Stream:
    """A row of the table: `newest` is the id of its newest item, `touched` milliseconds since 1970."""

    id: int
    name: str
    fence: int
    first: int
    last: int
    newest: int
    is_closed: int
    touched: int

    def state(self, now: int) -> LogState:
        return LogState(self.fence, self.first, self.last, bool(self.is_closed), max(0, now - self.touched) / 1000)


_COLUMNS: Final = ", ".join(each.name for each in fields(_Stream))
_BY_NAME: Final = f"select {_COLUMNS} from streams where name = ?"  # noqa: S608 - our own names
_STORE: Final = f"""
insert into streams ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do update set fence = excluded.fence,
    first = excluded.first, last = excluded.last, newest = excluded.newest, is_closed = excluded.is_closed,
    touched = excluded.touched
"""  # noqa: S608 - as above


class Look(NamedTuple):
    """What is asked of a stream: the items behind a number, at most so many."""

    stream: str
    after: int
    most: int


class Found(NamedTuple):
    """What is found: which stream, where it is, and items."""

    id: int
    state: LogState
    items: list[LogItem]


class Change(NamedTuple):
    """What is to be changed of a stream."""

    stream: str
    make: Callable[[Changes], Any]


class SqliteFile:
    """One connection to the file of a log, for one thread. `UsageError` for a file that is not such a log."""

    def __init__(self, path: Path, retention: Retention) -> None:
        self._retention = retention
        self._connection = _opened(path)
        self._swept = 0
        self._sweep_at = 0.0
        self._version: int | None = None

    def close(self) -> None:
        self._connection.close()

    def change(self, changes: Sequence[Change]) -> list[Any]:
        """Make the changes in one transaction; return what each returns, or its error."""
        with _told(), self._transaction("immediate"):
            now = _now()
            made = Changes(self._connection, self._retention, now)
            made.load({each.stream for each in changes})
            answers = [_answer(each, made) for each in changes]
            made.store()
            if time.monotonic() >= self._sweep_at:
                self._sweep(made, now)
            return answers

    def look(self, looks: Sequence[Look]) -> list[Any]:
        """Return what is found for each in one state of the file, None where there is no such stream, or the error."""
        with _told(), self._transaction("deferred"):
            now = _now()
            return [self._found(look, now) for look in looks]

    def open_streams(self) -> list[str]:
        oldest = self._oldest(_now())
        rows = self._connection.execute("select name from streams where not is_closed and touched >= ?", (oldest,))
        return [name for (name,) in rows]

    def was_changed(self) -> bool:
        """Return whether another connection has changed the file since this was asked last."""
        with _told():
            (version,) = self._connection.execute("pragma data_version").fetchone()
        is_same, self._version = version == self._version, version
        return not is_same

    def places(self, streams: Iterable[str]) -> dict[str, tuple[int, int, int]]:
        """Return for those streams that are there what differs when they have moved."""
        asked = msgspec.json.encode([*streams]).decode()
        query = (
            "select s.name, s.id, s.last, s.is_closed from json_each(?) asked join streams s on s.name = asked.value"
        )
        with _told():
            return {name: (row, last, closed) for name, row, last, closed in self._connection.execute(query, (asked,))}

    @contextmanager
    def _transaction(self, kind: str) -> Generator[None, None, None]:
        self._connection.execute(f"begin {kind}")
        try:
            yield
            self._connection.execute("commit")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            raise

    def _found(self, look: Look, now: int) -> Found | PenstockError | None:
        row = self._connection.execute(_BY_NAME, (look.stream,)).fetchone()
        if row is None or (stream := _Stream(*row)).touched < self._oldest(now):
            return None
        if look.most and look.after + 1 < stream.first:
            return LogGapError(look.after, stream.first)
        newest = min(look.after + look.most, stream.last)
        items = self._items(stream, look, newest) if newest > look.after else []
        if newest > look.after and (not items or items[0].number != look.after + 1):
            return UsageError(_DAMAGED)
        return Found(stream.id, stream.state(now), items)

    def _items(self, stream: _Stream, look: Look, newest: int) -> list[LogItem]:
        ask = self._connection.execute
        start = stream.newest if newest == stream.last else _start(self._connection, stream, newest)
        query = f"{_BACK} select id, number from back where number <= ?3"  # noqa: S608 - as above
        items: list[LogItem] = []
        size = 0
        for item, number in reversed(ask(query, (start, look.after + 1, newest)).fetchall()):
            (data,) = ask("select data from items where id = ?", (item,)).fetchone()
            size += len(data)
            if items and size > _PIECE:
                break
            items.append(LogItem(number, data))
        return items

    def _oldest(self, now: int) -> int:
        return now - int(self._retention.seconds * 1000)

    def _sweep(self, made: Changes, now: int) -> None:
        """Forget a few streams that were not written for long; the next sweep goes on behind them."""
        self._sweep_at = time.monotonic() + _SWEEP_EVERY
        query = "select id, name, touched from streams where id > ? order by id limit ?"
        rows = self._connection.execute(query, (self._swept, _SWEPT)).fetchall()
        old = [(row, name) for row, name, touched in rows if touched < self._oldest(now)][:_PURGED]
        made.load({name for _, name in old})
        for _, name in old:
            made.expire(name)
        self._swept = 0 if not rows else old[-1][0] if len(old) == _PURGED else rows[-1][0]


class Changes:
    """The streams as they are within a transaction that changes them."""

    def __init__(self, connection: sqlite3.Connection, retention: Retention, now: int) -> None:
        self._connection, self._retention, self._now = connection, retention, now
        (self._fence,) = connection.execute("select newest from fences").fetchone()
        self._had_fence = self._fence
        newest = connection.execute("select max(id) from items").fetchone()[0]
        self._newest: int = newest or 0
        self._streams: dict[str, _Stream] = {}
        self._changed: dict[str, _Stream] = {}
        self._items: list[tuple[int, int, int, bytes]] = []
        self._marks: list[tuple[int, int, int]] = []

    def load(self, names: Iterable[str]) -> None:
        for name in names:
            row = self._connection.execute(_BY_NAME, (name,)).fetchone()
            if row is not None:
                self._streams[name] = _Stream(*row)

    def claim(self, name: str) -> LogState:
        one = self._streams.get(name)
        if one is not None and self._is_old(one):
            self.expire(name)
            one = None
        self._fence += 1
        if one is None:
            one = self._streams[name] = _Stream(self._fence, name, 0, 1, 0, 0, 0, 0)
        one.fence = self._fence
        self._touch(one)
        return one.state(self._now)

    def append(self, name: str, items: Sequence[bytes], fence: int, after: int) -> int:
        one = self._claimed(name, fence)
        new = new_items(items, after, last=one.last, is_closed=bool(one.is_closed))
        for data in new:
            self._newest += 1
            one.last += 1
            self._items.append((self._newest, one.last, one.newest, data))
            one.newest = self._newest
            if one.last % _MARKED == 0:
                self._marks.append((one.id, one.last, one.newest))
        self._touch(one)
        return after + len(items)

    def close(self, name: str, fence: int) -> None:
        one = self._claimed(name, fence)
        one.is_closed = 1
        self._touch(one)

    def expire(self, name: str) -> None:
        one = self._streams.get(name)
        if one is None:
            return
        self.store()
        self._delete(one, one.newest, one.last)
        self._connection.execute("delete from streams where id = ?", (one.id,))
        del self._streams[name]

    def store(self) -> None:
        """Write what has changed."""
        ask = self._connection
        if self._fence != self._had_fence:
            ask.execute("update fences set newest = ?", (self._fence,))
            self._had_fence = self._fence
        ask.executemany("insert into items (id, number, previous, data) values (?, ?, ?, ?)", self._items)
        ask.executemany("insert into marks (stream, number, item) values (?, ?, ?)", self._marks)
        self._items, self._marks = [], []
        kept = self._retention.items
        for one in self._changed.values():
            if one.last - one.first + 1 > kept + min(kept, _SLACK):
                oldest = one.last - kept + 1
                self._delete(one, _start(ask, one, oldest - 1), oldest - 1)
                one.first = oldest
        ask.executemany(_STORE, [_row(one) for one in self._changed.values()])
        self._changed = {}

    def _claimed(self, name: str, fence: int) -> _Stream:
        one = self._streams.get(name)
        if one is None or one.fence != fence or self._is_old(one):
            raise FencedError(name)
        return one

    def _is_old(self, one: _Stream) -> bool:
        """Return whether the stream counts as forgotten, whether or not it is still in the file."""
        return one.touched < self._now - self._retention.seconds * 1000

    def _touch(self, one: _Stream) -> None:
        one.touched = self._now
        self._changed[one.name] = one

    def _delete(self, one: _Stream, start: int, newest: int) -> None:
        """Delete the items from the oldest to a number; `start` is the id of that or a newer one."""
        query = f"delete from items where id in ({_BACK} select id from back where number <= ?3)"  # noqa: S608
        self._connection.execute(query, (start, one.first, newest))
        self._connection.execute("delete from marks where stream = ? and number <= ?", (one.id, newest))


def _opened(path: Path) -> sqlite3.Connection:
    try:
        path.touch(mode=0o600)  # it holds what models and people say, in whatever folder
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            _check(connection, path)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as error:
        message = f"cannot keep streams in {path}: {error}; name another file, in a folder that can be written"
        raise UsageError(message) from error
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables in a file that is new; `UsageError` for one that is something else, which is not changed."""
    with _told():
        connection.execute("begin")  # or another process could make them between two of these questions
        kind, version, tables = _kind(connection)
        connection.execute("commit")
        if kind == 0 and tables == 0:
            connection.execute("begin immediate")
            if _kind(connection) == (0, 0, 0):  # no other process was faster
                for statement in _TABLES.split(";"):
                    connection.execute(statement)
                connection.execute(f"pragma application_id = {_APPLICATION}")
                connection.execute(f"pragma user_version = {_VERSION}")
            connection.execute("commit")
            kind, version, _ = _kind(connection)
    if kind != _APPLICATION:
        message = f"{path} is a database of something else; name another file for the log"
        raise UsageError(message)
    if version != _VERSION:
        message = f"{path} is a log of version {version}, this library has version {_VERSION}; name another file"
        raise UsageError(message)
    with _told():
        write_ahead(connection, _PATIENCE)
        connection.execute("pragma synchronous = full")
        connection.execute("pragma journal_size_limit = 67108864")


def _kind(connection: sqlite3.Connection) -> tuple[int, int, int]:
    asked = ("pragma application_id", "pragma user_version", "select count(*) from sqlite_master")
    kind, version, tables = (connection.execute(each).fetchone()[0] for each in asked)
    return kind, version, tables


@contextmanager
def _told() -> Generator[None, None, None]:
    """Raise the error of SQLite as the one that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            message = f"{_DAMAGED}: {error}"
            raise UsageError(message) from error
        hint = _HINTS.get(code, "look at the disk of the file")
        message = f"the file of the log cannot be used: {error}; {hint}"
        raise LogUnavailableError(message) from error


_HINTS: Final = {
    sqlite3.SQLITE_FULL: "free some space",
    sqlite3.SQLITE_BUSY: "another process holds it for long",
    sqlite3.SQLITE_READONLY: "let this user write the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "let this user read and write the file and its folder",
}


def _answer(change: Change, made: Changes) -> Any:
    try:
        return change.make(made)
    except PenstockError as error:
        return error


def _start(connection: sqlite3.Connection, stream: _Stream, number: int) -> int:
    """Return the id of the item of that number, or of one that is not much newer."""
    query = "select item from marks where stream = ? and number >= ? order by number limit 1"
    found = connection.execute(query, (stream.id, number)).fetchone()
    return stream.newest if found is None else found[0]


def _row(one: _Stream) -> tuple[int | str, ...]:
    return one.id, one.name, one.fence, one.first, one.last, one.newest, one.is_closed, one.touched


def _now() -> int:
    return int(time.time() * 1000)
