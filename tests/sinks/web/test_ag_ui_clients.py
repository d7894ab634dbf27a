"""AG-UI's own clients, over real HTTP: what they end up with is what the model said, and nothing makes them complain.

Deltas of arguments are counted with a chain without `stream_fields`: with it the first ones of a file wait for its path
and come as one.
"""

from __future__ import annotations

from typing import Any

import pytest
from acted import acted
from ag_ui_clients import CLIENTS, assert_read, calls_in, joined, read_by, runs
from ag_ui_runs import FIELDS, PLAIN, Run, loop_run
from every_sdk import SDKS

from penstock.events import Notice, SegmentContent
from penstock.operators.calls.call_arguments import as_json

pytestmark = pytest.mark.slow


def assert_true(run: Run, got: dict[str, Any]) -> None:
    """Assert the truth that lies beside a stream of ours."""
    messages, truth = got["messages"], run.truth
    said = joined(messages, "assistant")
    # Two choices are two texts, whose deltas the truth has in the order of the wire.
    assert sorted(said) == sorted(truth["text"] + truth.get("refusal", "")), run.name
    thought = truth.get("reasoning_len", len(truth.get("reasoning", "")))
    assert len(joined(messages, "reasoning")) == thought, run.name
    calls = [*calls_in(messages).values()]
    assert sorted(name for name, _ in calls) == sorted(call["name"] for call in truth["calls"]), run.name
    wanted = [(call["name"], *_as_sent(call)) for call in truth["calls"]]
    assert all(any(name == each[0] and text in each[1:] for each in wanted) for name, text in calls), run.name


def _as_sent(call: dict[str, Any]) -> tuple[str, ...]:
    """Return how arguments may have been sent: none as an empty object, a text as the member of one."""
    text = call["arguments"]
    if call["kind"] != "text":
        return (text, "{}") if text.strip() in ("", "null") else (text,)
    wrapped = f'{{"input": {as_json(text)}'
    return (f"{wrapped}}}", wrapped[:-1], "")


@pytest.mark.parametrize("client", CLIENTS)
def test_it_ends_up_with_what_the_model_said(client: str):
    every = runs(PLAIN)
    for run, got in zip(every, read_by(client, every), strict=True):
        assert_read(run, got)
        if run.truth:
            assert_true(run, got)
        deltas = [event["delta"] for event in got["events"] if event["type"] == "TOOL_CALL_ARGS"]
        assert len(deltas) >= run.deltas, run.name


@pytest.mark.parametrize("client", CLIENTS)
def test_it_gets_files_beside_their_calls(client: str):
    every = runs(FIELDS)
    for run, got in zip(every, read_by(client, every), strict=True):
        assert_read(run, got)
        told: dict[str, str] = {}
        for event in got["events"]:
            if event["type"] == "CUSTOM" and event["name"] == "penstock.segment":
                shown = event["value"]
                told[shown["segment_id"]] = told.get(shown["segment_id"], "") + shown["payload"].get("delta", "")
        wanted: dict[str, str] = {}
        for segment in run.events:
            if isinstance(segment, SegmentContent) and segment.segment_id in told:
                wanted[segment.segment_id] = wanted.get(segment.segment_id, "") + segment.delta
        assert {name: text for name, text in told.items() if text} == wanted, run.name


@pytest.mark.parametrize("client", [*CLIENTS, "ag-ui-client-old"])
def test_one_call_after_the_other_and_no_reasoning(client: str):
    options: dict[str, Any] = {"interleave": False, "reasoning": False}
    if client == "ag-ui-client-old":
        options = {"profile": "0.0.35"}
    every = runs(FIELDS)
    for run, got in zip(every, read_by(client, every, **options), strict=True):
        assert_read(run, got, with_reasoning=False)


def test_a_loop_is_one_run_whose_results_stand_behind_their_calls():
    every = [loop_run(sdk.api) for sdk in SDKS]
    for got in read_by("ag-ui-client-1", every):
        said = [each for each in got["messages"] if each["role"] != "reasoning"]
        roles = [each["role"] for each in said]
        assert roles[-5:] == ["assistant", "tool", "tool", "tool", "assistant"]
        assert [each["content"] for each in said[-4:-1]] == [
            '{"celsius":21}',
            "Error: no such city",
            "The call was denied: not this one",
        ]
        assert len(said[-5]["toolCalls"]) == 3


def test_a_notice_is_told():
    [got] = read_by("ag-ui-client-1", [Run("notice", [Notice("code", "detail")])])
    [event] = [event for event in got["events"] if event["type"] == "CUSTOM"]
    assert event["value"] == {"type": "NOTICE", "code": "code", "detail": "detail"}


@pytest.mark.parametrize("client", CLIENTS)
def test_calls_that_were_acted_on_have_their_results_and_statuses(client: str):
    [got] = read_by(client, [Run("acted", acted())])
    assert got["error"] is None
    assert got["warnings"] == []
    results = {each["toolCallId"]: each["content"] for each in got["messages"] if each["role"] == "tool"}
    assert results == {
        "call_look": '{"sky":"clear over Zürich"}',
        "call_deploy": "The call was denied: not on Fridays",
        "call_fail": "Error: LookupError: no such thing",
    }
    told = [each["value"] for each in got["events"] if each.get("name") == "penstock.tool_call_status"]
    assert [each["state"] for each in told if each["id"] == "call_look"] == [
        "requested",
        "approved",
        "started",
        "finished",
    ]
    assert not got["pending"]
