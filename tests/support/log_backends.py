"""The logs, each with a server of its own where it has one: what is asked of one is asked of all."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from secrets import token_hex
from typing import TypeAlias

from nats_server import shared_nats
from valkey_server import shared_server

from penstock.scale import JetStreamLog, MemoryLog, RedisLog, Retention, SqliteLog, StreamLog

Opened: TypeAlias = Callable[[Path, Retention], AbstractAsyncContextManager[StreamLog]]
"""Opens a log, given a folder of its own; what it holds is released behind it."""


@asynccontextmanager
async def memory(_: Path, retention: Retention) -> AsyncGenerator[StreamLog, None]:
    log = MemoryLog(retention)
    yield log
    await log.aclose()


@asynccontextmanager
async def jetstream(_: Path, retention: Retention) -> AsyncGenerator[StreamLog, None]:
    log = JetStreamLog(shared_nats().url, retention, name=f"T{token_hex(8)}")
    try:
        yield log
    finally:
        await log.aclose()


@asynccontextmanager
async def sqlite(folder: Path, retention: Retention) -> AsyncGenerator[StreamLog, None]:
    log = SqliteLog(folder / "streams.sqlite", retention)
    yield log
    await log.aclose()


@asynccontextmanager
async def redis(folder: Path, retention: Retention) -> AsyncGenerator[StreamLog, None]:
    log = RedisLog(shared_server().url, retention, prefix=folder.name)  # each test has a folder of its own
    yield log
    await log.aclose()


BACKENDS: dict[str, Opened] = {"memory": memory, "sqlite": sqlite, "redis": redis, "jetstream": jetstream}
