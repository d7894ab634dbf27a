"""Sinks that hang, in every way they can: the run ends within its bound, and the sink is told about."""

from __future__ import annotations

import asyncio
import logging
import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from depth import is_deep, some_of

from penstock.events import ChunkResponse, UsageError
from penstock.pipeline import Pipeline
from penstock.sinks import (
    SlowSinkError,
    StreamCutError,
    StuckSinkError,
    async_queue,
    callbacks,
    collect,
    thread_queue,
)
from penstock.sinks.running.fan_out import AsyncFanOut, FanOut

SOON = 0.1
"""The close_timeout of these tests."""
IN_TIME = 15
"""Far more than it takes, and far less than for ever."""

GATE = threading.Event()


@pytest.fixture(autouse=True)
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the threads of the sinks go at the end, and see that they do."""
    monkeypatch.setattr("penstock.sinks.running.fan_out._CLEAN_UP", SOON)
    GATE.clear()
    before = set(threading.enumerate())
    yield
    GATE.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(IN_TIME)
        assert not thread.is_alive()


def blocks(events: Iterable[Any]) -> None:
    for _ in events:
        GATE.wait()


def never_reads(_: Iterable[Any]) -> None:
    GATE.wait()


def hangs_at_the_end(events: Iterable[Any]) -> None:
    try:
        for _ in events:
            pass
    finally:
        GATE.wait()


def swallows_what_it_is_told(events: Iterable[Any]) -> None:
    while not GATE.wait(0.01):
        try:
            for _ in events:
                pass
        except Exception:  # noqa: BLE001 - that is the point
            pass


async def waits(events: AsyncIterable[Any]) -> None:
    async for _ in events:
        await asyncio.Event().wait()


async def never_reads_async(_: AsyncIterable[Any]) -> None:
    await asyncio.Event().wait()


async def hangs_in_its_finally(events: AsyncIterable[Any]) -> None:
    try:
        async for _ in events:
            await asyncio.Event().wait()
    finally:
        await asyncio.Event().wait()


async def swallows_one_cancellation(_: AsyncIterable[Any]) -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.Event().wait()


async def swallows_every_cancellation(_: AsyncIterable[Any]) -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


async def swallows_everything(_: AsyncIterable[Any]) -> None:
    for _time in range(3):
        with suppress(BaseException):
            await asyncio.Event().wait()


async def never(_: Any) -> None:
    await asyncio.Event().wait()


PLAIN: list[Any] = [blocks, never_reads, hangs_at_the_end, swallows_what_it_is_told]
ASYNC: list[Any] = [
    *(waits, never_reads_async, hangs_in_its_finally),
    *(swallows_one_cancellation, swallows_every_cancellation, swallows_everything),
]
FEW = [ChunkResponse(content="x"), ChunkResponse(content="y"), ChunkResponse(finish_reason="stop", is_complete=True)]


def endless() -> Iterator[Any]:
    while True:
        yield ChunkResponse(content="x")


class Job:
    """A run of its own on a thread, so that one that hangs fails the test and nothing else."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self.seconds = 0.0
        self._work = work

    def done(self) -> Job:
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        thread.join(IN_TIME)
        assert not thread.is_alive(), "the run did not end"
        return self

    def _run(self) -> None:
        begun = monotonic()
        try:
            self.result = self._work()
        except BaseException as error:  # noqa: BLE001 - to be looked at
            self.error = error
        self.seconds = monotonic() - begun


async def alooped(run: Any) -> None:
    async for _ in run:
        pass


def ended(pipeline: Pipeline, kind: str) -> tuple[Any, BaseException | None]:
    """Loop over a short stream to its end; give the run, and what it raised."""
    runs: list[Any] = []

    def plain() -> None:
        runs.append(pipeline.stream(list(FEW)))
        list(runs[0])

    async def asynchronous() -> None:
        runs.append(pipeline.astream(list(FEW)))
        await alooped(runs[0])

    job = Job(plain if kind == "plain" else lambda: asyncio.run(asynchronous())).done()
    return runs[0], job.error


