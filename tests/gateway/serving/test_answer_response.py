"""`Answers`: silences, cuts, clients that leave, and the end of the gateway, over sockets."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from app_server import serving
from every_client import USER
from scripted_upstream import ScriptedUpstream, body_of, chunk, gateway, text_chunks
from starlette.responses import JSONResponse
from streamed_answers import PATHS, data_in, is_error

from penstock.gateway.serving.gateway_app import Gateway, GatewayOptions
from penstock.gateway.serving.upstream import Upstream

BEGIN = body_of(text_chunks(["He", "llo"], None), done=False)
END = body_of(text_chunks([])[1:])
WAIT = 15


def asked(**more: Any) -> dict[str, Any]:
    return {"model": "m", "stream": True, "max_tokens": 9, "messages": USER, "input": "Go.", **more}


@contextmanager
def streamed(url: str, path: str, **more: Any) -> Iterator[httpx2.Response]:
    with httpx2.stream("POST", url + path, json=asked(**more), timeout=WAIT) as response:
        yield response


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("ending", [[...], [], [b"data: [DONE]\n\n"], body_of([chunk({}, "abort")])])
def test_an_answer_that_is_cut_ends_with_an_error(path: str, ending: list[Any]):
    with gateway(ScriptedUpstream([*BEGIN, *ending]), dialect="hermes") as url:
        with streamed(url, path) as response:
            text = response.read().decode()
        assert response.status_code == 200
        assert "llo" in text
        assert is_error(path, data_in(text)[-1])
        assert 'finish_reason":"' not in text
        whole = httpx2.post(url + path, json=asked(stream=False), timeout=WAIT)
        assert whole.status_code >= 500
        assert whole.json()["error"]["message"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("script", [[...], [], body_of([]), body_of([{"error": {"message": "no", "code": 500}}])])
def test_an_answer_that_is_cut_before_its_first_output_has_still_a_status(path: str, script: list[Any]):
    with gateway(ScriptedUpstream(script), dialect="hermes") as url:
        response = httpx2.post(url + path, json=asked(), timeout=WAIT)
        assert response.status_code in (500, 502, 503)
        assert response.json()["error"]["message"]


def test_the_clients_raise_for_what_is_cut():
    with gateway(ScriptedUpstream([*BEGIN, ...]), dialect="hermes") as url:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0) as client:
            stream = client.chat.completions.create(model="m", messages=USER, stream=True)
            with pytest.raises(openai.APIError):
                list(stream)
        with (
            anthropic.Anthropic(base_url=url, api_key="-", max_retries=0) as messages,
            pytest.raises(anthropic.APIStatusError),
            messages.messages.stream(model="m", max_tokens=9, messages=USER) as answer,
        ):
            answer.get_final_message()


@pytest.mark.parametrize("path", PATHS)
def test_an_upstream_that_says_nothing_more_is_cut_off(path: str):
    with (
        gateway(ScriptedUpstream([*BEGIN, None]), silence=0.3, dialect="hermes") as url,
        streamed(url, path) as response,
    ):
        assert is_error(path, data_in(response.read().decode())[-1])


@pytest.mark.parametrize("path", PATHS)
def test_a_json_body_in_place_of_a_stream_is_streamed(path: str):
    message = {"role": "assistant", "content": "Hello"}
    body = {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    with gateway(ScriptedUpstream(JSONResponse(body)), dialect="hermes") as url, streamed(url, path) as response:
        text = response.read().decode()
    assert "Hello" in text
    assert not is_error(path, data_in(text)[-1])


SIGNS = {
    "/v1/chat/completions": ": ",
    "/v1/responses": 'data: {"type":"keepalive"}',
    "/v1/messages": 'data: {"type":"ping"}',
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("before", [[], BEGIN])
def test_a_client_that_waits_gets_signs_of_life_that_it_counts(path: str, before: list[bytes]):
    """The upstream goes on only when two signs have come."""
    server = ScriptedUpstream([*before, None, *BEGIN, *END])
    with gateway(server, keep_alive=0.05, dialect="hermes") as url, streamed(url, path) as response:
        signs = 0
        text: list[str] = []
        for line in response.iter_lines():
            text.append(line)
            if line == SIGNS[path]:
                signs += 1
                if signs == 2:
                    server.go()
    assert signs >= 2
    assert not is_error(path, data_in("\n".join(text))[-1])


def test_the_clients_read_an_answer_with_signs_of_life():
    server = ScriptedUpstream([None, *BEGIN, None, *END])
    with gateway(server, keep_alive=0.05, dialect="hermes") as url:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0) as client:
            with client.responses.stream(model="m", input="-") as stream:
                kinds = []
                for event in stream:
                    kinds.append(event.type)
                    if event.type == "keepalive":  # type: ignore[comparison-overlap]  # which it has no type for
                        server.go()
                assert stream.get_final_response().output_text == "Hello"
            assert "keepalive" in kinds
        with anthropic.Anthropic(base_url=url, api_key="-", max_retries=0) as messages:
            server.go()
            server.go()
            with messages.messages.stream(model="m", max_tokens=9, messages=USER) as answer:
                assert answer.get_final_text() == "Hello"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_stream", [True, False])
@pytest.mark.parametrize("before", [[], BEGIN], ids=["before the first output", "in the middle"])
def test_a_client_that_leaves_closes_the_upstream(path: str, is_stream: bool, before: list[bytes]):
    server = ScriptedUpstream([*before, None])
    with gateway(server, dialect="hermes") as url:
        host, port = url.removeprefix("http://").split(":")
        body = json.dumps(asked(stream=is_stream)).encode()
        with socket.create_connection((host, int(port))) as client:
            head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            server.begun.get(timeout=WAIT)
            if is_stream and before:
                assert client.recv(100).startswith(b"HTTP/1.1 200")
        assert server.closed.get(timeout=WAIT) == "closed"


@pytest.mark.parametrize("path", PATHS)
def test_a_gateway_that_is_stopped_ends_its_answers_with_an_error(path: str):
    server = ScriptedUpstream([*BEGIN, None])
    with serving(server.app) as upstream:
        stopped = Gateway(Upstream(f"http://{upstream}"), GatewayOptions(dialect="hermes"))
        with serving(stopped.app()) as address, streamed(f"http://{address}", path) as response:
            pieces = response.iter_text()
            text = next(pieces)
            stopped.stop()
            text += "".join(pieces)
            assert is_error(path, data_in(text)[-1])
            assert "the gateway is stopping" in text
            assert server.closed.get(timeout=WAIT) == "closed"
            assert httpx2.post(f"http://{address}{path}", json=asked()).status_code in (503, 529)


def test_the_names_of_the_clients_tools_come_back():
    text = '<tool_call>{"name": "agents__close", "arguments": {"target": "x"}}</tool_call>'
    tools = [
        {"type": "namespace", "name": "agents", "tools": [{"type": "function", "name": "close", "parameters": {}}]}
    ]
    server = ScriptedUpstream(body_of(text_chunks([text])))
    with gateway(server, dialect="hermes") as url, streamed(url, "/v1/responses", tools=tools) as response:
        done = [each for each in data_in(response.read().decode()) if each["type"] == "response.output_item.done"]
    [item] = [each["item"] for each in done if each["item"]["type"] == "function_call"]
    assert (item["name"], item["namespace"], item["arguments"]) == ("close", "agents", '{"target": "x"}')
