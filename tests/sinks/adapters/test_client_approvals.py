"""Approval through `useChat`: a stream that ends with a question, and the next one that has the answer.

That of AG-UI is asked in test_ag_ui_approval.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from ai_sdk_served import calls_in
from app_server import serving
from checkout import ROOT
from msgspec.json import decode
from npm_clients import client_answers
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from penstock import ChunkResponse, Pipeline, ToolCallDelta, ToolResult, UsageError
from penstock.events import SegmentStart, ToolCallStatus, ToolInvocation, from_json, to_json
from penstock.operators.engine.stage import Completed
from penstock.sinks import ApprovalRequest, Denied, Postponed, ai_sdk_approval, sse_headers
from penstock.sinks.web.protocols import UiFrames

RAN: list[str] = []


def deploy(where: str) -> str:
    RAN.append(where)
    return f"deployed to {where}"


def look() -> str:
    return "it is there"


def asked_for(call_id: str, sha256: str = "abc") -> ApprovalRequest:
    call = ToolInvocation(call_id, "t", "deploy", {})
    return ApprovalRequest(id=call_id, turn_id="t", name="deploy", arguments={}, call=call, sha256=sha256)


def part(call_id: str, *, approved: Any = True, **more: Any) -> dict[str, Any]:
    approval = {"id": call_id, "approved": approved, **more}
    return {"type": "dynamic-tool", "toolCallId": call_id, "state": "approval-responded", "approval": approval}


def status(call_id: str, sha256: str) -> dict[str, Any]:
    return {"type": "data-tool-call-status", "id": call_id, "data": {"sha256": sha256}}


def test_what_the_client_answered_in_the_last_message_of_the_assistant_decides() -> None:
    approve = ai_sdk_approval(
        [
            {"role": "assistant", "parts": [part("earlier")]},
            {"role": "user", "parts": [{"type": "text", "text": "Go on"}]},
            {
                "role": "assistant",
                "parts": [
                    {"type": "step-start"},
                    part("yes"),
                    part("no", approved=False, reason="not on Fridays"),
                    part("without reason", approved=False),
                    part("shown"),
                    status("shown", "abc"),
                    part("other"),
                    status("other", "def"),
                    {"type": "tool-deploy", "toolCallId": "waits", "state": "approval-requested"},
                    part("typed") | {"type": "tool-deploy"},
                    part("again", approved=False),
                    part("t:again"),
                ],
            },
            {"role": "user", "parts": []},
        ]
    )
    names = ("yes", "no", "without reason", "shown", "other", "waits", "typed", "again", "earlier", "unknown")
    answers = {name: approve(asked_for(name)) for name in names}
    assert answers == {
        "yes": True,
        "no": Denied("not on Fridays"),
        "without reason": Denied(),
        "shown": True,
        "other": Denied("what was approved is another call"),
        "waits": Postponed(),
        "typed": True,
        "again": True,
        "earlier": Postponed(),
        "unknown": Postponed(),
    }
    assert approve(asked_for("yes")) == Postponed(), "an answer counts once"
    assert ai_sdk_approval()(asked_for("yes")) == Postponed()


@pytest.mark.parametrize(
    "messages",
    [
        None,
        "yes",
        {"role": "user", "parts": []},
        [7],
        [{"role": "user", "content": "Hi"}],
        [{"role": "assistant", "parts": [part("a", approved="yes")]}],
        [{"role": "assistant", "parts": [{"type": "dynamic-tool", "state": "approval-responded"}]}],
    ],
)
def test_messages_of_another_form_are_refused(messages: Any) -> None:
    with pytest.raises(UsageError, match="messages must be those of a request of useChat"):
        ai_sdk_approval(messages)


def frames(events: list[Any], version: Any) -> list[dict[str, Any]]:
    made = UiFrames("ai-sdk", version=version)
    return [decode(each) for each in [*(f for event in events for f in made.feed(event)), *made.close(Completed())]]


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        (5, []),
        (6, ["data-tool-call-status"] * 4 + ["tool-output-denied", "tool-output-available", "tool-output-error"]),
        (
            7,
            ["data-tool-call-status", "data-tool-call-status", "tool-approval-response"] * 2
            + ["tool-output-denied", "tool-output-available", "tool-output-error"],
        ),
    ],
)
def test_what_comes_of_calls_before_any_turn_is_of_the_message_that_the_client_goes_on_with(
    version: Any, kinds: list[str]
) -> None:
    """It is not asked again: the client may have answered."""
    answered = [ToolCallStatus(name, "t", "deploy", state) for name in "ab" for state in ("requested", "denied")]
    results = [ToolResult("a", denied="no"), ToolResult("b", value={"ok": 1}), ToolResult("c", error="broken")]
    sent = frames([*answered, *results], version)
    assert [each["type"] for each in sent] == ["start", *kinds, "finish"]
    for each in sent:
        if each["type"] == "data-tool-call-status":
            assert each["data"]["toolName"] == "deploy"
    begun = SegmentStart("s", "text", turn_id="u")
    assert [each["type"] for each in frames([begun, *answered, *results], version)] == ["start", "finish"]


def ask(messages: list[Any]) -> list[ChunkResponse]:
    """Call tools, then one more, then say what came of it; written by hand."""
    said = [each["content"] for each in messages if each["role"] == "tool"]
    calls = [("call_1", "deploy", '{"where": "a"}'), ("call_2", "deploy", '{"where": "b"}'), ("call_3", "look", "{}")]
    if said:
        calls = [("call_4", "deploy", '{"where": "c"}')] if len(said) == 3 else []
    deltas = [ToolCallDelta(at, *call, done=True) for at, call in enumerate(calls)]
    if not deltas:
        return [ChunkResponse(content=" | ".join(said), finish_reason="stop")]
    return [*(ChunkResponse(tool_calls=(each,)) for each in deltas), ChunkResponse(finish_reason="tool_calls")]


def application(version: int) -> Starlette:
    """Serve the code of the page; between two requests there is nothing but JSON."""
    page = (ROOT / "docs" / "ai-sdk-approval.md").read_text("utf-8")
    names: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0].replace("version=6", f"version={version}"), names)
    pipeline, chats = Pipeline(tools=[deploy, look]), names["chats"]

    async def chat(request: Request) -> StreamingResponse:
        for each in chats.values():
            each["messages"] = json.loads(json.dumps(each["messages"]))
            each["events"] = [from_json(to_json(event)) for event in each["events"]]
        sent = names["reply"](await request.json(), pipeline, ask, [deploy, look])
        return StreamingResponse(sent, headers=sse_headers("ai-sdk") | {"connection": "close"})

    return Starlette(routes=[Route("/chat", chat, methods=["POST"])])


@pytest.mark.slow
@pytest.mark.parametrize("version", [6, 7])
def test_the_official_client_asks_and_goes_on_with_its_message(version: int) -> None:
    RAN.clear()
    with serving(application(version)) as address:
        asked = {"version": version, "chat": True, "api": f"http://{address}/chat"}
        yes_and_no = {"call_1": True, "call_2": False, "call_4": True}
        (told,) = client_answers("ai_sdk.mjs", [asked | {"approve": yes_and_no}])
    assert (told["errors"], told["status"]) == ([], "ready")
    assert RAN == ["a", "c"]
    [_, message] = told["messages"]
    calls = calls_in(message)
    assert {name: call["state"] for name, call in calls.items()} == {
        "call_1": "output-available",
        "call_2": "output-denied",
        "call_3": "output-available",
        "call_4": "output-available",
    }
    assert calls["call_1"]["output"] == "deployed to a"
    assert calls["call_1"]["approval"]["approved"] is True
    statuses = {each["id"]: each["data"] for each in message["parts"] if each["type"] == "data-tool-call-status"}
    assert [each["state"] for each in statuses.values()] == ["finished", "denied", "finished", "finished"]
    [text] = [each["text"] for each in message["parts"] if each["type"] == "text"]
    assert text == "deployed to a | The call was denied: asked | it is there | deployed to c"


MUTANTS = {
    "useChat: what was approved may be another call": ("decides", ("sinks/adapters/client_approvals.py", 'said.get("sha256", request.sha256)', "request.sha256")),
    "useChat: the result of a call that waited is not sent": ("before_any_turn", ("sinks/web/ai_sdk_frames.py", "self._goes_on = version > 5", "self._goes_on = False")),
}  # fmt: skip
