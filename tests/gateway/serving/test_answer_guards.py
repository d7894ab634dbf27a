"""`AnswerGuards`: what a client gets of a guarded answer, and the upstream sees of it, over sockets."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, get_args

import httpx2
import pytest
from depth import scaled
from every_client import USER, WAYS, Clients
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from scripted_upstream import ScriptedUpstream, body_of, chunk, gateway, text_chunks
from starlette.responses import JSONResponse, Response
from streamed_answers import PATHS, data_in, is_error

from penstock.events import UsageError
from penstock.gateway.neutral import Api, NeutralRequest, ToolSpec
from penstock.gateway.read_request import read_request
from penstock.gateway.serving.answer_events import pipeline_for
from penstock.gateway.serving.answer_guards import AnswerGuards
from penstock.gateway.serving.gateway_app import Gateway, GatewayOptions
from penstock.gateway.serving.upstream import Upstream
from penstock.gateway.serving.whole_answer import whole_answer
from penstock.gateway.upstream_body import Lane
from penstock.operators import EMAIL, KEYS
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.stage import Completed
from penstock.operators.writing.render_call import render_call
from penstock.sinks.web.protocols import encoder_of

NINE = (
    *("hermes", "qwen3_coder", "glm47", "kimi_k2", "deepseek_v31", "minimax_m2", "mistral_v11", "harmony", "gemma4"),
)
TEXT: Any = {"type": "string"}
WRITE: Any = {"type": "object", "properties": {"content": TEXT, "path": TEXT}}
TOOLS = {"read": {"type": "object", "properties": {"path": TEXT}}, "write": WRITE}
GOOD = ("read", {"path": "notes/a.md"})
BAD = ("write", {"content": "the text of the call", "path": "/etc/passwd"})
RAW = {"/v1/models": {"data": [{"id": name, "owned_by": "llamacpp"} for name in NINE]}}
PARSED: Any = {"/v1/models": {"data": [{"id": "m"}]}}
WAIT = 15


def in_text(dialect: str, *calls: tuple[str, dict[str, Any]]) -> str:
    """Return a text with calls, in a dialect."""
    said = [render_call(DIALECTS[dialect], name, arguments, schema=TOOLS[name]) for name, arguments in calls]
    return "".join(said) if dialect == "harmony" else f"I will. {''.join(said)}"


def natively(*calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the chunks of a server that parses calls: each in two pieces."""
    chunks = [chunk({"content": "I will. "})]
    for number, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        function = {"name": name, "arguments": text[:9]}
        chunks.append(chunk({"tool_calls": [{"index": number, "id": f"c{number}", "function": function}]}))
        chunks.append(chunk({"tool_calls": [{"index": number, "function": {"arguments": text[9:]}}]}))
    return chunks


