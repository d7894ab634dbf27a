"""`open_log`: a log for each address, and what is said of others."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from penstock.events import UsageError
from penstock.events.errors import how_to_install
from penstock.scale import JetStreamLog, MemoryLog, RedisLog, Retention, SqliteLog, StreamLog, open_log


def opened(url: str, retention: Retention | None = None) -> StreamLog:
    async def main() -> StreamLog:
        log = open_log(url, retention or Retention())
        await log.aclose()
        return log

    return asyncio.run(main())


def test_each_address_has_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert type(opened("memory:")) is MemoryLog
    assert type(opened("sqlite:streams.sqlite")) is SqliteLog
    assert type(opened(f"sqlite:{tmp_path}/other.sqlite")) is SqliteLog
    assert {each.name for each in tmp_path.iterdir()} == {"streams.sqlite", "other.sqlite"}
    for url in ("redis://127.0.0.1:1", "rediss://me:secret@127.0.0.1:1/2", "redis://127.0.0.1:1?socket_timeout=1"):
        assert type(opened(url)) is RedisLog
    for url in ("nats://127.0.0.1:1", "tls://me:secret@127.0.0.1:1"):
        assert type(opened(url)) is JetStreamLog


def test_a_log_keeps_what_it_is_told():
    async def main() -> None:
        log = open_log("memory:", Retention(items=2))
        state = await log.claim("a")
        await log.append("a", [b"one", b"two", b"three"], state.fence, after=0)
        assert [each.number for each in await log.read("a", 1)] == [2, 3]

    asyncio.run(main())


@pytest.mark.parametrize(
    "url",
    ["", "memory", "sqlite:", "sqlite:///streams.sqlite", "redis:127.0.0.1", "kafka://me:secret@127.0.0.1", "a.sqlite"],
)
def test_another_address_is_refused_with_the_forms_that_there_are(url: str):
    with pytest.raises(UsageError, match=r"^a log is one of memory:, sqlite:FILE, redis://HOST:PORT.*; got ") as told:
        open_log(url)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("url", "package", "files", "extra"), [("redis://127.0.0.1", "redis", ("redis_log",), "redis")]
)
def test_a_package_that_is_missing_is_told(
    url: str, package: str, files: tuple[str, ...], extra: str, monkeypatch: pytest.MonkeyPatch
):
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    for file in files:
        monkeypatch.delitem(sys.modules, f"penstock.scale.logs.{file}", raising=False)
    with pytest.raises(UsageError, match=rf"; {re.escape(how_to_install(extra))}$"):
        open_log(url)
