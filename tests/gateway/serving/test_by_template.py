"""The lane by template: real clients in front of Ollama and of LM Studio, which complete the prompts of a template."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from chat_templates import TEMPLATES, TOKENS
from depth import scaled
from dialect_calls import Written, written
from every_client import USER, WAYS, Clients
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from scripted_upstream import MODEL, ScriptedUpstream, completed, gateway, generated
from starlette.responses import JSONResponse

from penstock import AnswerEnd, Pipeline, SegmentContent
from penstock.gateway.chat_template import ChatTemplate


class Completing(NamedTuple):
    """A server that completes prompts: what shows which one it is, where it is asked, and how it answers."""

    routes: dict[str, Any]
    path: str
    body: Callable[[Sequence[str]], list[bytes]]


MODELS = {"/v1/models": {"data": [{"id": MODEL}]}}
SERVERS = {
    "ollama": Completing({**MODELS, "/api/tags": {"models": []}}, "/api/generate", generated),
    "lmstudio": Completing({**MODELS, "/api/v0/models": {"data": []}}, "/v1/completions", completed),
}
DIALECTS = {"chatml": "hermes", "mistral": "mistral_v11", "harmony": "harmony"}
THINKING = {"chat_template_kwargs": {"enable_thinking": True}}
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")


def template_of(name: str) -> ChatTemplate:
    return ChatTemplate(TEMPLATES[name], name=f"{name}.jinja", tokens=TOKENS)


def post(url: str, path: str, **more: Any) -> httpx2.Response:
    body = {"model": "m", "max_tokens": 9, "messages": USER, "input": "Go.", **more}
    return httpx2.post(url + path, json=body, timeout=20)


@looped("server, name", [(server, name) for server in SERVERS for name in DIALECTS])
def test_every_client_gets_the_calls_of_a_text_that_was_completed(server: str, name: str):
    check_every_client(server, name, 'a "b"\nü', 3)


@pytest.mark.laws
@settings(max_examples=scaled(10))
@given(
    st.sampled_from([*SERVERS]),
    st.sampled_from([*DIALECTS]),
    st.sampled_from(["", "x", 'a "b"\nü', "<tool", "<|im_end|>"]),
    st.integers(1, 60),
)
def test_every_client_gets_them_however_they_are_cut(server: str, name: str, value: str, size: int):
    check_every_client(server, name, value, size)


def check_every_client(server: str, name: str, value: str, size: int) -> None:
    row, call = SERVERS[server], written(DIALECTS[name], value)
    tools = {tool: schema for tool, schema in call.tools.items() if schema is not None}
    text = call.text if name == "harmony" else f"I will. {call.text}"
    upstream = ScriptedUpstream(row.body([text[at : at + size] for at in range(0, len(text), size)]), routes=row.routes)
    with gateway(upstream, dialect=DIALECTS[name], template=template_of(name)) as url:
        asking = Clients(url)
        for way in WAYS:
            said = asking.ask(way, "any", tools)
            assert (said.text.strip(), said.calls) == ("" if name == "harmony" else "I will.", [called(call)]), way
            assert (said.finish, said.tokens) == ("tool_calls", (11, 7)), way
        asking.close()
    assert {*upstream.paths} == {row.path}
    for asked in upstream.requests:
        assert call.name in asked["prompt"]
        assert "messages" not in asked
        assert "tools" not in asked


def called(call: Written) -> tuple[str, dict[str, Any]]:
    return call.name, dict(call.arguments)


@looped("server", SERVERS)
def test_what_comes_after_a_prompt_that_opened_the_reasoning_is_reasoning(server: str):
    row = SERVERS[server]
    upstream = ScriptedUpstream(row.body(["Hm", ".</th", "ink>\n\nYes."]), routes=row.routes)
    with gateway(upstream, dialect="hermes", template=ChatTemplate(TEMPLATES["chatml"] + "<think>\n")) as url:
        asking = Clients(url)
        for way in WAYS:
            said = asking.ask(way, "any", {})
            assert (said.reasoning, said.text, said.finish) == ("Hm.", "Yes.", "stop"), way
        asking.close()


@looped("server", SERVERS)
def test_a_switch_of_the_request_reaches_the_template(server: str):
    row = SERVERS[server]
    upstream = ScriptedUpstream(row.body(["Hm.</think>Yes."]), row.body(["No."]), routes=row.routes)
    with gateway(upstream, dialect="hermes", template=template_of("chatml")) as url:
        [choice] = post(url, PATHS[0], **THINKING).json()["choices"]
        assert (choice["message"]["reasoning_content"], choice["message"]["content"]) == ("Hm.", "Yes.")
        post(url, PATHS[0], reasoning_effort="none")
    prompts = [asked["prompt"] for asked in upstream.requests]
    assert [prompt.partition("assistant\n")[2] for prompt in prompts] == ["<think>\n", "<think>\n\n</think>\n\n"]


def test_the_lane_stands_in_a_header():
    row = SERVERS["ollama"]
    with gateway(
        ScriptedUpstream(row.body(["Hi"]), routes=row.routes), dialect="hermes", template=template_of("chatml")
    ) as url:
        for path in PATHS:
            assert post(url, path).headers["x-penstock-lane"] == "raw by template; hermes; ollama"


def test_what_the_template_refuses_is_told_in_each_api_with_its_line():
    refusing = (
        "{{ messages[0].content }}\n{% if 'no' in messages[0].content %}{{ raise_exception('Not this.') }}{% endif %}"
    )
    upstream = ScriptedUpstream(generated(["Hi"]), routes=SERVERS["ollama"].routes)
    with gateway(upstream, dialect="hermes", template=ChatTemplate(refusing, name="mine.jinja")) as url:
        for path in PATHS:
            for stream in (True, False):
                asked: Any = [{"role": "user", "content": "no"}]
                refused = post(url, path, messages=asked, input=asked, stream=stream)
                error = refused.json()["error"]
                assert (refused.status_code, error["type"]) == (400, "invalid_request_error")
                assert error["message"] == "messages: the chat template refuses them (mine.jinja, line 2): Not this."
    assert upstream.requests == []


@looped("server", SERVERS)
def test_an_error_of_the_server_is_an_error_of_each_api(server: str):
    row = SERVERS[server]
    line = json.dumps({"error": "out of memory"}).encode()
    broken = [*row.body(["Hi"])[:1], line + b"\n" if server == "ollama" else b"data: " + line + b"\n\n"]
    with gateway(ScriptedUpstream(broken, routes=row.routes), dialect="hermes", template=template_of("chatml")) as url:
        for path in PATHS:
            answer = post(url, path)
            assert answer.status_code == 502
            assert "out of memory" in answer.json()["error"]["message"]
            assert "out of memory" in post(url, path, stream=True).text


@looped("server", SERVERS)
def test_an_answer_without_its_end_is_no_whole_answer(server: str):
    row = SERVERS[server]
    cut = row.body(["Hi"])[:1]
    with gateway(ScriptedUpstream(cut, routes=row.routes), dialect="hermes", template=template_of("chatml")) as url:
        for path in PATHS:
            assert post(url, path).status_code == 502


@looped("server", SERVERS)
def test_what_has_come_is_sent_while_the_server_still_writes(server: str):
    row = SERVERS[server]
    first, *rest = row.body(["Hi", " you."])
    upstream = ScriptedUpstream([first, None, *rest], routes=row.routes)
    with gateway(upstream, dialect="hermes", template=template_of("chatml")) as url, Clients(url) as asking:
        stream = iter(asking.openai.chat.completions.create(model="m", messages=USER, stream=True))
        assert next(stream).choices[0].delta.content == "Hi"
        upstream.go()
        assert "".join(choice.delta.content or "" for each in stream for choice in each.choices) == " you."


@looped("server", SERVERS)
def test_a_recording_is_read_again_in_the_form_of_the_server(server: str, tmp_path: Path):
    row = SERVERS[server]
    folder = tmp_path / server
    with gateway(
        ScriptedUpstream(row.body(["Hi", " you."]), routes=row.routes),
        dialect="hermes",
        template=template_of("chatml"),
        record=folder,
    ) as url:
        assert post(url, PATHS[0]).status_code == 200
    [recorded] = folder.glob("*.jsonl")
    *_, end = events = list(Pipeline("hermes", keep_answer=False).stream(recorded))
    assert "".join(each.delta for each in events if isinstance(each, SegmentContent)) == "Hi you."
    assert isinstance(end, AnswerEnd)
    assert (end.finish_reason, end.usage and end.usage.total) == ("stop", 18)


def test_another_server_is_asked_in_its_own_way():
    first, second = SERVERS["ollama"], SERVERS["lmstudio"]
    broken = ScriptedUpstream(JSONResponse({"error": "out of memory"}, 500), routes=first.routes)
    upstream = ScriptedUpstream(second.body(["Hi"]), routes=second.routes)
    with gateway(broken, upstream, dialect="hermes", template=template_of("chatml")) as url:
        answer = post(url, PATHS[0])
    assert answer.json()["choices"][0]["message"]["content"] == "Hi"
    assert answer.headers["x-penstock-lane"] == "raw by template; hermes; lmstudio"
    assert (broken.paths, upstream.paths) == (["/api/generate"], ["/v1/completions"])


def test_tools_that_the_template_does_not_show_are_told_in_the_log(caplog: pytest.LogCaptureFixture):
    row = SERVERS["ollama"]
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    with (
        caplog.at_level("INFO", "penstock.gateway"),
        gateway(ScriptedUpstream(row.body(["Hi"]), routes=row.routes), template=template_of("plain")) as url,
    ):
        assert post(url, "/v1/messages", tools=tools).status_code == 200
    [line] = [record.getMessage() for record in caplog.records if record.name == "penstock.gateway"]
    assert "dropped=tools, which the template does not show" in line


def test_the_count_of_tokens_is_estimated_by_the_prompt():
    upstream = ScriptedUpstream([], routes=SERVERS["ollama"].routes)
    with gateway(upstream, template=template_of("chatml")) as url:
        counted = post(url, "/v1/messages/count_tokens")
        longer = post(url, "/v1/messages/count_tokens", messages=[{"role": "user", "content": "Go. " * 400}])
    assert counted.headers["x-penstock-tokens"] == "estimated"
    assert longer.json()["input_tokens"] - counted.json()["input_tokens"] in range(390, 410)
