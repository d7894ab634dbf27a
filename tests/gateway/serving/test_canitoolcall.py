"""The probe of canitoolcall, a neutral judge of servers, asked of the gateway: each of its 27 rows passes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest
from app_server import serving
from canitoolcall.cli import main
from canitoolcall.probe import BUILTIN_SCENARIOS
from depth import some_of
from looped import looped
from scripted_upstream import ScriptedUpstream, gateway
from speaking_model import (
    MODELS,
    Said,
    Serve,
    answering,
    in_reasoning,
    parsed,
    unparsed,
    vllm_without_parser,
    with_objects,
    with_one_index,
    without_ids,
    without_opener,
)

PARIS, TOKYO = (("get_weather", {"city": city}) for city in ("Paris", "Tokyo"))
NOTE = {"title": "Grüße aus Zürich", "body": "Café ☕ in 東京 — naïve résumé 🚀"}
PEOPLE = [{"name": name, "email": f"{name.lower()}@example.com"} for name in ("Ana", "Bo")]
EVENT = {
    "title": "Design review",
    "start": "2026-10-01T15:00:00Z",
    "attendees": PEOPLE,
    "location": {"city": "Berlin", "room": "4.12"},
}
ANSWERS: Mapping[str, Said] = {
    "single-call": Said("I will look.", (PARIS,)),
    "parallel-calls": Said(calls=(PARIS, TOKYO)),
    "no-call": Said("42"),
    "nested-args": Said(calls=(("create_event", EVENT),)),
    "unicode-args": Said(calls=(("save_note", NOTE),)),
    "empty-args": Said(calls=(("get_server_time", {}),)),
    "forced-tool-choice": Said("Lisbon is old.", forced=(("get_weather", {"city": "Lisbon"}),)),
    "tool-result-followup": Said("18 degrees, and clear.", thought="I have it."),
    "reasoning-then-call": Said(calls=(("record_answer", {"answer": "9.9"}),), thought="0.9 is more than 0.11."),
}
QUESTIONS = {
    next(each["content"] for each in reversed(scenario.messages) if each["role"] == "user"): ANSWERS[scenario.id]
    for scenario in BUILTIN_SCENARIOS
}


RAW = {
    "llamacpp": unparsed,
    "sglang": unparsed,
    "vllm": vllm_without_parser,
}
"""Servers by the owner of their models, which leave the text as it is."""
QWEN = "Qwen3-8B"
BROKEN: Mapping[str, Serve] = {
    "calls in the text": unparsed(QWEN),
    "calls in the text, without the opener": without_opener(QWEN),
    "calls in the reasoning": in_reasoning(QWEN),
    "one index for all": parsed(with_one_index),
    "no ids": parsed(without_ids),
    "arguments as objects": parsed(with_objects),
    "calls that end as a text": parsed(finish="stop"),
}


@contextmanager
def in_front_of(serve: Serve, model: str, owner: str) -> Iterator[str]:
    """Yield the address of a gateway in front of a server with one model."""
    models = {"/v1/models": {"data": [{"id": model, "owned_by": owner}]}}
    with gateway(ScriptedUpstream(answering(QUESTIONS, serve), routes=models)) as url:
        yield f"{url}/v1"


def probed(url: str, model: str, file: Path) -> list[str]:
    """Return what the probe finds wrong, of its 27 rows."""
    code = main(["probe", "--base-url", url, "--model", model, "--json", str(file)])
    outcomes = json.loads(file.read_text(encoding="utf-8"))["outcomes"]
    assert len(outcomes) == 27
    wrong = [json.dumps(each) for each in outcomes if each["status"] != "pass" or each["warnings"]]
    assert code == (1 if any(each["status"] != "pass" for each in outcomes) else 0)
    return wrong


@pytest.mark.laws
@looped("model, owner", lambda: some_of(zip(MODELS, cycle(RAW), strict=False), 4))
def test_every_row_passes_for_a_model_of_each_dialect(model: str, owner: str, tmp_path: Path):
    with in_front_of(RAW[owner](model), model, owner) as url:
        assert probed(url, model, tmp_path / "report.json") == []


@looped("serve", BROKEN.values(), BROKEN)
def test_every_row_passes_for_a_server_that_parses_badly(serve: Serve, tmp_path: Path):
    with in_front_of(serve, QWEN, "library") as url:
        assert probed(url, QWEN, tmp_path / "report.json") == []


def test_the_probe_finds_what_such_a_server_breaks(tmp_path: Path):
    server = ScriptedUpstream(answering(QUESTIONS, unparsed(QWEN)))
    with serving(server.app) as address:
        assert probed(f"http://{address}/v1", QWEN, tmp_path / "report.json")
