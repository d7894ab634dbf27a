"""What `write_files` adds, in JSON, protocols, adapters, views and spans; and beside `call_tools`."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from file_calls import carried_out, invocation, on_disk, results, streamed
from langchain_core.messages import ToolMessage
from otel_recorder import Recorder

from penstock import tool
from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    FileResult,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    ToolResult,
    from_json,
    json_schema,
    to_dict,
)
from penstock.operators.engine.stage import Completed
from penstock.pipeline import Pipeline, call_tools
from penstock.sinks import (
    callbacks,
    collect,
    log_answers,
    plain_view,
    to_acp,
    to_langchain,
    to_pydantic_ai,
    write_files,
)
from penstock.sinks.acting.step import EventStep
from penstock.sinks.event_cards import event_bundle
from penstock.sinks.web.protocols import UiFrames

SAID = "created a.py (+1 -0 lines)"
REFUSED = "the path '../b' is refused: '..' leads out of a folder"


@pytest.fixture
def events(tmp_path: Path) -> list[Any]:
    """The events of an answer that writes one file and must not write another."""
    arguments = [{"path": "a.py", "content": "x = 1\n"}, {"path": "../b", "content": "x"}]
    calls = [
        ToolCallDelta(at, f"c{at}", "write_file", json.dumps(each), done=True) for at, each in enumerate(arguments)
    ]
    answer = [
        ChunkResponse(response_id="r"),
        *(ChunkResponse(tool_calls=(call,)) for call in calls),
        ChunkResponse(is_complete=True, finish_reason="tool_calls"),
    ]

    async def run() -> list[Any]:
        return [event async for event in Pipeline(steps=[write_files(tmp_path)]).astream(answer)]

    return asyncio.run(run())


def test_the_json_of_each_event_is_that_of_the_schema(events: list[Any]):
    schema = json_schema()
    for event in events:
        jsonschema.validate(json.loads(json.dumps(to_dict(event))), schema)
    assert {result.id: (result.value, result.error) for result in results(events)} == {
        "c0": (SAID, None),
        "c1": (None, REFUSED),
    }


def test_our_own_protocol_sends_them_whole(events: list[Any]):
    frames = UiFrames("segments")
    read = [from_json(frame) for event in events for frame in frames.feed(event)]
    assert results(read) == results(events)


@pytest.mark.parametrize("protocol", ["ag-ui", "ai-sdk"])
def test_a_protocol_for_a_page_has_the_result_of_each_call(events: list[Any], protocol: Any):
    frames = UiFrames(protocol)
    sent = [json.loads(frame) for event in events for frame in frames.feed(event)]
    sent += [json.loads(frame) for frame in frames.close(Completed())]
    if protocol == "ag-ui":
        found = {each["toolCallId"]: each["content"] for each in sent if each["type"] == "TOOL_CALL_RESULT"}
        assert found == {"c0": SAID, "c1": f"Error: {REFUSED}"}
    else:
        found = {each["toolCallId"]: each["output"] for each in sent if each["type"] == "tool-output-available"}
        errors = {each["toolCallId"]: each["errorText"] for each in sent if each["type"] == "tool-output-error"}
        assert (found, errors) == ({"c0": SAID}, {"c1": REFUSED})


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic-messages"])
def test_the_streams_of_other_apis_go_on_with_them(events: list[Any], protocol: Any):
    frames = UiFrames(protocol)
    sent = b"".join([*(frame for event in events for frame in frames.feed(event)), *frames.close(Completed())])
    assert b"a.py" in sent


def test_adapters_have_the_result_of_each_call(events: list[Any]):
    updates = [
        each["update"] for each in to_acp(events, "s") if each["update"].get("status") in ("completed", "failed")
    ]
    assert {each["toolCallId"]: each["status"] for each in updates} == {"c0": "completed", "c1": "failed"}
    messages = [each for each in to_langchain(events, results=True) if isinstance(each, ToolMessage)]
    assert {each.tool_call_id: each.content for each in messages} == {"c0": SAID, "c1": f"Error: {REFUSED}"}
    made = [each for each in to_pydantic_ai(events) if type(each).__name__ == "FunctionToolResultEvent"]
    assert len(made) == 2


def test_views_logs_and_spans_have_them(events: list[Any], caplog: pytest.LogCaptureFixture):
    screen = io.StringIO()
    plain_view(screen)(events)
    assert REFUSED in screen.getvalue()
    assert [result.id for result in collect(events).results] == ["c0", "c1"] or len(collect(events).results) == 2
    heard: list[Any] = []
    callbacks(on_result=heard.append)(events)
    assert results(heard) == results(events)
    caplog.set_level("INFO")
    log_answers()(events)
    assert "write_file" in caplog.text
    recorder = Recorder()
    assert list(recorder.observe()(events)) == events
    assert sum(span.name == "execute_tool write_file" for span in recorder.spans()) == 2
    (card,) = [event_bundle(each) for each in results(events) if each.files]
    assert "+x = 1" in card["text/plain"]


def test_beside_call_tools_each_call_is_answered_once_by_the_first_step_that_can(tmp_path: Path):
    ran: list[str] = []

    @tool
    def write_file(path: str, content: str) -> str:
        """Never run here."""
        ran.append(path)
        return "not here"

    @tool
    def look(at: str) -> str:
        ran.append(at)
        return f"{at} seen"

    arguments = [("write_file", {"path": f"{at}", "content": f"{at}"}) for at in range(5)]
    arguments += [("look", {"at": f"l{at}"}) for at in range(5)]
    calls = [
        ToolCallDelta(at, f"c{at}", name, json.dumps(each), done=True) for at, (name, each) in enumerate(arguments)
    ]
    answer = [ChunkResponse(tool_calls=(call,)) for call in calls]
    answer.append(ChunkResponse(is_complete=True, finish_reason="tool_calls"))

    async def run() -> list[Any]:
        steps: list[EventStep] = [write_files(tmp_path), call_tools([write_file, look])]
        return [event async for event in Pipeline(tools=[write_file, look], steps=steps).astream(answer)]

    events = asyncio.run(run())
    found = {event.id: type(event) for event in events if isinstance(event, ToolResult)}
    assert found == {f"c{at}": FileResult if at < 5 else ToolResult for at in range(10)}
    assert sum(isinstance(event, ToolResult) for event in events) == 10
    assert sorted(ran) == [f"l{at}" for at in range(5)]
    assert on_disk(tmp_path) == {f"{at}": f"{at}".encode() for at in range(5)}


def test_behind_call_tools_there_is_nothing_left_to_do(tmp_path: Path):
    @tool
    def write_file(path: str, content: str) -> str:
        return f"{path}: {content}"

    arguments = json.dumps({"path": "a", "content": "x"})
    answer = [
        ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "write_file", arguments, done=True),)),
        ChunkResponse(is_complete=True, finish_reason="tool_calls"),
    ]

    async def run() -> list[Any]:
        steps: list[EventStep] = [call_tools([write_file]), write_files(tmp_path)]
        return [event async for event in Pipeline(tools=[write_file], steps=steps).astream(answer)]

    assert [event.value for event in asyncio.run(run()) if isinstance(event, ToolResult)] == ["a: x"]
    assert on_disk(tmp_path) == {}


def test_the_segments_of_several_arguments_are_no_files(tmp_path: Path):
    start = SegmentStart(
        "c/content", "write_file", {"call_id": "c", "tool_name": "write_file", "path": ["content"]}, turn_id="t"
    )
    end = SegmentEnd("c/content", "write_file", "complete", metadata=start.metadata, turn_id="t")
    call = invocation("write_file", path="a", content="x")
    assert len(results(carried_out(tmp_path, start, end, call))) == 1
    assert on_disk(tmp_path) == {"a": b"x"}
    assert isinstance(streamed("a")[-1], ToolInvocation)
    assert isinstance(carried_out(tmp_path)[-1], AnswerEnd)
