"""`write_ahead`: how the files of SQLite are opened that processes share."""

from __future__ import annotations

import sqlite3
import time


def write_ahead(connection: sqlite3.Connection, patience: float) -> str:
    """Turn on the write-ahead log, and return the journal mode then.

    SQLite does not wait here for another process that does the same, so this does, for `patience` seconds.
    """
    until = time.monotonic() + patience
    while True:
        try:
            mode: str = connection.execute("pragma journal_mode = wal").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return mode