KINDS = pytest.mark.parametrize("kind", ["plain", "async"])
HANGING = pytest.mark.parametrize("sink", [*PLAIN, *ASYNC])


@pytest.mark.laws
@KINDS
@HANGING
@pytest.mark.parametrize("when_full", some_of(["fail", "block"], 1))
def test_a_run_ends_whatever_its_sinks_do(kind: str, sink: Any, when_full: Any, caplog: pytest.LogCaptureFixture):
    pipeline = Pipeline(sinks=[sink, collect], when_full=when_full, close_timeout=SOON)
    run, error = ended(pipeline, kind)
    stuck, collected = run.results
    assert isinstance(stuck, StuckSinkError)
    assert (stuck.sink, stuck.timeout) == (sink.__qualname__, SOON)
    assert collected.text == "xy"
    assert error is (stuck if when_full == "fail" else None)
    told = [(each.levelno, each.getMessage()) for each in caplog.records]
    said = f"{sink.__qualname__} did not finish, and took no event, within 0.1 seconds"
    if error is not None:  # it is told once
        assert said in str(error)
        assert told == []
    else:
        ((level, message),) = told
        assert level == logging.WARNING
        assert said in message


@KINDS
@pytest.mark.parametrize("sink", [blocks, never_reads, waits, swallows_every_cancellation])
@pytest.mark.parametrize("when_full", ["drop_sink", "fail"])
def test_a_sink_that_hangs_while_its_queue_fills_is_slow_and_the_run_ends(
    kind: str, sink: Any, when_full: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("penstock.sinks.running.channel._TURN", 0.02)  # one that hangs needs little patience
    items = [*[FEW[0]] * 50, FEW[-1]]
    pipeline = Pipeline(sinks=[sink, collect], queue_size=4, when_full=when_full, close_timeout=SOON)
    runs: list[Any] = []

    async def main() -> None:
        runs.append(pipeline.astream(items))
        await alooped(runs[0])

    def plain() -> None:
        runs.append(pipeline.stream(items))
        list(runs[0])

    job = Job(plain if kind == "plain" else lambda: asyncio.run(main())).done()
    stuck, collected = runs[0].results
    assert isinstance(stuck, StuckSinkError)
    if when_full == "fail":
        assert type(job.error) is SlowSinkError
        assert type(collected) is SlowSinkError
    else:
        assert job.error is None
        assert type(stuck.__cause__) is SlowSinkError
        assert collected.text == "x" * 50


@pytest.mark.parametrize("sink", [blocks, never_reads, waits, swallows_every_cancellation])
@pytest.mark.parametrize(
    ("kind", "how"),
    [("plain", "cancel"), ("plain", "close"), ("async", "cancel"), ("async", "close"), ("async", "a task")],
)
def test_a_run_that_waits_for_a_sink_ends_when_it_is_left(kind: str, sink: Any, how: str):
    pipeline = Pipeline(sinks=[sink], queue_size=4, close_timeout=SOON)

    def plain() -> Any:
        run = pipeline.stream(endless)
        if how == "close":
            next(run)
            run.close()
            return run.results[0]

        def wake() -> None:
            _until_full(run)
            run.cancel("enough")

        waker = threading.Thread(target=wake)
        waker.start()
        list(run)
        waker.join(IN_TIME)
        return run.results[0]

    async def asynchronous() -> Any:
        run = pipeline.astream(endless)
        if how == "close":
            await anext(run)
            await run.aclose()
            return run.results[0]
        looping = asyncio.create_task(alooped(run))
        while not _is_full(run):  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0)
        if how == "cancel":
            run.cancel("enough")
            await looping
            return run.results[0]
        looping.cancel()
        await asyncio.wait([looping])
        assert looping.cancelled()
        assert looping.cancelling() == 1, "one was enough"
        return run.results[0]

    job = Job(plain if kind == "plain" else lambda: asyncio.run(asynchronous())).done()
    assert job.error is None
    assert isinstance(job.result, StuckSinkError)


