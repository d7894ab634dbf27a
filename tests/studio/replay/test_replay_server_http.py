"""The replay server as any HTTP client meets it: which recording answers, errors as providers shape them, the log."""

from __future__ import annotations

import gc
import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from replay_sdks import STREAMS

from penstock.events import UsageError
from penstock.studio.testing import ReplayServer

CHAT = "/v1/chat/completions"
BODY = b'data: {"object": "chat.completion.chunk", "choices": []}\n\ndata: [DONE]\n\n'


def connection_to(server: ReplayServer) -> http.client.HTTPConnection:
    address = urlsplit(server.url)
    assert address.hostname == "127.0.0.1"
    return http.client.HTTPConnection(address.hostname, address.port or 0, timeout=20)


def ask(
    server: ReplayServer, path: str, body: Any = None, method: str = "POST", **headers: str
) -> tuple[int, str, bytes]:
    client = connection_to(server)
    try:
        names = {f"x-penstock-{name}": value for name, value in headers.items()}
        client.request(method, path, json.dumps({"stream": True} if body is None else body), names)
        answer = client.getresponse()
        return answer.status, answer.getheader("content-type") or "", answer.read()
    finally:
        client.close()


@pytest.mark.parametrize(
    ("path", "folder", "kind"),
    [
        (CHAT, "openai_chat", "text/event-stream; charset=utf-8"),
        ("/openai/deployments/d/chat/completions?api-version=1", "openai_chat", "text/event-stream; charset=utf-8"),
        ("/api/v1/responses", "openai_responses", "text/event-stream; charset=utf-8"),
        ("/v1/messages?beta=true", "anthropic_messages", "text/event-stream; charset=utf-8"),
        (
            "/v1/projects/p/locations/l/publishers/anthropic/models/plain_text:streamRawPredict",
            "anthropic_messages",
            "text/event-stream; charset=utf-8",
        ),
        ("/v1beta/models/plain_text:streamGenerateContent?alt=sse", "gemini", "text/event-stream"),
        (
            "/v1/projects/p/locations/l/publishers/google/models/plain_text:streamGenerateContent",
            "gemini",
            "text/event-stream",
        ),
        ("/api/chat", "ollama", "application/x-ndjson"),
    ],
)
def test_a_recording_named_as_the_model_answers_with_its_providers_content_type(path: str, folder: str, kind: str):
    [file] = [each for each in (STREAMS / folder).glob("plain_text.*") if each.suffix != ".json"]
    with ReplayServer(STREAMS) as server:
        assert ask(server, path, {"stream": True, "model": "plain_text"}) == (200, kind, file.read_bytes())


def test_a_header_names_the_recording_by_path_stem_or_path_without_suffix():
    with ReplayServer(STREAMS) as server:
        for name in ("openai_chat/one_call.sse", "openai_chat/one_call", "one_call"):
            status, _, body = ask(server, CHAT, {"stream": True, "model": "plain_text"}, recording=name)
            assert (status, body) == (200, (STREAMS / "openai_chat/one_call.sse").read_bytes())


def test_recordings_take_turns_where_the_model_names_none():
    bodies = {name: BODY.replace(b"[]", b"[]" + b" " * at) for at, name in enumerate("abc")}
    with ReplayServer(bodies) as server:
        answers = [ask(server, CHAT, {"stream": True, "model": "gpt"})[2] for _ in range(4)]
        assert answers == [*bodies.values(), bodies["a"]]
        assert [entry.recording for entry in server.log] == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    "name",
    ["../secret", "../secret.sse", "/etc/passwd", "a/../../secret.sse", "..\\secret.sse", "%2e%2e/secret.sse", ""],
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str):
    (tmp_path / "secret.sse").write_bytes(BODY)
    (tmp_path / "in" / "a").mkdir(parents=True)
    (tmp_path / "in" / "a" / "one.sse").write_bytes(BODY.replace(b"[]", b"[ ]"))
    with ReplayServer(tmp_path / "in") as server:
        for model, header in ((name, {}), ("m", {"recording": name} if name else {})):
            status, _, body = ask(server, CHAT, {"stream": True, "model": model}, **header)
            assert (status == 404) or body == BODY.replace(b"[]", b"[ ]")
            assert body != BODY
        if name:
            assert ask(server, CHAT, recording=name)[0] == 404


