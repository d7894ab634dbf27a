"""`open_log`: the log of an address."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ...events.errors import UsageError, shown_url
from ...sinks.log.stream_log import KEPT, Retention, StreamLog
from .memory_log import MemoryLog
from .sqlite_log import SqliteLog

_SERVERS: Final = {
    "redis": ("redis_log", "RedisLog"),
    "rediss": ("redis_log", "RedisLog"),
    "nats": ("jetstream_log", "JetStreamLog"),
    "tls": ("jetstream_log", "JetStreamLog"),
}
"""The file and the class for each scheme; what they import is an extra."""
_FORMS: Final = "memory:, sqlite:FILE, redis://HOST:PORT, rediss://HOST:PORT, nats://HOST:PORT, tls://HOST:PORT"


def open_log(url: str, retention: Retention = KEPT) -> StreamLog:
    """Return the `StreamLog` of an address, which is to be closed by `aclose`.

        open_log("memory:")                                     in this process
        open_log("sqlite:streams.sqlite")                       in a file, which is made
        open_log("redis://127.0.0.1:6379/0")                    on Redis or Valkey; rediss:// with TLS
        open_log("nats://127.0.0.1:4222")                       on JetStream; tls:// with TLS

    - `retention`: how long each stream is kept, and how much of it.

    `UsageError` for another address, and where a package is missing that the log needs.
    """
    scheme, _, rest = url.partition(":")
    if url == "memory:":
        return MemoryLog(retention)
    if scheme == "sqlite" and rest and not rest.startswith("//"):
        return SqliteLog(rest, retention)
    if scheme in _SERVERS and rest.startswith("//"):
        file, name = _SERVERS[scheme]
        made: Any = getattr(import_module(f".{file}", __package__), name)
        log: StreamLog = made(url, retention)
        return log
    message = f"a log is one of {_FORMS}; got {shown_url(url)!r}"
    raise UsageError(message)
