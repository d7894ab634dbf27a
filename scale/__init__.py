"""More than one machine: a log of streams with which any process can go on, and a ledger of calls that ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from ..sinks.acting.ledger import Ledger, LedgerEntry, LedgerUnavailableError, call_key
    from ..sinks.resume.stream_log import (
        ClosedError,
        FencedError,
        LogGapError,
        LogItem,
        LogState,
        LogUnavailableError,
        Retention,
        StreamLog,
        stream_name,
    )
    from .ledger.postgres_ledger import PostgresLedger
    from .ledger.sqlite_ledger import SqliteLedger
    from .logs.log_writer import LogWriter
    from .logs.memory_log import MemoryLog

__all__ = [
    "ClosedError",
    "FencedError",
    "Ledger",
    "LedgerEntry",
    "LedgerUnavailableError",
    "LogGapError",
    "LogItem",
    "LogState",
    "LogUnavailableError",
    "LogWriter",
    "MemoryLog",
    "PostgresLedger",
    "Retention",
    "SqliteLedger",
    "StreamLog",
    "call_key",
    "stream_name",
]

lazy_names(
    __name__,
    __all__,
    {
        ".sinks.acting.ledger": ("Ledger", "LedgerEntry", "LedgerUnavailableError", "call_key"),
        ".sinks.resume.stream_log": (
            "ClosedError",
            "FencedError",
            "LogGapError",
            "LogItem",
            "LogState",
            "LogUnavailableError",
            "Retention",
            "StreamLog",
            "stream_name",
        ),
        "ledger.postgres_ledger": ("PostgresLedger",),
        "ledger.sqlite_ledger": ("SqliteLedger",),
        "logs.log_writer": ("LogWriter",),
        "logs.memory_log": ("MemoryLog",),
    },
)