def pieces(text: str, size: int = 7) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def streamed(url: str, path: str, **more: Any) -> str:
    """Return the body of a streamed answer."""
    tools: Any = [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
    if path != "/v1/messages":
        tools = [{"type": "function", "name": name, "parameters": schema} for name, schema in TOOLS.items()]
    if path == "/v1/chat/completions":
        tools = [{"type": "function", "function": {key: each[key] for key in ("name", "parameters")}} for each in tools]
    body = {
        "model": "hermes",
        "stream": True,
        "max_tokens": 9,
        "messages": USER,
        "input": "Go.",
        "tools": tools,
        **more,
    }
    return httpx2.post(url + path, json=body, timeout=WAIT).text


NEW_PARAGRAPH = "\n\n"


def told(why: str) -> str:
    return f"[The gateway blocked a call of write by {why}. Nothing of it was run.]"


GUARDS: list[tuple[dict[str, Any], str]] = [
    ({"allow_tools": ["read"]}, "allowed_tools: 'write' is not among read"),
    ({"root": "/usr"}, "inside_root: '/etc/passwd' is not inside /usr"),
]


@pytest.mark.parametrize("lane", [RAW, PARSED], ids=["raw", "parsed"])
@pytest.mark.parametrize(("options", "why"), GUARDS, ids=["allow_tools", "root"])
def test_a_blocked_call_is_a_text_the_calls_before_it_run_and_the_upstream_is_closed(
    lane: Any, options: dict[str, Any], why: str
):
    server = ScriptedUpstream([], routes=lane)
    with gateway(server, **options) as url, Clients(url) as clients:
        for before in ([GOOD], []):
            calls = [*before, BAD]
            chunks = text_chunks(pieces(in_text("hermes", *calls)), None) if lane is RAW else natively(*calls)
            server.scripts = [[*body_of(chunks, done=False), None]]
            for way in WAYS:
                said = clients.ask(way, "hermes", TOOLS)
                assert server.closed.get(timeout=WAIT) == "closed"
                assert (said.calls, said.finish) == (before, "tool_calls" if before else "stop"), way
                assert said.text == f"I will. {'' if way[:4] != 'chat' else NEW_PARAGRAPH}{told(why)}", way


@looped("name", NINE)
def test_a_call_is_blocked_in_every_dialect(name: str):
    script = body_of(text_chunks(pieces(in_text(name, BAD, GOOD)), None), done=False)
    server = ScriptedUpstream([*script, None], routes=RAW)
    for options, why in GUARDS:
        with gateway(server, **options) as url, Clients(url) as clients:
            said = clients.ask("messages", name, TOOLS)
            assert (said.calls, said.finish) == ([], "stop")
            assert said.text.endswith(told(why))
            assert server.closed.get(timeout=WAIT) == "closed"


ASKED = [
    NeutralRequest(api=api, model="m", messages=(), tools=tuple(ToolSpec(n, parameters=s) for n, s in TOOLS.items()))
    for api in get_args(Api)
]


def client_frames(asked: NeutralRequest, lane: Lane, guards: AnswerGuards, chunks: list[Any]) -> list[Any]:
    """Return the frames that a client gets."""

    async def main() -> list[Any]:
        run = guards.put_into(pipeline_for(asked, lane, "auto"), asked).astream(chunks, turn_id="t")
        calls = guards.new_calls(asked.api)
        assert calls is not None
        return [each async for event in run for each in calls.feed(event)]

    encoder = encoder_of(asked.api, {})
    frames = [frame for event in asyncio.run(main()) for frame in encoder.feed(event)]
    return [*frames, *encoder.close(Completed(), {})]


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(ends)]


@pytest.mark.laws
@settings(max_examples=scaled(60))
@given(st.sampled_from(NINE), st.sampled_from(ASKED), st.sampled_from(GUARDS), st.lists(st.integers(0, 300)))
def test_nothing_of_a_blocked_call_reaches_a_client_however_it_is_cut(
    name: str, asked: NeutralRequest, guarding: tuple[dict[str, Any], str], places: list[int]
):
    options, why = guarding
    chunks = text_chunks(cut(in_text(name, GOOD, BAD), places))
    frames = client_frames(asked, "raw", AnswerGuards(**options), chunks)
    whole = json.dumps(whole_answer(asked.api, frames))
    assert "the text" not in json.dumps(frames)
    assert "the text of the call" not in whole
    assert "notes/a.md" in whole
    assert json.dumps(told(why))[1:-1] in whole


@looped("asked", ASKED)
def test_the_calls_beside_a_blocked_one_are_not_half_there(asked: NeutralRequest):
    """The server writes both at the same time, and the first one is not whole when the second one is blocked."""
    starts = [
        chunk({"tool_calls": [{"index": n, "id": f"c{n}", "function": {"name": name, "arguments": '{"'}}]})
        for n, name in enumerate(("read", "write"))
    ]
    sent = json.dumps(client_frames(asked, "parsed", AnswerGuards(allow_tools=["read"]), starts))
    assert "The gateway left out a call of read, which was not whole" in sent
    assert "c0" not in sent
    assert "error" not in client_frames(asked, "parsed", AnswerGuards(allow_tools=["read"]), starts)[-1]


