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
    from .logs.jetstream_log import JetStreamLog
    from .logs.memory_log import MemoryLog

__all__ = [
    "ClosedError",
    "FencedError",
    "JetStreamLog",
    "LogGapError",
    "LogItem",
    "LogState",
    "LogUnavailableError",
    "LogWriter",
    "MemoryLog",
    "Retention",
    "StreamLog",
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
        "logs.jetstream_log": ("JetStreamLog",),
        "logs.memory_log": ("MemoryLog",),
    },
)
