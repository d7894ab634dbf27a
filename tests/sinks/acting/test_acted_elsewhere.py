"""What `call_tools` adds, in our own protocols, in the re-emissions, adapters, views and spans."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest
from acted import CALLS, acted
from langchain_core.messages import AIMessageChunk, ToolMessage
from otel_recorder import Recorder
from pydantic_ai.messages import FunctionToolResultEvent

from penstock.events import SegmentStart, ToolCallStatus, ToolInvocation, ToolResult, from_json, to_dict, to_json
from penstock.operators.engine.stage import Completed
from penstock.sinks import (
    ApprovalRequest,
    Denied,
    Postponed,
    acp_approval,
    callbacks,
    plain_view,
    to_acp,
    to_langchain,
    to_pydantic_ai,
)
from penstock.sinks.acting.approval import gate
from penstock.sinks.parts.part_reader import EventChoices
from penstock.sinks.web.protocols import PROTOCOLS, UiFrames

IDS = [call_id for call_id, _, _ in CALLS]


@pytest.mark.parametrize("protocol", ["segments", "tool_call_updates"])
def test_our_own_protocols_send_statuses_and_results_as_they_are(protocol: Any):
    events = acted()
    frames = UiFrames(protocol)
    read = [from_json(frame) for event in events for frame in frames.feed(event)]
    added = [event for event in events if isinstance(event, ToolCallStatus | ToolResult)]
    assert len(added) == 13
    assert [event for event in read if isinstance(event, ToolCallStatus | ToolResult)] == added


def test_only_a_claimed_call_says_so_in_json():
    plain, claimed = ToolInvocation("c"), ToolInvocation("c", claimed_by="call_tools")
    assert "claimed_by" not in to_dict(plain)
    assert to_dict(claimed)["claimed_by"] == "call_tools"
    for each in (plain, claimed):
        assert from_json(to_json(each)) == each


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_statuses_are_no_part_of_what_other_protocols_say_of_the_answer(protocol: Any):
    def sent(events: list[Any]) -> list[bytes]:
        frames = UiFrames(protocol)
        return [*(frame for event in events for frame in frames.feed(event)), *frames.close(Completed())]

    events = acted()
    if protocol in ("openai-chat", "anthropic-messages"):
        model_only = [event for event in events if not isinstance(event, ToolCallStatus | ToolResult)]
        assert _without_ids(sent(events)) == _without_ids(sent(model_only))
    else:
        assert sent(events)


def _without_ids(frames: list[bytes]) -> list[Any]:
    read = [json.loads(frame) for frame in frames]
    for each in read:
        each.pop("created", None)
        each.pop("id", None)
    return read


def test_what_belongs_to_a_call_belongs_to_its_choice():
    of_event = EventChoices()
    of_event.choice_of(SegmentStart("c", "tool_call", {"choice": 1}, turn_id="t"))
    assert of_event.choice_of(ToolCallStatus("c", "t")) == 1
    assert of_event.choice_of(ToolResult("c", turn_id="t")) == 1


# Adapters


def test_acp_has_a_call_that_runs_in_progress():
    from acp.schema import SessionNotification  # noqa: PLC0415 - it takes seconds, and few tests need it

    notifications = list(to_acp(acted(), "sess"))
    for each in notifications:
        SessionNotification.model_validate(each)
    updates = [each["update"] for each in notifications]
    states = {
        call_id: [u["status"] for u in updates if u.get("toolCallId") == call_id and "status" in u] for call_id in IDS
    }
    assert states == {
        "call_look": ["pending", "in_progress", "completed"],
        "call_deploy": ["pending", "failed"],
        "call_fail": ["pending", "in_progress", "failed"],
    }


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        ({"outcome": "selected", "optionId": "allow"}, None),
        ({"outcome": "selected", "optionId": "reject"}, "the user said no"),
        ({"outcome": "cancelled"}, "the prompt was cancelled"),
    ],
)
@pytest.mark.parametrize("is_model", [False, True])
def test_acp_asks_the_user_of_the_editor(outcome: dict[str, Any], answer: str | None, is_model: bool):
    from acp.schema import RequestPermissionRequest, RequestPermissionResponse  # noqa: PLC0415 - it takes seconds, and few tests need it

    asked: list[Any] = []

    async def ask(parameters: dict[str, Any]) -> Any:
        asked.append(RequestPermissionRequest.model_validate(parameters))
        response = {"outcome": outcome}
        return RequestPermissionResponse.model_validate(response) if is_model else response

    call = ToolInvocation("call_1", "t", "deploy", {"where": "here"})
    refused = asyncio.run(gate(call, acp_approval("sess", ask), lambda _: None))
    assert not isinstance(refused, Postponed)
    assert (refused.denied if refused else None) == answer
    assert (asked[0].session_id, asked[0].tool_call.tool_call_id) == ("sess", "call_1")
    assert asked[0].tool_call.raw_input == {"where": "here"}


def test_pydantic_ai_has_the_results():
    parts = [event.part for event in to_pydantic_ai(acted()) if isinstance(event, FunctionToolResultEvent)]
    assert [(part.tool_name, part.tool_call_id, part.outcome, part.content) for part in parts] == [
        ("look", "call_look", "success", {"sky": "clear over Zürich"}),
        ("deploy", "call_deploy", "denied", "not on Fridays"),
        ("fail", "call_fail", "failed", "LookupError: no such thing"),
    ]


def test_langchain_has_the_results_if_they_are_wanted():
    plain = list(to_langchain(acted()))
    assert {type(each) for each in plain} == {AIMessageChunk}
    messages = [each for each in to_langchain(acted(), results=True) if isinstance(each, ToolMessage)]
    assert [(each.name, each.tool_call_id, each.status, each.content) for each in messages] == [
        ("look", "call_look", "success", '{"sky":"clear over Zürich"}'),
        ("deploy", "call_deploy", "error", "The call was denied: not on Fridays"),
        ("fail", "call_fail", "error", "Error: LookupError: no such thing"),
    ]


# Views, functions and spans


def test_a_plain_view_says_what_waits_and_what_was_denied():
    out = io.StringIO()
    plain_view(file=out)(acted())
    lines = out.getvalue().splitlines()
    assert [line for line in lines if line.startswith("?")] == [f"? {name} waits for approval" for _, name, _ in CALLS]
    assert "✗ call_deploy was not run: not on Fridays" in lines


def test_functions_are_called_with_statuses_and_results():
    states: list[str] = []
    results: list[str] = []
    callbacks(on_status=lambda e: states.append(e.state), on_result=lambda e: results.append(e.id))(acted())
    assert (len(states), results) == (10, IDS)


def test_the_span_of_a_call_begins_when_it_starts():
    otel = Recorder()
    events: list[Any] = []
    for event in acted():
        if isinstance(event, ToolCallStatus) and (event.id, event.state) == ("call_look", "approved"):
            events.append(60)
        if isinstance(event, ToolResult) and event.id == "call_look":
            events.append(5)
        events.append(event)
    list(otel.observe()(otel.timed(events)))
    spans = {span.name: span for span in otel.spans("execute_tool")}
    seconds = {name: (span.end_time - span.start_time) / 1e9 for name, span in spans.items()}  # type: ignore[operator]
    assert set(spans) == {"execute_tool look", "execute_tool deploy", "execute_tool fail"}
    assert seconds["execute_tool look"] < 60
    assert seconds["execute_tool look"] >= 5
    assert seconds["execute_tool deploy"] == 0
    assert spans["execute_tool deploy"].attributes["error.type"] == "denied"  # type: ignore[index]


def test_a_request_shows_what_runs():
    seen: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> Denied:
        seen.append(request)
        return Denied()

    call = ToolInvocation("c", "t", "f", {"a": [1]}, raw='{"a": [1]}')
    refused = asyncio.run(gate(call, approve, lambda _: None, preview="-old +new"))
    assert refused == ToolResult("c", turn_id="t", denied="the user said no")
    [request] = seen
    assert (request.id, request.turn_id, request.name, request.arguments, request.preview) == (
        "c",
        "t",
        "f",
        {"a": [1]},
        "-old +new",
    )
    assert request.call.arguments is request.arguments
    assert request.arguments is not call.arguments
