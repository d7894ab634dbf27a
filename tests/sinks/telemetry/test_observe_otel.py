from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.trace import SpanKind
from otel_recorder import Recorder, attributes, id_of, outcome, parent_of, seconds

from penstock.events import (
    AnswerEnd,
    InvocationFailed,
    Notice,
    ProviderError,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolInvocation,
    ToolResult,
    UsageError,
)
from penstock.events.chunk_response import TokenUsage
from penstock.sinks import StreamCutError, observe_otel
from penstock.sinks.telemetry.observe_otel import OtelObserver

ROOT = Path(__file__).parents[3]
USAGE = TokenUsage(prompt=50, completion=20, total=70, cached=30, reasoning=5)
END = AnswerEnd(
    "t", 0, "complete", "tool_calls", "tool_use", USAGE, "gpt-5-2026", "resp_1", None, "openai-responses", None
)
START = SegmentStart("s", "text", turn_id="t")
CALL_START = SegmentStart("call_1", "tool_call", {"tool_name": "look_up"}, turn_id="t")
CALL_END = SegmentEnd("call_1", "tool_call", "complete", turn_id="t")
CALL = ToolInvocation("call_1", "t", "look_up", {"word": "secret argument"}, raw='{"word": "secret argument"}')
RESULT = ToolResult("call_1", turn_id="t", value={"meaning": "secret result"})


def text(delta: str = "secret text") -> SegmentContent:
    return SegmentContent("s", "text", delta, turn_id="t", raw=delta)


def arguments(delta: str) -> SegmentContent:
    return SegmentContent("call_1", "tool_call", delta, turn_id="t", raw=delta)


STEPS: list[Any] = [2, START, text(), 0.5, text(), 0.25, SegmentEnd("s", "text", "complete", turn_id="t")]
STEPS += [CALL_START, 1, arguments('{"word":'), 3, arguments(' "secret argument"}'), CALL_END, CALL, 1, END, 4, RESULT]


@pytest.fixture
def otel() -> Recorder:
    return Recorder()


def run_plain(observe: OtelObserver, otel: Recorder, steps: list[Any]) -> list[Any]:
    return list(observe(otel.timed(steps)))


def run_async(observe: OtelObserver, otel: Recorder, steps: list[Any]) -> list[Any]:
    async def collected() -> list[Any]:
        return [event async for event in observe(otel.atimed(steps))]

    return asyncio.run(collected())


def run_sink(observe: OtelObserver, otel: Recorder, steps: list[Any]) -> list[Any]:
    passed: list[Any] = []

    def noted() -> Iterator[Any]:
        for event in otel.timed(steps):
            passed.append(event)
            yield event

    observe.sink(noted())
    return passed


RUNS = [run_plain, run_async, run_sink]
Run = Callable[[OtelObserver, Recorder, list[Any]], list[Any]]


@pytest.mark.parametrize("run", RUNS)
def test_every_event_passes_on_unchanged_and_in_order(run: Run, otel: Recorder):
    steps: list[Any] = [Notice("c", "d"), 5, *STEPS, 7, "anything"]
    passed = run(otel.observe(content=True), otel, steps)
    expected = [each for each in steps if not isinstance(each, int | float)]
    assert len(passed) == len(expected)
    assert all(one is other for one, other in zip(passed, expected, strict=True))


@pytest.mark.parametrize("conventions", ["released", "latest"])
@pytest.mark.parametrize("run", RUNS)
def test_an_answer_is_a_span_with_what_its_end_says(run: Run, conventions: str, otel: Recorder):
    run(otel.observe(conventions=conventions, model="gpt-5"), otel, STEPS)
    span = otel.span("chat")
    assert (span.name, span.kind, span.parent, seconds(span)) == ("chat gpt-5", SpanKind.CLIENT, None, (0, 7.75))
    assert attributes(span) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.request.stream": True,
        "gen_ai.response.id": "resp_1",
        "gen_ai.response.model": "gpt-5-2026",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.response.time_to_first_chunk": 2,
        "gen_ai.usage.input_tokens": 50,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 30,
        "gen_ai.usage.reasoning.output_tokens": 5,
        "penstock.answer.status": "complete",
        "penstock.answer.raw_finish_reasons": ("tool_use",),
        "penstock.answer.calls": 1,
    }
    assert outcome(span) == ("UNSET", None, None)
    assert span.instrumentation_scope is not None
    assert span.instrumentation_scope.name == "penstock"


def test_without_a_requested_model_the_span_has_the_name_of_the_one_that_answered(otel: Recorder):
    run_plain(otel.observe(), otel, STEPS)
    assert otel.span("chat").name == "chat gpt-5-2026"
    assert "gen_ai.request.model" not in attributes(otel.span("chat"))
    run_plain(otel.observe(), otel, [AnswerEnd("t")])
    assert otel.spans()[-1].name == "chat"


