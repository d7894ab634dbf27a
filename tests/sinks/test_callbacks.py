from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any

import pytest

from penstock.events import (
    AnswerEnd,
    InvocationFailed,
    Notice,
    SegmentStart,
    ToolCallUpdate,
    ToolInvocation,
    UsageError,
)
from penstock.sinks.callbacks import callbacks
from penstock.sinks.running.channel import StreamCutError

SEGMENT = SegmentStart("s", "text")
INVOCATION = ToolInvocation("i", name="f", arguments={"key": "secret"})
FAILURE = InvocationFailed("j", name="g")
NOTICE = Notice("c", "d")
ANSWER = AnswerEnd("t", status="failed")
EVENTS: list[Any] = [SEGMENT, ToolCallUpdate("i", "f", "{", is_complete=False), INVOCATION, FAILURE, NOTICE]
EVENTS += [ANSWER, 5]


async def as_async(events: Any) -> AsyncIterator[Any]:
    for event in events:
        yield event


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def run_async(sink: Any, events: Any) -> Any:
    return asyncio.run(_awaited(sink(as_async(events))))


def run_plain(sink: Any, events: Any) -> Any:
    return sink(events)


RUNS = [run_plain, run_async]


def then(error: BaseException) -> Iterator[Any]:
    """Yield a stream that breaks after one event."""
    yield SEGMENT
    raise error


def raises(error: Exception) -> Any:
    def callback(event: Any) -> None:
        raise error

    return callback


def araises(error: Exception) -> Any:
    async def callback(event: Any) -> None:
        await asyncio.sleep(0)
        raise error

    return callback


@pytest.mark.parametrize("run", RUNS)
def test_each_callback_gets_the_events_of_its_kind_in_order_and_others_are_passed_over(run: Any):
    log: list[Any] = []
    names = ("on_segment", "on_invocation", "on_failure", "on_notice", "on_answer")
    assert run(callbacks(**dict.fromkeys(names, log.append)), EVENTS) is None
    assert log == [SEGMENT, INVOCATION, FAILURE, NOTICE, ANSWER]


@pytest.mark.parametrize("name", ["on_segment", "on_invocation", "on_failure", "on_notice", "on_answer"])
def test_without_its_callback_an_event_goes_nowhere(name: str):
    log: list[Any] = []
    callbacks(**{name: log.append})(EVENTS)
    assert len(log) == 1


@pytest.mark.parametrize("run", RUNS)
def test_no_events_call_nothing(run: Any):
    assert run(callbacks(on_segment=raises(OSError()), on_error=raises(OSError())), []) is None


def test_async_callbacks_are_awaited_one_after_the_other_between_plain_ones():
    log: list[Any] = []

    async def slow(event: Any) -> None:
        log.append("begin")
        await asyncio.sleep(0)
        log.append(type(event).__name__)

    def gives_slow(event: Any) -> Any:
        return slow(event)

    run_async(callbacks(on_segment=slow, on_invocation=log.append, on_notice=gives_slow), EVENTS)
    assert log == ["begin", "SegmentStart", INVOCATION, "begin", "Notice"]


def test_a_plain_stream_refuses_async_callbacks_before_its_first_event():
    async def slow(event: Any) -> None: ...

    class Slow:
        async def __call__(self, event: Any) -> None: ...

    asked: list[int] = []

    def events() -> Iterator[Any]:
        asked.append(1)
        yield SEGMENT

    for wrong in ({"on_segment": slow}, {"on_error": slow}, {"on_notice": Slow()}):
        with pytest.raises(UsageError, match="astream"):
            callbacks(**wrong)(events())
    assert asked == []


@pytest.mark.parametrize("run", RUNS)
def test_an_exception_of_a_callback_is_contained_and_goes_to_on_error(run: Any):
    log: list[Any] = []
    error = KeyError("k")
    sink = callbacks(on_segment=raises(error), on_invocation=log.append, on_error=log.append)
    assert run(sink, EVENTS) is None
    assert log == [error, INVOCATION]


