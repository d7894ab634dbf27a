"""`AnswerRun`: which upstream answers, over sockets."""

from __future__ import annotations

import logging
import re
from functools import partial
from typing import Any

import httpx2
import pytest
from app_server import serving
from every_client import USER, WAYS, Clients
from looped import looped
from scripted_upstream import ScriptedUpstream, body_of, chunk, gateway, nobodys_address, text_chunks
from starlette.responses import JSONResponse
from streamed_answers import PATHS, data_in, is_error

from penstock.events import UsageError
from penstock.gateway.serving.gateway_app import Gateway, GatewayOptions
from penstock.gateway.serving.upstream import Upstream

RAW: Any = {"/v1/models": {"data": [{"id": "hermes-2", "owned_by": "llamacpp"}]}}
PARSED: Any = {"/v1/models": {"data": [{"id": "m-2"}]}}
CALL = '<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>'
TOOLS = {"read": {"type": "object", "properties": {"path": {"type": "string"}}}}
GOOD = body_of(text_chunks(["I will. ", CALL]))
BEGUN = body_of(text_chunks(["Hel", "lo"], None), done=False)
WAIT = 15

BROKEN: dict[str, Any] = {
    "a status": JSONResponse({"error": {"message": "down"}}, 503),
    "a bad gateway": JSONResponse({"error": {"message": "down"}}, 502),
    "too many requests": JSONResponse({"error": {"message": "later"}}, 429, headers={"retry-after": "9"}),
    "a cut": [...],
    "nothing": [],
    "an empty answer": body_of([]),
    "an error in the stream": body_of([{"error": {"message": "no", "code": 500}}]),
    "an object that is no chunk": body_of([{"message": {"content": "Hi"}}]),
    "silence": [None],
}


def asked(**more: Any) -> dict[str, Any]:
    return {"model": "m", "stream": True, "max_tokens": 9, "messages": USER, "input": "Go.", **more}


def without_what_is_new(text: str) -> str:
    """Return a streamed answer without its id, and without the time at which it was made."""
    text = re.sub(r"(chatcmpl-|resp_|msg_)[0-9a-f]{32}", "ID", text)
    return re.sub(r'"created(_at)?":\d+', "", text)


@looped("name", [*BROKEN, "no connection"])
def test_the_next_upstream_answers_and_the_client_sees_no_trace_of_the_first(name: str):
    first = nobodys_address() if name == "no connection" else ScriptedUpstream(BROKEN[name], routes=PARSED)
    second = ScriptedUpstream(GOOD, routes=RAW)
    limits: Any = {"watchdog": {"first": 0.1}} if name == "silence" else {}
    with gateway(second) as alone, gateway(first, second, **limits) as url:
        for path in PATHS:
            expected, given = (httpx2.post(each + path, json=asked(), timeout=WAIT) for each in (alone, url))
            assert without_what_is_new(given.text) == without_what_is_new(expected.text)
            assert given.status_code == 200
            for header in ("x-penstock-upstream", "x-penstock-lane"):
                assert given.headers[header].partition("1:")[0] == expected.headers[header].partition("1:")[0]
            assert given.headers["x-penstock-lane"] == "raw; hermes; llamacpp"
        with Clients(url) as clients:
            for way in WAYS:
                said = clients.ask(way, "m", TOOLS)
                assert (said.text.strip(), said.calls, said.finish) == (
                    "I will.",
                    [("read", {"path": "a"})],
                    "tool_calls",
                )
    assert {request["model"] for request in second.requests} == {"hermes-2"}
    if isinstance(first, ScriptedUpstream):
        assert {request["model"] for request in first.requests} == {"m-2"}
        if name == "silence":
            assert first.closed.qsize() == len(first.requests)


def test_who_answers_is_in_a_header_and_in_the_log(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "penstock.gateway")
    first = ScriptedUpstream(BROKEN["a status"], GOOD, routes=PARSED)
    with serving(first.app) as one, serving(ScriptedUpstream(GOOD, routes=RAW).app) as two:
        urls = [f"http://user:secret@{one}/v1", f"http://{two}"]
        with serving(Gateway([Upstream(each) for each in urls]).app()) as address:
            for who in (two, one):
                for stream in (True, False):
                    first.scripts = [BROKEN["a status"] if who is two else GOOD]
                    response = httpx2.post(f"http://{address}{PATHS[0]}", json=asked(stream=stream), timeout=WAIT)
                    assert response.headers["x-penstock-upstream"].endswith(who)
                    assert "secret" not in response.headers["x-penstock-upstream"]
    lines = [record.getMessage() for record in caplog.records if record.name == "penstock.gateway"]
    changes = [line for line in lines if "failed before its first output" in line]
    assert len(changes) == 2
    assert changes[0].startswith(f"http://{two} is asked, for http://***@{one} failed")
    assert "down" in changes[0]
    assert [f"upstream=http://{two}" in line for line in lines if line.startswith("POST")] == [True, True, False, False]
    assert "secret" not in "".join(lines)


@looped("status", [400, 401, 403, 404, 413])
def test_a_request_that_no_upstream_can_answer_is_not_asked_again(status: int):
    first = ScriptedUpstream(JSONResponse({"error": {"message": "no"}}, status), routes=PARSED)
    second = ScriptedUpstream(GOOD, routes=RAW)
    with gateway(first, second) as url:
        for path in PATHS:
            assert 400 <= httpx2.post(url + path, json=asked(), timeout=WAIT).status_code < 500
    assert second.requests == []