def _is_full(run: Any) -> bool:
    return run._state.fan_out._lines[0].channel.waiting >= 4


def _until_full(run: Any) -> None:
    wait = threading.Event()
    for _ in range(2000):
        if _is_full(run):
            return
        wait.wait(0.01)


@KINDS
def test_under_block_a_stream_that_flows_waits_for_its_sink(kind: str):
    """It takes longer than a turn, and than `close_timeout`, for its first event; nothing is given up meanwhile."""
    pause = threading.Event()

    def slow(events: Iterable[Any]) -> int:
        next(iter(events))
        pause.wait(0.8)
        return 1 + sum(1 for _ in events)

    def plain() -> list[Any]:
        fan_out = FanOut([slow], maxsize=1, close_timeout=SOON)
        for number in range(20):
            fan_out.feed(number)
        return fan_out.close()

    async def main() -> list[Any]:
        fan_out = AsyncFanOut([slow], maxsize=1, close_timeout=SOON)
        for number in range(20):
            await fan_out.feed(number)
        return await fan_out.close()

    assert Job(plain if kind == "plain" else lambda: asyncio.run(main())).done().result == [20]


@KINDS
def test_after_the_end_a_sink_may_take_as_long_as_it_makes_progress(kind: str):
    """Its queue takes several times the bound."""
    pause = threading.Event()

    def slow(events: Iterable[Any]) -> int:
        return sum(1 for _ in events if not pause.wait(0.1))

    async def aslow(events: AsyncIterable[Any]) -> int:
        number = 0
        async for _ in events:
            await asyncio.sleep(0.1)
            number += 1
        return number

    async def main() -> list[Any]:
        fan_out = AsyncFanOut([slow, aslow], close_timeout=0.5)
        for number in range(18):
            await fan_out.feed(number)
        return await fan_out.close()

    def plain() -> list[Any]:
        fan_out = FanOut([slow, aslow], close_timeout=0.5)
        for number in range(18):
            fan_out.feed(number)
        return fan_out.close()

    assert Job(plain if kind == "plain" else lambda: asyncio.run(main())).done().result == [18, 18]


@KINDS
def test_after_a_stream_was_left_its_sinks_have_the_bound_in_all(kind: str):
    pause = threading.Event()

    def slow(events: Iterable[Any]) -> int:
        return sum(1 for _ in events if not pause.wait(0.1))

    async def main() -> list[Any]:
        fan_out = AsyncFanOut([slow], close_timeout=0.5)
        for number in range(100):
            await fan_out.feed(number)
        return await fan_out.close(GeneratorExit())

    def plain() -> list[Any]:
        fan_out = FanOut([slow], close_timeout=0.5)
        for number in range(100):
            fan_out.feed(number)
        return fan_out.close(GeneratorExit())

    (result,) = Job(plain if kind == "plain" else lambda: asyncio.run(main())).done().result
    assert isinstance(result, StuckSinkError)
    assert isinstance(result.__cause__, StreamCutError)


@KINDS
def test_several_sinks_that_hang_are_waited_for_together(kind: str):
    timeout = 1.0
    sinks: list[Any] = [blocks, never_reads, waits, *[never_reads] * 20]
    pipeline = Pipeline(sinks=sinks, close_timeout=timeout)
    runs: list[Any] = []

    async def main() -> None:
        runs.append(pipeline.astream(list(FEW)))
        await alooped(runs[0])

    def plain() -> None:
        runs.append(pipeline.stream(list(FEW)))
        list(runs[0])

    job = Job(plain if kind == "plain" else lambda: asyncio.run(main())).done()
    assert job.seconds < timeout * 10, "one after the other they would take 23"
    assert all(isinstance(result, StuckSinkError) for result in runs[0].results)


