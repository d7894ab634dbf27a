"""The official clients of AG-UI, and what they make of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ag_ui_runs import PLAIN, TEXTS, Run, endpoint, loop_run, own_runs, text_run, told_by
from app_server import serving
from every_sdk import SDKS
from npm_clients import client_answers

from penstock.events import ChunkResponse, InvocationFailed, ToolCallDelta
from penstock.operators import drive, guard, to_segments
from penstock.operators.policies import InsideRoot

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
    guards = [guarded(chain, "stop"), guarded(chain, "drop")]
    return [*own_runs(*chain), *loops, *map(text_run, TEXTS), interleaved(), *guards]


def guarded(chain: tuple[Any, ...], then: Any) -> Run:
    """Return a run with a call that a policy ends in its middle, and one that runs if the answer goes on."""
    texts = '{"path": "/etc/passwd", "content": "x"}', '{"path": "a"}'
    chunks = [
        ChunkResponse(tool_calls=(delta,))
        for index, text in enumerate(texts)
        for delta in (
            ToolCallDelta(index, f"call_{index}", "read"),
            *(ToolCallDelta(index, arguments_delta=text[at : at + 7]) for at in range(0, len(text), 7)),
        )
    ]
    chunks.append(ChunkResponse(finish_reason="tool_calls", finish_reason_raw="tool_calls", is_complete=True))
    guarding = guard(InsideRoot("/work"), then=then)
    return Run(f"guarded, {then}", list(drive(chunks, to_segments(turn_id="t"), *chain[:-1], guarding, chain[-1])))


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
