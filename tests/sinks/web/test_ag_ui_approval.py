"""Approval in AG-UI: a run that ends with a question, and the next one that has the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from acted import acted
from ag_ui_rules import checked
from app_server import serving
from checkout import ROOT
from npm_clients import client_answers
from sse_stream import one_by_one
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from penstock import ChunkResponse, Pipeline, ToolCallDelta, ToolResult, call_tools, write_files
from penstock.events import ToolCallStatus, ToolInvocation, UsageError
from penstock.sinks import SSE_HEADERS, ApprovalRequest, Postponed, ag_ui_approval, to_sse

RAN: list[str] = []


def deploy(where: str) -> str:
    RAN.append(where)
    return f"deployed to {where}"


def look() -> str:
    return "it is there"


async def ask(request: ApprovalRequest) -> Any:
    return request.name == "look" or Postponed()


def chunks() -> list[ChunkResponse]:
    calls = [("call_1", "deploy", '{"where": "a"}'), ("call_2", "deploy", '{"where": "b"}'), ("call_3", "look", "{}")]
    deltas = [ToolCallDelta(at, *call, done=True) for at, call in enumerate(calls)]
    return [
        *(ChunkResponse(tool_calls=(each,)) for each in deltas),
        ChunkResponse(is_complete=True, finish_reason="tool_calls"),
    ]


def request(call_id: str, sha256: str = "abc") -> ApprovalRequest:
    call = ToolInvocation(call_id, "t", "deploy", {})
    return ApprovalRequest(id=call_id, turn_id="t", name="deploy", arguments={}, call=call, sha256=sha256)


async def frames(events: Any) -> list[dict[str, Any]]:
    sent = [frame async for frame in one_by_one(to_sse(events, protocol="ag-ui"))]
    return [json.loads(frame.removeprefix(b"data: ")) for frame in sent if frame.startswith(b"data: ")]


@pytest.mark.parametrize("ordered", [False, True])
def test_a_call_whose_approval_is_postponed_neither_runs_nor_is_answered(ordered: bool):
    RAN.clear()
    step = call_tools([deploy, look], approve=ask, ordered=ordered)

    async def run() -> list[Any]:
        return [event async for event in Pipeline(tools=[deploy, look], steps=[step]).astream(chunks())]

    events = asyncio.run(run())
    assert RAN == []
    assert [event.id for event in events if isinstance(event, ToolResult)] == ["call_3"]
    states = [(event.id, event.state) for event in events if isinstance(event, ToolCallStatus)]
    assert [state for name, state in states if name != "call_3"] == ["requested", "requested"]


def test_a_file_whose_approval_is_postponed_is_not_written(tmp_path: Path):
    call = ToolCallDelta(0, "call_1", "write_file", '{"path": "a", "content": "x"}', done=True)
    answer = [ChunkResponse(tool_calls=(call,)), ChunkResponse(is_complete=True, finish_reason="tool_calls")]

    async def run() -> list[Any]:
        step = write_files(tmp_path, approve=ag_ui_approval())
        return await frames(Pipeline(steps=[step]).astream(answer))

    sent = asyncio.run(run())
    checked(sent)
    assert [each["toolCallId"] for each in sent[-1]["outcome"]["interrupts"]] == ["call_1"]
    assert "TOOL_CALL_RESULT" not in [each["type"] for each in sent]
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_answers_every_question_is_a_success():
    events = acted()
    sent = asyncio.run(frames(_stream(events)))
    assert sent[-1]["outcome"] == {"type": "success"}


def test_what_the_client_answered_decides():
    approve = ag_ui_approval(
        [
            {"interruptId": "yes", "status": "resolved", "payload": {"approved": True, "sha256": "abc"}},
            {"interruptId": "no", "status": "resolved", "payload": {"approved": False, "reason": "not on Fridays"}},
            {"interruptId": "other", "status": "resolved", "payload": {"approved": True, "sha256": "def"}},
            {"interruptId": "left", "status": "cancelled"},
        ]
    )
    answers = {name: approve(request(name)) for name in ("yes", "no", "other", "left", "unknown")}
    assert answers["yes"] is True
    reasons = {name: getattr(answer, "reason", None) for name, answer in answers.items()}
    assert reasons["no"] == "not on Fridays"
    assert reasons["other"] == "what was approved is another call"
    assert reasons["left"] == "the question was left unanswered"
    assert answers["unknown"] == Postponed()


@pytest.mark.parametrize(
    "resume",
    [
        "yes",
        {"interruptId": "a"},
        [7],
        [{"interruptId": "a", "status": "resolved"}],
        [{"interruptId": "a", "status": "resolved", "payload": {"approved": "yes"}}],
        [{"interruptId": "a", "status": "done", "payload": {"approved": True}}],
        [{"status": "cancelled"}],
    ],
)
def test_a_resume_of_another_form_is_refused(resume: Any):
    with pytest.raises(UsageError, match="resume must be a list of objects"):
        ag_ui_approval(resume)


def _application() -> Starlette:
    """Serve the code of the page."""
    page = (ROOT / "docs" / "ag-ui-approval.md").read_text("utf-8")
    names: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], names)
    pipeline = Pipeline(tools=[deploy, look])

    def ask(messages: list[Any]) -> list[ChunkResponse]:
        return chunks() if len(messages) == 1 else [ChunkResponse(content="Done.", finish_reason="stop")]

    async def agent(asked: Request) -> StreamingResponse:
        sent = names["run"](await asked.json(), pipeline, ask, [deploy, look])
        return StreamingResponse(sent, headers=SSE_HEADERS)

    return Starlette(routes=[Route("/", agent, methods=["POST"])])


async def _stream(events: list[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event


@pytest.mark.slow
def test_the_official_client_asks_and_resumes():
    RAN.clear()
    with serving(_application()) as address:
        asked: dict[str, Any] = {
            "client": "ag-ui-client-1",
            "url": f"http://{address}/",
            "approve": {"call_1": True, "call_2": False},
        }
        asked["messages"] = [{"id": "1", "role": "user", "content": "Deploy"}]
        (told,) = client_answers("ag_ui.mjs", [asked])
    assert told["error"] is None
    assert told["warnings"] == []
    assert [each["toolCallId"] for each in told["interrupts"]] == ["call_1", "call_2"]  # and none behind the second run
    assert RAN == ["a"]
    results = {each["toolCallId"]: each["content"] for each in told["messages"] if each["role"] == "tool"}
    assert results == {
        "call_1": "deployed to a",
        "call_2": "The call was denied: the user said no",
        "call_3": "it is there",
    }
    assert [each["content"] for each in told["messages"] if each["role"] == "assistant" and each.get("content")] == [
        "Done."
    ]
    calls = [call for each in told["messages"] for call in each.get("toolCalls", [])]
    assert [call["function"]["arguments"] for call in calls] == ['{"where": "a"}', '{"where": "b"}', "{}"]


MUTANTS = {
    "a call that waits for an approval ends its run as a success": ("postponed", ("sinks/web/ag_ui_frames.py", "if self._asked and not is_cancelled:", "if False:")),
    "a call whose approval is postponed runs": ("postponed", ("sinks/acting/approval.py", "        return answer\n    if answer is False:", "        return None\n    if answer is False:")),
}  # fmt: skip
