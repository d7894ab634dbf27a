"""Whatever an upstream does on its socket, each client has the whole answer or an error, and nothing stays open."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2
import pytest
from app_server import serving
from client_needs import PATHS, Got, got
from depth import is_deep, some_of
from looped import looped
from scripted_upstream import MODEL, body_of, text_chunks
from socket_faults import FAULTS, Connection, FaultServer, SocketFault

from penstock.gateway.serving.gateway_app import Gateway, GatewayOptions
from penstock.gateway.serving.upstream import Upstream

CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
BODY = b"".join(body_of(text_chunks(["So. ", CALL[:30], CALL[30:]])))
LISTS = {"/v1/models": json.dumps({"data": [{"id": MODEL, "owned_by": "llamacpp"}]}).encode()}
ASKED: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Go."}],
    "input": "Go.",
}
TOOLS: dict[str, dict[str, Any]] = {
    "openai-chat": {"type": "function", "function": {"name": "f"}},
    "openai-responses": {"type": "function", "name": "f", "parameters": {"type": "object"}},
    "anthropic-messages": {"name": "f", "input_schema": {"type": "object"}},
}


@contextmanager
def in_front_of(server: FaultServer, **options: Any) -> Iterator[tuple[str, Gateway]]:
    gateway = Gateway(Upstream(server.url, silence=0.3), GatewayOptions(dialect="hermes", **options))
    with serving(gateway.app()) as address:
        yield f"http://{address}", gateway


@pytest.fixture(scope="module")
def faulty() -> Iterator[FaultServer]:
    with FaultServer(FAULTS["a length"].play, BODY, lists=LISTS) as server:
        yield server


@pytest.fixture(scope="module")
def behind(faulty: FaultServer) -> Iterator[tuple[str, Gateway]]:
    with in_front_of(faulty) as running:
        yield running


def stall(of: Connection) -> None:
    of.head("transfer-encoding: chunked")
    of.send(b"%x\r\n%b\r\n" % (len(of.body) // 2, of.body[: len(of.body) // 2]))
    of.wait()


def silence(of: Connection) -> None:
    of.wait()


ROWS = {**FAULTS, "it stalls": SocketFault(stall, "lost"), "it says nothing": SocketFault(silence, "lost")}
WAYS = [(api, stream) for api in PATHS for stream in (True, False)]


@pytest.mark.laws
@looped("fault", ROWS.values(), ROWS)
def test_each_client_has_the_whole_answer_or_an_error(
    fault: SocketFault, faulty: FaultServer, behind: tuple[str, Gateway]
):
    url, gateway = behind
    faulty.play = fault.play
    number = [*ROWS.values()].index(fault)
    for api, stream in WAYS if is_deep() else [WAYS[number % len(WAYS)], WAYS[(number + 3) % len(WAYS)]]:
        has = got(
            api, httpx2.post(url + PATHS[api], json={**ASKED, "stream": stream, "tools": [TOOLS[api]]}, timeout=20)
        )
        try:
            check(fault, has, is_chat=api == "openai-chat")
        except AssertionError as error:
            error.add_note(f"{api}, {'streamed' if stream else 'whole'}")
            raise
        assert gateway._answers.open_streams == 0


def check(fault: SocketFault, has: Got, *, is_chat: bool) -> None:
    if fault.outcome == "whole":
        assert (has.error, has.text.strip(), has.calls) == (None, "So.", (("f", {"a": 1}),))
        return
    assert has.error, "an answer that is not whole looks whole"
    assert has.finish is None
    whole = all(isinstance(arguments, dict) for _, arguments in has.calls)
    assert whole or is_chat, "a call that was cut is told as one that is wrong"


def endless_text(of: Connection) -> None:
    of.head()
    while True:
        of.send(TEXT)


def endless_call(of: Connection) -> None:
    of.head()
    of.send(body_of(text_chunks(['<tool_call>{"name": "f", "arguments": {"a": "'], None), done=False)[-1])
    endless_text(of)


TEXT = body_of(text_chunks(["x" * 5000], None), done=False)[-1]


@looped("play", [endless_text, endless_call])
def test_an_answer_without_an_end_is_an_error_at_a_bound(play: Any, faulty: FaultServer, behind: tuple[str, Gateway]):
    url, gateway = behind
    faulty.play = play
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("penstock.gateway.serving.answer_run.LONGEST_ANSWER", 200_000)
        for api, stream in WAYS:
            asked = {**ASKED, "stream": stream, "tools": [TOOLS[api]]}
            has = got(api, httpx2.post(url + PATHS[api], json=asked, timeout=20))
            assert has.error
            assert "the answer has no end: it is longer than" in has.error
            assert len(has.text) <= 200_000
            assert gateway._answers.open_streams == 0


@pytest.mark.laws
@looped("length", lambda: some_of(range(1, 2000, 37), 8))
def test_a_client_that_leaves_at_any_byte_leaves_nothing_open(length: int):
    """It sends a part of a request, or reads a part of the answer, and resets its connection."""
    body = json.dumps({**ASKED, "stream": True}).encode()
    request = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    with FaultServer(stall, BODY, lists=LISTS) as server, in_front_of(server) as (url, gateway):
        with socket.create_connection(("127.0.0.1", httpx2.URL(url).port or 0), timeout=20) as client:
            client.sendall(request[:length])
            left, answer = length - len(request), b""
            while len(answer) < left and b"text_delta" not in answer:
                answer += client.recv(min(64, left))
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        # Behind it everything is answered as before, and what was open is closed when the servers stop.
        assert httpx2.get(f"{url}/v1/models", timeout=20).status_code == 200
    assert gateway._answers.open_streams == 0
    assert gateway._turns._entered == gateway._turns.waiting == 0