@KINDS
def test_an_async_sink_that_is_given_up_is_cancelled_and_cleans_up(kind: str):
    log: list[str] = []

    async def cleans_up(events: AsyncIterable[Any]) -> None:
        try:
            async for _ in events:
                await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("cleaned up")

    run, error = ended(Pipeline(sinks=[cleans_up], close_timeout=SOON), kind)
    assert log == ["cleaned up"]
    assert error is None
    assert isinstance(run.results[0], StuckSinkError)


def test_no_task_is_left_of_a_sink_that_swallows_its_cancellations():
    async def main() -> None:
        fan_out = AsyncFanOut(ASYNC, close_timeout=SOON)
        await fan_out.feed(1)
        results = await fan_out.close()
        assert [type(result) for result in results] == [StuckSinkError] * len(ASYNC)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    job = Job(lambda: asyncio.run(main())).done()
    assert job.error is None


def test_a_cancelled_close_ends_as_cancelled_and_a_second_cancellation_ends_it_at_once():
    async def main(times: int, seconds: float) -> None:
        fan_out = AsyncFanOut([swallows_every_cancellation, never_reads], close_timeout=seconds)
        await fan_out.feed(1)
        await asyncio.sleep(0)
        closing = asyncio.create_task(fan_out.close())
        for _ in range(times):
            await asyncio.sleep(0)
            closing.cancel()
        await asyncio.wait([closing])
        assert closing.cancelled()
        assert all(isinstance(line.result, StuckSinkError) for line in fan_out._lines)

    assert Job(lambda: asyncio.run(main(1, SOON))).done().error is None
    assert Job(lambda: asyncio.run(main(2, 3600.0))).done().error is None


def test_a_sink_that_wakes_after_it_was_given_up_gets_the_error_and_no_more_events():
    seen: list[Any] = []

    def wakes(events: Iterable[Any]) -> str:
        try:
            for event in events:
                seen.append(event)
                GATE.wait()
        except StuckSinkError as error:
            seen.append(error)
        return "late"

    fan_out = FanOut([wakes], close_timeout=SOON)
    for number in range(5):
        fan_out.feed(number)
    (result,) = fan_out.close()
    GATE.set()
    assert isinstance(result, StuckSinkError)
    (line,) = fan_out._lines
    assert line.thread is not None
    line.thread.join(IN_TIME)
    assert seen == [0, result]
    assert fan_out.close() == [result], "what it gave later counts for nothing"


def test_callbacks_that_hang_are_given_up():
    run, _ = ended(Pipeline(sinks=[callbacks(on_segment=never)], close_timeout=SOON), "async")
    assert isinstance(run.results[0], StuckSinkError)


@KINDS
def test_a_queue_whose_reader_comes_after_the_stream_keeps_everything(kind: str):
    for_thread, for_task = queues = thread_queue(1), async_queue(1)
    items = [*[FEW[0]] * 20, FEW[-1]]

    async def main() -> None:
        await alooped(Pipeline(sinks=queues, queue_size=1000, close_timeout=SOON).astream(items))

    def plain() -> None:
        list(Pipeline(sinks=queues, queue_size=1000, close_timeout=SOON).stream(items))

    assert Job(plain if kind == "plain" else lambda: asyncio.run(main())).done().error is None

    async def read() -> list[Any]:
        return [event async for event in for_task]

    assert len(list(for_thread)) == len(asyncio.run(read())) == 23


# Who is slow, and who is not


def count(events: Iterable[Any]) -> int:
    return sum(1 for _ in events)


async def acount(events: AsyncIterable[Any]) -> int:
    number = 0
    async for _ in events:
        number += 1
    return number


async def acount_with_pauses(events: AsyncIterable[Any]) -> int:
    number = 0
    async for _ in events:
        await asyncio.sleep(0)
        number += 1
    return number


