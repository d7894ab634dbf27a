"""`pipeline_for`, `named_for_client` and `begun`: the events of one answer, without a server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.events import AnswerEnd, InvocationFailed, ProviderError, SegmentContent, SegmentStart, ToolInvocation
from penstock.gateway.neutral import Call, Message, NeutralRequest, Reasoning, Text, ToolSpec
from penstock.gateway.serving.answer_events import AnswerNotes, begun, client_id, named_for_client, pipeline_for
from penstock.gateway.upstream_body import Lane

ASKED = NeutralRequest(
    api="openai-responses",
    model="m",
    messages=(),
    tools=(
        ToolSpec("f", parameters={"type": "object", "properties": {"n": {"type": "integer"}}}),
        ToolSpec("agents__close", parameters={"type": "array"}),  # a schema that no call can have
    ),
    names={"agents__close": ("agents", "close"), "f": (None, "F")},
)


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def events_of(lane: Lane, *chunks: dict[str, Any], asked: NeutralRequest = ASKED) -> list[Any]:
    async def main() -> list[Any]:
        run = pipeline_for(asked, lane, "hermes").astream([*chunks], turn_id="t")
        return [event async for event in named_for_client(run, asked.names)]

    return asyncio.run(main())


def calls_in(events: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(event.name, event.arguments) for event in events if isinstance(event, ToolInvocation)]


def text_in(events: list[Any]) -> str:
    return "".join(
        event.delta for event in events if isinstance(event, SegmentContent) and event.segment_type == "text"
    )


CALL = '<tool_call>{"name": "f", "arguments": {"n": 1}}</tool_call>'


NATIVE = {"tool_calls": [{"index": 0, "id": "", "function": {"name": "f", "arguments": {"n": 1}}}]}


@pytest.mark.parametrize(
    ("lane", "delta"),
    [
        ("raw", {"content": CALL}),
        ("raw", NATIVE),
        ("parsed", {"content": CALL}),
        ("parsed", {"content": '{"name": "f", "arguments": {"n": 1}}'}),
        ("parsed", {"reasoning_content": CALL}),
        ("parsed", NATIVE),
    ],
)
def test_a_call_is_one_wherever_the_server_left_it(lane: Lane, delta: dict[str, Any]):
    events = events_of(lane, chunk(**delta), chunk("stop"))
    assert calls_in(events) == [("F", {"n": 1})]


@pytest.mark.parametrize("lane", ["raw", "parsed"])
def test_without_tools_a_call_is_text(lane: Lane):
    asked = NeutralRequest(api="openai-chat", model="m", messages=())
    events = events_of(lane, chunk(content=f"Hi {CALL}"), chunk("stop"), asked=asked)
    assert (calls_in(events), text_in(events)) == ([], f"Hi {CALL}")


def test_reasoning_in_the_text_is_reasoning_without_tools_too():
    asked = NeutralRequest(api="openai-chat", model="m", messages=())
    events = events_of("raw", chunk(content="<think>Hm.</think>Hi"), chunk("stop"), asked=asked)
    assert text_in(events) == "Hi"


def test_a_name_comes_back_with_its_namespace():
    events = events_of("raw", chunk(content=CALL.replace('"f"', '"agents__close"')), chunk("stop"))
    [start] = [event for event in events if isinstance(event, SegmentStart) and "tool_name" in event.metadata]
    assert (start.metadata["tool_name"], start.metadata["native"]) == ("close", {"namespace": "agents"})
    assert calls_in(events)[0][0] == "close"


@pytest.mark.parametrize("prefix", ["chatcmpl-", "resp_", "msg_"])
def test_ids_that_are_made_differ_in_their_first_nine_letters_and_digits(prefix: str):
    run = pipeline_for(ASKED, "raw", "hermes").stream(
        [chunk(content=CALL + CALL), chunk("stop")], turn_id=prefix + "0" * 32
    )
    notes = AnswerNotes({}, begin=0.0)
    for each in (events := [*run]):
        notes.feed(each)

    async def told() -> list[Any]:
        return [each async for each in named_for_client(stream_of(*events), {})]

    shown = asyncio.run(told())
    ids = [each.id for each in shown if isinstance(each, ToolInvocation)]
    assert len(set(ids)) == 2
    assert all(re.fullmatch("[0-9a-z]{9}", each) for each in ids)
    assert {each.segment_id for each in shown if getattr(each, "segment_type", "") == "tool_call"} == set(ids)
    assert [each.id for each in notes.message().parts if isinstance(each, Call)] == ids
    assert client_id("call_1") == "call_1"


def test_a_body_without_a_chunk_is_no_whole_answer():
    [end] = events_of("raw")
    assert (end.status, end.finish_reason) == ("truncated", None)


async def stream_of(*events: Any) -> AsyncIterator[Any]:
    for event in events:
        yield event


def test_the_beginning_is_what_comes_before_the_first_output_and_with_it():
    start = SegmentStart("s", "text", turn_id="t")
    later = SegmentContent("s", "text", "Hi", turn_id="t")
    assert asyncio.run(begun(stream_of(start, later))) == [start]
    end = AnswerEnd("t", finish_reason="stop")
    assert asyncio.run(begun(stream_of(end))) == [end]


@pytest.mark.parametrize(
    "events", [(), (AnswerEnd("t", status="truncated"),), (AnswerEnd("t", finish_reason="error", status="failed"),)]
)
def test_an_answer_that_ends_before_it_begins_is_an_error_with_a_status(events: tuple[Any, ...]):
    with pytest.raises(ProviderError) as raised:
        asyncio.run(begun(stream_of(*events)))
    assert raised.value.status == 502


def test_the_notes_are_the_message_of_the_assistant():
    log: dict[str, Any] = {}
    notes = AnswerNotes(log, begin=0.0)
    for event in events_of("raw", chunk(content=f"<think>Hm.</think>Hi {CALL}"), chunk("stop")):
        notes.feed(event)
    call = Call("t:call_0", "F", '{"n": 1}')
    assert notes.is_whole
    assert notes.message() == Message("assistant", (Reasoning("Hm."), Text("Hi "), call))
    assert log.pop("first") > 0
    assert log == {"calls": 1, "mended": 1, "finish": "stop"}


@pytest.mark.parametrize(
    ("lane", "delta", "mended"),
    [
        ("raw", {"content": CALL}, 1),
        ("parsed", {"content": CALL}, 1),
        ("parsed", NATIVE, 1),
        ("parsed", {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]}, None),
    ],
)
def test_a_call_is_mended_if_it_was_text_or_had_no_id(lane: Lane, delta: dict[str, Any], mended: int | None):
    log: dict[str, Any] = {}
    notes = AnswerNotes(log, begin=0.0)
    for event in events_of(lane, chunk(**delta), chunk("stop")):
        notes.feed(event)
    assert (log["calls"], log.get("mended")) == (1, mended)


def test_each_reason_of_a_failed_call_is_noted():
    log: dict[str, Any] = {}
    notes = AnswerNotes(log, begin=0.0)
    notes.feed(InvocationFailed("a", "t", "f", reason="invalid"))
    notes.feed(InvocationFailed("b", "t", "f", reason="guarded"))
    assert log == {"failed": ["invalid", "guarded"]}