@pytest.mark.parametrize(
    ("api", "options", "provider"),
    [
        ("openai-chat", {}, "openai"),
        ("anthropic-messages", {}, "anthropic"),
        ("gemini", {}, "gcp.gen_ai"),
        ("ollama", {}, "ollama"),
        (None, {}, None),
        (None, {"provider": "groq"}, "groq"),
        ("openai-chat", {"provider": "groq"}, "groq"),
    ],
)
def test_the_provider_is_the_option_or_that_of_the_answers_api(api: Any, options: Any, provider: Any, otel: Recorder):
    run_plain(otel.observe(**options), otel, [START, AnswerEnd("t", api=api)])
    assert attributes(otel.span("chat")).get("gen_ai.provider.name") == provider
    ((_, _, labels),) = otel.histogram("gen_ai.client.operation.duration")
    assert labels.get("gen_ai.provider.name") == provider


@pytest.mark.parametrize("run", RUNS)
def test_a_call_is_a_span_from_its_invocation_to_its_result(run: Run, otel: Recorder):
    run(otel.observe(attributes={"gen_ai.conversation.id": "c1"}), otel, STEPS)
    span = otel.span("execute_tool")
    assert (span.name, span.kind, seconds(span)) == ("execute_tool look_up", SpanKind.INTERNAL, (6.75, 11.75))
    assert attributes(span) == {
        "gen_ai.conversation.id": "c1",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look_up",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call_1",
    }
    assert outcome(span) == ("UNSET", None, None)
    assert attributes(otel.span("chat"))["gen_ai.conversation.id"] == "c1"


@pytest.mark.parametrize(
    ("result", "error_type"),
    [({"error": "secret result"}, "tool_error"), ({"denied": "secret result"}, "denied"), ({}, None)],
)
def test_the_span_of_a_call_says_how_its_tool_ended(result: Any, error_type: str | None, otel: Recorder):
    run_plain(otel.observe(conventions="latest"), otel, [CALL, END, 4, ToolResult("call_1", turn_id="t", **result)])
    span = otel.span("execute_tool")
    assert outcome(span) == (("UNSET", None, None) if error_type is None else ("ERROR", None, error_type))
    error = {} if error_type is None else {"error.type": error_type}
    points = [] if error_type == "denied" else [(1, 4.0, {"gen_ai.tool.name": "look_up", **error})]
    assert otel.histogram("gen_ai.execute_tool.duration") == points  # what was denied did not run


@pytest.mark.parametrize("run", RUNS)
def test_a_call_without_a_result_has_no_duration_and_no_error(run: Run, otel: Recorder):
    run(otel.observe(), otel, [2, CALL, 3, END, ToolResult("other", turn_id="t"), ToolResult("call_1", turn_id="u"), 4])
    span = otel.span("execute_tool")
    assert (seconds(span), outcome(span)) == ((2, 2), ("UNSET", None, None))
    assert otel.histogram("gen_ai.execute_tool.duration") == []


@pytest.mark.parametrize("run", RUNS)
def test_a_result_that_does_not_say_its_turn_ends_the_newest_call_of_its_id(run: Run, otel: Recorder):
    calls = [ToolInvocation("call_1", turn_id, "look_up") for turn_id in ("t", "u")]
    run(otel.observe(), otel, [2, calls[0], 3, calls[1], 4, ToolResult("call_1"), END])
    assert sorted(seconds(each) for each in otel.spans("execute_tool")) == [(2, 2), (5, 9)]


@pytest.mark.parametrize("run", RUNS)
def test_a_call_whose_id_comes_again_in_its_turn_ends_without_a_duration(run: Run, otel: Recorder):
    run(otel.observe(), otel, [2, CALL, 3, CALL, 4, RESULT, END])
    assert sorted(seconds(each) for each in otel.spans("execute_tool")) == [(2, 2), (5, 9)]


@pytest.mark.parametrize("run", RUNS)
def test_both_spans_are_children_of_the_current_one_and_the_call_has_a_link_to_its_answer(run: Run, otel: Recorder):
    with otel.tracer.start_as_current_span("agent") as agent:
        run(otel.observe(), otel, STEPS)
        assert trace.get_current_span() is agent
    chat, tool = otel.span("chat"), otel.span("execute_tool")
    assert (parent_of(chat), parent_of(tool)) == (id_of(agent), id_of(agent))
    assert [link.context.span_id for link in tool.links] == [id_of(chat)]


@pytest.mark.parametrize("run", RUNS)
def test_without_a_current_span_a_call_is_the_child_of_its_answer(run: Run, otel: Recorder):
    run(otel.observe(), otel, STEPS)
    chat, tool = otel.span("chat"), otel.span("execute_tool")
    assert parent_of(tool) == id_of(chat)
    assert tool.context.trace_id == chat.context.trace_id


def test_the_request_is_a_child_of_the_answer_and_what_comes_later_is_not(otel: Recorder):
    def source() -> Iterator[Any]:
        otel.tracer.start_span("POST").end()
        yield START
        otel.tracer.start_span("later").end()
        yield END

    async def asource() -> AsyncIterator[Any]:
        for event in source():
            yield event

    async def read() -> None:
        async for _ in otel.observe()(asource()):
            assert trace.get_current_span() is trace.INVALID_SPAN

    for _ in otel.observe()(source()):
        assert trace.get_current_span() is trace.INVALID_SPAN
    asyncio.run(read())
    chats = [id_of(span) for span in otel.spans("chat")]
    assert [parent_of(span) for span in otel.spans("POST")] == chats
    assert [parent_of(span) for span in otel.spans("later")] == [None, None]


