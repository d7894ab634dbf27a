"""`LogWriter`: what waits is written together, in order and once, and nothing is lost where the log is away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
import virtual_time

from penstock.scale import FencedError, LogUnavailableError, LogWriter, MemoryLog


class Watched(MemoryLog):
    """Notes when it was written; is away for as many appends as are said, which it may have done all the same."""

    def __init__(self, away: int = 0, *, does_it: bool = False) -> None:
        super().__init__()
        self.appended: list[tuple[float, list[bytes]]] = []
        self._away, self._does_it = away, does_it

    async def append(self, stream: str, items: Sequence[bytes], fence: int, *, after: int) -> int:
        is_away, self._away = self._away > 0, self._away - 1
        if is_away and not self._does_it:
            raise LogUnavailableError
        last = await super().append(stream, items, fence, after=after)
        if is_away:
            raise LogUnavailableError
        self.appended.append((asyncio.get_running_loop().time(), [*items]))
        return last


async def kept(log: MemoryLog) -> list[bytes]:
    return [each.data for each in await log.read("s", most=10_000)]


def test_the_first_is_written_at_once_and_what_follows_soon_together():
    async def main() -> None:
        log = Watched()
        writer = await LogWriter.claimed(log, "s")
        for number in range(10):
            writer.put(b"%d" % number)
            await asyncio.sleep(0.02)
        await writer.close()
        at, items = zip(*log.appended, strict=True)
        assert items[0] == [b"0"]
        assert all(0.05 <= later - sooner < 0.06 for sooner, later in pairwise(at[:-1]))
        assert 3 <= len(items) <= 6
        assert await kept(log) == [b"%d" % number for number in range(10)]
        state = await log.state("s")
        assert state is not None
        assert state.is_closed

    virtual_time.run(main())


def test_what_comes_after_a_pause_is_written_at_once():
    async def main() -> None:
        log = Watched()
        writer = await LogWriter.claimed(log, "s")
        for _ in range(3):
            writer.put(b"one")
            await asyncio.sleep(1)
        assert [at for at, _ in log.appended] == [0, 1, 2]
        assert (writer.last, writer.size, writer.lag) == (3, 0, 0)

    virtual_time.run(main())


def test_much_is_written_before_its_time():
    async def main() -> None:
        log = Watched()
        writer = await LogWriter.claimed(log, "s", every=1000)
        writer.put(b"first")
        await asyncio.sleep(1)
        for _ in range(4):
            writer.put(bytes(20_000))
            await asyncio.sleep(0)
        await asyncio.sleep(1)
        assert [(at, len(items)) for at, items in log.appended] == [(0, 1), (1, 4)]

    virtual_time.run(main())


def test_joined_bytes_become_few_items_that_a_log_can_hold():
    async def main() -> None:
        log = Watched()
        writer = await LogWriter.claimed(log, "s", joined=True)
        sent = [bytes([number]) * 30_000 for number in range(100)]
        for each in sent:
            writer.put(each)
        await writer.close()
        found = await kept(log)
        assert b"".join(found) == b"".join(sent)
        assert len(found) == 6
        assert max(map(len, found)) <= 512 * 1024

    virtual_time.run(main())


def test_a_log_that_is_away_is_asked_again_and_nothing_is_written_twice():
    async def main() -> None:
        for does_it in (False, True):
            log = Watched(7, does_it=does_it)
            writer = await LogWriter.claimed(log, "s")
            writer.put(b"one")
            writer.put(b"two")
            await asyncio.sleep(0.01)
            writer.put(b"three")
            assert writer.lag > 0
            await writer.close()
            assert await kept(log) == [b"one", b"two", b"three"]

    virtual_time.run(main())


def test_one_that_stays_away_ends_the_writing_and_the_giver_is_told():
    async def main() -> None:
        writer = await LogWriter.claimed(Watched(10_000), "s")
        writer.put(b"one")
        with pytest.raises(LogUnavailableError):
            await writer.flush()
        assert 59 <= asyncio.get_running_loop().time() <= 60
        for again in (writer.flush, writer.room, writer.close):
            with pytest.raises(LogUnavailableError):
                await again()
        with pytest.raises(LogUnavailableError):
            writer.put(b"two")

    virtual_time.run(main())


def test_who_was_claimed_from_is_told_and_writes_nothing_more():
    async def main() -> None:
        log = Watched()
        writer = await LogWriter.claimed(log, "s")
        writer.put(b"one")
        await writer.flush()
        await log.claim("s")
        writer.put(b"two")
        with pytest.raises(FencedError):
            await writer.close()
        with pytest.raises(FencedError):
            writer.put(b"three")
        assert await kept(log) == [b"one"]

    virtual_time.run(main())


def test_who_gives_faster_than_the_log_takes_waits():
    class Slow(Watched):
        async def append(self, stream: str, items: Sequence[bytes], fence: int, *, after: int) -> int:
            await asyncio.sleep(10)
            return await super().append(stream, items, fence, after=after)

    async def main() -> None:
        writer = await LogWriter.claimed(Slow(), "s")
        sizes = []
        for _ in range(100):
            await writer.room()
            writer.put(bytes(10_000))
            sizes.append(writer.size)
        assert max(sizes) < 4 * 64 * 1024 + 10_000
        assert asyncio.get_running_loop().time() > 10
        await writer.close()
        assert writer.last == 100

    virtual_time.run(main())


def test_who_gives_up_waiting_for_all_to_be_written_changes_nothing_for_what_follows():
    async def main() -> None:
        log = Watched(3)
        writer = await LogWriter.claimed(log, "s", every=5)
        writer.put(b"one")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await writer.flush()
        await asyncio.sleep(1)
        for each in (b"two", b"three"):
            writer.put(each)
            await asyncio.sleep(1)
        await writer.close()
        assert [items for _, items in log.appended] == [[b"one"], [b"two", b"three"]]

    virtual_time.run(main())
