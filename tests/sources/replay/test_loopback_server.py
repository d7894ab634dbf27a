from __future__ import annotations

import http.client
import socket
from urllib.parse import urlsplit

import pytest

from penstock.events import UsageError
from penstock.sources.replay.loopback_server import LoopbackServer


def connection_to(server: LoopbackServer) -> http.client.HTTPConnection:
    address = urlsplit(server.url)
    assert address.hostname == "127.0.0.1"
    return http.client.HTTPConnection(address.hostname, address.port or 0, timeout=20)


@pytest.mark.parametrize("pieces", [None, 1, 4, [3, 0, 2], [100]])
def test_the_body_comes_whole_in_the_pieces_asked_for(pieces: int | list[int] | None):
    body = b"data: abc\n\n"
    with LoopbackServer(body, pieces=pieces) as server:
        client = connection_to(server)
        for number in (1, 2):
            client.request("POST", "/v1/chat/completions", b"{}")
            answer = client.getresponse()
            assert answer.getheader("content-type") == "text/event-stream"
            assert answer.read() == body
            server.wait_for("request", number=number)
        client.close()
        assert server.wait_for("finished").number == len(body)
        sent = [entry.number for entry in server.log if entry.kind == "sent"]
    wanted = {None: [11], 1: list(range(1, 12)), 4: [4, 8, 11]}
    expected = [3, 5, 11] if pieces == [3, 0, 2] else [11] if isinstance(pieces, list) else wanted[pieces]
    assert sent == expected * 2
    assert [entry.at for entry in server.log] == sorted(entry.at for entry in server.log)


def test_a_gated_server_sends_what_is_allowed_and_notes_that_the_client_left():
    with LoopbackServer(b"abcdef", pieces=2, gated=True) as server:
        client = connection_to(server)
        client.request("POST", "/", b"")
        answer = client.getresponse()
        server.allow(2)
        assert answer.read(4) == b"abcd"
        assert client.sock is not None
        client.sock.shutdown(socket.SHUT_RDWR)
        client.close()
        assert server.wait_for("client_left").number == 4
        assert "finished" not in [entry.kind for entry in server.log]


def test_a_cut_breaks_the_connection_in_the_middle():
    with LoopbackServer(b"abcdef", pieces=2, cut=3) as server:
        client = connection_to(server)
        client.request("POST", "/", b"")
        with pytest.raises(http.client.IncompleteRead) as raised:
            client.getresponse().read()
        client.close()
    assert raised.value.partial == b"abc"


def test_waiting_for_what_never_comes_says_what_came():
    with LoopbackServer(b"") as server, pytest.raises(UsageError, match="no 'request'"):
        server.wait_for("request", timeout=0.01)


def test_leaving_the_block_ends_a_gated_answer():
    with LoopbackServer(b"abcdef", gated=True) as server:
        client = connection_to(server)
        client.request("POST", "/", b"")
        server.wait_for("request")
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        client.getresponse().read()
    client.close()