def test_the_span_begins_when_the_first_event_is_asked_for_not_before(otel: Recorder):
    watched = otel.observe()(otel.timed(STEPS))
    otel.later(10)
    next(watched)
    otel.later(1)
    list(watched)
    assert seconds(otel.span("chat")) == (10, 18.75)


CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5",
    "gen_ai.response.model": "gpt-5-2026",
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("conventions", "begin"), [("released", "gen_ai.client.operation"), ("latest", "gen_ai.client.inference")]
)
def test_times_are_histograms_in_seconds(conventions: str, begin: str, run: Run, otel: Recorder):
    run(otel.observe(conventions=conventions, model="gpt-5"), otel, STEPS)
    assert otel.histogram(f"{begin}.duration") == [(1, 7.75, CHAT)]
    assert otel.histogram(f"{begin}.time_to_first_chunk") == [(1, 2.0, CHAT)]
    # 0.5 between the texts, 0.25 + 1 to the first piece of arguments, 3 to the second
    known = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5"}
    assert otel.histogram(f"{begin}.time_per_output_chunk") == [(3, 4.75, known)]
    (point,) = otel.metrics()[f"{begin}.duration"]
    assert point.explicit_bounds == (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)  # fmt: skip
    assert {
        otel.units()[f"{begin}.{name}"] for name in ("duration", "time_to_first_chunk", "time_per_output_chunk")
    } == {"s"}


def test_times_of_chunks_are_recorded_at_once_if_the_model_is_given_else_when_the_end_tells_it(otel: Recorder):
    name = "gen_ai.client.operation.time_per_output_chunk"
    known = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "groq", "gen_ai.request.model": "m"}
    watched = otel.observe(model="m", provider="groq")(otel.timed([START, text(), 2, text(), 3, text(), END]))
    assert [otel.histogram(name) for event in watched if isinstance(event, SegmentContent)] == [
        [],
        [(1, 2.0, known)],
        [(2, 5.0, known)],
    ]
    otel = Recorder()
    watched = otel.observe()(otel.timed([START, text(), 2, text(), 3, text(), END]))
    assert [otel.histogram(name) for event in watched if isinstance(event, SegmentContent)] == [[], [], []]
    told = {name: value for name, value in CHAT.items() if name != "gen_ai.request.model"}
    assert otel.histogram(name) == [(2, 5.0, told)]


def test_the_released_conventions_count_tokens_in_one_histogram(otel: Recorder):
    run_plain(otel.observe(model="gpt-5"), otel, STEPS)
    assert otel.histogram("gen_ai.client.token.usage") == [
        (1, 50, {**CHAT, "gen_ai.token.type": "input"}),
        (1, 20, {**CHAT, "gen_ai.token.type": "output"}),
    ]
    assert otel.units()["gen_ai.client.token.usage"] == "{token}"
    assert not [name for name in otel.metrics() if "inference" in name or "execute_tool" in name]


def test_the_latest_conventions_count_them_in_counters_and_two_histograms(otel: Recorder):
    run_plain(otel.observe(conventions="latest", model="gpt-5"), otel, STEPS)
    unknown = {**CHAT, "gen_ai.token.modality": "unknown"}
    counted = {"input": 50, "output": 20, "cache_read.input": 30, "reasoning.output": 5}
    for name, number in counted.items():
        assert otel.counter(f"gen_ai.client.inference.usage.{name}_tokens") == [(number, unknown)]
    for name in ("input", "output"):
        points = otel.histogram(f"gen_ai.client.inference.operation.{name}_tokens")
        assert points == [(1, counted[name], CHAT)]
    assert otel.histogram("gen_ai.execute_tool.duration") == [(1, 5.0, {"gen_ai.tool.name": "look_up"})]
    assert not [name for name in otel.metrics() if name.startswith(("gen_ai.client.operation", "gen_ai.client.token"))]


@pytest.mark.parametrize("conventions", ["released", "latest"])
def test_tokens_that_nobody_told_are_not_counted(conventions: str, otel: Recorder):
    run_plain(otel.observe(conventions=conventions), otel, [START, AnswerEnd("t")])
    assert not [name for name in otel.metrics() if "token" in name]
    run_plain(otel.observe(conventions="latest"), otel, [AnswerEnd("t", usage=TokenUsage(5, 2, 7))])
    assert {name for name in otel.metrics() if ".usage." in name} == {
        "gen_ai.client.inference.usage.input_tokens",
        "gen_ai.client.inference.usage.output_tokens",
    }


