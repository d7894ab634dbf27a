"""What is done at Ctrl-C."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from every_sdk import nothing_left

from penstock.studio.cli.stream_parts import on_interrupt

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs pthread_kill")


@pytest.fixture(autouse=True)
def _as_in_a_foreground() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with nothing_left():
        yield
    signal.signal(signal.SIGINT, before)


def test_the_first_one_is_handled_and_the_second_is_an_exception():
    calls: list[int] = []
    with on_interrupt(lambda: calls.append(1)):
        signal.raise_signal(signal.SIGINT)
        assert calls == [1]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert calls == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_that_breaks_off_no_call_is_seen_all_the_same():
    """Sent to another thread it leaves the main one waiting, as one does that comes just before the call."""
    for _ in range(5):
        ours, theirs = socket.socketpair()
        with closing(ours), closing(theirs):
            ours.settimeout(60)
            with on_interrupt(lambda end=theirs: end.shutdown(socket.SHUT_RDWR)):  # type: ignore[misc]
                waits = threading.Timer(0.02, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT))
                waits.start()
                assert ours.recv(1) == b""
                waits.join()


def test_an_exception_of_the_handler_comes_out():
    def refuse() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), on_interrupt(refuse):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_it_is_ignored_or_somebody_elses_it_stays_so():
    for handler in (signal.SIG_IGN, lambda *_: None):
        signal.signal(signal.SIGINT, handler)
        with on_interrupt(lambda: pytest.fail("it was nobody's to handle")):
            assert signal.getsignal(signal.SIGINT) is handler
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is handler


def test_another_signal_is_none_of_it():
    seen: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: seen.append(number))
    with on_interrupt(lambda: pytest.fail("another signal")):
        signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)
    assert seen == [signal.SIGUSR1]
