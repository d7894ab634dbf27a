"""More than one machine: a log of streams with which any process can go on, a ledger of calls, and reading in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from ..sinks.acting.ledger import Ledger, LedgerEntry, LedgerUnavailableError, call_key
    from ..sinks.log.log_writer import LogWriter
    from ..sinks.log.stream_log import (
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
    from .batch.read_dataset import BatchResult, read_dataset
    from .buffer.buffer_app import Buffer
    from .buffer.kept_requests import BufferOptions
    from .from_log import from_log
    from .ledger.postgres_ledger import PostgresLedger
    from .ledger.sqlite_ledger import SqliteLedger
    from .logs.jetstream_log import JetStreamLog
    from .logs.memory_log import MemoryLog
    from .logs.open_log import open_log
    from .logs.redis_log import RedisLog
    from .logs.sqlite_log import SqliteLog

__all__ = [
    "BatchResult",
    "Buffer",
    "BufferOptions",
    "ClosedError",
    "FencedError",
    "JetStreamLog",
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
    "RedisLog",
    "Retention",
    "SqliteLedger",
    "SqliteLog",
    "StreamLog",
    "call_key",
    "from_log",
    "open_log",
    "read_dataset",
    "stream_name",
]

lazy_names(
    __name__,
    __all__,
    {
        ".sinks.log.log_writer": ("LogWriter",),
        ".sinks.acting.ledger": ("Ledger", "LedgerEntry", "LedgerUnavailableError", "call_key"),
        ".sinks.log.stream_log": (
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
        "buffer.buffer_app": ("Buffer",),
        "buffer.kept_requests": ("BufferOptions",),
        "from_log": ("from_log",),
        "logs.jetstream_log": ("JetStreamLog",),
        "batch.read_dataset": ("BatchResult", "read_dataset"),
        "ledger.postgres_ledger": ("PostgresLedger",),
        "ledger.sqlite_ledger": ("SqliteLedger",),
        "logs.memory_log": ("MemoryLog",),
        "logs.open_log": ("open_log",),
        "logs.redis_log": ("RedisLog",),
        "logs.sqlite_log": ("SqliteLog",),
    },
)
