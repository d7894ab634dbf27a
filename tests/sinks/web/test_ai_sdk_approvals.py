"""Approvals and results of `call_tools` in the UI message stream, and what the official clients make of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from acted import acted
from ai_sdk_served import VERSIONS, answers_of, calls_in, sent
from msgspec.json import decode

from penstock.events import AnswerEnd, ToolCallStatus, ToolResult, UsageError
from penstock.operators.engine.stage import Completed
from penstock.sinks import to_sse
from penstock.sinks.web.protocols import UiFrames

PAIRS = [(client, version) for client in VERSIONS for version in VERSIONS if version <= client]


def frames(events: list[Any], **options: Any) -> list[dict[str, Any]]:
    made = UiFrames("ai-sdk", **options)
    return [decode(each) for each in [*(f for event in events for f in made.feed(event)), *made.close(Completed())]]


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        (5, set[str]()),
        (6, {"tool-approval-request", "tool-output-denied"}),
        (7, {"tool-approval-request", "tool-approval-response", "tool-output-denied"}),
    ],
)
def test_approvals_are_for_clients_that_take_them(version: Any, kinds: set[str]):
    every = {frame["type"] for frame in frames(acted(), version=version)}
    assert {each for each in every if "approval" in each or "denied" in each} == kinds


def test_a_part_about_a_call_waits_until_the_call_is_sent():
    events = acted()
    [asked] = [e for e in events if isinstance(e, ToolCallStatus) and (e.id, e.state) == ("call_look", "requested")]
    events = [event for event in events if not isinstance(event, ToolCallStatus)]
    kinds = [frame["type"] for frame in frames([*events[:5], asked, *events[5:]], version=6)]
    assert kinds.index("tool-input-available") < kinds.index("tool-approval-request")


def test_a_status_of_a_call_that_was_not_sent_is_left_out():
    begun, asked = AnswerEnd("t"), ToolCallStatus("unknown", "t", "f", "requested")
    kinds = [frame["type"] for frame in frames([begun, asked, ToolResult("unknown", denied="no")], version=7)]
    assert kinds == ["start", "finish"]


@pytest.mark.parametrize("version", [4, 8, "6", True, None])
def test_another_version_is_refused(version: Any):
    with pytest.raises(UsageError, match="version= must be 5, 6 or 7"):
        UiFrames("ai-sdk", version=version)
    with pytest.raises(UsageError, match="version= is not an option of protocol='segments'"):
        UiFrames("segments", version=6)
    assert to_sse.__doc__ is not None


@pytest.mark.slow
def test_each_client_ends_with_the_results():
    events = acted()
    requests = [{"name": "a", "version": client, "options": {"version": version}} for client, version in PAIRS]
    answers = answers_of({"a": partial(sent, events, None)}, requests)
    for (client, version), answer in zip(PAIRS, answers, strict=True):
        assert answer["errors"] == [], (client, version)
        look, deploy, fail = calls_in(answer["message"]).values()
        assert (look["state"], look["output"]) == ("output-available", {"sky": "clear over Zürich"})
        assert (fail["state"], fail["errorText"]) == ("output-error", "LookupError: no such thing")
        if version == 5:
            assert (deploy["state"], deploy["errorText"]) == ("output-error", "not on Fridays")
        else:
            assert deploy["state"] == "output-denied"
            assert deploy["approval"]["id"] == "call_deploy"
        if version == 7:
            assert deploy["approval"] == {"id": "call_deploy", "approved": False, "reason": "not on Fridays"}
        told = {p["id"]: p["data"] for p in answer["message"]["parts"] if p["type"] == "data-tool-call-status"}
        assert {key: each["state"] for key, each in told.items()} == {
            "call_look": "finished",
            "call_deploy": "denied",
            "call_fail": "failed",
        }
        assert all(len(each["sha256"]) == 64 for each in told.values())


@pytest.mark.slow
def test_a_client_sees_a_call_that_waits_for_approval():
    events = acted()
    place = max(place for place, e in enumerate(events) if isinstance(e, ToolCallStatus) and e.state == "requested")
    requests = [{"name": "a", "version": client, "options": {"version": client}} for client in (6, 7)]
    for answer in answers_of({"a": partial(sent, events[: place + 1], None)}, requests):
        assert answer["errors"] == []
        for call_id, call in calls_in(answer["message"]).items():
            assert (call["state"], call["approval"]) == ("approval-requested", {"id": call_id})


MUTANTS = {
    "an approval is sent to a client that breaks off": ("clients_that_take", ("sinks/web/ai_sdk_frames.py", 'status.state == "requested" and self._version > 5:', 'status.state == "requested":')),
}  # fmt: skip