SHAPES = [
    (CHAT, lambda error: error["error"]["message"]),
    ("/v1/responses", lambda error: error["error"]["message"]),
    ("/v1/messages", lambda error: error["error"]["message"] if error["type"] == "error" else None),
    (
        "/v1beta/models/m:streamGenerateContent",
        lambda error: error["error"]["message"] if error["error"]["status"] else None,
    ),
    ("/api/chat", lambda error: error["error"]),
]


@pytest.mark.parametrize(("path", "message_in"), SHAPES)
def test_what_cannot_be_answered_is_said_in_the_providers_shape(path: str, message_in: Any):
    with ReplayServer({"other": (STREAMS / "openai_chat/plain_text.sse").read_bytes()}) as server:
        status, kind, body = ask(server, path, recording="nothing")
        assert (status, kind) == (404, "application/json")
        assert "nothing" in message_in(json.loads(body))
        status, _, body = ask(server, path, [1])
        assert (status, "JSON object" in message_in(json.loads(body))) == (400, True)
        status, _, body = ask(server, path, fault="burn:1")
        assert (status, "'burn:1'" in message_in(json.loads(body))) == (400, True)
        assert [entry.outcome for entry in server.log] == ["refused"] * 3


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, {"model": "m"}),
        ("/v1/responses", {"stream": False}),
        ("/v1/messages", {"stream": None}),
        ("/v1beta/models/m:generateContent", {}),
        ("/api/chat", {"stream": False}),
    ],
)
def test_a_request_for_no_stream_is_refused_in_words(path: str, body: Any):
    with ReplayServer(STREAMS) as server:
        status, _, answer = ask(server, path, body)
    assert status == 400
    assert b"stream" in answer


def test_a_404_lists_what_there_is():
    with ReplayServer({"one.sse": BODY}) as server:
        assert b"one.sse" in ask(server, "/v1/messages")[2]
        assert b"one.sse" in ask(server, CHAT, recording="two")[2]
        status, _, body = ask(server, "/v1/embeddings")
        assert (status, b"/v1/chat/completions" in body) == (404, True)
        assert ask(server, CHAT, method="GET")[0] == 404


def test_a_header_asks_for_a_fault_where_the_server_has_another():
    with ReplayServer({"one": BODY}, fault="status:500") as server:
        assert ask(server, CHAT)[0] == 500
        assert ask(server, CHAT, fault="duplicate:1")[2] == BODY[:58] + BODY
        assert ask(server, CHAT, fault="duplicate:9")[0] == 400
        assert ask(server, CHAT, fault="status:200")[0] == 400


def test_the_log_is_read_over_http_and_holds_nothing_of_the_request():
    with ReplayServer({"one": BODY}) as server:
        client = connection_to(server)
        request = {"stream": True, "model": "gpt", "messages": [{"role": "user", "content": "secret words"}]}
        client.request("POST", f"{CHAT}?key=secret-1", json.dumps(request), {"authorization": "Bearer secret-2"})
        assert client.getresponse().read() == BODY
        server.wait_for("finished")
        client.request("GET", "/penstock/log")
        answer = client.getresponse().read()
        client.close()
        [entry] = json.loads(answer)["requests"]
        [same] = server.log
    assert b"secret" not in answer
    assert (entry["id"], entry["api"], entry["model"], entry["recording"]) == (1, "openai-chat", "gpt", "one")
    assert (entry["outcome"], entry["status"], entry["bytes_total"], entry["bytes_sent"]) == (
        "finished",
        200,
        len(BODY),
        len(BODY),
    )
    assert [tuple(write) for write in entry["sent"]] == [tuple(write) for write in same.sent]


