"""`LogReaders`: a reader is woken when its stream moves, looks again when nobody tells, and ends with its stream."""

from __future__ import annotations

import asyncio

import pytest
import virtual_time

from penstock.scale import LogItem, LogUnavailableError
from penstock.scale.logs.log_readers import LOOK_AGAIN, LogReaders, Seen


class Streams:
    """What a log has, and what its readers ask of it."""

    def __init__(self) -> None:
        self.found: dict[str, Seen] = {}
        self.asked: list[tuple[str, str | int]] = []
        self.away = 0
        self.readers = LogReaders(
            self._look, lambda name: self.asked.append(("watch", name)), lambda name: self.asked.append(("leave", name))
        )

    def have(self, *items: bytes, origin: int = 1, is_closed: bool = False) -> None:
        numbered = [LogItem(number, data) for number, data in enumerate(items, 1)]
        self.found["s"] = Seen(origin, len(items), is_closed, numbered)

    async def _look(self, stream: str, after: int) -> Seen | None:
        self.asked.append(("look", after))
        if self.away:
            self.away -= 1
            raise LogUnavailableError
        found = self.found.get(stream)
        return found and found._replace(items=found.items[after:][:2])

    def follow(self, after: int = 0) -> asyncio.Task[list[bytes]]:
        async def collect() -> list[bytes]:
            return [item.data async for items in self.readers.follow("s", after) for item in items]

        return asyncio.ensure_future(collect())


async def settled() -> None:
    await asyncio.sleep(0.001)


def test_a_reader_waits_for_what_comes_and_is_watched_as_long():
    async def main() -> None:
        streams = Streams()
        reader, other = streams.follow(), streams.follow(1)
        await settled()
        assert streams.asked == [("look", 0), ("watch", "s"), ("look", 1)]
        streams.have(b"one", b"two", b"three")
        streams.readers.wake(["s", "unknown"])
        await settled()
        assert sorted(streams.asked[3:]) == [("look", 0), ("look", 1), ("look", 2)]
        streams.have(b"one", b"two", b"three", b"four", is_closed=True)
        streams.readers.wake(["s"])
        assert await reader == [b"one", b"two", b"three", b"four"]
        assert await other == [b"two", b"three", b"four"]
        assert streams.asked[-1] == ("leave", "s")
        assert [each for each in streams.asked if each[0] != "look"] == [("watch", "s"), ("leave", "s")]

    virtual_time.run(main())


def test_what_comes_while_a_reader_looks_is_not_missed():
    async def main() -> None:
        streams = Streams()
        streams.have(b"one")
        reader = streams.readers.follow("s", 0)
        await anext(reader)
        streams.have(b"one", b"two")
        streams.readers.wake(["s"])  # while the reader is busy with the first
        begun = asyncio.get_running_loop().time()
        assert await anext(reader) == [LogItem(2, b"two")]
        assert asyncio.get_running_loop().time() == begun
        await reader.aclose()

    virtual_time.run(main())


def test_a_reader_that_is_not_told_looks_again_some_time():
    async def main() -> None:
        streams = Streams()
        reader = streams.follow()
        await settled()
        streams.have(b"one", is_closed=True)
        assert await reader == [b"one"]
        assert asyncio.get_running_loop().time() == pytest.approx(LOOK_AGAIN, abs=0.01)

    virtual_time.run(main())


@pytest.mark.parametrize("after", [{}, {"s": Seen(2, 1, False, [LogItem(1, b"of another")])}])
def test_a_reader_ends_with_its_stream_also_where_another_one_has_its_name(after: dict[str, Seen]):
    async def main() -> None:
        streams = Streams()
        streams.have(b"one")
        reader = streams.follow()
        await settled()
        streams.found = after
        streams.readers.wake(["s"])
        assert await reader == [b"one"]

    virtual_time.run(main())


def test_a_log_that_is_away_is_asked_again_for_a_minute():
    async def main() -> None:
        streams = Streams()
        streams.have(b"one", is_closed=True)
        streams.away = 7
        assert await streams.follow() == [b"one"]
        streams.away = 10_000
        begun = asyncio.get_running_loop().time()
        with pytest.raises(LogUnavailableError):
            await streams.follow()
        assert 59 <= asyncio.get_running_loop().time() - begun <= 60

    virtual_time.run(main())
