"""`diagnose`: each known fault of a server is found, and what the gateway mends of it is told as mended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from app_server import serving
from doctor_answers import ANSWERS, FAULTS, YES, faulty
from scripted_upstream import ScriptedUpstream
from speaking_model import (
    Said,
    Serve,
    answering,
    parsed,
    unparsed,
    vllm_without_parser,
)
from starlette.responses import JSONResponse

from penstock.events import UsageError
from penstock.gateway.doctor.diagnose import Diagnosis, diagnose
from penstock.gateway.doctor.questions import QUESTIONS, Finding, Question
from penstock.gateway.serving.served_model import GatewayOptions
from penstock.gateway.serving.upstream import Upstream

CALLING = [each.name for each in QUESTIONS if each.calls]


def found_at(serve: Serve, model: str = "Qwen3-8B", owner: str = "library", **options: Any) -> Diagnosis:
    """Return the diagnosis of a server with one model, whose answers it serves."""
    models = {"/v1/models": {"data": [{"id": model, "owned_by": owner}]}}
    return diagnosed(ScriptedUpstream(answering(ANSWERS, serve), routes=models), **options)


def diagnosed(server: ScriptedUpstream, questions: Sequence[Question] = QUESTIONS[:3], **options: Any) -> Diagnosis:
    async def main(url: str) -> Diagnosis:
        async with Upstream(url) as upstream:
            return await diagnose(upstream, lambda *_: None, GatewayOptions(**options), questions=questions)

    with serving(server.app) as address:
        return asyncio.run(main(f"http://{address}"))


def verdicts(found: Diagnosis) -> dict[str, str]:
    return {row.question: row.verdict for row in found.rows}


def test_each_fault_is_found_and_told_as_mended_where_it_is():
    found = found_at(faulty, questions=QUESTIONS)
    assert [(row.question, row.alone.what, row.verdict) for row in found.rows] == [
        *((name, what, verdict) for name, (_, what, verdict) in FAULTS.items()),
        ("the model sees its tools", "ok", "ok"),
    ]
    assert not found.is_well
    assert [*found.advice()] == [
        "What is not mended comes so from the server or the model: another version of it may do better.",
        "Put the gateway in front of the server: run the same command without --doctor.",
    ]


def test_a_server_without_faults_needs_no_mending():
    found = found_at(parsed(), questions=QUESTIONS)
    assert set(verdicts(found).values()) == {"ok"}
    assert found.is_well
    assert [*found.advice()] == [
        "The server needs no mending. The gateway still gives it the APIs that it has not got."
    ]


def test_a_server_that_refuses_tools_is_read_by_the_gateway():
    found = found_at(vllm_without_parser("Qwen3-8B"), owner="vllm")
    assert set(verdicts(found).values()) == {"mended"}
    assert "enable-auto-tool-choice" in found.rows[0].alone.what
    assert (found.found.lane, found.is_well) == ("raw", True)


def test_a_model_that_calls_no_tool_is_not_the_servers_fault():
    found = found_at(lambda _, body: parsed()(YES, body))
    assert verdicts(found) == {row.question: "the model" if row.question in CALLING else "ok" for row in found.rows}
    assert {row.through.what for row in found.rows if row.question in CALLING} == {"called no tool"}
    assert not found.is_well
    assert [*found.advice()] == ["The model called no tool. Try a larger one, or one that was trained to call tools."]


def test_a_model_that_makes_one_call_of_two_is_well_enough():
    found = found_at(lambda said, body: parsed()(said._replace(calls=said.calls[:1]), body))
    assert found.rows[1][1:] == (Finding("model", "called 1 of 2 tools"), Finding("model", "called 1 of 2 tools"))
    assert found.is_well


def test_a_template_without_tools_is_found_by_the_length_of_the_prompt():
    def serve(_: Said, body: dict[str, Any]) -> Any:
        body.pop("tools", None)
        return parsed()(YES, body)

    found = found_at(serve)
    assert found.rows[-1].verdict == "not mended"
    assert found.rows[-1].alone.what == "the prompt has 11 tokens with tools, and 11 without"
    assert "chat template" in next(found.advice())


def test_a_dialect_that_nobody_could_know_is_named():
    found = found_at(unparsed("Kimi-K2-Instruct"), model="Qwen3-8B", owner="sglang")
    assert found.rows[0].verdict == "not mended"
    assert "The model writes calls as kimi_k2: pass --dialect kimi_k2." in found.advice()
    assert found_at(unparsed("Kimi-K2-Instruct"), model="Qwen3-8B", owner="sglang", dialect="kimi_k2").is_well


def test_what_is_worse_through_the_gateway_is_told_with_the_other_lane():
    def serve(said: Said, body: dict[str, Any]) -> Any:
        return (parsed() if body["tool_choice"] != "none" else unparsed("Kimi-K2-Instruct"))(said, body)

    found = found_at(lambda said, body: serve(said, body) if "tools" in body else parsed()(YES, body), owner="llamacpp")
    assert found.rows[0].verdict == "worse"
    assert not found.is_well
    assert [*found.advice()] == [
        "The model writes calls as kimi_k2: pass --dialect kimi_k2.",
        "What is worse through the gateway may be right with --server openai: the server parses then.",
    ]


def test_a_call_that_is_lost_when_it_is_streamed_is_the_servers_fault():
    def serve(said: Said, body: dict[str, Any]) -> Any:
        return parsed()(Said("Well.") if body["stream"] else said, body)

    alone = {row.question: row.alone.what for row in found_at(serve).rows}
    assert alone["one call"] == "streamed: the call is lost"


def test_what_an_answer_is_cut_by_is_told_and_never_mended():
    found = found_at(lambda said, body: parsed()(said, body)[:-2])
    assert found.rows[0].verdict == "not mended"
    assert found.rows[0].alone.what == "the answer ends without a finish reason"
    assert not found.is_well


def test_a_server_that_answers_nothing_is_told_once():
    found = found_at(lambda *_: JSONResponse({"error": {"message": "out of memory"}}, 500))
    assert {row.through.what for row in found.rows} == {"an error: out of memory"}
    assert [*found.advice()] == ["The server answers nothing at all: the error says why, or its log does."]


@pytest.mark.parametrize(
    ("server", "complaint"),
    [
        ({"data": [{"id": "a"}, {"id": "b"}]}, "has several models: a, b; name one with --model"),
        ({"data": []}, "lists no models; if it wants a key, set it, too; name one with --model"),
    ],
)
def test_without_one_model_it_says_which_to_name(server: Any, complaint: str):
    with pytest.raises(UsageError, match=complaint):
        diagnosed(ScriptedUpstream([], routes={"/v1/models": server}))


def test_a_key_that_is_refused_is_told_at_the_first_question():
    server = ScriptedUpstream(JSONResponse({"error": {"message": "no key"}}, 401))
    with pytest.raises(UsageError, match="set it as PENSTOCK_UPSTREAM_KEY"):
        diagnosed(server)
    assert len(server.requests) == 1


def test_a_server_that_is_not_there_is_told_with_what_to_do():
    async def main() -> None:
        async with Upstream("http://127.0.0.1:1") as upstream:
            await diagnose(upstream, lambda *_: None)

    with pytest.raises(UsageError, match=r"nothing answers at http://127.0.0.1:1 .*: start the server"):
        asyncio.run(main())
