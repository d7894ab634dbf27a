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
    from .logs.memory_log import MemoryLog

__all__ = [
    "Buffer",
    "BufferOptions",
    "ClosedError",
    "FencedError",
    "LogGapError",
    "LogItem",
    "LogState",
    "LogUnavailableError",
    "LogWriter",
    "MemoryLog",
    "Retention",
    "StreamLog",
    "from_log",
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
        "logs.memory_log": ("MemoryLog",),
    },
)
