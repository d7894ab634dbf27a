"""What the replay server refuses of a request, and what no request does to it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request
from starlette.types import Message

from penstock.sources.streams.bounded_read import LONGEST_BODY
from penstock.studio.replay.replay_app import BodyTooLongError, body_within
from penstock.studio.testing import ReplayServer

CHAT = "/v1/chat/completions"
BODY = b'data: {"object": "chat.completion.chunk", "choices": []}\n\ndata: [DONE]\n\n'
ASKED = b'{"stream": true}'
PIECE = b" " * 65536


@pytest.fixture
def server() -> Iterator[ReplayServer]:
    with ReplayServer({"one": BODY}) as running:
        yield running


def connection_to(server: ReplayServer) -> http.client.HTTPConnection:
    address = urlsplit(server.url)
    return http.client.HTTPConnection(address.hostname or "", address.port or 0, timeout=20)


def ask(
    server: ReplayServer, path: str = CHAT, body: bytes | Iterator[bytes] = ASKED, **headers: str | bytes
) -> tuple[int, bytes]:
    client = connection_to(server)
    try:
        client.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = client.getresponse()
        return answer.status, answer.read()
    finally:
        client.close()


def said(server: ReplayServer, request: bytes) -> bytes:
    """Send bytes and read all that comes until the server closes."""
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as client:
        client.sendall(request)
        answer = b""
        while piece := client.recv(65536):
            answer += piece
        return answer


def test_a_host_of_another_name_is_refused_in_words_and_its_own_is_answered(server: ReplayServer):
    port = urlsplit(server.url).port
    for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", "a@localhost", ""):
        status, answer = ask(server, host=host)
        assert status == 403
        assert b"does not answer Host" in answer
        assert b"localhost, 127.0.0.1, [::1]" in answer
    for host in ("localhost", f"LOCALHOST:{port}", "127.0.0.1:1", f"[::1]:{port}"):
        assert ask(server, host=host) == (200, BODY)


@pytest.mark.parametrize("head", [b"", b"Host: localhost\r\nHost: evil.example\r\n", b"Host: evil.example\r\n"])
def test_no_way_of_writing_the_host_gets_around(server: ReplayServer, head: bytes):
    request = b"POST http://localhost/v1/chat/completions HTTP/1.0\r\n%bContent-Length: 16\r\n\r\n%b" % (head, ASKED)
    answer = said(server, request)
    assert answer.split()[1] in (b"400", b"403")
    assert BODY not in answer


def test_the_log_is_not_for_other_hosts_and_says_that_they_asked():
    with ReplayServer({"one": BODY}) as server:
        client = connection_to(server)
        client.request("GET", "/penstock/log", headers={"host": "evil.example"})
        answer = client.getresponse()
        assert (answer.status, b"requests" in answer.read()) == (403, False)
        client.close()
        [entry] = server.log
    assert (entry.status, entry.outcome) == (403, "refused")


def test_names_that_were_given_are_answered():
    with ReplayServer({"one": BODY}, hosts=["replay"]) as server:
        assert ask(server, host="replay:8080")[0] == 200
        assert ask(server, host="repla")[0] == 403
    with ReplayServer({"one": BODY}, hosts="replay") as server:
        assert ask(server, host="replay:8080")[0] == 200


def test_a_body_that_says_that_it_is_too_long_is_not_waited_for(server: ReplayServer):
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as client:
        client.sendall(head % (CHAT.encode(), LONGEST_BODY + 1))
        assert client.recv(65536).split()[1] == b"413"


def test_who_sends_a_body_that_is_too_long_can_read_why(server: ReplayServer):
    status, answer = ask(server, body=ASKED.ljust(LONGEST_BODY + 10 * len(PIECE)))
    assert status == 413
    assert b"the request's body is longer than 3" in answer
    assert ask(server) == (200, BODY)


def test_the_longest_body_is_read(server: ReplayServer):
    assert ask(server, body=ASKED.ljust(LONGEST_BODY)) == (200, BODY)


def test_a_streamed_body_is_counted_while_it_is_read():
    with ReplayServer({"one": BODY}) as server:
        pieces = LONGEST_BODY // len(PIECE)
        assert ask(server, body=iter([ASKED, *[PIECE] * (pieces - 1)])) == (200, BODY)
        status, answer = ask(server, body=iter([ASKED, *[PIECE] * pieces]))
        assert status == 413
        assert json.loads(answer)["error"]["message"].startswith("the request's body is longer than 32 MiB")
        assert [entry.status for entry in server.log] == [200, 413]


def test_a_body_without_an_end_is_cut_off(server: ReplayServer):
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 10 * LONGEST_BODY:
            yield PIECE
            sent += len(PIECE)

    with contextlib.suppress(OSError):
        ask(server, body=endless())
    assert sent < 5 * LONGEST_BODY
    assert ask(server) == (200, BODY)


def test_nothing_is_read_behind_the_bound():
    async def read(longest: int, declared: bytes | None = None) -> tuple[bytes, int]:
        given = 0

        async def receive() -> Message:
            nonlocal given
            given += 1
            return {"type": "http.request", "body": b"four", "more_body": given < 3}

        headers = [] if declared is None else [(b"content-length", declared)]
        request = Request({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive)
        try:
            return await body_within(request, longest), given
        except BodyTooLongError:
            return b"", given

    assert asyncio.run(read(12)) == (b"four" * 3, 3)
    assert asyncio.run(read(11)) == (b"", 3)
    assert asyncio.run(read(7)) == (b"", 2)
    assert asyncio.run(read(7, b"8")) == (b"", 0)


@pytest.mark.parametrize("length", [b"x", b"-1", b"9" * 25, b"9" * 5000, b"1\r\nContent-Length: 2"])
def test_a_length_that_is_none_is_refused(server: ReplayServer, length: bytes):
    request = b"POST %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %b\r\n\r\n"
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as client:
        client.sendall(request % (CHAT.encode(), length))
        assert client.recv(65536).split()[1] in (b"400", b"413")
    assert ask(server) == (200, BODY)


def test_headers_are_bounded(server: ReplayServer):
    assert ask(server, x_long="x" * 50_000) == (200, BODY)
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\n" % CHAT.encode()
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as client, contextlib.suppress(OSError):
        client.sendall(head)
        for _ in range(100):
            client.sendall(b"x-more: %b\r\n" % PIECE)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(65536).split()[1] in (b"400", b"431")
    assert ask(server) == (200, BODY)


def bodies_with_halves() -> list[bytes]:
    return [
        rb'{"stream": true, "model": "\ud800"}',
        rb'{"stream": true, "model": "a\udfffb", "messages": ["\ud83d"]}',
        rb'{"stream": true, "\udc00": "\udc00", "model": "m"}',
        b'{"stream": true, "model": "\xed\xa0\x80"}',
        rb'{"stream": false, "model": "\ud800"}',
        rb'{"stream": "\ud800", "model": ["\ud800"]}',
    ]


@pytest.mark.parametrize("body", bodies_with_halves())
@pytest.mark.parametrize(
    "path", [CHAT, "/v1beta/models/%ED%A0%80:streamGenerateContent?key=%ED%A0%80", "/%FF?%ED%A0%80"]
)
def test_half_a_character_of_a_request_neither_breaks_it_nor_comes_out(
    body: bytes, path: str, caplog: pytest.LogCaptureFixture
):
    odd: dict[str, Any] = {"x_penstock_recording": b"\xff\xed\xa0\x80", "x_penstock_fault": b"\xed\xa0\x80"}
    with caplog.at_level(logging.WARNING), ReplayServer({"one": BODY}) as server:
        for headers in ({}, *({name: value} for name, value in odd.items())):
            status, answer = ask(server, path, body, **headers)
            assert status in (200, 400, 404)
            assert status == 200 or not has_halves(json.loads(answer))
        client = connection_to(server)
        client.request("GET", "/penstock/log")
        log = client.getresponse().read()
        client.close()
        assert len(server.log) == 3
    assert not has_halves(json.loads(log.decode()))
    assert [record.getMessage() for record in caplog.records] == []


def has_halves(value: object) -> bool:
    """Return whether a text of JSON data has no UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def test_a_recordings_name_that_is_no_text_is_served_and_logged(tmp_path: Path):
    (tmp_path / os.fsdecode(b"odd\xff.sse")).write_bytes(BODY)
    with ReplayServer(tmp_path) as server:
        assert ask(server) == (200, BODY)
        status, answer = ask(server, x_penstock_recording="none")
        assert (status, "odd\ufffd.sse" in json.loads(answer)["error"]["message"]) == (404, True)
        client = connection_to(server)
        client.request("GET", "/penstock/log")
        assert json.loads(client.getresponse().read())["requests"][0]["recording"] == "odd\ufffd.sse"
        client.close()


