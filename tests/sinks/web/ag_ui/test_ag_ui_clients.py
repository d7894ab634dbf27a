"""AG-UI's own clients, over real HTTP: what they end up with is what the model said, and nothing makes them complain.

Deltas of arguments are counted with a chain without `stream_fields`: with it the first ones of a file wait for its path
and come as one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from acted import acted
from ag_ui_runs import FIELDS, PLAIN, TEXTS, Run, endpoint, loop_run, own_runs, text_run, told_by
from app_server import serving
from every_sdk import SDKS
from npm_clients import client_answers

from penstock.events import ChunkResponse, InvocationFailed, Notice, SegmentContent, ToolCallDelta
from penstock.operators import drive, to_segments
from penstock.operators.calls.call_arguments import as_json

pytestmark = pytest.mark.slow
CLIENTS = ("ag-ui-client-1", "ag-ui-client-0")


def read_by(client: str, runs: Sequence[Run], **options: Any) -> list[dict[str, Any]]:
    by_name = {run.name: run for run in runs}
    assert len(by_name) == len(runs)
    with serving(endpoint(by_name, **options)) as address:
        requests = [{"client": client, "url": f"http://{address}/{name}"} for name in by_name]
        return client_answers("ag_ui.mjs", requests)


@cache
def runs(chain: tuple[Any, ...]) -> list[Run]:
    loops = [loop_run(sdk.api) for sdk in SDKS]
    return [*own_runs(*chain), *loops, *map(text_run, TEXTS), interleaved()]


def interleaved() -> Run:
    """Return two calls whose deltas alternate, each a character long, beside a text."""
    texts = ('{"n": "αβγ🌱"}', '{"m": [1, 2, {"x": null}]}')
    chunks = [ChunkResponse(content="Both: "), ChunkResponse(content="now.")]
    names = tuple(ToolCallDelta(index, f"call_{index}", "f") for index in (0, 1))
    chunks.append(ChunkResponse(tool_calls=names))
    for place in range(max(map(len, texts))):
        pieces = tuple(
            ToolCallDelta(i, arguments_delta=text[place]) for i, text in enumerate(texts) if place < len(text)
        )
        chunks.append(ChunkResponse(tool_calls=pieces))
    chunks.append(ChunkResponse(finish_reason="tool_calls", finish_reason_raw="tool_calls", is_complete=True))
    events = drive(chunks, to_segments(turn_id="t"), *PLAIN)
    return Run("interleaved", list(events), deltas=sum(map(len, texts)))


def joined(messages: Sequence[Mapping[str, Any]], role: str) -> str:
    return "".join(each.get("content") or "" for each in messages if each["role"] == role)


def calls_in(messages: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    calls = [call for each in messages for call in each.get("toolCalls") or ()]
    assert len({call["id"] for call in calls}) == len(calls)
    return {call["id"]: (call["function"]["name"], call["function"]["arguments"]) for call in calls}


def assert_read(run: Run, got: dict[str, Any], *, with_reasoning: bool = True) -> None:
    assert got["error"] is None, (run.name, got["error"])
    assert got["warnings"] == [], run.name
    kinds = [event["type"] for event in got["events"]]
    assert kinds[0] == "RUN_STARTED", run.name
    assert kinds[-1] in ("RUN_FINISHED", "RUN_ERROR"), run.name
    assert (kinds[-1] == "RUN_ERROR") >= (run.error is not None), run.name
    told = told_by(run)
    messages = got["messages"]
    assert joined(messages, "assistant") == told.text, run.name
    assert joined(messages, "reasoning") == (told.reasoning if with_reasoning else ""), run.name
    assert len({each["id"] for each in messages}) == len(messages), run.name
    calls = calls_in(messages)
    for call_id, (name, arguments) in told.calls.items():
        assert (calls[call_id][0], json.loads(calls[call_id][1])) == (name, arguments), run.name
    results = {each["toolCallId"]: each["content"] for each in messages if each["role"] == "tool"}
    for event in run.events:
        if isinstance(event, InvocationFailed):
            assert event.reason in results[event.id], run.name
    if got["pending"] is not None:
        answered = {call_id for call_id in told.calls if call_id in results}
        assert set(got["pending"]) == told.calls.keys() - answered, run.name


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
