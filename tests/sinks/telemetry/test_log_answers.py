from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from penstock.events import (
    AnswerEnd,
    InvocationFailed,
    ProviderError,
    SegmentContent,
    SegmentStart,
    ToolInvocation,
    ToolResult,
    UsageError,
)
from penstock.events.chunk_response import TokenUsage
from penstock.pipeline import Pipeline
from penstock.sinks import StreamCutError, log_answers

START = SegmentStart("s", "text", turn_id="t")
CALL = ToolInvocation("call_1", "t", "look_up", {"word": "secret"}, raw="secret")
FAILURE = InvocationFailed("call_2", "t", "write_file", "secret", "truncated", ({"msg": "secret"},))
END = AnswerEnd(
    "t", 0, "complete", "tool_calls", "tool_use", TokenUsage(50, 20, 70, 30, 5), "gpt-5", "r", None, None, "secret"
)
OF_RECORDS = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def timed(self, steps: list[Any]) -> Iterator[Any]:
        for step in steps:
            if isinstance(step, float):
                self.now += step
            elif isinstance(step, BaseException):
                raise step
            else:
                yield step


async def as_async(events: Iterator[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event


def run_plain(sink: Any, events: Iterator[Any]) -> Any:
    return sink(events)


def run_async(sink: Any, events: Iterator[Any]) -> Any:
    async def run() -> Any:
        return await sink(as_async(events))

    return asyncio.run(run())


RUNS = [run_plain, run_async]
Log = Callable[..., list[logging.LogRecord]]


@pytest.fixture(params=RUNS)
def log(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Log:
    """Return a function that reads a stream and returns what was logged."""

    def logged(*steps: Any, level: str = "INFO", logger: str = "penstock") -> list[logging.LogRecord]:
        caplog.clear()
        with caplog.at_level(level, logger):
            clock = Clock()
            assert request.param(log_answers(logger, clock=clock), clock.timed([*steps])) is None
        return list(caplog.records)

    return logged


def extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in OF_RECORDS}


def test_an_answer_and_its_calls_are_one_line_each_with_the_same_facts_as_fields(log: Log):
    content = SegmentContent("s", "text", "secret", turn_id="t")
    call, failure, answer = log(
        START, content, 1.5, CALL, FAILURE, ToolResult("call_1", turn_id="t", value="secret"), 2.0, END
    )
    assert (call.levelname, call.name, call.getMessage()) == ("INFO", "penstock", "call look_up (call_1) is complete")
    assert extra(call) == {"event": "call", "turn_id": "t", "call_id": "call_1", "tool_name": "look_up"}
    assert (failure.levelname, failure.getMessage()) == ("WARNING", "call write_file (call_2) is not run: truncated")
    assert extra(failure) == {
        "event": "failed_call",
        "turn_id": "t",
        "call_id": "call_2",
        "tool_name": "write_file",
        "reason": "truncated",
    }
    assert answer.levelname == "INFO"
    assert answer.getMessage() == "answer of gpt-5 is complete: tool_use, 2.00 s, 50 + 20 tokens"
    assert extra(answer) == {
        "event": "answer",
        "turn_id": "t",
        "choice": 0,
        "status": "complete",
        "finish_reason": "tool_calls",
        "finish_reason_raw": "tool_use",
        "model": "gpt-5",
        "response_id": "r",
        "seconds": 2.0,
        "input_tokens": 50,
        "output_tokens": 20,
        "cached_tokens": 30,
        "reasoning_tokens": 5,
    }


@pytest.mark.parametrize(
    ("fields", "level", "message"),
    [
        ({}, "INFO", "answer is complete: 0.00 s"),
        ({"status": "paused", "finish_reason": "pause"}, "INFO", "answer is paused: pause, 0.00 s"),
        ({"status": "truncated", "finish_reason": "length"}, "WARNING", "answer is truncated: length, 0.00 s"),
        ({"status": "interrupted"}, "INFO", "answer is interrupted: 0.00 s"),
        ({"status": "interrupted", "error": {"detail": "secret", "type": "ReadError"}}, "WARNING", "answer is interrupted: ReadError, 0.00 s"),
        ({"status": "failed", "error": {"detail": "secret", "status": 529}}, "WARNING", "answer is failed: 529, 0.00 s"),
        ({"status": "failed", "choice": 1}, "WARNING", "answer 1 is failed: 0.00 s"),
    ],
)  # fmt: skip
def test_an_answer_that_the_model_or_the_provider_cut_is_a_warning(fields: Any, level: str, message: str, log: Log):
    (record,) = log(AnswerEnd("t", **fields))
    assert (record.levelname, record.getMessage()) == (level, message)
    assert extra(record)["status"] == fields.get("status", "complete")
    errors = {name: value for name, value in extra(record).items() if name.startswith("error_")}
    assert errors == {f"error_{name}": value for name, value in fields.get("error", {}).items() if name != "detail"}


def test_errors_of_tools_are_warnings_without_their_words(log: Log):
    failed, denied = log(ToolResult("a", turn_id="t", error="secret"), ToolResult("b", denied="secret"))
    assert (failed.levelname, failed.getMessage()) == ("WARNING", "call a returned no result: error")
    assert extra(failed) == {"event": "tool_error", "turn_id": "t", "call_id": "a", "reason": "error"}
    assert (denied.levelname, denied.getMessage()) == ("WARNING", "call b returned no result: denied")


def test_what_a_model_or_a_tool_wrote_is_logged_at_debug_only(log: Log):
    error = {"detail": "secret", "type": "overloaded"}
    steps = [START, CALL, FAILURE, ToolResult("a", error="secret"), AnswerEnd("t", status="failed", error=error)]
    records = log(*steps, level="DEBUG")
    told = [record for record in records if "secret" in repr(vars(record))]
    assert {record.levelname for record in told} == {"DEBUG"}
    assert [record.getMessage() for record in told] == [
        "arguments of call look_up (call_1): {'word': 'secret'}",
        "failed call write_file (call_2): ({'msg': 'secret'},), 'secret'",
        "result of call a: 'secret'",
        "error of answer t: {'detail': 'secret', 'type': 'overloaded'}",
    ]
    assert not any("secret" in repr(vars(record)) for record in log(*steps, level="INFO"))


def test_the_time_of_a_later_answer_begins_behind_the_one_before_and_the_results_of_its_tools(log: Log):
    steps = [1.0, START, CALL, 1.0, END, 5.0, ToolResult("call_1", turn_id="t"), 3.0, START, 1.0, END]
    assert [extra(record)["seconds"] for record in log(*steps) if extra(record)["event"] == "answer"] == [2.0, 4.0]


@pytest.mark.parametrize(
    ("error", "level", "message", "status"),
    [
        (KeyError("secret"), "WARNING", "answer failed: KeyError at test_log_answers.py:", "failed"),
        (ProviderError("secret"), "WARNING", "answer failed: ProviderError at test_log_answers.py:", "failed"),
        (StreamCutError("secret"), "INFO", "answer was left before its end", "interrupted"),
    ],
)
def test_an_answer_without_its_end_is_told_when_the_stream_ends(
    error: Exception, level: str, message: str, status: str, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO", "penstock")
    for run in RUNS:
        caplog.clear()
        with pytest.raises(type(error)) as raised:
            run(log_answers(clock=(clock := Clock())), clock.timed([START, 2.0, error]))
        assert raised.value is error
        (record,) = caplog.records
        assert record.levelname == level
        assert record.getMessage().startswith(message)
        told = {"event": "answer", "status": status, "error_type": type(error).__name__, "seconds": 2.0}
        assert extra(record) == told


def test_an_error_behind_the_end_of_the_answer_is_not_told_twice(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "penstock")
    with pytest.raises(KeyError):
        log_answers()(Clock().timed([START, AnswerEnd("t", status="failed"), KeyError()]))
    assert len(caplog.records) == 1


def test_names_of_a_model_cannot_forge_lines(log: Log):
    record, _ = log(ToolInvocation("a\nb", name="x\n2026 ERROR root\x1b[2J"), AnswerEnd(model="m\nn"))
    assert record.getMessage() == "call x\\n2026 ERROR root\\x1b[2J (a\\nb) is complete"
    assert extra(record)["tool_name"] == "x\n2026 ERROR root\x1b[2J"


def test_a_percent_sign_is_only_that(log: Log):
    (record,) = log(ToolInvocation("a", name="100%s"))
    assert record.getMessage() == "call 100%s (a) is complete"


def test_it_writes_to_the_logger_that_is_given(log: Log, caplog: pytest.LogCaptureFixture):
    assert [record.name for record in log(END, logger="mine")] == ["mine"]
    caplog.clear()
    with caplog.at_level("INFO", "other"):
        log_answers(logging.getLogger("other"))([END])
    assert [record.name for record in caplog.records] == ["other"]
    wrong: Any = 5
    with pytest.raises(UsageError, match="a logger or its name, got 5"):
        log_answers(wrong)


def test_a_logger_that_takes_no_info_is_not_bothered():
    logger = logging.getLogger("quiet")
    logger.setLevel("ERROR")
    logger.addFilter(lambda record: pytest.fail(record.getMessage()))
    log_answers(logger)([START, CALL, FAILURE, END])


def test_it_is_a_sink_of_a_pipeline(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "penstock")
    with Pipeline("hermes", sinks=[log_answers()]).stream(
        ['<tool_call>{"name": "f", "arguments": {}}</tool_call>']
    ) as run:
        list(run)
    assert [extra(record)["event"] for record in caplog.records] == ["call", "answer"]
    assert run.results == [None]


MUTANTS = {
    "spans have content that nobody asked for": (["tests/sinks/telemetry"], ("sinks/telemetry/otel_setup.py", "if not (self.content and span.is_recording()):", "if not span.is_recording():")),
}  # fmt: skip
