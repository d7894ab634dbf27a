"""The write-ahead log of a file is turned on by each process that opens it, also by many at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from looped import looped

from penstock.gateway.operating.kept_answers import DiskStore
from penstock.scale import SqliteLog
from penstock.scale.ledger.sqlite_ledger import LedgerRows


class BusyOnce(sqlite3.Connection):
    """A connection that meets another process when it turns on the write-ahead log."""

    was_busy = False

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if "journal_mode" in sql and not self.was_busy:
            self.was_busy = True
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return super().execute(sql, parameters)


@looped("opened", [SqliteLog, lambda path: LedgerRows(path, keep=60).entry("a"), DiskStore])
def test_each_file_that_processes_share_waits_for_another_that_opens_it_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Callable[[Path], object]
):
    made: list[BusyOnce] = []

    def connected(*args: Any, **options: Any) -> BusyOnce:
        made.append(connect(*args, **options, factory=BusyOnce))
        return made[-1]

    connect = sqlite3.connect
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", connected)
        opened(tmp_path / f"{uuid4()}.sqlite")
    assert made
    for each in made:
        assert each.was_busy
        each.close()
