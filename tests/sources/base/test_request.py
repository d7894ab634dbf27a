"""`listen`: what its connections do with small pieces, and what is said where it cannot listen."""

from __future__ import annotations

import socket

import pytest

from penstock.events import UsageError
from penstock.sources.base.request import listen


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_connections_send_at_once_what_is_written(host: str):
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("needs IPv6")
    with (
        listen(host, 0) as listening,
        socket.create_connection(listening.getsockname()[:2]),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_is_taken_is_told():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1, port {port}: "):
            listen("127.0.0.1", port)
