"""`pump` and `apump`: the one loop over a stream, plain and async."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from penstock.operators.engine.pump import apump, pump
from penstock.operators.engine.stage import Failed, How


class Seen(NamedTuple):
    """What a loop gave, with which error it ended, and what happened beside it, in order."""

    given: list[Any]
    error: str
    log: list[str]


class Doubling:
    """Gives each item twice, and says how the stream ended."""

    last_words = ("last",)

    def feed(self, item: Any) -> Iterable[Any]:
        if item == "bad":
            raise KeyError(item)
        return (item, item)

    def close(self, how: How) -> Iterable[Any]:
        return (f"failed: {how.error}" if isinstance(how, Failed) else "done",)


def run(items: Iterable[Any], most: int) -> Seen:
    log: list[str] = []
    given: list[Any] = []
    error = ""

    def source() -> Generator[Any]:
        try:
            for item in items:
                log.append(f"read {item}")
                if item == "lost":
                    raise OSError(item)
                yield item
        finally:
            log.append("closed")

    looped = pump(source(), Doubling(), begin=_begun(log), leave=_left(log))
    try:
        while len(given) < most:
            given.append(next(looped))
    except (OSError, KeyError) as raised:
        error = type(raised).__name__
    except StopIteration:
        pass
    looped.close()
    return Seen(given, error, log)


def run_async(items: Iterable[Any], most: int) -> Seen:
    log: list[str] = []
    given: list[Any] = []

    async def source() -> AsyncGenerator[Any]:
        try:
            for item in items:
                log.append(f"read {item}")
                if item == "lost":
                    raise OSError(item)
                yield item
        finally:
            log.append("closed")

    async def main() -> str:
        error = ""
        looped = apump(source(), Doubling(), begin=_begun(log), leave=_left(log))
        try:
            while len(given) < most:
                given.append(await anext(looped))
        except (OSError, KeyError) as raised:
            error = type(raised).__name__
        except StopAsyncIteration:
            pass
        await looped.aclose()
        return error

    return Seen(given, asyncio.run(main()), log)


@contextmanager
def _begun(log: list[str]) -> Iterator[None]:
    log.append("begin")
    yield
    log.append("begun")


def _left(log: list[str]) -> Callable[[BaseException | None], None]:
    return lambda error: log.append(f"left with {type(error).__name__}")


CASES = {
    "to its end": (["a", "b"], 9, ["a", "a", "b", "b", "done"], "", "NoneType"),
    "without items": ([], 9, ["done"], "", "NoneType"),
    "left early": (["a", "b"], 1, ["a"], "", "GeneratorExit"),
    "the items fail": (["a", "lost"], 9, ["a", "a", "failed: lost"], "OSError", "OSError"),
    "the first item fails": (["lost"], 9, ["failed: lost"], "OSError", "OSError"),
    "the work fails": (["a", "bad", "b"], 9, ["a", "a", "last"], "KeyError", "KeyError"),
}


@pytest.mark.parametrize("of", [run, run_async])
@pytest.mark.parametrize("case", CASES)
def test_one_loop_for_plain_and_async_streams(case: str, of: Callable[[Iterable[Any], int], Seen]) -> None:
    items, most, given, error, left = CASES[case]
    seen = of(items, most)
    assert (seen.given, seen.error) == (given, error)
    first = [f"read {items[0]}"] if items else []
    assert seen.log[: 1 + len(first)] == ["begin", *first]
    assert seen.log.count(f"left with {left}") == 1
    assert seen.log.count("closed") == 1


def test_items_are_closed_if_nothing_was_read() -> None:
    assert run(["a"], 0).log == ["left with GeneratorExit"]  # a generator that has not begun has nothing to close
    closed: list[str] = []

    class Items:
        def __iter__(self) -> Iterator[Any]:
            return iter(())

        def close(self) -> None:
            closed.append("items")

    pump(Items(), Doubling()).close()
    assert closed == ["items"]