@pytest.mark.laws
@KINDS
@pytest.mark.parametrize("when_full", ["drop_sink", "fail"])
@pytest.mark.parametrize(
    ("number", "queue_size"),
    [(20_000 if is_deep() else 5000, 1024), (200_000 if is_deep() else 20_001, 1024), (2_000, 2)],
)
def test_a_healthy_sink_keeps_up_with_a_stream_from_memory(kind: str, when_full: Any, number: int, queue_size: int):
    sinks: list[Any] = [count, acount] if number > 20_000 else [count, acount, acount_with_pauses]
    options: dict[str, Any] = {"maxsize": queue_size, "when_full": when_full}

    def plain() -> list[Any]:
        fan_out = FanOut(sinks, **options)
        for each in range(number):
            fan_out.feed(each)
        return fan_out.close()

    async def main() -> list[Any]:
        fan_out = AsyncFanOut(sinks, **options)
        for each in range(number):
            await fan_out.feed(each)
        return await fan_out.close()

    assert (plain() if kind == "plain" else asyncio.run(main())) == [number] * len(sinks)


@KINDS
@pytest.mark.parametrize("when_full", ["drop_sink", "fail"])
def test_a_healthy_sink_of_a_pipeline_is_not_dropped(kind: str, when_full: Any):
    chunks = [*[FEW[0]] * 20_000, FEW[-1]]
    pipeline = Pipeline(sinks=[count, acount], when_full=when_full)
    if kind == "plain":
        run: Any = pipeline.stream(chunks)
        list(run)
    else:

        async def main() -> Any:
            arun = pipeline.astream(chunks)
            await alooped(arun)
            return arun

        run = asyncio.run(main())
    assert run.results == [20_003, 20_003]


@KINDS
def test_a_sink_that_takes_an_event_in_its_turn_is_not_slow(kind: str):
    pause = threading.Event()

    def slow(events: Iterable[Any]) -> int:
        return sum(1 for _ in events if not pause.wait(0.02))

    async def main() -> list[Any]:
        fan_out = AsyncFanOut([slow], maxsize=1, when_full="drop_sink")
        for each in range(30):
            await fan_out.feed(each)
        return await fan_out.close()

    def plain() -> list[Any]:
        fan_out = FanOut([slow], maxsize=1, when_full="drop_sink")
        for each in range(30):
            fan_out.feed(each)
        return fan_out.close()

    assert (plain() if kind == "plain" else asyncio.run(main())) == [30]


def test_a_loop_that_stood_still_takes_no_ones_turn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("penstock.sinks.running.channel._TURN", 0.02)

    async def main() -> list[Any]:
        fan_out = AsyncFanOut([acount], maxsize=1, when_full="drop_sink")
        stands_still = threading.Event()

        async def hogs() -> None:
            while True:
                stands_still.wait(0.3)  # longer than ten turns
                await asyncio.sleep(0)

        hogging = asyncio.create_task(hogs())
        for each in range(4):
            await fan_out.feed(each)
        hogging.cancel()
        return await fan_out.close()

    assert asyncio.run(main()) == [4]


# The option


@pytest.mark.parametrize("wrong", [0, -1, None, "10", True, float("nan"), float("inf")])
def test_a_bound_that_is_no_number_of_seconds_is_refused(wrong: Any):
    for make in (lambda: Pipeline(close_timeout=wrong), lambda: FanOut([], close_timeout=wrong)):
        with pytest.raises(UsageError, match="close_timeout= must be a number of seconds above 0, got"):
            make()


def test_the_bound_is_pickled_with_its_pipeline():
    pipeline = pickle.loads(pickle.dumps(Pipeline(sinks=[never_reads], close_timeout=SOON)))
    run, _ = ended(pipeline, "plain")
    assert run.results[0].timeout == SOON
    again = pickle.loads(pickle.dumps(StuckSinkError("a", 4, SOON)))
    assert (again.sink, again.maxsize, again.timeout) == ("a", 4, SOON)


def run_script(code: str) -> subprocess.CompletedProcess[str]:
    start = f"import signal, sys; sys.path.insert(0, {str(Path(__file__).parents[1] / 'support')!r}); import checkout\n"
    start += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    return subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(code)], capture_output=True, text=True, check=False, timeout=60
    )


