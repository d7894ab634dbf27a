from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import pytest
import reactivex
from reactivex.scheduler import NewThreadScheduler
from reactivex.subject import Subject

from penstock.events import UsageError
from penstock.operators import adrive, drive, lift
from penstock.sinks.running.sink import each_event


class Note:
    """Notes what comes; the result is how many events came."""

    def __init__(self, log: list[Any], fails_at: Any = None) -> None:
        self.log = log
        self.fails_at = fails_at

    def feed(self, event: Any) -> None:
        self.log.append(event)
        if event == self.fails_at:
            raise ValueError(event)

    def close(self, error: BaseException | None) -> int:
        self.log.append(("closed", error))
        return len(self.log) - 1


class SlowNote(Note):
    """Has to wait for each event, and at the end."""

    def feed(self, event: Any) -> Any:
        return self._slowly(event)

    async def _slowly(self, event: Any) -> None:
        await asyncio.sleep(0)
        super().feed(event)

    def close(self, error: BaseException | None) -> Any:
        return self._close_slowly(error)

    async def _close_slowly(self, error: BaseException | None) -> int:
        await asyncio.sleep(0)
        return super().close(error)


class Stream:
    """A stream that knows whether it was closed."""

    def __init__(self, *items: Any) -> None:
        self.items = iter(items)
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


class PlainStream(Stream):
    def __iter__(self) -> Iterator[Any]:
        for item in self.items:
            if isinstance(item, BaseException):
                raise item
            yield item


class AsyncStream(Stream):
    async def __aiter__(self) -> AsyncIterator[Any]:
        for item in self.items:
            await asyncio.sleep(0)
            if isinstance(item, BaseException):
                raise item
            yield item

    async def aclose(self) -> None:
        self.is_closed = True


async def waited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def run_plain(sink: Any, *items: Any) -> tuple[Any, Stream]:
    stream = PlainStream(*items)
    try:
        return sink(stream), stream
    except Exception as error:  # noqa: BLE001 - the result, to be looked at
        return error, stream


def run_async(sink: Any, *items: Any) -> tuple[Any, Stream]:
    stream = AsyncStream(*items)
    try:
        return asyncio.run(waited(sink(stream))), stream
    except Exception as error:  # noqa: BLE001 - the result, to be looked at
        return error, stream


RUNS = [run_plain, run_async]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("items", [(), (1,), (1, 2, 3)])
def test_every_event_comes_then_the_close_and_its_result(run: Callable[..., Any], items: tuple[int, ...]):
    log: list[Any] = []
    result, stream = run(each_event(lambda: Note(log)), *items)
    assert log == [*items, ("closed", None)]
    assert result == len(items)
    assert stream.is_closed


@pytest.mark.parametrize("run", RUNS)
def test_the_streams_exception_closes_the_target_and_is_raised_again(run: Callable[..., Any]):
    log: list[Any] = []
    error = OSError("lost")
    result, stream = run(each_event(lambda: Note(log)), 1, error)
    assert result is error
    assert log == [1, ("closed", error)]
    assert stream.is_closed


@pytest.mark.parametrize("run", RUNS)
def test_an_exception_of_the_target_closes_it_and_the_stream(run: Callable[..., Any]):
    log: list[Any] = []
    result, stream = run(each_event(lambda: Note(log, fails_at=2)), 1, 2, 3)
    assert isinstance(result, ValueError)
    assert log == [1, 2, ("closed", result)]
    assert stream.is_closed


def test_ctrl_c_closes_the_target_and_the_stream():
    for items in ((1, KeyboardInterrupt()), (1, SystemExit())):
        log: list[Any] = []
        stream = PlainStream(*items)
        with pytest.raises(type(items[1])):
            each_event(partial(Note, log))(stream)
        assert log == [1, ("closed", items[1])]
        assert stream.is_closed


def test_a_cancellation_closes_the_target_and_the_stream():
    async def main() -> None:
        log: list[Any] = []
        gate, came = asyncio.Event(), asyncio.Event()

        async def events() -> AsyncIterator[int]:
            try:
                yield 1
                came.set()
                await gate.wait()
            finally:
                log.append("stream closed")

        task = asyncio.ensure_future(waited(each_event(lambda: Note(log))(events())))
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [each[0] if isinstance(each, tuple) else each for each in log] == [1, "stream closed", "closed"]
        assert isinstance(log[-1][1], asyncio.CancelledError)

    asyncio.run(main())