@looped("path", PATHS)
def test_a_client_that_waits_for_a_held_call_gets_signs_of_life(path: str):
    chunks = natively(GOOD)
    server = ScriptedUpstream(
        [*body_of(chunks[:2], done=False), None, *body_of([*chunks[2:], chunk({}, "tool_calls")])], routes=PARSED
    )
    body = {"model": "m", "stream": True, "max_tokens": 9, "messages": USER, "input": "Go."}
    sign = {PATHS[0]: ": ", PATHS[1]: 'data: {"type":"keepalive"}', PATHS[2]: 'data: {"type":"ping"}'}[path]
    with (
        gateway(server, allow_tools=["read"], keep_alive=0.05) as url,
        httpx2.stream("POST", url + path, json=body, timeout=WAIT) as response,
    ):
        lines: list[str] = []
        for line in response.iter_lines():
            lines.append(line)
            if line == sign:
                server.go()
    text = "\n".join(lines)
    assert text.index(sign) < text.index("notes/a.md")
    assert not is_error(path, data_in(text)[-1])


LEFT_OUT = [
    ('{"path": "/etc/pass', "length", "is not whole"),
    ("{'path': '/etc/passwd'}", "tool_calls", "cannot be judged (malformed)"),
    ('["/etc/passwd"]', "tool_calls", "cannot be judged (invalid)"),
    ('"{\\"path\\": \\"/etc/passwd\\"}"', "tool_calls", "cannot be judged (invalid)"),
]


@looped("arguments, finish, why", LEFT_OUT)
def test_a_call_that_no_policy_can_read_does_not_pass_a_folder(arguments: str, finish: str, why: str):
    """There are clients that mend such arguments, and run the call."""
    call = chunk({"tool_calls": [{"index": 0, "id": "c0", "function": {"name": "read", "arguments": arguments}}]})
    for asked in ASKED:
        frames = client_frames(asked, "parsed", AnswerGuards(root="/usr"), [call, chunk({}, finish)])
        sent = json.dumps(frames)
        assert f"The gateway left out a call of read, which {why}" in sent
        assert "/etc/pass" not in sent
        assert "tool_use" not in sent
        assert '"tool_calls"' not in sent
        passed = json.dumps(
            client_frames(asked, "parsed", AnswerGuards(allow_tools=["read"]), [call, chunk({}, finish)])
        )
        assert "c0" in passed or asked.api == "anthropic-messages"  # which has no place for a list


def judged(arguments: Any) -> bool:
    """Return whether a call passes the folder /usr."""
    call = {"index": 0, "id": "c0", "function": {"name": "read", "arguments": json.dumps(arguments)}}
    frames = client_frames(
        ASKED[0], "parsed", AnswerGuards(root="/usr"), [chunk({"tool_calls": [call]}), chunk({}, "stop")]
    )
    return '"c0"' in json.dumps(frames)


@looped(
    "arguments, passes",
    [
        ({"path": "a/b"}, True),
        ({"path": "/usr/a"}, True),
        ({"content": "/etc/passwd"}, True),
        ({"file_path": "/etc/passwd"}, False),
        ({"workdir": "/etc", "cmd": "ls"}, False),
        ({"files": [{"path": "a"}, {"path": "../b"}]}, False),
        ({"files": [{"path": "a"}, {"path": "b"}]}, True),
        ({"paths": ["a", "/etc/passwd"]}, False),
        ({"paths": [["a", ["/etc/passwd"]]]}, False),
        ({"files": [[{"path": "/etc/passwd"}]]}, False),
        ({"filepath": "/etc/passwd"}, False),
        ({"Path": "/etc/passwd"}, False),
        ({"working-dir": "/etc"}, False),
        ({"path": " /etc/passwd"}, False),
        ({"path": "\t../etc/passwd"}, False),
        ({"path": "file:///etc/passwd"}, False),
        ({"source": {"path": "a"}}, True),
        ({"path": None}, True),
    ],
)
def test_a_path_is_judged_wherever_it_stands_in_the_arguments(arguments: Any, passes: bool):
    assert judged(arguments) is passes


def test_a_call_without_tools_of_the_client_is_guarded():
    asked = NeutralRequest(api="openai-chat", model="m", messages=())
    for lane in get_args(Lane):
        sent = json.dumps(client_frames(asked, lane, AnswerGuards(allow_tools=["read"]), natively(BAD)))
        assert "The gateway blocked a call of write" in sent
        assert "the text of the call" not in sent


