from __future__ import annotations

import socket

import pytest
from looped import looped

from penstock.sources.base.served_hosts import ServedHosts

OWN = ["localhost", "LOCALHOST:80", "localhost.", "127.0.0.1:8080", "127.0.0.2", "[::1]", "[::1]:65535", "localhost:"]
OTHERS = [
    "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example",
    "evil.example#localhost", "localhost/", "localhost:80:80", "localhost:x", "::1", "[::1", "[localhost]", "10.0.0.1",
    "0.0.0.0", "0x7f.1", "2130706433", "", " ", "localhost, evil.example", "localhost\n", "\xff", None,
]  # fmt: skip


@pytest.mark.parametrize("header", OWN)
def test_this_machine_is_answered_with_any_port(header: str):
    assert ServedHosts().has(header)


@looped("header", OTHERS)
def test_others_are_not(header: str | None):
    hosts = ServedHosts()
    assert not hosts.has(header)
    assert "localhost, 127.0.0.1, [::1]" in hosts.refusal(header)


def test_where_it_listens_and_names_that_were_given_are_answered():
    hosts = ServedHosts("192.168.1.7", ["Replay", "tests.example."])
    answered = ["192.168.1.7:80", "replay:80", "REPLAY", "tests.example", "localhost"]
    assert [each for each in answered if not hosts.has(each)] == []
    assert [each for each in ("192.168.1.8", "evil.example", "x.tests.example") if hosts.has(each)] == []
    assert "replay" in hosts.refusal("evil.example")


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "::"])
def test_a_server_that_listens_everywhere_is_answered_by_address_and_by_its_machines_name(everywhere: str):
    hosts = ServedHosts(everywhere)
    answered = ["192.168.1.7:80", "[2001:db8::1]:80", socket.gethostname(), "localhost"]
    assert [each for each in answered if not hosts.has(each)] == []
    assert [each for each in ("evil.example", "192.168.1.7.nip.io") if hosts.has(each)] == []


MUTANTS = {
    "a server answers a Host that only begins as its own": ("", ("sources/base/served_hosts.py", "_HOST.fullmatch(", "_HOST.match(")),
}  # fmt: skip
