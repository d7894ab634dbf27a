"""The gateway between real agent clients and a model of each dialect, which makes a file and edits it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from acting_model import PROSE, STEPS, THOUGHT, ActingModel, Fault, Step, made_calls
from agent_clients import CLIENTS, IN_CI, PATIENCE, Done, installed, no_way_out, run_client
from scripted_upstream import ScriptedUpstream, gateway

DIALECTS = (
    *("hermes", "qwen3_coder", "glm47", "kimi_k2", "deepseek_v31", "minimax_m2", "mistral_v11", "harmony", "gemma4"),
)
KEEP_ALIVE = 0.5
SILENCE = 2 * PATIENCE
"""Seconds without a byte after which the gateway gives up an upstream."""
LONGEST = 300
"""Seconds after which a client is stopped."""
WATCHED = 120
MOST_ASKED = 30
"""Requests in so many seconds where all fail: what a client sends that waits longer each time, and none that loops."""
FAULTS: dict[str, Fault] = {
    "cut": Fault("cut", "edit"),
    "error": Fault("error", "create"),
    "stall": Fault("silence", "edit", seconds=PATIENCE + 1.5),
    "silence": Fault("silence", "edit", seconds=3 * SILENCE),
}
IN_CI_FAULTS = ("cut", "error", "stall")
GIVES_UP = {("qwen", "cut"), ("qwen", "silence"), ("cline", "cut"), ("cline", "silence")}
"""Clients that end with an error when an answer breaks off whose beginning they have shown."""


class Ran(NamedTuple):
    """One task: what the client left, the file, what the model was asked, and what was asked of other machines."""

    done: Done
    text: str | None
    model: ActingModel
    requests: list[dict[str, Any]]
    outside: list[str]


def ran(client: str, dialect: str, folder: Path, fault: Fault | None = None, *, seconds: float = LONGEST) -> Ran:
    installed(client)
    work = folder / "work"
    work.mkdir()
    path = work / "notes.txt"
    model = ActingModel(dialect, path, seed=f"{client} {dialect}", fault=fault)
    listed = {"data": [{"id": dialect, "owned_by": "llamacpp"}]}
    upstream = ScriptedUpstream(model, routes={"/v1/models": listed})
    with gateway(upstream, silence=SILENCE, keep_alive=KEEP_ALIVE) as url, no_way_out() as (proxy, outside):
        done = run_client(client, url, dialect, work, proxy, seconds=seconds)
    text = path.read_text(encoding="utf-8") if path.exists() else None
    return Ran(done, text, model, upstream.requests, outside)


def all_pairs(others: Iterable[str], in_ci: set[tuple[str, str]]) -> list[Any]:
    """Return a row for each client with each of the others, with the mark of those that CI runs."""
    return [
        pytest.param(*pair, marks=[pytest.mark.pairwise] if pair in in_ci else (), id="-".join(pair))
        for pair in product(CLIENTS, others)
    ]


EACH_DIALECT_ONCE = {([*IN_CI][number % len(IN_CI)], dialect) for number, dialect in enumerate(DIALECTS)}
EACH_FAULT_ONCE = {(client, fault) for client in IN_CI for fault in IN_CI_FAULTS}


@pytest.mark.parametrize(("client", "dialect"), all_pairs(DIALECTS, EACH_DIALECT_ONCE))
def test_a_client_makes_a_file_and_edits_it(client: str, dialect: str, tmp_path: Path):
    run = ran(client, dialect, tmp_path)
    check_done(run, [*STEPS])


@pytest.mark.parametrize(("client", "fault"), all_pairs(FAULTS, EACH_FAULT_ONCE))
def test_a_client_gets_over_a_fault_or_says_that_it_cannot(client: str, fault: str, tmp_path: Path):
    place = [*CLIENTS].index(client) * len(FAULTS) + [*FAULTS].index(fault)
    run = ran(client, DIALECTS[place % len(DIALECTS)], tmp_path, FAULTS[fault])
    step = FAULTS[fault].step
    again = [each for each in STEPS for _ in range(1 + (each == step and fault != "stall"))]
    if (client, fault) not in GIVES_UP:
        check_done(run, again)
        return
    assert run.done.code not in (0, None), run.done.said
    assert "connection lost" in run.done.said
    assert run.model.asked == [*STEPS[: STEPS.index(step) + 1]]
    assert run.text == run.model.created


@pytest.mark.parametrize("kind", ["cut", "error"])
@pytest.mark.parametrize("client", CLIENTS)
def test_no_client_asks_for_ever_or_runs_half_a_call(client: str, kind: Any, tmp_path: Path):
    run = ran(client, "qwen3_coder", tmp_path, Fault(kind, "create", times=10**6), seconds=WATCHED)
    assert run.done.code != 0, run.done.said
    assert 0 < len(run.model.asked) <= MOST_ASKED
    assert run.text is None


def check_done(run: Ran, asked: list[Step]) -> None:
    said = f"{run.model.asked}\n{run.done.said[-4000:]}"
    assert run.text == run.model.edited, said
    assert run.model.asked == asked, said
    assert run.done.code == 0, said
    assert run.outside == []
    check_conversation(run, is_plain=len(asked) == len(STEPS))


def check_conversation(run: Ran, *, is_plain: bool) -> None:
    """Check what the model is shown of its own answers: each call once, with one result, and all that it said."""
    messages = run.requests[-1]["messages"]
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == calls
    told = [(run.model.step_of(call), message) for message in messages for call in made_calls([message])]
    assert [step for step, _ in told if step is not None] == ["create", "edit"]
    if is_plain:
        assert [(message["content"].strip(), message["reasoning_content"].strip()) for _, message in told] == [
            (PROSE[step], THOUGHT[step]) for step in STEPS[:2]
        ]