STATUSES = [
    ({"status": "complete", "finish_reason": "stop"}, ("UNSET", None, None), "stop"),
    ({"status": "complete"}, ("UNSET", None, None), "stop"),
    ({"status": "paused", "finish_reason": "pause"}, ("UNSET", None, None), "pause"),
    ({"status": "truncated", "finish_reason": "length"}, ("ERROR", "truncated", "truncated"), "length"),
    ({"status": "truncated"}, ("ERROR", "truncated", "truncated"), "error"),
    ({"status": "interrupted"}, ("ERROR", "interrupted", "interrupted"), "error"),
    ({"status": "interrupted", "error": {"type": "ReadError"}}, ("ERROR", "interrupted", "interrupted"), "error"),
    ({"status": "failed"}, ("ERROR", "failed", "failed"), "error"),
    ({"status": "failed", "error": {"detail": "secret"}}, ("ERROR", "failed", "failed"), "error"),
    ({"status": "failed", "error": {"type": "overloaded_error", "code": "x"}}, ("ERROR", "failed", "overloaded_error"), "error"),
    ({"status": "failed", "error": {"code": "rate_limit"}}, ("ERROR", "failed", "rate_limit"), "error"),
    ({"status": "failed", "error": {"status": 529}}, ("ERROR", "failed", "529"), "error"),
]  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("fields", "expected", "finish_reason"), STATUSES)
def test_the_status_of_an_answer_is_that_of_its_span(
    fields: Any, expected: Any, finish_reason: str, run: Run, otel: Recorder
):
    run(otel.observe(), otel, [START, AnswerEnd("t", **fields)])
    span = otel.span("chat")
    assert outcome(span) == expected
    assert attributes(span)["penstock.answer.status"] == fields["status"]
    assert attributes(span)["gen_ai.response.finish_reasons"] == (finish_reason,)
    ((_, _, labels),) = otel.histogram("gen_ai.client.operation.duration")
    assert labels.get("error.type") == expected[2]


ERRORS: list[tuple[BaseException, Any]] = [
    (ProviderError("secret", type="overloaded_error", status=529), ("ERROR", "failed", "overloaded_error")),
    (ProviderError("secret", status=500), ("ERROR", "failed", "500")),
    (ProviderError("secret"), ("ERROR", "failed", "failed")),
    (ProviderError("secret", transport=True), ("ERROR", "interrupted", "interrupted")),
    (KeyError("secret"), ("ERROR", "failed", "KeyError")),
    (StreamCutError("secret"), ("ERROR", "interrupted", "interrupted")),
    (KeyboardInterrupt(), ("ERROR", "interrupted", "interrupted")),
]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("error", "expected"), ERRORS)
@pytest.mark.parametrize("before", [[], [START, CALL_START, CALL]])
def test_an_error_of_the_stream_passes_on_and_ends_all_open_spans(
    before: list[Any], error: BaseException, expected: Any, run: Run, otel: Recorder
):
    with pytest.raises(type(error)) as raised:
        run(otel.observe(), otel, [*before, 3, error])
    assert raised.value is error
    chat = otel.span("chat")
    assert (outcome(chat), seconds(chat)) == (expected, (0, 3))
    assert attributes(chat)["gen_ai.response.finish_reasons"] == ("error",)
    assert [(outcome(span), seconds(span)) for span in otel.spans("execute_tool")] == [
        (("ERROR", "interrupted", "interrupted"), (0, 3)) for _ in before[:1]
    ]
    assert not any("secret" in repr(span.to_json()) for span in otel.spans())


def test_an_error_behind_the_end_of_the_answer_changes_nothing_of_it(otel: Recorder):
    with pytest.raises(KeyError):
        run_plain(otel.observe(), otel, [START, 2, AnswerEnd("t", status="failed", error={"type": "a"}), 1, KeyError()])
    assert (outcome(otel.span("chat")), seconds(otel.span("chat"))) == (("ERROR", "failed", "a"), (0, 2))


def test_an_answer_whose_end_does_not_come_in_a_regular_stream_has_no_status(otel: Recorder):
    run_plain(otel.observe(), otel, [START, 2, text(), 1])
    span = otel.span("chat")
    assert (outcome(span), seconds(span)) == (("UNSET", None, None), (0, 3))
    assert "gen_ai.response.finish_reasons" not in attributes(span)
    assert "penstock.answer.status" not in attributes(span)


INTERRUPTED = ("ERROR", "interrupted", "interrupted")


def all_interrupted(otel: Recorder) -> bool:
    return [(span.name, outcome(span)) for span in otel.spans()] == [
        ("execute_tool look_up", INTERRUPTED),
        ("chat", INTERRUPTED),
    ]


