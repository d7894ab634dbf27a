from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import io
import logging
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.events import Notice, UsageError
from penstock.sinks.callbacks import callbacks
from penstock.sinks.collect import acollect, collect
from penstock.sinks.json_lines import json_lines
from penstock.sinks.notebook_view import notebook_view
from penstock.sinks.plain_view import plain_view
from penstock.sinks.remote_readers import to_sse, to_websocket
from penstock.sinks.running.channel import StreamCutError
from penstock.sinks.running.coalesce import coalesce
from penstock.sinks.running.fan_out import AsyncFanOut, FanOut
from penstock.sinks.running.queues import ThreadQueue, async_queue, thread_queue
from penstock.sinks.running.sink import TwinSink, each_event
from penstock.sinks.running.sink_line import SlowSinkError
from penstock.sinks.terminal_view import terminal_view

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No test leaves a thread behind; `asyncio.run` sees to the tasks, which `feed_async` counts before."""
    before = set(threading.enumerate())
    yield
    left = [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("penstock")]
    assert left == []


def feed_plain(sinks: Iterable[Any], events: Iterable[Any], error: BaseException | None = None, **options: Any) -> Any:
    fan_out = FanOut(sinks, **options)
    try:
        for event in events:
            fan_out.feed(event)
    finally:
        results = fan_out.close(error)
    return results


def feed_async(sinks: Iterable[Any], events: Iterable[Any], error: BaseException | None = None, **options: Any) -> Any:
    async def main() -> Any:
        fan_out = AsyncFanOut(sinks, **options)
        try:
            for event in events:
                await fan_out.feed(event)
        finally:
            results = await fan_out.close(error)
            assert asyncio.all_tasks() == {asyncio.current_task()}
        return results

    return asyncio.run(main())


FEEDS = [feed_plain, feed_async]


async def alist(events: AsyncIterable[Any]) -> list[Any]:
    return [event async for event in events]


class Async:
    async def __call__(self, events: AsyncIterable[Any]) -> list[Any]:
        return await alist(events)


class Note:
    def __init__(self) -> None:
        self.events: list[Any] = []

    def feed(self, event: Any) -> None:
        self.events.append(event)

    def close(self, error: BaseException | None) -> list[Any]:
        return self.events


class SlowNote(Note):
    def feed(self, event: Any) -> Any:
        return self.slowly(event)

    async def slowly(self, event: Any) -> None:
        await asyncio.sleep(0)
        super().feed(event)


def over(sink: Any) -> Any:
    """Return a function that does not show what it gives."""

    def given(events: Any) -> Any:
        return sink(events)

    return given


SINKS: dict[str, Any] = {
    "a plain function": list,
    "an async function": alist,
    "an object with an async call": Async(),
    "a function over an async function": over(alist),
    "a partial of an async function": functools.partial(alist),
    "a sink of both kinds": each_event(Note),
    "a function over a sink of both kinds": over(each_event(Note)),
    "a sink that has to wait": each_event(SlowNote, needs_async=True),
}


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize("sink", SINKS.values(), ids=SINKS)
@pytest.mark.parametrize("number", [0, 1, 300])
def test_a_sink_of_any_kind_gets_every_event_in_order(feed: Any, sink: Any, number: int):
    assert feed([sink], range(number), maxsize=7) == [list(range(number))]


@pytest.mark.parametrize("feed", FEEDS)
def test_results_come_in_the_order_of_the_sinks(feed: Any):
    def last(events: Iterable[Any]) -> Any:
        return [*events][-1]

    async def number(events: AsyncIterable[Any]) -> int:
        return len(await alist(events))

    assert feed([last, number, list], "abc") == ["c", 3, ["a", "b", "c"]]
    assert feed([], "abc") == []


@pytest.mark.parametrize("feed", FEEDS)
def test_a_sink_that_raises_is_logged_and_the_others_go_on(feed: Any, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "penstock")
    error = KeyError("secret")

    def broken(events: Iterable[Any]) -> None:
        next(iter(events))
        raise error

    async def abroken(events: AsyncIterable[Any]) -> None:
        raise error

    assert feed([broken, list, abroken, alist], range(50), maxsize=2) == [error, [*range(50)], error, [*range(50)]]
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
    messages = sorted(record.getMessage() for record in caplog.records)
    assert "abroken raised KeyError at test_fan_out.py:" in messages[0]
    assert "broken raised KeyError at test_fan_out.py:" in messages[1]
    assert "secret" not in caplog.text


@pytest.mark.parametrize("feed", FEEDS)
def test_a_sink_that_returns_early_gets_nothing_more_and_holds_nobody(feed: Any):
    def first(events: Iterable[Any]) -> Any:
        return next(iter(events))

    async def afirst(events: AsyncIterable[Any]) -> Any:
        return await anext(aiter(events))

    def none(events: Iterable[Any]) -> str:
        return "not read"

    assert feed([first, afirst, none, list], range(50), maxsize=1) == [0, 0, "not read", [*range(50)]]


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize("sink", SINKS.values(), ids=SINKS)
def test_the_streams_error_is_each_sinks_result_and_no_sink_is_blamed_for_it(
    feed: Any, sink: Any, caplog: pytest.LogCaptureFixture
):
    error = OSError("lost")
    assert feed([sink], range(3), error) == [error]
    assert error.__traceback__ is None
    assert caplog.records == []


@pytest.mark.parametrize("feed", FEEDS)
def test_the_streams_error_comes_after_its_events_and_may_be_handled(feed: Any):
    def handles(events: Iterable[Any]) -> list[Any]:
        got: list[Any] = []
        try:
            for event in events:
                got.append(event)  # noqa: PERF402 - what came before the exception counts
        except OSError:
            got.append("lost")
        return got

    assert feed([handles], range(3), OSError()) == [[0, 1, 2, "lost"]]


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize("cause", [KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()])
def test_who_leaves_the_stream_cuts_it_for_the_sinks(feed: Any, cause: BaseException, caplog: pytest.LogCaptureFixture):
    for result in feed([list, alist, each_event(Note)], range(3), cause):
        assert isinstance(result, StreamCutError)
        assert result.__cause__ is cause
    assert caplog.records == []


def gated(gate: threading.Event) -> Callable[[Iterable[Any]], list[Any]]:
    def sink(events: Iterable[Any]) -> list[Any]:
        got: list[Any] = []
        try:
            for event in events:
                got.append(event)
                assert gate.wait(20)
        except SlowSinkError as error:
            got.append(type(error))
        return got

    return sink


@pytest.mark.parametrize("feed", FEEDS)
def test_a_stream_waits_for_a_sink_whose_queue_is_full(feed: Any):
    fed: list[int] = []

    def events() -> Iterator[int]:
        for number in range(200):
            fed.append(number)
            yield number

    def furthest(events: Iterable[int]) -> int:
        return max(len(fed) - event for event in events)

    async def afurthest(events: AsyncIterable[int]) -> int:
        return max([len(fed) - event async for event in events])

    # One is with the sink, 4 wait, and one waits for room.
    assert all(ahead <= 6 for ahead in feed([furthest, afurthest], events(), maxsize=4))


@pytest.mark.parametrize("feed", FEEDS)
def test_a_slow_sink_is_left_behind_where_that_was_asked_for(feed: Any, caplog: pytest.LogCaptureFixture):
    gate, seen = threading.Event(), threading.Semaphore(0)

    def events() -> Iterator[int]:
        for number in range(100):
            yield number
            # On the loop a quick sink has its turn before it is judged; a thread has to be waited for.
            assert feed is feed_async or seen.acquire(timeout=20)
        gate.set()

    async def quick(events: AsyncIterable[Any]) -> list[Any]:
        got: list[Any] = []
        async for event in events:
            got.append(event)
            seen.release()
        return got

    slow, quickly = feed([gated(gate), quick], events(), maxsize=50, when_full="drop_sink")
    assert quickly == [*range(100)]
    assert slow == [*range(len(slow) - 1), SlowSinkError]
    assert len(slow) in (51, 52)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "gated.<locals>.sink did not keep up: 50 events were waiting" in record.getMessage()


def test_a_task_that_never_had_its_turn_is_not_slow():
    assert feed_async([alist], range(1000), maxsize=2, when_full="drop_sink") == [[*range(1000)]]


def test_a_slow_sink_ends_the_stream_where_that_was_asked_for():
    def feed_all(fan_out: FanOut) -> None:
        for number in range(6):
            fan_out.feed(number)

    async def afeed_all(fan_out: AsyncFanOut) -> None:
        for number in range(6):
            await fan_out.feed(number)

    def check(raised: Any) -> None:
        assert "did not keep up: 4 events were waiting" in str(raised.value)
        assert (raised.value.maxsize, "gated" in raised.value.sink) == (4, True)

    gate = threading.Event()
    fan_out = FanOut([gated(gate)], maxsize=4, when_full="fail")
    with pytest.raises(SlowSinkError) as raised:
        feed_all(fan_out)
    check(raised)
    gate.set()
    assert fan_out.close(raised.value)[0][-1] is SlowSinkError

    async def main() -> None:
        gate = threading.Event()
        afan_out = AsyncFanOut([gated(gate)], maxsize=4, when_full="fail")
        with pytest.raises(SlowSinkError) as raised:
            await afeed_all(afan_out)
        check(raised)
        gate.set()
        assert (await afan_out.close(raised.value))[0][-1] is SlowSinkError

    asyncio.run(main())


def test_context_variables_reach_the_sinks():
    def who(events: Iterable[Any]) -> str:
        assert list(events) == [1]
        return WHO.get()

    async def awho(events: AsyncIterable[Any]) -> str:
        assert await alist(events) == [1]
        return WHO.get()

    def both() -> None:
        WHO.set("me")
        assert feed_plain([who, awho], [1]) == ["me", "me"]
        assert feed_async([who, awho], [1]) == ["me", "me"]

    contextvars.copy_context().run(both)


def test_plain_sinks_have_threads_of_their_own_and_async_ones_share_the_loop_of_the_stream():
    def here(events: Iterable[Any]) -> threading.Thread:
        list(events)
        return threading.current_thread()

    async def ahere(events: AsyncIterable[Any]) -> threading.Thread:
        await alist(events)
        return threading.current_thread()

    own = threading.current_thread()
    assert len({own, *feed_plain([here, here, ahere], range(9))}) == 4
    first, second, third = feed_async([here, here, ahere], range(9))
    assert third == own
    assert len({own, first, second}) == 3


def test_a_plain_sink_does_not_block_the_loop():
    async def main() -> None:
        gate = threading.Event()
        fan_out = AsyncFanOut([gated(gate)])
        await fan_out.feed(1)
        closing = asyncio.create_task(fan_out.close())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not closing.done()
        gate.set()
        assert await closing == [[1]]

    asyncio.run(main())


@pytest.mark.parametrize("feed", FEEDS)
def test_the_librarys_own_sinks_run_side_by_side(feed: Any):
    file, seen, queue = io.BytesIO(), [], thread_queue()
    reading: list[Any] = []
    reader = threading.Thread(target=lambda: reading.extend(queue))
    reader.start()
    notices = [Notice("c", str(number)) for number in range(200)]

    async def on_notice(notice: Notice) -> None:
        await asyncio.sleep(0)
        seen.append(notice)

    sinks = [json_lines(file), callbacks(on_notice=on_notice), queue]
    assert feed(sinks, notices, maxsize=8) == [200, None, None]
    reader.join(20)
    assert seen == reading == notices
    assert len(file.getvalue().splitlines()) == 200


def test_a_reader_of_a_queue_that_leaves_holds_neither_the_stream_nor_the_other_sinks():
    async def main() -> None:
        queue = async_queue(1)
        fan_out = AsyncFanOut([queue, alist], maxsize=1)

        async def reader() -> list[Any]:
            got: list[Any] = []
            async for event in queue:
                got.append(event)
                if len(got) == 3:
                    break
            return got

        reading = asyncio.create_task(reader())
        for number in range(100):
            await fan_out.feed(number)
        assert await fan_out.close() == [None, [*range(100)]]
        assert await reading == [0, 1, 2]

    asyncio.run(main())


@pytest.mark.parametrize("feed", FEEDS)
def test_a_thread_that_exits_is_a_sink_that_raised(feed: Any, caplog: pytest.LogCaptureFixture):
    def leaves(events: Iterable[Any]) -> None:
        sys.exit(3)

    results = feed([leaves, list], range(3))
    assert isinstance(results[0], SystemExit)
    assert results[1] == [0, 1, 2]
    assert "SystemExit" in caplog.text


def test_an_exit_in_a_sink_on_the_loop_is_the_programs():
    async def leaves(events: AsyncIterable[Any]) -> None:
        sys.exit(3)

    with pytest.raises(SystemExit):
        feed_async([leaves], range(3))


def test_a_cancelled_stream_waits_for_its_sinks_to_finish():
    async def main() -> None:
        fan_out = AsyncFanOut([list, alist, each_event(Note)], maxsize=2)
        began = asyncio.Event()

        async def stream() -> list[Any]:
            error: BaseException | None = None
            results: list[Any] = []
            try:
                await fan_out.feed(1)
                began.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError as cancelled:
                error = cancelled
            finally:
                results = await fan_out.close(error)
            return results

        streaming = asyncio.create_task(stream())
        await began.wait()
        streaming.cancel()
        results = await streaming
        assert [type(result) for result in results] == [StreamCutError] * 3
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_a_cancellation_while_it_waits_for_a_stuck_sink_cancels_the_sink():
    async def main() -> None:
        log: list[str] = []

        async def stuck(events: AsyncIterable[Any]) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                log.append("cleaned up")

        fan_out = AsyncFanOut([stuck, list])
        await fan_out.feed(1)
        await asyncio.sleep(0)
        closing = asyncio.create_task(fan_out.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert log == ["cleaned up"]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_a_loop_that_is_left_with_an_open_fan_out_leaves_no_thread():
    async def main() -> AsyncFanOut:
        fan_out = AsyncFanOut([list, alist])
        await fan_out.feed(1)
        await asyncio.sleep(0)
        return fan_out

    fan_out = asyncio.run(main())
    assert [type(line.result) for line in fan_out._lines] == [asyncio.CancelledError] * 2


def test_who_forgets_to_close_leaves_no_thread():
    fan_out = FanOut([list])
    fan_out.feed(1)
    (thread,) = [line.thread for line in fan_out._lines]
    del fan_out
    gc.collect()
    assert thread is not None
    thread.join(20)
    assert not thread.is_alive()


def test_nothing_starts_before_the_first_event():
    started: list[int] = []
    fan_out = FanOut([lambda events: started.append(len([*events]))])
    assert threading.active_count() == len(threading.enumerate())
    assert started == []
    assert fan_out.close() == [None]
    assert started == [0]
    AsyncFanOut([alist])  # needs no loop yet


def test_sinks_may_be_started_before_the_first_event():
    started = threading.Event()

    def sink(events: Iterable[Any]) -> list[Any]:
        started.set()
        return [*events]

    fan_out = FanOut([sink, list])
    fan_out.start()
    assert started.wait(60)
    fan_out.start()
    fan_out.feed(1)
    assert fan_out.close() == [[1], [1]]
    with pytest.raises(UsageError, match="closed"):
        fan_out.start()

    async def main() -> list[Any]:
        astarted = asyncio.Event()

        async def asink(events: AsyncIterable[Any]) -> list[Any]:
            astarted.set()
            return [event async for event in events]

        fan_out = AsyncFanOut([asink, list])
        fan_out.start()
        await astarted.wait()
        fan_out.start()
        await fan_out.feed(1)
        return await fan_out.close()

    assert asyncio.run(main()) == [[1], [1]]


def test_a_sink_may_close_the_fan_out_that_runs_it():
    def closes(events: Iterable[Any]) -> str:
        next(iter(events))
        fan_out.close()
        return "closed"

    fan_out = FanOut([closes, list])
    fan_out.feed(1)
    assert fan_out.close() == ["closed", [1]]

    async def main() -> list[Any]:
        async def acloses(events: AsyncIterable[Any]) -> str:
            await anext(aiter(events))
            await afan_out.close()
            return "closed"

        afan_out = AsyncFanOut([acloses, list])
        await afan_out.feed(1)
        return await afan_out.close()

    assert asyncio.run(main()) == ["closed", [1]]


def test_after_the_close_nothing_is_taken_and_a_second_close_gives_the_same():
    fan_out = FanOut([list])
    fan_out.feed(1)
    assert fan_out.close() == fan_out.close(OSError()) == [[1]]
    with pytest.raises(UsageError, match="closed; make a new one"):
        fan_out.feed(2)

    async def main() -> None:
        afan_out = AsyncFanOut([alist])
        assert await afan_out.close() == await afan_out.close() == [[]]
        with pytest.raises(UsageError, match="closed; make a new one"):
            await afan_out.feed(2)

    asyncio.run(main())


@pytest.mark.parametrize("kind", [FanOut, AsyncFanOut])
@pytest.mark.parametrize("new_queue", [async_queue, thread_queue])
def test_a_queue_that_had_its_stream_is_refused_at_once(kind: Any, new_queue: Any):
    queue = new_queue()
    kind([queue])
    queue([])
    with pytest.raises(UsageError, match="already used"):
        kind([queue])


async def _events(events: Any) -> Any:
    yield events


def _plain_events(events: Any) -> Any:
    yield events


@pytest.mark.parametrize("kind", [FanOut, AsyncFanOut])
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sinks": [5]}, "a sink must be a function that takes a stream of events, got 5"),
        ({"sinks": [_events]}, "is a generator function, which would never run"),
        ({"sinks": [_plain_events]}, "is a generator function, which would never run"),
        ({"sinks": [], "maxsize": 0}, "maxsize must be at least 1"),
        ({"sinks": [], "when_full": "drop"}, "when_full= must be one of 'block', 'drop_sink', 'fail', got 'drop'"),
    ],
)
def test_a_wrong_argument_is_told_at_once(kind: Any, wrong: dict[str, Any], words: str):
    with pytest.raises(UsageError, match=words):
        kind(**wrong)


MAKERS: list[Any] = [
    *(terminal_view, plain_view, notebook_view, callbacks, json_lines, async_queue, thread_queue, each_event),
    *(TwinSink, ThreadQueue, functools.partial(terminal_view, theme="monokai")),
]


@pytest.mark.parametrize("kind", [FanOut, AsyncFanOut])
@pytest.mark.parametrize("maker", MAKERS)
def test_what_makes_a_sink_is_refused_at_once(kind: Any, maker: Any):
    name = getattr(maker, "func", maker).__name__
    with pytest.raises(UsageError, match=rf"^{name} is not a sink but makes one; write {name}\(\.\.\.\)$"):
        kind([maker])


@pytest.mark.parametrize("kind", [FanOut, AsyncFanOut])
@pytest.mark.parametrize("function", [coalesce, to_sse, to_websocket])
def test_what_takes_a_whole_stream_is_refused_at_once(kind: Any, function: Any):
    with pytest.raises(
        UsageError, match=r"is not a sink of a pipeline; call it with the stream: \w+\((\.\.\.\)\()?pipeline"
    ):
        kind([function])


@pytest.mark.parametrize("kind", [FanOut, AsyncFanOut])
@pytest.mark.parametrize("wrong", [lambda: None, lambda events, other: None, Note])
def test_what_cannot_be_called_with_the_events_alone_is_refused_at_once(kind: Any, wrong: Any):
    with pytest.raises(UsageError, match="a sink must take one argument, the stream of events"):
        kind([wrong])


def test_what_only_looks_wrong_is_a_sink():
    def wrapped() -> None:
        """Say nothing of what wraps it."""

    @functools.wraps(wrapped)
    def wraps(*events: Any) -> list[Any]:
        return list(*events)

    assert feed_plain([collect, acollect, wraps, max, functools.partial(sorted, reverse=True)], [1, 2])[2:] == [
        [1, 2],
        2,
        [2, 1],
    ]


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize(
    "made",
    [plain_view, _plain_events, _events, coalesce(chars=1)],
    ids=["a sink", "a generator", "an async one", "merged events"],
)
def test_what_gives_something_that_nobody_runs_is_told_so(feed: Any, made: Any, caplog: pytest.LogCaptureFixture):
    def forgets(events: Any) -> Any:
        return made(events)

    error, numbers = feed([forgets, list], range(3))
    assert isinstance(error, UsageError)
    assert numbers == [0, 1, 2]
    assert "forgets raised UsageError: not a sink: it returned" in caplog.text


@pytest.mark.parametrize("feed", FEEDS)
def test_what_a_usage_error_says_is_logged(feed: Any, caplog: pytest.LogCaptureFixture):
    (error,) = feed([json_lines(io.StringIO())], ["no event"])
    assert isinstance(error, UsageError)
    assert "raised UsageError: json_lines writes events, got str; the stream goes on without it" in caplog.text


def test_a_released_stream_waits_for_no_sink_and_loses_nothing():
    gate = threading.Event()
    fan_out = FanOut([gated(gate), queue := thread_queue(1)], maxsize=1)

    def feed_plainly() -> None:
        for number in range(50):
            fan_out.feed(number)

    feeding = threading.Thread(target=feed_plainly, daemon=True)
    feeding.start()
    fan_out.release()
    feeding.join(20)
    assert not feeding.is_alive()
    gate.set()
    assert fan_out.close() == [[*range(50)], None]
    assert list(queue) == [*range(50)]

    async def main() -> None:
        gate = threading.Event()
        afan_out = AsyncFanOut([gated(gate), queue := async_queue(1)], maxsize=1)

        async def feed_all() -> None:
            for number in range(50):
                await afan_out.feed(number)

        feeding = asyncio.create_task(feed_all())
        await asyncio.sleep(0)
        afan_out.release()
        await feeding
        gate.set()
        assert await afan_out.close() == [[*range(50)], None]
        assert [event async for event in queue] == [*range(50)]

    asyncio.run(main())


def run_script(code: str) -> subprocess.CompletedProcess[str]:
    start = f"import signal, sys; sys.path.insert(0, {str(Path(__file__).parents[2] / 'support')!r}); import checkout\n"
    start += (
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored by what a shell runs in the background
    )
    return subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(code)], capture_output=True, text=True, check=False, timeout=60
    )


def test_ctrl_c_in_mid_stream_closes_the_sinks_and_ends_the_process():
    done = run_script("""
        import _thread, threading
        from penstock.sinks.running.fan_out import FanOut

        gate = threading.Event()
        def sink(events):
            try:
                for event in events:
                    gate.set()
            except Exception as error:
                print(type(error).__name__, flush=True)
        fan_out = FanOut([sink])
        error = None
        try:
            fan_out.feed(1)
            gate.wait()
            _thread.interrupt_main()
            while True:
                fan_out.feed(2)
        except BaseException as raised:
            error = raised
            raise
        finally:
            fan_out.close(error)
            print(threading.active_count())
    """)
    assert done.stdout.split() == ["StreamCutError", "1"]
    assert "KeyboardInterrupt" in done.stderr


def test_ctrl_c_wakes_a_stream_that_waits_for_a_stuck_sink_and_again_the_close():
    done = run_script("""
        import signal, threading
        from penstock.sinks.running.fan_out import FanOut

        def stuck(events):
            threading.Event().wait()
        fan_out = FanOut([stuck], maxsize=1)
        times = [0.2]  # and once more, while it closes
        def interrupt(*_):
            signal.setitimer(signal.ITIMER_REAL, times.pop() if times else 0)
            raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            try:
                while True:
                    fan_out.feed(1)
            except KeyboardInterrupt as error:
                print("fed", flush=True)
                fan_out.close(error)
        except KeyboardInterrupt:
            print("closed", flush=True)
    """)
    assert done.stdout.split() == ["fed", "closed"]
    assert done.returncode == 0, "a daemon thread does not hold the exit"


def test_a_fan_out_that_nobody_closed_does_not_hold_the_exit():
    done = run_script("""
        from penstock.sinks.running.fan_out import FanOut

        fan_out = FanOut([list])
        fan_out.feed(1)
        print("end")
    """)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)