def test_a_path_with_a_question_mark_in_it_is_only_a_path():
    with ReplayServer({"one": BODY}) as server:
        assert ask(server, "/a%3Fb//c/v1/chat/completions") == (200, BODY)
        assert ask(server, "/v1%0A/chat/completions")[0] in (200, 404)


MUTANTS = {
    "a server answers every Host": ("", ("sources/base/served_hosts.py", "        if found is None:\n            return False\n", "        return True\n")),
    "the replay server believes what a request says of its length": (["counted", "behind_the_bound"], ("studio/replay/replay_app.py", "if len(body) + len(piece) > longest:", "if False:")),
    "the replay server answers a body that is too long and closes at once": ("too_long", ("studio/replay/replay_app.py", "return BodyLeft(response, self._connections.close) if refusal.status == 413 else response", "self._connections.close(request.scope)\n            return response")),
    "the replay server reads a body that says that it is too long": (["too_long", "behind_the_bound"], ("studio/replay/replay_app.py", "declared.isdecimal() and int(declared) > longest", "False")),
    "the log of the replay server has halves of characters": ("half", ("studio/replay/replay_recordings.py", "without_halves(model[:200])", "model[:200]")),
    "names of recordings have halves of characters": ("no_text", ("studio/replay/replay_recordings.py", "Recording(without_halves(name), found", "Recording(name, found")),
}  # fmt: skip