@looped("path", PATHS)
def test_a_cut_behind_the_first_output_stays_an_error_and_a_whole_answer_has_no_output_before_its_end(path: str):
    first = ScriptedUpstream([*BEGUN, ...], routes=PARSED)
    second = ScriptedUpstream(GOOD, routes=RAW)
    with gateway(first, second) as url:
        streamed = httpx2.post(url + path, json=asked(), timeout=WAIT)
        assert "lo" in streamed.text
        assert is_error(path, data_in(streamed.text)[-1])
        assert second.requests == []
        whole = httpx2.post(url + path, json=asked(stream=False), timeout=WAIT)
        assert (whole.status_code, "I will." in whole.text, "Hel" in whole.text) == (200, True, False)


def test_a_call_that_is_held_is_no_output_yet():
    begun = chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read", "arguments": '{"pa'}}]})
    first = ScriptedUpstream([*body_of([begun], done=False), ...], routes=PARSED)
    second = ScriptedUpstream(GOOD, routes=RAW)
    with gateway(first, second, allow_tools=["read"]) as url, Clients(url) as clients:
        for way in WAYS:
            assert clients.ask(way, "m", TOOLS).calls == [("read", {"path": "a"})]
    assert len(first.requests) == len(second.requests) == len(WAYS)


@looped("path", PATHS)
def test_if_all_fail_the_error_of_the_last_one_is_told(path: str):
    first = ScriptedUpstream(BROKEN["a status"], routes=PARSED)
    second = ScriptedUpstream(BROKEN["too many requests"], routes=RAW)
    with gateway(first, nobodys_address(), second) as url:
        for stream in (True, False):
            response = httpx2.post(url + path, json=asked(stream=stream), timeout=WAIT)
            assert (response.status_code, response.headers["retry-after"]) == (429, "9")
            assert response.json()["error"]["message"] == "later"


@looped("path", PATHS)
def test_an_upstream_changes_behind_signs_of_life_too(path: str):
    first = ScriptedUpstream([None, ...], routes=PARSED)
    second = ScriptedUpstream(GOOD, routes=RAW)
    with (
        gateway(first, second, keep_alive=0.05) as url,
        httpx2.stream("POST", url + path, json=asked(), timeout=WAIT) as response,
    ):
        assert "x-penstock-upstream" not in response.headers
        first.go()
        text = response.read().decode()
    assert "I will." in text
    assert not is_error(path, data_in(text)[-1])


def test_a_gateway_that_is_stopped_asks_nobody_else():
    first, second = ScriptedUpstream([None], routes=PARSED), ScriptedUpstream(GOOD, routes=RAW)
    with serving(first.app) as one, serving(second.app) as two:
        stopped = Gateway([Upstream(f"http://{one}"), Upstream(f"http://{two}")], GatewayOptions(keep_alive=0.05))
        with (
            serving(stopped.app()) as address,
            httpx2.stream("POST", f"http://{address}/v1/messages", json=asked(), timeout=WAIT) as response,
        ):
            first.begun.get(timeout=WAIT)
            stopped.stop()
            assert "the gateway is stopping" in response.read().decode()
    assert second.requests == []


@looped("path", PATHS)
def test_an_upstream_that_is_not_there_is_not_asked_by_each_request(path: str, caplog: pytest.LogCaptureFixture):
    second = ScriptedUpstream(GOOD, routes=RAW)
    away = Upstream(nobodys_address())
    with serving(second.app) as two, serving(Gateway([away, Upstream(f"http://{two}")]).app()) as address:
        for _ in range(3):
            assert httpx2.post(f"http://{address}{path}", json=asked(), timeout=WAIT).status_code == 200
        assert caplog.text.count(f"{away.url} failed before its first output") == 1
        away._away_until = 0.0  # as some seconds later
        assert httpx2.post(f"http://{address}{path}", json=asked(), timeout=WAIT).status_code == 200
        assert caplog.text.count(f"{away.url} failed before its first output") == 2


def test_one_that_vanishes_later_is_left_alone_too_and_the_only_one_is_asked_always():
    second = ScriptedUpstream(GOOD, routes=RAW)
    with serving(second.app) as two, serving(ScriptedUpstream(GOOD, routes=RAW).app) as one:
        first = Upstream(f"http://{one}")
        both = [first, Upstream(f"http://{two}")]
        with serving(Gateway(both).app()) as address:
            post = partial(httpx2.post, f"http://{address}{PATHS[0]}", json=asked(), timeout=WAIT)
            assert post().headers["x-penstock-upstream"] == f"http://{one}"
            first.url = nobodys_address()
            assert [post().headers["x-penstock-upstream"] for _ in range(2)] == [f"http://{two}"] * 2
            assert first.is_away
    with gateway(nobodys_address()) as url:
        for _ in range(2):
            assert httpx2.post(url + PATHS[0], json=asked(), timeout=WAIT).status_code == 503


def test_models_and_tokens_are_those_of_the_first_upstream_that_is_there():
    counts = {"/v1/chat/completions/input_tokens": {"input_tokens": 123}}
    with gateway(nobodys_address(), ScriptedUpstream(GOOD, routes={**RAW, **counts})) as url:
        assert [each["id"] for each in httpx2.get(f"{url}/v1/models").json()["data"]] == ["hermes-2"]
        counted = httpx2.post(f"{url}/v1/messages/count_tokens", json={"model": "m", "messages": USER})
        assert counted.json() == {"input_tokens": 123}


def test_a_gateway_needs_an_upstream():
    with pytest.raises(UsageError, match="at least one upstream"):
        Gateway([])