def test_the_interpreter_exits_with_a_sink_that_hangs_after_ctrl_c():
    done = run_script("""
        import _thread, threading, time
        from penstock.events import ChunkResponse
        from penstock.pipeline import Pipeline

        def stuck(events):
            next(iter(events))
            _thread.interrupt_main()
            time.sleep(3600)
        def endless():
            while True:
                yield ChunkResponse(content="x")
        run = Pipeline(sinks=[stuck], queue_size=2, close_timeout=0.2).stream(endless)
        try:
            for event in run:
                pass
        except KeyboardInterrupt:
            print(type(run.results[0]).__name__, flush=True)
    """)
    assert done.stdout == "StuckSinkError\n", done.stderr
    assert done.returncode == 0


def test_an_event_loop_ends_after_ctrl_c_whatever_its_sinks_do():
    done = run_script("""
        import asyncio, os, signal
        from penstock.events import ChunkResponse
        from penstock.pipeline import Pipeline

        async def stuck(events):
            await anext(aiter(events))
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    pass
        def endless():
            while True:
                yield ChunkResponse(content="x")
        async def main():
            run = Pipeline(sinks=[stuck], queue_size=2, close_timeout=0.2).astream(endless)
            async for event in run:
                pass
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            print("ended", flush=True)
    """)
    assert done.stdout == "ended\n", done.stderr
    assert done.returncode == 0


MUTANTS = {
    "a closing stream waits for a stuck thread for ever": ("whatever_its_sinks_do", ("sinks/running/fan_out.py", "                return False\n        return True\n\n    def _give_up", "                pass\n        return True\n\n    def _give_up")),
    "a closing stream waits for a stuck task for ever": ("whatever_its_sinks_do", ("sinks/running/fan_out.py", "                return False\n        return True\n\n    async def _stopped", "                pass\n        return True\n\n    async def _stopped")),
    "a stuck sink that takes events after the end is given up": ("makes_progress", ("sinks/running/fan_out.py", "if in_all or left == self._left:", "if left >= 0:")),
    "a stuck sink of a stream that was left is waited for while it takes events": ("the_bound_in_all", ("sinks/running/fan_out.py", "if in_all or left == self._left:", "if left == self._left:")),
    "a stuck sink that was given up is not told to the stream that it fails": ("whatever_its_sinks_do", ("sinks/running/fan_out.py", 'if self._when_full != "fail" or self._is_left:', "if self._when_full:")),
    "a stuck sink that was given up goes on with its queue": ("no_more_events", ("sinks/running/sink_line.py", "        self.channel.cut(error)\n", "")),
    "a stuck sink that swallows its cancellations keeps its task": ("no_task_is_left", ("sinks/running/sink_line.py", "if self._line.is_abandoned or isinstance(error, GeneratorExit):", "if isinstance(error, GeneratorExit):")),
    "a cancellation that comes while stuck sinks are waited for is swallowed": ("ends_as_cancelled", ("sinks/running/fan_out.py", "                await self._stopped(lines, self._close_timeout)\n                raise\n", "                await self._stopped(lines, self._close_timeout)\n                stuck = []\n")),
    "a queue whose reader comes after the stream is a stuck sink": ("keeps_everything", ("sinks/running/sink_line.py", "                self.sink.release()  # its", "                pass  # its")),
    "a slow sink is one that has no room, also on a thread that had no turn": ("from_memory", ("sinks/running/channel.py", "            for _ in range(_TURNS):\n                if self.offer(item):\n                    return True\n                self._sleep(_TURN)\n", "")),
    "a slow sink is one whose loop stood still": ("stood_still", ("sinks/running/channel.py", "        for _ in range(_TURNS):\n            with self._lock:", "        for _ in range(1):\n            with self._lock:"), ("sinks/running/channel.py", "        await asyncio.sleep(0)  # if the loop stood still, the time was over before the reader could run\n        return self.offer(item)\n", "        return False\n")),
}  # fmt: skip
