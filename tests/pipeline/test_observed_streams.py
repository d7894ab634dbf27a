"""`observe_otel` on recorded streams, through a pipeline: as a step in a plain and in an async loop, and as a sink."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from looped import looped
from otel_recorder import Recorder, attributes, id_of, outcome, parent_of, seconds
from reactivex import operators as rx

from penstock.events import ChunkResponse, ProviderError, ToolInvocation
from penstock.pipeline import Pipeline
from penstock.sinks import each_event
from penstock.sinks.telemetry.observe_otel import OtelObserver
from penstock.sources import from_wire

STREAMS = Path(__file__).parents[1] / "streams"


def chunks_of(name: str, api: str) -> list[ChunkResponse]:
    data = (STREAMS / name).read_bytes()
    decoded = from_wire(api, [data], choices="all", turn_id="t", keep_message=True).pipe(rx.to_list())
    return list(decoded.run())


def as_step(observe: OtelObserver, items: list[Any]) -> list[Any]:
    return list(observe(Pipeline(choices="all", turn_id="t").stream(lambda: as_plain(items))))


def as_async_step(observe: OtelObserver, items: list[Any]) -> list[Any]:
    async def read() -> list[Any]:
        return [event async for event in observe(Pipeline(choices="all", turn_id="t").astream(lambda: as_async(items)))]

    return asyncio.run(read())


def as_sink(observe: OtelObserver, items: list[Any]) -> list[Any]:
    return list(Pipeline(choices="all", turn_id="t", sinks=[observe.sink]).stream(lambda: as_plain(items)))


def as_async_sink(observe: OtelObserver, items: list[Any]) -> list[Any]:
    async def read() -> list[Any]:
        run = Pipeline(choices="all", turn_id="t", sinks=[observe.sink]).astream(lambda: as_async(items))
        return [event async for event in run]

    return asyncio.run(read())


def as_plain(items: list[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, Exception):
            raise item
        yield item


async def as_async(items: list[Any]) -> AsyncIterator[Any]:
    for item in as_plain(items):
        await asyncio.sleep(0)
        yield item


RUNS = [as_step, as_async_step, as_sink, as_async_sink]
Run = Callable[[OtelObserver, list[Any]], list[Any]]

REGULAR = ("UNSET", None, None)
CUT = ("ERROR", "truncated", "truncated")
CASES = [
    ("openai_chat/write_file.sse", "openai-chat", REGULAR, "tool_calls", "write_file run_bash", (412, 1043), "openai"),
    ("openai_chat/two_choices.sse", "openai-chat", CUT, "stop length", "flip flip", (57, 9), "openai"),
    ("openai_chat/no_finish.sse", "openai-chat", CUT, "error", "set", None, "openai"),
    ("anthropic_messages/thinking_and_call.sse", "anthropic-messages", REGULAR, "tool_calls", "look", (127, 30), "anthropic"),
    ("anthropic_messages/cut_by_length.sse", "anthropic-messages", CUT, "length", "", (10, 64), "anthropic"),
    ("anthropic_messages/compaction_fallback_and_pause.sse", "anthropic-messages", REGULAR, "pause", "", (10, 20), "anthropic"),
    ("openai_responses/interleaved_calls_with_changing_ids.sse", "openai-responses", REGULAR, "tool_calls", "f g", (50, 20), "openai"),
    ("gemini/streamed_arguments.sse", "gemini", REGULAR, "tool_calls", "plan", (7, 9), "gcp.gen_ai"),
    ("gemini/malformed_function_call.sse", "gemini", ("ERROR", "failed", "MALFORMED_FUNCTION_CALL"), "error", "", (5, 0), "gcp.gen_ai"),
    ("ollama/one_call.ndjson", "ollama", REGULAR, "tool_calls", "get_weather", (11, 7), "ollama"),
]  # fmt: skip


@looped("run", RUNS)
@looped("name, api, expected, reasons, tools, tokens, provider", CASES)
def test_a_recorded_stream_has_the_spans_that_it_should(
    name: str, api: str, expected: Any, reasons: str, tools: str, tokens: Any, provider: str, run: Run
):
    otel = Recorder()
    with otel.tracer.start_as_current_span("agent") as agent:
        events = run(otel.observe(), chunks_of(name, api))
    plain = list(Pipeline(choices="all", turn_id="t").stream(chunks_of(name, api)))
    assert events == plain
    chat = otel.span("chat")
    told = attributes(chat)
    assert (outcome(chat), parent_of(chat)) == (expected, id_of(agent))
    assert told["gen_ai.response.finish_reasons"] == tuple(reasons.split())
    assert [span.name for span in otel.spans("execute_tool")] == [f"execute_tool {tool}" for tool in tools.split()]
    assert [each.name for each in plain if isinstance(each, ToolInvocation)] == tools.split()
    if tokens is not None:
        assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == tokens
    assert told["gen_ai.provider.name"] == provider
    assert sum(count for count, _, _ in otel.histogram("gen_ai.client.operation.time_to_first_chunk")) == 1
    assert [number for number, _ in otel.counter("penstock.tool_call.open")] in ([0], [])


@pytest.mark.parametrize("run", RUNS)
def test_a_stream_that_breaks_has_failed(run: Run):
    otel = Recorder()
    chunks = chunks_of("openai_chat/plain_text.sse", "openai-chat")[:3]
    broken = ProviderError("secret", type="overloaded_error", status=529)
    with pytest.raises(ProviderError) as raised:
        run(otel.observe(), [*chunks, broken])
    assert raised.value is broken
    assert outcome(otel.span("chat")) == ("ERROR", "failed", "overloaded_error")
    assert "secret" not in otel.span("chat").to_json()


@pytest.mark.parametrize("run", RUNS)
def test_a_request_that_fails_has_failed(run: Run):
    otel = Recorder()
    with pytest.raises(ProviderError):
        run(otel.observe(), [ProviderError("secret", type="overloaded_error", status=529)])
    assert outcome(otel.span("chat")) == ("ERROR", "failed", "overloaded_error")


def test_as_a_sink_the_answer_begins_when_the_stream_is_asked_for():
    otel = Recorder()
    observe = otel.observe()
    is_called = threading.Event()

    def new_target() -> Any:
        target = observe.sink._new_target()
        is_called.set()
        return target

    def source() -> list[Any]:
        assert is_called.wait(60)
        otel.later(2)
        return [ChunkResponse(content="Hi", finish_reason="stop", is_complete=True)]

    list(Pipeline(sinks=[each_event(new_target)]).stream(source))

    async def read() -> None:
        is_called_async = asyncio.Event()

        def new_target_async() -> Any:
            target = observe.sink._new_target()
            is_called_async.set()
            return target

        async def asource() -> AsyncIterator[Any]:
            await is_called_async.wait()
            return as_async(source())

        async for _ in Pipeline(sinks=[each_event(new_target_async)]).astream(asource):
            pass

    asyncio.run(read())
    first = "gen_ai.response.time_to_first_chunk"
    assert [(seconds(span)[1] - seconds(span)[0], attributes(span)[first]) for span in otel.spans()] == [(2, 2), (2, 2)]


def test_a_cancelled_run_is_an_interrupted_answer():
    otel = Recorder()
    run = Pipeline().stream([ChunkResponse(content=text) for text in ("a", "b", "c")])
    for event in otel.observe()(run):
        if getattr(event, "delta", None) == "b":
            run.cancel("enough")
    assert outcome(otel.span("chat")) == ("ERROR", "interrupted", "interrupted")
    assert attributes(otel.span("chat"))["penstock.answer.status"] == "interrupted"