def test_one_connection_serves_many_requests():
    with ReplayServer({"one": BODY}) as server:
        client = connection_to(server)
        for number in range(1, 4):
            client.request("POST", CHAT, b'{"stream": true}')
            answer = client.getresponse()
            assert (answer.read(), answer.getheader("x-request-id")) == (BODY, str(number))
        client.close()


def test_seconds_pass_before_each_event():
    with ReplayServer({"one": BODY}, pace=0.05) as server:
        assert ask(server, CHAT)[2] == BODY
        first, second = server.wait_for("finished").sent
        assert server.log[0].began_at + 0.04 < first.at < second.at - 0.04


def test_leaving_the_block_ends_open_answers_and_leaves_no_thread_and_no_socket():
    before = set(threading.enumerate())
    with ReplayServer({"one": BODY}, fault="stall:10") as server:
        client = connection_to(server)
        client.request("POST", CHAT, b'{"stream": true}')
        answer = client.getresponse()
        server.wait_for(bytes_sent=10)
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        answer.read()
    client.close()
    assert [entry.outcome for entry in server.log] == ["server_stopped"]
    assert set(threading.enumerate()) == before
    address = urlsplit(server.url)
    with pytest.raises(ConnectionError):
        socket.create_connection((address.hostname or "", address.port or 0))
    gc.collect()  # a socket that was not closed would warn, and warnings are errors here


def test_a_client_that_connects_just_before_the_end_sees_it():
    for _ in range(10):
        with ReplayServer({"one": BODY}) as server:
            address = urlsplit(server.url)
            clients = [socket.create_connection((address.hostname or "", address.port or 0), 20) for _ in range(30)]
        for client in clients:
            with client, suppress(ConnectionError):
                assert client.recv(1) == b""
    gc.collect()  # as above


def test_several_threads_may_stop_it():
    server = ReplayServer({"one": BODY})
    for _ in range(10):
        server.__enter__()
        with ThreadPoolExecutor(6) as threads:
            assert list(threads.map(lambda _: server.__exit__(), range(6))) == [None] * 6


def test_waiting_for_what_never_comes_says_what_came():
    with ReplayServer({"one": BODY}) as server:
        ask(server, CHAT)
        server.wait_for("finished")
        with pytest.raises(UsageError, match=r"client_left.*1 finished after \d+ bytes"):
            server.wait_for("client_left", timeout=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "public"),
        ({"host": "example.org"}, "public"),
        ({"pace": "slow"}, "pace"),
        ({"pace": -1}, "pace"),
        ({"chunk": 0}, "chunk"),
        ({"fault": "cut"}, "cut:N"),
        ({"fault": "status:200"}, "400"),
    ],
)
def test_wrong_options_are_usage_errors(options: Any, words: str):
    with pytest.raises(UsageError, match=words):
        ReplayServer({"one": BODY}, **options)


def test_a_port_that_is_taken_is_a_usage_error():
    with ReplayServer({"one": BODY}) as server:
        port = urlsplit(server.url).port or 0
        with pytest.raises(UsageError, match=str(port)), ReplayServer({"one": BODY}, port=port):
            pass


def test_others_are_let_in_only_when_told():
    with ReplayServer({"one": BODY}, host="0.0.0.0", public=True) as server:
        assert ask(server, CHAT)[2] == BODY


def test_a_check_sees_each_request_and_what_it_raises_refuses_it_in_the_providers_form():
    seen: list[tuple[str, Any]] = []

    def check(api: str, body: dict[str, Any]) -> None:
        seen.append((api, body["messages"]))
        assert body["messages"][-1]["role"] == "tool", "the last message is no result"

    good, bad = ({"stream": True, "messages": [{"role": role}]} for role in ("tool", "user"))
    with ReplayServer({"one": BODY}, check=check) as server:
        assert ask(server, CHAT, good)[0] == 200
        status, _, body = ask(server, CHAT, bad)
        assert [entry.status for entry in server.log] == [200, 400]
    assert seen == [("openai-chat", good["messages"]), ("openai-chat", bad["messages"])]
    assert status == 400
    assert json.loads(body)["error"]["message"].startswith("the check refuses this request: the last message is no")