def test_tools_that_are_not_allowed_are_not_offered_and_none_can_be_demanded():
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])), routes=PARSED)
    with gateway(server, allow_tools=["read"]) as url:
        for path in PATHS:
            assert "Hi" in streamed(url, path)
            [tool] = server.requests[-1]["tools"]
            assert tool["function"]["name"] == "read"
        choice = {"type": "function", "function": {"name": "write"}}
        assert "the gateway does not allow the tool 'write'" in streamed(url, PATHS[0], tool_choice=choice)
        assert len(server.requests) == 3


@looped(
    "name, passes",
    [("agents__close", True), ("close", False), ("a.b", True), ("a_b", False)],
)
def test_tools_are_allowed_by_the_names_that_the_client_has(name: str, passes: bool):
    tools: list[Any] = [
        {"type": "namespace", "name": "agents", "tools": [{"type": "function", "name": "close", "parameters": {}}]},
        {"type": "function", "name": "a.b", "parameters": {}},
    ]
    asked = read_request("openai-responses", {"model": "m", "input": "Go.", "tools": tools})
    flat = "a_b" if name.startswith("a") and name != "agents__close" else "agents__close"
    chunks = natively((flat, {}))
    sent = json.dumps(client_frames(asked, "parsed", AnswerGuards(allow_tools=[name]), chunks))
    assert ("The gateway blocked" not in sent) is passes
    assert [each.name for each in AnswerGuards(allow_tools=[name]).allowed(asked).tools] == ([flat] if passes else [])


KEY = "AKIA0123456789ABCDEF"
LEAK = f"Use {KEY}, ask joe@example.org."
HIDDEN = "Use [redacted:aws key], ask [redacted:email]."
CALL_WITH_KEY = ("write", {"content": KEY, "path": "a"})
REDACTING: dict[str, Any] = {"redact": (KEYS, EMAIL)}


@pytest.mark.parametrize("lane", [RAW, PARSED], ids=["raw", "parsed"])
def test_what_is_redacted_reaches_no_client_in_text_reasoning_and_arguments(lane: Any):
    thought = [chunk({"reasoning_content": each}) for each in pieces(LEAK)]
    said = [chunk({"content": each}) for each in pieces(LEAK)]
    text = in_text("hermes", CALL_WITH_KEY)
    calls = [chunk({"content": each}) for each in pieces(text)] if lane is RAW else natively(CALL_WITH_KEY)
    server = ScriptedUpstream(body_of([*thought, *said, *calls, *text_chunks([])[1:]]), routes=lane)
    with gateway(server, **REDACTING) as url, Clients(url) as clients:
        for way in WAYS:
            answer = clients.ask(way, "hermes", TOOLS)
            assert " ".join(answer.text.split()) == f"{HIDDEN}I will."
            assert answer.calls == [("write", {"content": "[redacted:aws key]", "path": "a"})]
        for path in PATHS:
            sent = streamed(url, path)
            assert "".join(sent.split()).count("[redacted:") >= 3
            assert "AKIA" not in sent
            assert "joe@" not in sent


LONG = f"<html>{'x ' * 990}{KEY} {'y' * 500}</html>"
"""The key is where a text that is told would be cut."""
ERRORS: list[Any] = [
    JSONResponse({"error": {"message": LEAK, "code": KEY, "type": KEY}}, 500),
    JSONResponse({"detail": LEAK}, 400),
    Response(LONG, 502, media_type="text/html"),
    JSONResponse(LEAK),
    body_of([{"error": {"message": LEAK, "code": KEY}}]),
    body_of([*text_chunks(["Hi"], None), {"error": {"message": LEAK, "code": KEY}}]),
    body_of([chunk({"content": "Hi"}), chunk({}, f"abort {KEY}")]),
]


