"""A gated server sends what is allowed, sees who leaves while it waits, and ends when it is stopped."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import urlsplit

import pytest

from penstock.events import UsageError
from penstock.studio.replay.replay_recordings import Recordings
from penstock.studio.testing import ReplayServer

BODY = b'data: {"object": "chat.completion.chunk", "choices": []}\n\ndata: [DONE]\n\n'


def asked(server: ReplayServer) -> http.client.HTTPConnection:
    address = urlsplit(server.url)
    client = http.client.HTTPConnection(address.hostname or "", address.port or 0, timeout=20)
    client.request("POST", "/v1/chat/completions", b'{"stream": true}')
    return client


def test_a_gated_server_sends_what_is_allowed_and_notes_that_the_client_left():
    with ReplayServer({"one": BODY}, chunk=2).gated() as server:
        client = asked(server)
        server.allow(2)
        assert client.getresponse().read(4) == BODY[:4]
        assert server.wait_for(bytes_sent=4).outcome == "open"
        assert client.sock is not None
        client.sock.shutdown(socket.SHUT_RDWR)
        client.close()
        assert server.wait_for("client_left").bytes_sent == 4
        assert [entry.outcome for entry in server.log] == ["client_left"]


def test_what_is_allowed_before_it_is_asked_for_is_not_lost():
    with ReplayServer({"one": BODY}).gated() as server:
        server.allow()
        server.allow()
        client = asked(server)
        assert client.getresponse().read() == BODY
        client.close()
        assert server.wait_for("finished").bytes_sent == len(BODY)


def test_leaving_the_block_ends_a_gated_answer():
    with ReplayServer({"one": BODY}).gated() as server:
        client = asked(server)
        server.wait_for("open")
    assert [(entry.outcome, entry.bytes_sent) for entry in server.log] == [("server_stopped", 0)]
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        client.getresponse().read()
    client.close()


def test_only_a_gated_server_that_runs_can_allow_something():
    message = "needs a running server that was made with gated"
    with ReplayServer({"one": BODY}) as server, pytest.raises(UsageError, match=message):
        server.allow()
    with pytest.raises(UsageError, match=message):
        ReplayServer({"one": BODY}).gated().allow()


def test_an_api_that_is_given_is_believed():
    body = b'data: {"error": {"message": "busy"}}\n\n'
    with pytest.raises(UsageError, match="no recording"):
        Recordings({"one": body})
    with ReplayServer(Recordings({"one": body}, "openai-chat")) as server:
        client = asked(server)
        assert client.getresponse().read() == body
        client.close()
    with pytest.raises(UsageError, match="openai-chat"):
        Recordings({"one": body}, "otter")