def test_an_exception_of_an_async_callback_is_contained_too():
    log: list[Any] = []
    error = KeyError("k")

    async def on_error(error: Exception) -> None:
        await asyncio.sleep(0)
        log.append(error)

    run_async(callbacks(on_segment=araises(error), on_invocation=log.append, on_error=on_error), EVENTS)
    assert log == [error, INVOCATION]


@pytest.mark.parametrize("run", RUNS)
def test_without_on_error_it_is_logged_with_its_name_class_and_line_and_nothing_of_what_it_says(
    run: Any, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "penstock")
    log: list[Any] = []
    assert run(callbacks(on_invocation=raises(ValueError("secret")), on_notice=log.append), EVENTS) is None
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("penstock", logging.ERROR)
    assert "on_invocation" in record.getMessage()
    assert "raised ValueError at test_callbacks.py:" in record.getMessage()
    assert "secret" not in caplog.text
    assert log == [NOTICE]


def test_the_traceback_is_logged_at_debug(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "penstock")
    callbacks(on_invocation=raises(ValueError("secret")))(EVENTS)
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.DEBUG]
    assert "secret" in caplog.text


def test_what_raises_at_each_delta_is_logged_as_an_error_once_for_each_place(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "penstock")
    first, second = raises(OSError()), raises(KeyError())
    turns = iter([first, first, second, first, second])

    def on_segment(event: Any) -> None:
        next(turns)(event)

    callbacks(on_segment=on_segment)([SEGMENT] * 5)
    assert [record.getMessage().split(" raised ")[1].split()[0] for record in caplog.records] == ["OSError", "KeyError"]


@pytest.mark.parametrize("run", RUNS)
def test_an_exception_of_on_error_is_logged(run: Any, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "penstock")
    seen: list[Any] = []
    sink = callbacks(on_segment=raises(OSError()), on_notice=seen.append, on_error=raises(KeyError()))
    assert run(sink, EVENTS) is None
    (record,) = caplog.records
    assert "callback on_error" in record.getMessage()
    assert "KeyError" in record.getMessage()
    assert seen == [NOTICE]


@pytest.mark.parametrize("run", RUNS)
def test_the_streams_exception_goes_to_on_error_and_passes_on(run: Any):
    log: list[Any] = []
    error = OSError("lost")
    with pytest.raises(OSError, match="lost"):
        run(callbacks(on_segment=log.append, on_error=log.append), then(error))
    assert log == [SEGMENT, error]


def test_an_async_on_error_is_awaited_with_the_streams_exception():
    log: list[Any] = []

    async def on_error(error: Exception) -> None:
        await asyncio.sleep(0)
        log.append(error)

    error = OSError("lost")
    with pytest.raises(OSError, match="lost"):
        run_async(callbacks(on_error=on_error), then(error))
    assert log == [error]


def test_a_broken_on_error_does_not_hide_the_streams_exception(caplog: pytest.LogCaptureFixture):
    with pytest.raises(OSError, match="lost"):
        callbacks(on_error=raises(KeyError()))(then(OSError("lost")))
    assert "callback on_error" in caplog.text


def test_ctrl_c_comes_as_a_cut_stream_and_passes_on():
    log: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        callbacks(on_error=log.append)(then(KeyboardInterrupt()))
    assert [type(each) for each in log] == [StreamCutError]


def test_ctrl_c_in_a_callback_is_not_contained():
    def interrupted(event: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        callbacks(on_segment=interrupted)(EVENTS)


def test_what_cannot_be_called_is_refused_and_so_is_nothing():
    with pytest.raises(UsageError, match="on_notice= must be a function of one argument, got 5"):
        callbacks(on_notice=5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"at least one of on_segment=, .* on_error="):
        callbacks()


def test_two_streams_do_not_share_what_was_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "penstock")
    sink = callbacks(on_segment=raises(OSError()))
    sink([SEGMENT])
    sink([SEGMENT])
    assert len(caplog.records) == 2
