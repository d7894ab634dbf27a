"""`Gateway`: real clients in front of a scripted server, over sockets."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from app_server import serving
from depth import scaled
from dialect_calls import Written, written
from every_client import USER, WAYS, Clients
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from scripted_upstream import MODEL, ScriptedUpstream, body_of, chunk, gateway, nobodys_address, text_chunks
from starlette.responses import JSONResponse

from penstock.gateway.serving.gateway_app import Gateway
from penstock.gateway.serving.upstream import Upstream
from penstock.sources.base.request import listen

NINE = (
    *("hermes", "qwen3_coder", "glm47", "kimi_k2", "deepseek_v31", "minimax_m2", "mistral_v11", "harmony", "gemma4"),
)
MODELS = {"/v1/models": {"data": [{"id": name, "owned_by": "vllm"} for name in NINE]}}


@pytest.fixture(scope="module")
def upstream() -> ScriptedUpstream:
    return ScriptedUpstream([], routes=MODELS)


@pytest.fixture(scope="module")
def clients(upstream: ScriptedUpstream) -> Iterator[Clients]:
    with gateway(upstream) as url:
        asking = Clients(url)
        yield asking
        asking.close()


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(ends)]


def in_front(call: Written) -> str:
    """Return the text of a call behind some prose, where the dialect has a place for it."""
    return call.text if call.dialect.name == "harmony" else f"I will. {call.text}"


@looped("name", NINE)
def test_every_client_gets_the_same_calls_of_every_dialect(name: str, upstream: ScriptedUpstream, clients: Clients):
    check_every_client(name, 'a "b"\nü', [*range(0, 400, 3)], upstream, clients)


@pytest.mark.laws
@settings(max_examples=scaled(20))
@given(
    st.sampled_from(NINE), st.sampled_from(["", "x", 'a "b"\nü', "<tool"]), st.lists(st.integers(0, 400), max_size=30)
)
def test_every_client_gets_the_same_calls_however_they_are_cut(
    upstream: ScriptedUpstream, clients: Clients, name: str, value: str, places: list[int]
):
    check_every_client(name, value, places, upstream, clients)


def check_every_client(name: str, value: str, places: list[int], upstream: ScriptedUpstream, clients: Clients) -> None:
    call = written(name, value)
    tools = {tool: schema for tool, schema in call.tools.items() if schema is not None}
    upstream.scripts = [body_of(text_chunks(cut(in_front(call), places)))]
    text = "" if name == "harmony" else "I will."
    for way in WAYS:
        said = clients.ask(way, name, tools)
        assert (said.text.strip(), said.calls) == (text, [(call.name, dict(call.arguments))]), way
        assert (said.finish, said.tokens) == ("tool_calls", (11, 7)), way


def test_a_server_that_parses_is_mended_for_every_client(upstream: ScriptedUpstream):
    first = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
    second = {"index": 0, "id": "b", "type": "function", "function": {"name": "f", "arguments": '{"a": 2}'}}
    late = {"index": 0, "function": {"arguments": '{"a": 1}'}}
    script = body_of([chunk({"tool_calls": [each]}) for each in (first, late, second)] + text_chunks([], "stop")[1:])
    in_reasoning = '<tool_call>{"name": "f", "arguments": {"a": 3}}</tool_call>'
    left = body_of([chunk({"reasoning_content": in_reasoning}), *text_chunks([], "stop")[1:]])
    tools = {"f": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    server = ScriptedUpstream([], routes={"/v1/models": {"data": [{"id": "x"}]}})
    with gateway(server) as url:
        asking = Clients(url)
        for way in WAYS:
            server.scripts = [script]
            said = asking.ask(way, "any", tools)
            assert (said.calls, said.finish) == ([("f", {"a": 1}), ("f", {"a": 2})], "tool_calls"), way
            server.scripts = [left]
            assert asking.ask(way, "any", tools).calls == [("f", {"a": 3})], way
        asking.close()


ERRORS = [
    ("openai-chat", "/v1/chat/completions"),
    ("openai-responses", "/v1/responses"),
    ("anthropic-messages", "/v1/messages"),
]


def post(url: str, path: str, *, headers: dict[str, Any] | None = None, **more: Any) -> httpx2.Response:
    body = {"model": "m", "stream": True, "max_tokens": 9, "messages": USER, "input": "Go.", **more}
    return httpx2.post(url + path, json=body, headers=headers, timeout=20)


def kind_of(response: httpx2.Response) -> str:
    kind: str = response.json()["error"]["type"]
    return kind


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("status", "chat", "messages"),
    [
        (400, (400, "invalid_request_error"), (400, "invalid_request_error")),
        (401, (401, "authentication_error"), (400, "invalid_request_error")),
        (404, (404, "invalid_request_error"), (404, "not_found_error")),
        (413, (413, "invalid_request_error"), (413, "request_too_large")),
        (429, (429, "rate_limit_error"), (429, "rate_limit_error")),
        (500, (500, "server_error"), (500, "api_error")),
        (529, (529, "server_error"), (529, "overloaded_error")),
    ],
)
def test_an_error_of_the_upstream_has_the_status_and_the_type_of_the_api(
    status: int,
    chat: tuple[int, str],
    messages: tuple[int, str],
    stream: bool,
    upstream: ScriptedUpstream,
    clients: Clients,
):
    error = {"error": {"code": status, "message": "broken", "type": "server_error"}}
    upstream.scripts = [JSONResponse(error, status, headers={"retry-after": "7"})]
    for api, path in ERRORS:
        response = post(clients.url, path, stream=stream)
        assert (response.status_code, kind_of(response)) == (messages if api == "anthropic-messages" else chat)
        assert response.headers["retry-after"] == "7"
        assert response.json()["error"]["message"].endswith("broken")


TOO_LONG = {
    "error": {"code": 400, "message": "no", "type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}
}


def test_a_prompt_that_is_too_long_is_told_in_the_words_of_each_api(upstream: ScriptedUpstream, clients: Clients):
    upstream.scripts = [JSONResponse(TOO_LONG, 400)]
    for api, path in ERRORS:
        error = post(clients.url, path).json()["error"]
        assert error["message"] == "prompt is too long: 9 tokens > 8 maximum"
        assert api == "anthropic-messages" or error["code"] == "context_length_exceeded"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (JSONResponse(TOO_LONG, 400), "context_length_exceeded"),
        (JSONResponse({"error": {"message": "slow"}}, 429, headers={"retry-after": "3"}), "rate_limit_exceeded"),
    ],
)
def test_codex_is_told_in_the_stream_what_it_would_not_understand_by_the_status(
    answer: JSONResponse, code: str, upstream: ScriptedUpstream, clients: Clients
):
    upstream.scripts = [answer]
    response = post(clients.url, "/v1/responses", headers={"originator": "codex_exec"})
    last = json.loads(response.text.strip().splitlines()[-1].removeprefix("data: "))
    assert (response.status_code, last["type"], last["response"]["error"]["code"]) == (200, "response.failed", code)
    if code == "rate_limit_exceeded":
        assert "Please try again in 3s" in last["response"]["error"]["message"]


def test_what_llama_cpp_can_never_do_is_no_error_that_clients_repeat(upstream: ScriptedUpstream, clients: Clients):
    upstream.scripts = [JSONResponse({"error": {"code": 500, "message": "image input is not supported"}}, 500)]
    assert post(clients.url, "/v1/chat/completions").status_code == 400


def test_an_upstream_that_is_not_there_is_a_503():
    with gateway(f"{nobodys_address()}/v1") as url:
        for _, path in ERRORS:
            response = post(url, path)
            assert response.status_code == 503
            assert "the upstream cannot be reached" in response.json()["error"]["message"]


def test_a_connection_that_the_upstream_resets_is_a_503():
    server = ScriptedUpstream([])
    with serving(server.app) as models, listen("127.0.0.1", 0) as listening:
        upstream = Upstream(f"http://{models}")
        with serving(Gateway(upstream).app()) as address, ThreadPoolExecutor(1) as thread:
            assert httpx2.get(f"http://{address}/v1/models").status_code == 200
            upstream.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            for _, path in ERRORS:
                resetting = thread.submit(reset_one, listening)
                response = post(f"http://{address}", path)
                resetting.result(timeout=20)
                assert response.status_code == 503
                assert "the upstream cannot be reached" in response.json()["error"]["message"]


def reset_one(listening: socket.socket) -> None:
    """Take a request, and reset its connection."""
    with listening.accept()[0] as connection:
        connection.recv(1 << 16)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_keys_and_pages_in_a_browser():
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])))
    with gateway(server, key="secret") as url:
        assert post(url, "/v1/messages").status_code == 401
        assert httpx2.get(f"{url}/v1/models").status_code == 401
        assert post(url, "/v1/messages", headers={"x-api-key": "secret"}).status_code == 200
        assert post(url, "/v1/chat/completions", headers={"authorization": "Bearer secret"}).status_code == 200
        assert [headers.get("authorization") for headers in server.headers] == [None, None]
        browser = {"x-api-key": "secret", "origin": "http://evil.example"}
        assert post(url, "/v1/messages", headers=browser).status_code == 403
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])))
    with gateway(server) as url:
        assert post(url, "/v1/messages", headers={"x-api-key": "own"}).status_code == 200
        assert server.headers[0]["authorization"] == "Bearer own"
        for value in ("bearer own", "Bearer own"):
            assert post(url, "/v1/messages", headers={"authorization": value}).status_code == 200
            assert server.headers[-1]["authorization"] == "Bearer own"
        assert post(url, "/v1/messages", headers={"x-api-key": "schlüssel".encode()}).status_code == 200
        assert server.headers[-1]["authorization"].encode("latin-1") == "Bearer schlüssel".encode()
    with gateway(server, key="schlüssel\n") as url:
        assert post(url, "/v1/messages", headers={"x-api-key": "schlüssel".encode()}).status_code == 200


HOSTS = {
    "127.0.0.1": 200,
    "localhost:1": 200,
    "[::1]:4141": 200,
    "box": 200,
    "evil.example": 403,
    "127.0.0.1.evil.example": 403,
}


@looped("host, status", HOSTS.items())
def test_a_page_whose_name_leads_to_this_machine_reads_nothing(host: str, status: int, guarded_by_host: str):
    for path in ("/v1/models", "/metrics"):
        answer = httpx2.get(guarded_by_host + path, headers={"host": host})
        assert answer.status_code == status
        assert status == 200 or MODEL not in answer.text
    for _, path in ERRORS:
        answer = post(guarded_by_host, path, headers={"host": host})
        assert answer.status_code == status
        assert status == 200 or "with a key, which clients then send, it answers to any" in answer.text


@pytest.fixture(scope="module")
def guarded_by_host() -> Iterator[str]:
    with gateway(ScriptedUpstream(body_of(text_chunks(["Hi"]))), hosts=["Box"]) as url:
        yield url


def test_two_hosts_or_none_are_refused_and_with_a_key_any_is_answered():
    with gateway(ScriptedUpstream([])) as url:
        port = httpx2.URL(url).port
        for head in (b"Host: localhost\r\nHost: evil.example\r\n", b""):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"GET /v1/models HTTP/1.0\r\n%b\r\n" % head)
                client.settimeout(20)
                assert client.recv(4096).split()[1] in (b"400", b"403")
    with gateway(ScriptedUpstream([]), key="secret") as url:
        headers = {"host": "gateway.example", "authorization": "Bearer secret"}
        assert httpx2.get(f"{url}/v1/models", headers=headers).status_code == 200


@pytest.mark.parametrize("names", [["", "a"], ["a", "a"]])
def test_tools_whose_names_are_empty_or_alike_are_no_fault_of_the_gateway(names: list[str]):
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])), routes={"/v1/models": {"data": [{"id": MODEL}]}})
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    with gateway(server) as url:
        body = {"model": MODEL, "messages": USER, "tools": tools}
        assert httpx2.post(f"{url}/v1/chat/completions", json=body).status_code == 200
    assert all(each["function"]["name"] for each in server.requests[-1]["tools"])


def test_bodies_are_bounded():
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])))
    with gateway(server, longest_body=2_000_000) as url:
        for api, path in ERRORS:
            assert post(url, path).status_code == 200
            for more in (1_999_990, 3_900_000):  # a client must have sent all of it before it reads the error
                refused = post(url, path, metadata={"pad": "x" * more})
                kind = "request_too_large" if api == "anthropic-messages" else "invalid_request_error"
                assert (refused.status_code, kind_of(refused)) == (413, kind)
        assert len(server.requests) == 3


def test_a_request_that_does_not_come_to_its_end_frees_its_place():
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])))
    with gateway(server, most_at_once=1, most_waiting=0, longest_wait=0.2) as url:
        with socket.create_connection(("127.0.0.1", httpx2.URL(url).port)) as slow:
            slow.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
            slow.settimeout(20)
            answer = slow.recv(4096)
        assert b"408" in answer.partition(b"\r\n")[0]
        assert post(url, "/v1/messages").status_code == 200


def test_a_path_that_is_not_served_is_told_in_the_words_of_the_api():
    with gateway(ScriptedUpstream([])) as url:
        openais = httpx2.post(f"{url}/chat/completions")
        assert (openais.status_code, kind_of(openais)) == (404, "invalid_request_error")
        assert "POST /chat/completions is not served; the paths are /v1/chat/completions" in openais.text
        other = httpx2.post(f"{url}/v1/complete", headers={"anthropic-version": "2023-06-01"})
        assert (other.status_code, other.json()["type"], kind_of(other)) == (404, "error", "not_found_error")
        wrong = httpx2.get(f"{url}/v1/messages")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")


def test_no_page_of_another_origin_is_let_in():
    with gateway(ScriptedUpstream([])) as url:
        for method, path in (("OPTIONS", "/v1/messages"), ("GET", "/v1/models"), ("GET", "/")):
            answer = httpx2.request(method, url + path, headers={"origin": "http://a", **PREFLIGHT})
            assert [name for name in answer.headers if name.startswith("access-control")] == []
            assert path == "/" or answer.status_code in (403, 405)


PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}


def test_further_requests_than_are_allowed_at_once_are_refused():
    server = ScriptedUpstream([*body_of(text_chunks(["Hi"], None), done=False), None, *body_of(text_chunks([]))])
    with (
        gateway(server, most_at_once=1, most_waiting=0) as url,
        httpx2.stream(
            "POST", f"{url}/v1/messages", json={"model": "m", "max_tokens": 9, "stream": True, "messages": USER}
        ) as first,
    ):
        for path, status in (("/v1/messages", 529), ("/v1/chat/completions", 503)):
            refused = post(url, path)
            assert (refused.status_code, refused.headers["retry-after"]) == (status, "1")
        server.go()
        assert "message_stop" in first.read().decode()


def test_models_the_root_and_the_count_of_tokens():
    counts = {"/v1/chat/completions/input_tokens": {"input_tokens": 123}}
    server = ScriptedUpstream([], routes=counts)
    asked = {"model": "m", "messages": USER}
    with gateway(server) as url:
        assert [each["id"] for each in httpx2.get(f"{url}/v1/models").json()["data"]] == [MODEL]
        with anthropic.Anthropic(base_url=url, api_key="-") as client:
            assert [model.id for model in client.models.list()] == [MODEL]
        assert httpx2.head(url).status_code == 200
        counted = httpx2.post(f"{url}/v1/messages/count_tokens", json=asked)
        assert (counted.json(), counted.headers["x-penstock-tokens"]) == ({"input_tokens": 123}, "counted")
        assert server.requests[-1]["messages"]
    with gateway(ScriptedUpstream([])) as url:
        counted = httpx2.post(f"{url}/v1/messages/count_tokens", json=asked)
        assert counted.headers["x-penstock-tokens"] == "estimated"
        assert counted.json()["input_tokens"] > 0
    with gateway(ScriptedUpstream([]), model="only") as url:
        assert [each["id"] for each in httpx2.get(f"{url}/v1/models").json()["data"]] == ["only"]


def test_the_lane_stands_in_a_header_and_the_model_is_the_only_one_that_the_upstream_has():
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])))
    with gateway(server, dialect="hermes") as url:
        response = post(url, "/v1/chat/completions", model="claude-x")
        assert response.headers["x-penstock-lane"] == "raw; hermes; llamacpp"
        assert server.requests[-1]["model"] == MODEL
        assert json.loads(response.text.splitlines()[0].removeprefix("data: "))["model"] == "claude-x"


def test_every_request_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture):
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])))
    with caplog.at_level("INFO", "penstock.gateway"), gateway(server, dialect="hermes") as url:
        post(url, "/v1/messages", model="claude-x")
    [line] = [record.getMessage() for record in caplog.records if record.name == "penstock.gateway"]
    assert line.startswith("POST /v1/messages 200 ")
    for said in ("asked=claude-x", f"model={MODEL}", "lane=raw; hermes", "finish=stop", "tokens=11+7"):
        assert said in line


def test_a_conversation_goes_on_from_its_last_response_with_what_was_thought_before_a_call():
    text = '<think>Hm.</think>I will. <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    server = ScriptedUpstream(body_of(text_chunks([text])), body_of(text_chunks(["Done."])))
    tools: Any = [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}]
    with (
        gateway(server, dialect="hermes") as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0) as client,
    ):
        first = client.responses.create(model="m", input="Go.", tools=tools)
        [call] = [item for item in first.output if item.type == "function_call"]
        result: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "5"}]
        second = client.responses.create(model="m", input=result, tools=tools, previous_response_id=first.id)
        assert second.output_text == "Done."
        with pytest.raises(openai.BadRequestError, match="not kept"):
            client.responses.create(model="m", input=result, previous_response_id="resp_other")
    roles = [message["role"] for message in server.requests[1]["messages"]]
    assert roles == ["user", "assistant", "tool"]
    said = json.dumps(server.requests[1]["messages"][1])
    assert "I will." in said
    assert "Hm." in said


def test_a_client_with_another_key_does_not_find_a_conversation():
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])))
    with gateway(server, dialect="hermes") as url:
        first = post(url, "/v1/responses", stream=False, headers={"authorization": "Bearer one"}).json()["id"]
        for key, status in (("two", 400), ("one", 200)):
            headers = {"authorization": f"Bearer {key}"}
            more = post(url, "/v1/responses", stream=False, previous_response_id=first, headers=headers)
            assert more.status_code == status


def test_a_conversation_goes_on_behind_a_call_that_is_no_json():
    text = '<tool_call>{"name": "f", "arguments": {"a": nope}}</tool_call>'
    server = ScriptedUpstream(body_of(text_chunks([text])), body_of(text_chunks(["Done."])))
    tools: Any = [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}]
    with (
        gateway(server, dialect="hermes") as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0) as client,
    ):
        first = client.responses.create(model="m", input="Go.", tools=tools)
        [call] = [item for item in first.output if item.type == "function_call"]
        result: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "That is no JSON."}]
        client.responses.create(model="m", input=result, tools=tools, previous_response_id=first.id)
    [_, said, told] = server.requests[1]["messages"]
    [asked] = said["tool_calls"]
    assert asked["id"] == told["tool_call_id"] == call.call_id
    assert json.loads(asked["function"]["arguments"]) == {"INVALID_JSON": text}
