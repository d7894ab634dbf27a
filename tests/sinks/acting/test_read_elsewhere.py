"""What readers make of a call that a tool reads while the model writes it: its statuses come before its invocation."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest
import virtual_time
from ag_ui_rules import checked
from ai_sdk_rules import message_of
from otel_recorder import Recorder, outcome
from read_calls import Saved, answer_of, events_of, pieces_of

from penstock.events import ToolCallStatus, ToolResult, from_json
from penstock.operators.engine.stage import Completed
from penstock.sinks import ApprovalRequest, plain_view, to_acp
from penstock.sinks.web.protocols import PROTOCOLS, UiFrames

WHOLE = ('{"path": "a.txt", "con', 'tent": "one\\n', "two", '"}')
VERSIONS = (5, 6, 7)
OF_APPROVAL = {"data-tool-call-status", "tool-approval-request", "tool-approval-response", "tool-output-denied"}
"""What the rules of the AI SDK's stream do not know."""


def read(*, is_cut: bool = False, answer: bool | None = None) -> list[Any]:
    """Return the events of a call; `answer`: of who is asked, and answers in time if the call is not cut."""

    async def approve(_: ApprovalRequest) -> bool:
        await asyncio.sleep(60 if is_cut else 0)
        return bool(answer)

    chunks = pieces_of(*WHOLE[:-1]) if is_cut else answer_of(*WHOLE)
    options: dict[str, Any] = {} if answer is None else {"approve": approve}
    return virtual_time.run(events_of([Saved().tool], chunks, **options))


def frames(protocol: Any, events: list[Any], **options: Any) -> list[dict[str, Any]]:
    made = UiFrames(protocol, **options)
    sent = [*(frame for event in events for frame in made.feed(event)), *made.close(Completed())]
    return [json.loads(each) for each in sent]


LIVES = [
    pytest.param(is_cut, answer, id=f"{'cut' if is_cut else 'whole'}-{answer}")
    for is_cut in (False, True)
    for answer in (None, True, False)
]


@pytest.mark.parametrize(("is_cut", "answer"), LIVES)
def test_every_protocol_sends_a_stream_that_its_clients_take(is_cut: bool, answer: bool | None):
    events = read(is_cut=is_cut, answer=answer)
    for protocol in PROTOCOLS:
        assert frames(protocol, events)
    checked(frames("ag-ui", events))
    for version in VERSIONS:
        message_of(each for each in frames("ai-sdk", events, version=version) if each["type"] not in OF_APPROVAL)
    sent = [from_json(json.dumps(each)) for each in frames("segments", events) if each["type"] != "STREAM_END"]
    added = [each for each in events if isinstance(each, ToolCallStatus | ToolResult)]
    assert [each for each in sent if isinstance(each, ToolCallStatus | ToolResult)] == added


@pytest.mark.parametrize("version", [6, 7])
def test_a_client_is_asked_behind_the_input_and_not_about_a_call_that_was_cut(version: Any):
    kinds = [each["type"] for each in frames("ai-sdk", read(answer=True), version=version)]
    assert kinds.index("tool-input-available") < kinds.index("tool-approval-request")
    kinds = [each["type"] for each in frames("ai-sdk", read(answer=True, is_cut=True), version=version)]
    assert "tool-input-error" in kinds
    assert [each for each in kinds if each.startswith("tool-approval")] == []


def test_ag_ui_leaves_no_call_open_that_was_cut():
    [last] = frames("ag-ui", read(answer=True, is_cut=True))[-1:]
    assert last["type"] == "RUN_FINISHED"
    assert "interrupt" not in json.dumps(last)


@pytest.mark.parametrize(
    ("is_cut", "answer", "states"),
    [
        (False, None, ["pending", "in_progress", "completed"]),
        (False, False, ["pending", "failed"]),
        (True, None, ["pending", "in_progress", "failed"]),
    ],
)
def test_acp_has_it_in_progress_while_it_is_written(is_cut: bool, answer: bool | None, states: list[str]):
    updates = [each["update"] for each in to_acp(read(is_cut=is_cut, answer=answer), "sess")]
    assert [each["status"] for each in updates if "status" in each] == states


def test_the_span_of_a_tool_begins_when_it_starts_and_there_is_none_of_a_cut_call():
    otel = Recorder()
    timed = [part for event in read() for part in (event, 1)]
    begun = next(at for at, each in enumerate(timed) if isinstance(each, ToolCallStatus))
    ended = next(at for at, each in enumerate(timed) if isinstance(each, ToolResult))
    list(otel.observe()(otel.timed(timed)))
    [span] = otel.spans("execute_tool")
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time - span.start_time == (ended - begun) // 2 * 1_000_000_000
    assert outcome(span)[0] != "ERROR"
    cut = Recorder()
    list(cut.observe()(cut.timed(read(is_cut=True))))
    assert cut.spans("execute_tool") == []


def test_a_view_shows_what_happens():
    for is_cut in (False, True):
        out = io.StringIO()
        plain_view(out)(read(is_cut=is_cut, answer=True))
        assert "save" in out.getvalue()


MUTANTS = {
    "the span of a tool that reads its call begins with the invocation": ("span", ("sinks/telemetry/tool_spans.py", "                self._started_at[identity] = now\n", "                pass\n")),
    "a client is asked about a call that was cut": ("behind_the_input", ("sinks/web/ai_sdk_frames.py", "if part.error is None or not frame", "if True or not frame")),
}  # fmt: skip