class Closable:
    """A stream that can be closed, as a `Run` can."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self.is_closed = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._events)

    def close(self) -> None:
        self.is_closed = True


def test_leaving_a_plain_loop_ends_all_open_spans_as_interrupted_and_closes_the_stream(otel: Recorder):
    events = Closable(otel.timed([START, CALL, text()]))
    watched = otel.observe()(events)
    assert [next(watched), next(watched)] == [START, CALL]
    otel.later(2)
    watched.close()
    assert all_interrupted(otel)
    assert [seconds(span) for span in otel.spans()] == [(0, 2), (0, 2)]
    assert events.is_closed


def test_a_break_is_enough(otel: Recorder):
    for event in otel.observe()(otel.timed([START, CALL, text()])):
        if event is CALL:
            break
    assert all_interrupted(otel)


def test_leaving_an_async_loop_ends_them_too(otel: Recorder):
    closed: list[int] = []

    async def source() -> AsyncIterator[Any]:
        try:
            for event in (START, CALL, text()):
                yield event
        finally:
            closed.append(1)

    async def read() -> None:
        async with aclosing(otel.observe()(source())) as watched:
            async for event in watched:
                if event is CALL:
                    break

    asyncio.run(read())
    assert all_interrupted(otel)
    assert closed == [1]


@pytest.mark.parametrize("as_sink", [False, True])
def test_a_cancellation_ends_them_and_passes_on(as_sink: bool, otel: Recorder):
    async def source(waits: asyncio.Event) -> AsyncIterator[Any]:
        yield START
        yield CALL
        waits.set()
        await asyncio.Event().wait()

    async def read(events: AsyncIterator[Any]) -> None:
        observe = otel.observe()
        if as_sink:
            await observe.sink(events)
        else:
            async for _ in observe(events):
                pass

    async def cancelled() -> None:
        waits = asyncio.Event()
        reading = asyncio.create_task(read(source(waits)))
        await waits.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(cancelled())
    assert all_interrupted(otel)


def test_a_cancellation_while_the_first_event_is_awaited_leaves_the_context_clean(otel: Recorder):
    async def source(waits: asyncio.Event) -> AsyncIterator[Any]:
        waits.set()
        await asyncio.Event().wait()
        yield START

    async def read(waits: asyncio.Event) -> None:
        with otel.tracer.start_as_current_span("agent") as agent:
            try:
                async for _ in otel.observe()(source(waits)):
                    pass
            finally:
                assert trace.get_current_span() is agent

    async def cancelled() -> None:
        waits = asyncio.Event()
        reading = asyncio.create_task(read(waits))
        await waits.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(cancelled())
    assert outcome(otel.span("chat")) == INTERRUPTED


def test_a_loop_left_at_the_end_of_the_answer_was_complete(otel: Recorder):
    for event in otel.observe()(otel.timed([START, 2, END, 3, RESULT])):
        if event is END:
            break
    assert (outcome(otel.span("chat")), seconds(otel.span("chat"))) == (("UNSET", None, None), (0, 2))


def test_a_stream_that_is_never_read_is_no_answer(otel: Recorder):
    otel.observe()(otel.timed(STEPS)).close()
    assert otel.spans() == []
    assert otel.metrics() == {}


def of_turn(turn_id: str | None, *, choice: int = 0) -> list[Any]:
    metadata = {"choice": choice} if choice else {}
    return [
        SegmentStart(f"{turn_id}:s{choice}", "text", metadata, turn_id=turn_id),
        SegmentContent(f"{turn_id}:s{choice}", "text", "a", turn_id=turn_id),
        SegmentEnd(f"{turn_id}:s{choice}", "text", "complete", turn_id=turn_id),
    ]


def answer_end(turn_id: str | None, status: Any = "complete", *, choice: int = 0) -> AnswerEnd:
    return AnswerEnd(turn_id, choice, status, "stop", usage=USAGE, model=f"m-{turn_id}", response_id=f"r-{turn_id}")


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("turns", [("a", "b"), ("a", "a"), (None, None)])
def test_each_answer_of_a_stream_has_its_own_span(turns: Any, run: Run, otel: Recorder):
    one, two = turns
    call = ToolInvocation("c", one, "f")
    steps = [2, *of_turn(one), call, 1, answer_end(one), 3, ToolResult("c", turn_id=one), 4, *of_turn(two), 5]
    run(otel.observe(), otel, [*steps, answer_end(two, "truncated"), 6])
    first, second = otel.spans("chat")
    assert (seconds(first), outcome(first)) == ((0, 3), ("UNSET", None, None))
    assert (seconds(second), outcome(second)) == ((6, 15), ("ERROR", "truncated", "truncated"))
    assert [attributes(span)["gen_ai.response.id"] for span in (first, second)] == [f"r-{one}", f"r-{two}"]
    assert [attributes(span).get("penstock.answer.calls") for span in (first, second)] == [1, None]
    assert attributes(second)["gen_ai.response.time_to_first_chunk"] == 4
    assert [link.context.span_id for link in otel.span("execute_tool").links] == [id_of(first)]
    assert sum(count for count, _, _ in otel.histogram("gen_ai.client.operation.duration")) == 2


def test_answers_that_are_written_at_the_same_time_are_kept_apart(otel: Recorder):
    a, b = of_turn("a"), of_turn("b")
    mixed = [event for pair in zip(a, b, strict=True) for event in pair]
    run_plain(otel.observe(), otel, [*mixed, 1, answer_end("b"), 1, answer_end("a")])
    assert {span.name: seconds(span)[1] for span in otel.spans("chat")} == {"chat m-a": 2, "chat m-b": 1}


def test_the_choices_of_a_response_are_one_answer_whose_tokens_count_once(otel: Recorder):
    steps = [*of_turn("t"), *of_turn("t", choice=1), 1, answer_end("t"), *of_turn("t", choice=2)]
    run_plain(
        otel.observe(), otel, [*steps, 1, answer_end("t", "truncated", choice=1), answer_end("t", "paused", choice=2)]
    )
    span = otel.span("chat")
    assert (seconds(span), outcome(span)) == ((0, 2), ("ERROR", "truncated", "truncated"))
    assert attributes(span)["gen_ai.response.finish_reasons"] == ("stop", "stop", "stop")
    assert [number for _, number, _ in otel.histogram("gen_ai.client.token.usage")] == [50, 20]


def test_two_streams_at_once_do_not_know_of_each_other(otel: Recorder):
    observe = otel.observe()

    async def read(name: str, turn_ready: asyncio.Event, other_ready: asyncio.Event) -> None:
        async def source() -> AsyncIterator[Any]:
            otel.tracer.start_span(f"POST {name}").end()
            for event in [*of_turn(name), ToolInvocation("c", name, name)]:
                turn_ready.set()
                await other_ready.wait()
                await asyncio.sleep(0)
                yield event
            yield answer_end(name)
            yield ToolResult("c", turn_id=name)

        with otel.tracer.start_as_current_span(f"agent {name}"):
            async for _ in observe(source()):
                await asyncio.sleep(0)

    async def both() -> None:
        one, two = asyncio.Event(), asyncio.Event()
        await asyncio.gather(read("a", one, two), read("b", two, one))

    asyncio.run(both())
    assert len(otel.spans()) == 8
    for name in ("a", "b"):
        agent, chat, tool = otel.span(f"agent {name}"), otel.span(f"chat m-{name}"), otel.span(f"execute_tool {name}")
        assert parent_of(chat) == parent_of(tool) == id_of(agent)
        assert parent_of(otel.span(f"POST {name}")) == id_of(chat)
        assert [link.context.span_id for link in tool.links] == [id_of(chat)]


def test_how_long_a_call_is_written_is_measured_from_its_start(otel: Recorder):
    run_plain(otel.observe(), otel, STEPS)
    labels = {"gen_ai.tool.name": "look_up"}
    assert otel.histogram("penstock.tool_call.time_to_first_argument") == [(1, 1.0, labels)]
    assert otel.histogram("penstock.tool_call.time_to_seal") == [(1, 4.0, labels)]
    assert otel.counter("penstock.tool_call.open") == [(0, {})]
    assert otel.units()["penstock.tool_call.open"] == "{call}"
    assert otel.units()["penstock.tool_call.time_to_seal"] == "s"


def test_an_argument_that_has_a_segment_of_its_own_belongs_to_its_call(otel: Recorder):
    metadata = {"call_id": "call_1", "tool_name": "look_up", "path": ["word"]}
    argument = SegmentStart("call_1/word", "tool_call", metadata, turn_id="t")
    content = SegmentContent("call_1/word", "tool_call", "x", turn_id="t")
    end = SegmentEnd("call_1/word", "tool_call", "complete", None, metadata, turn_id="t")
    run_plain(otel.observe(), otel, [CALL_START, 1, argument, 1, content, end, 1, CALL_END, CALL, END])
    assert otel.histogram("penstock.tool_call.time_to_first_argument")[0][:2] == (1, 2.0)
    assert otel.histogram("penstock.tool_call.time_to_seal")[0][:2] == (1, 3.0)
    assert otel.counter("penstock.tool_call.open") == [(0, {})]


def test_a_call_that_is_sealed_before_its_segment_ends_is_open_until_then(otel: Recorder):
    watched = iter(otel.observe()(otel.timed([CALL_START, arguments("{}"), CALL, CALL_END, END])))
    counts = [otel.counter("penstock.tool_call.open")[0][0] for event in watched if event is not END]
    assert counts == [1, 1, 1, 0]
    assert otel.histogram("penstock.tool_call.time_to_seal")[0][0] == 1


def test_calls_of_a_stream_that_breaks_are_open_no_more(otel: Recorder):
    watched = otel.observe()(otel.timed([CALL_START, arguments("{")]))
    next(watched)
    assert otel.counter("penstock.tool_call.open") == [(1, {})]
    watched.close()
    assert otel.counter("penstock.tool_call.open") == [(0, {})]


def test_calls_that_the_provider_runs_are_not_counted(otel: Recorder):
    metadata = {"tool_name": "web_search", "executed_by": "provider"}
    run_plain(otel.observe(), otel, [SegmentStart("p", "tool_call", metadata, turn_id="t"), END])
    assert "penstock.tool_call.open" not in otel.metrics()


def test_failed_calls_are_counted_by_their_reason_and_by_names_that_no_model_invented(otel: Recorder):
    def failed(reason: Any) -> list[Any]:
        failure = InvocationFailed("call_1", "t", "look_up", "secret argument", reason, ({"msg": "secret"},))
        return [CALL_START, CALL_END, failure]

    reasons = ("truncated", "invalid", "unknown_tool", "guarded")
    run_plain(otel.observe(), otel, [*(event for each in reasons for event in failed(each)), END])
    named = {"gen_ai.tool.name": "look_up"}
    assert otel.counter("penstock.tool_call.failures") == [
        (1, {"error.type": "truncated", **named}),
        (1, {"error.type": "invalid", **named}),
        (1, {"error.type": "unknown_tool"}),
        (1, {"error.type": "guarded"}),
    ]
    assert attributes(otel.span("chat"))["penstock.answer.failed_calls"] == 4
    assert "penstock.tool_call.time_to_seal" not in otel.metrics()
    assert otel.spans("execute_tool") == []


def test_a_clock_that_is_set_back_makes_no_negative_times(otel: Recorder):
    run_plain(otel.observe(), otel, [2, START, text(), -5, text(), END])
    assert otel.histogram("gen_ai.client.operation.time_per_output_chunk")[0][:2] == (1, 0.0)
    assert otel.histogram("gen_ai.client.operation.duration")[0][:2] == (1, 0.0)


@pytest.mark.parametrize("run", RUNS)
def test_no_content_is_recorded_unasked_and_no_event_for_a_delta(run: Run, otel: Recorder):
    failure = InvocationFailed("f", "t", "g", "secret argument", "invalid", ({"msg": "secret"},))
    end = AnswerEnd("t", error={"detail": "secret"}, message={"content": "secret"}, status="failed")
    run(otel.observe(), otel, [*STEPS[:-3], failure, end, RESULT])
    assert len(otel.spans()) == 2
    assert all(span.events == () for span in otel.spans())
    assert not any("secret" in repr(span.to_json()) for span in otel.spans())
    assert not any("secret" in repr(points) for points in otel.metrics().values())


@pytest.mark.parametrize("conventions", ["released", "latest"])
@pytest.mark.parametrize("run", RUNS)
def test_content_that_is_asked_for_is_json_in_the_conventions_attributes(run: Run, conventions: str, otel: Recorder):
    run(otel.observe(content=True, conventions=conventions), otel, STEPS)
    tool, chat = attributes(otel.span("execute_tool")), attributes(otel.span("chat"))
    assert tool["gen_ai.tool.call.arguments"] == '{"word":"secret argument"}'
    assert tool["gen_ai.tool.call.result"] == '{"meaning":"secret result"}'
    assert chat["gen_ai.output.messages"] == (
        '[{"role":"assistant","parts":[{"type":"text","content":"secret textsecret text"},'
        '{"type":"tool_call","id":"call_1","name":"look_up","arguments":{"word":"secret argument"}}],'
        '"finish_reason":"tool_calls"}]'
    )


def test_what_is_stored_is_what_the_redaction_returns(otel: Recorder):
    asked: list[tuple[str, Any]] = []

    def redact(name: str, value: Any) -> Any:
        asked.append((name, value))
        return {"gen_ai.tool.call.arguments": {"word": "***"}, "gen_ai.output.messages": "left to the log"}.get(name)

    run_plain(otel.observe(content=True, redact=redact), otel, STEPS)
    tool, chat = attributes(otel.span("execute_tool")), attributes(otel.span("chat"))
    assert tool["gen_ai.tool.call.arguments"] == '{"word":"***"}'
    assert "gen_ai.tool.call.result" not in tool
    assert chat["gen_ai.output.messages"] == "left to the log"
    assert not any("secret" in repr(span.to_json()) for span in otel.spans())
    assert asked[0] == ("gen_ai.tool.call.arguments", {"word": "secret argument"})
    assert [name for name, _ in asked[1:]] == ["gen_ai.tool.call.result", "gen_ai.output.messages"]


def test_an_exception_of_the_redaction_leaves_the_value_out_and_the_stream_alone(
    otel: Recorder, caplog: pytest.LogCaptureFixture
):
    def redact(name: str, value: Any) -> Any:
        raise ValueError(value)

    passed = run_plain(otel.observe(content=True, redact=redact), otel, STEPS)
    assert passed[-1] is RESULT
    assert "gen_ai.tool.call.arguments" not in attributes(otel.span("execute_tool"))
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 3
    assert errors[0].startswith(
        "observe_otel leaves out gen_ai.tool.call.arguments: ValueError at test_observe_otel.py"
    )
    assert "secret" not in "".join(errors)


def test_a_result_that_is_no_json_is_told_by_its_repr(otel: Recorder):
    run_plain(otel.observe(content=True), otel, [CALL, ToolResult("call_1", turn_id="t", value={"at": 1 + 2j}), END])
    assert attributes(otel.span("execute_tool"))["gen_ai.tool.call.result"] == '{"at":"(1+2j)"}'


def test_spans_of_answers_may_be_left_to_another_instrumentation(otel: Recorder):
    with otel.tracer.start_as_current_span("agent") as agent:
        run_plain(otel.observe(answer_spans=False), otel, STEPS)
    assert otel.spans("chat") == []
    assert parent_of(otel.span("execute_tool")) == id_of(agent)
    assert attributes(otel.span("agent"))["penstock.answer.calls"] == 1
    assert [name for name in otel.metrics() if name.startswith("gen_ai.client")] == []
    assert "penstock.tool_call.time_to_seal" in otel.metrics()
    run_plain(otel.observe(answer_spans=False), otel, STEPS)
    assert parent_of(otel.spans("execute_tool")[-1]) is None


def test_the_span_of_another_instrumentation_for_this_answer_is_used(otel: Recorder):
    with otel.tracer.start_as_current_span("chat x", attributes={"gen_ai.operation.name": "chat"}) as other:
        run_plain(otel.observe(), otel, STEPS)
        assert other.is_recording()
    assert [span.name for span in otel.spans("chat")] == ["chat x"]
    told = attributes(otel.span("chat"))
    assert {name for name in told if not name.startswith("penstock.")} == {"gen_ai.operation.name"}
    assert told["penstock.answer.status"] == "complete"
    assert "gen_ai.client.operation.duration" not in otel.metrics()
    assert parent_of(otel.span("execute_tool")) == id_of(other)


def test_spans_of_tools_may_be_left_to_something_else(otel: Recorder):
    run_plain(otel.observe(tool_spans=False), otel, STEPS)
    assert [span.name for span in otel.spans()] == ["chat gpt-5-2026"]


def test_an_sdk_that_raises_is_logged_and_the_stream_goes_on(otel: Recorder, caplog: pytest.LogCaptureFixture):
    class Broken:
        def __init__(self, at: str) -> None:
            self._at = at

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            if span.name.startswith(self._at):
                raise OSError(span.name)

        def on_end(self, span: ReadableSpan) -> None:
            if self._at == "end":
                raise OSError(span.name)

        def _on_ending(self, span: Any) -> None: ...
        def shutdown(self) -> None: ...
        def force_flush(self, timeout_millis: int = 0) -> bool:
            return True

    events = [each for each in STEPS if not isinstance(each, int | float)]
    for at, said in (("chat", "did not start"), ("execute_tool", "stopped"), ("end", "stopped")):
        caplog.clear()
        tracers = TracerProvider(shutdown_on_exit=False)
        broken: Any = Broken(at)
        tracers.add_span_processor(broken)
        assert list(observe_otel(tracer_provider=tracers)(events)) == events
        errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
        assert any(f"observe_otel {said}: OSError" in error for error in errors), (at, errors)


def test_options_that_do_nothing_are_refused():
    with pytest.raises(UsageError, match="content=True"):
        observe_otel(redact=lambda name, value: value)
    wrong: Any = "newest"
    with pytest.raises(UsageError, match="'released', 'latest', got 'newest'"):
        observe_otel(conventions=wrong)
    no_streams: tuple[Any, ...] = ("text", b"", 5)
    for no_stream in no_streams:
        with pytest.raises(UsageError, match="must be called with a stream of events"):
            observe_otel()(no_stream)


def run_python(code: str, *options: str) -> str:
    begin = f"import sys\nsys.path.insert(0, {str(ROOT / 'tests/support')!r})\nimport checkout\n"
    done = subprocess.run(
        [sys.executable, *options, "-c", begin + code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LOADED = "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"


def test_nothing_of_opentelemetry_is_imported_unasked():
    code = "import penstock.sinks\nfrom penstock import *\nimport penstock.studio.cli\n"
    code += "from penstock.sinks import observe_otel, log_answers\n"
    code += "list(Pipeline(sinks=[log_answers()]).stream(['Hi']))\n"
    assert run_python(code + LOADED) == "[]\n"


def test_without_opentelemetry_the_error_says_what_to_install():
    code = "sys.modules['opentelemetry'] = None\nfrom penstock.sinks import observe_otel\n"
    code += "try:\n    observe_otel()\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
    expected = 'UsageError observe_otel needs opentelemetry-api; pip install "penstock[otel]", or in a clone pip install ".[otel]"\n'
    assert run_python(code) == expected


def test_without_an_sdk_events_pass_and_nothing_is_made_of_them():
    code = """
from contextlib import aclosing
import asyncio
from penstock import Pipeline
from penstock.sinks import observe_otel

def clock():
    raise AssertionError("the time was asked for")

observe = observe_otel(clock=clock, content=True)
events = list(Pipeline(turn_id="t").stream(["Hi"]))
assert list(observe(events)) == events
assert observe.sink(events) is None

class Stream(list):
    is_closed = False
    def close(self):
        self.is_closed = True

stream = Stream(events)
next(watched := observe(stream))
watched.close()
assert stream.is_closed

async def read():
    return [event async for event in observe(Pipeline(turn_id="t").astream(["Hi"]))]

assert asyncio.run(read()) == events
"""
    sdk = "print([name for name in sys.modules if name.startswith('opentelemetry.sdk')])"
    assert run_python(code + sdk) == "[]\n"


def test_an_sdk_that_is_set_up_later_is_found():
    code = """
from penstock.sinks import observe_otel
from penstock.events import AnswerEnd
observe = observe_otel()
list(observe([AnswerEnd("t")]))
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, tracers = InMemorySpanExporter(), TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(tracers)
list(observe([AnswerEnd("t", model="m")]))
print([span.name for span in exporter.get_finished_spans()])
"""
    assert run_python(code) == "['chat m']\n"