@looped("script", ERRORS)
def test_what_is_redacted_is_in_no_error_and_in_no_log(script: Any):
    server = ScriptedUpstream(script, routes=PARSED)
    with (
        logged() as lines,
        gateway(server, **REDACTING) as url,
        httpx2.Client(base_url=url, timeout=WAIT) as client,
    ):
        for path in PATHS:
            for stream in (True, False):
                body = {"model": "m", "stream": stream, "max_tokens": 9, "messages": USER, "input": "Go."}
                response = client.post(path, json=body)
                assert "AKIA" not in response.text
                assert "joe@" not in response.text
                if response.status_code >= 400:
                    message = response.json()["error"]["message"]
                    assert "[redacted:a" in message
                    assert len(message) <= 2000
    said = "\n".join(lines)
    assert said.count("POST /v1/") == 6
    assert "[redacted:a" in said
    assert "AKIA" not in said
    assert "joe@" not in said


@contextmanager
def logged() -> Iterator[list[str]]:
    """Yield the lines that Penstock logs."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(handler.format(record))  # type: ignore[method-assign]
    logger = logging.getLogger("penstock")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def test_what_is_kept_of_an_answer_is_redacted():
    server = ScriptedUpstream(body_of(text_chunks(pieces(LEAK))), routes=PARSED)
    with gateway(server, **REDACTING) as url, Clients(url) as clients:
        first = clients.openai.responses.create(model="m", input="Go.")
        clients.openai.responses.create(model="m", input="On.", previous_response_id=first.id)
    assert [each["content"] for each in server.requests[-1]["messages"]] == ["Go.", HIDDEN, "On."]


def test_a_blocked_call_is_told_redacted_and_kept_as_it_was_told():
    script = body_of(natively(("read", {"path": f"/etc/{KEY}"})), done=False)
    server = ScriptedUpstream([*script, None], body_of(text_chunks(["Hi"])), routes=PARSED)
    with logged() as lines, gateway(server, root="/usr", **REDACTING) as url, Clients(url) as clients:
        first = clients.openai.responses.create(model="m", input="Go.")
        assert "'/etc/[redacted:aws key]' is not inside /usr" in first.output_text
        clients.openai.responses.create(model="m", input="On.", previous_response_id=first.id)
    assert [each["content"] for each in server.requests[-1]["messages"]] == ["Go.", first.output_text, "On."]
    assert "blocked=read(inside_root)" in lines[0]
    assert "finish=complete" in lines[0]


IDLE: list[tuple[list[Any], dict[str, float], str]] = [
    ([None], {"first": 0.1}, "no content came within 0.1 seconds (first)"),
    ([None], {"total": 0.1}, "the answer was not whole after 0.1 seconds of waiting (total)"),
    ([*body_of(text_chunks(["Hi"], None), done=False), None], {"between": 0.1}, "within 0.1 seconds (between)"),
]


@looped("script, limits, why", IDLE)
def test_an_upstream_that_is_too_slow_is_an_error_of_the_api(script: list[Any], limits: dict[str, float], why: str):
    server = ScriptedUpstream(script, routes=PARSED)
    with gateway(server, watchdog=limits) as url, httpx2.Client(base_url=url, timeout=WAIT) as client:
        for path in PATHS:
            body = {"model": "m", "stream": True, "max_tokens": 9, "messages": USER, "input": "Go."}
            response = client.post(path, json=body)
            assert server.closed.get(timeout=WAIT) == "closed"
            assert why in response.text
            assert response.status_code == (503 if script == [None] else 200)
            if script != [None]:
                assert is_error(path, data_in(response.text)[-1])
            whole = client.post(path, json={**body, "stream": False})
            assert server.closed.get(timeout=WAIT) == "closed"
            assert whole.status_code == 503
            assert why in whole.json()["error"]["message"]


@looped(
    "options, complaint",
    [
        ({"allow_tools": []}, "needs the names of tools"),
        ({"allow_tools": "read"}, "in a list"),
        ({"root": "/nowhere/at/all"}, "--root must be a folder that is there, got '/nowhere/at/all'"),
        ({"root": ""}, "--root must be a folder"),
        ({"redact": [5]}, "takes strings, patterns"),
        ({"watchdog": {"first": 0}}, "first= must be a positive number of seconds"),
    ],
)
def test_what_cannot_be_meant_is_told_at_the_start(options: dict[str, Any], complaint: str):
    with pytest.raises(UsageError, match=re.escape(complaint)):
        Gateway(Upstream("http://127.0.0.1:1"), GatewayOptions(**options))