def test_each_stream_has_a_target_of_its_own():
    logs: list[list[Any]] = []

    def new_note() -> Note:
        logs.append([])
        return Note(logs[-1])

    sink = each_event(new_note)
    assert [sink([1]), sink([2, 3])] == [1, 2]
    assert [log[:-1] for log in logs] == [[1], [2, 3]]


def test_an_async_stream_waits_for_the_target():
    log: list[Any] = []
    result, _ = run_async(each_event(lambda: SlowNote(log)), 1, 2)
    assert (result, log) == (2, [1, 2, ("closed", None)])


def test_a_plain_stream_cannot_wait_and_says_what_can():
    log: list[Any] = []

    class Waits(Note):
        def feed(self, event: Any) -> Any:
            return self.nothing()

        async def nothing(self) -> None: ...

    stream = PlainStream(1)
    with pytest.raises(UsageError, match=r"use astream\(\.\.\.\)"):
        each_event(lambda: Waits(log))(stream)
    assert [name for name, _ in log] == ["closed"]
    assert stream.is_closed


def test_where_the_sink_needs_an_async_stream_a_plain_one_is_refused_before_its_first_event():
    log: list[Any] = []
    sink = each_event(lambda: SlowNote(log), needs_async=True)
    for events in ([1], reactivex.of(1)):
        with pytest.raises(UsageError, match="astream"):
            sink(events)
    assert log == []
    assert run_async(sink, 1)[0] == 1


@pytest.mark.parametrize("events", ["text", b"bytes", 5, None])
def test_what_is_no_stream_is_refused(events: Any):
    with pytest.raises(UsageError, match=f"a sink must be called with a stream of events, got {type(events).__name__}"):
        each_event(lambda: Note([]))(events)


def test_an_observable_is_waited_for():
    log: list[Any] = []
    sink = each_event(lambda: Note(log))
    assert sink(reactivex.of(1, 2)) == 2
    assert sink(reactivex.empty()) == 3
    assert sink(reactivex.of(3).pipe(reactivex.operators.observe_on(NewThreadScheduler()))) == 5
    assert [each for each in log if isinstance(each, int)] == [1, 2, 3]


def test_an_observables_exception_and_the_targets_are_raised():
    log: list[Any] = []
    error = OSError("lost")
    with pytest.raises(OSError, match="lost"):
        each_event(lambda: Note(log))(reactivex.concat(reactivex.of(1), reactivex.throw(error)))
    assert log == [1, ("closed", error)]
    log.clear()
    with pytest.raises(ValueError, match="1"):
        each_event(lambda: Note(log, fails_at=1))(reactivex.of(1, 2))
    assert log[0] == 1
    assert isinstance(log[1][1], ValueError)
    assert len(log) == 2


def test_ctrl_c_while_an_observable_is_waited_for_leaves_it(monkeypatch: pytest.MonkeyPatch):
    log: list[Any] = []
    source: Subject[int] = Subject()

    def interrupted(self: threading.Event, timeout: float | None = None) -> bool:
        source.on_next(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Event, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        each_event(lambda: Note(log))(source)
    assert source.observers == []
    assert [each[0] if isinstance(each, tuple) else each for each in log] == [1, "closed"]


def test_what_drive_and_adrive_give_are_streams_for_sinks():
    class Twice:
        def feed(self, item: int) -> list[int]:
            return [item, item]

        def close(self, how: Any) -> list[int]:
            return []

        def dump(self) -> None: ...
        def load(self, state: Any) -> None: ...

    plain, asynchronous = PlainStream(1, 2), AsyncStream(1, 2)
    assert each_event(lambda: Note([]))(drive(plain, lift(Twice))) == 4
    assert asyncio.run(waited(each_event(lambda: Note([]))(adrive(asynchronous, lift(Twice))))) == 4
    assert plain.is_closed
    assert asynchronous.is_closed


def test_a_sink_shows_what_it_is():
    assert repr(each_event(lambda: Note([]))) == "TwinSink(<lambda>)"
    assert repr(each_event(Note)) == "TwinSink(Note)"  # type: ignore[arg-type]
