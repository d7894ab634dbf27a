"""More than one machine: a log of streams with which any process can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from ..sinks.resume.log_writer import LogWriter
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
    from .buffer.buffer_app import Buffer
    from .buffer.kept_requests import BufferOptions
    from .from_log import from_log
    from .logs.jetstream_log import JetStreamLog
    from .logs.memory_log import MemoryLog
    from .logs.open_log import open_log
    from .logs.redis_log import RedisLog
    from .logs.sqlite_log import SqliteLog

__all__ = [
    "Buffer",
    "BufferOptions",
    "ClosedError",
    "FencedError",
    "JetStreamLog",
    "LogGapError",
    "LogItem",
    "LogState",
    "LogUnavailableError",
    "LogWriter",
    "MemoryLog",
    "RedisLog",
    "Retention",
    "SqliteLog",
    "StreamLog",
    "from_log",
    "open_log",
    "stream_name",
]

lazy_names(
    __name__,
    __all__,
    {
        ".sinks.resume.log_writer": ("LogWriter",),
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
        "buffer.buffer_app": ("Buffer",),
        "buffer.kept_requests": ("BufferOptions",),
        "from_log": ("from_log",),
        "logs.jetstream_log": ("JetStreamLog",),
        "logs.memory_log": ("MemoryLog",),
        "logs.open_log": ("open_log",),
        "logs.redis_log": ("RedisLog",),
        "logs.sqlite_log": ("SqliteLog",),
    },
)
