from __future__ import annotations

import threading

import msgspec
import pytest

from penstock.events import UsageError
from penstock.studio.replay.replay_log import KEPT, ReplayLog


def test_an_entry_that_was_read_does_not_change_any_more():
    log = ReplayLog()
    entry = log.begin(api="gemini", model="m", recording="a", bytes_total=9)
    log.sent(entry, 4)
    [before] = log.entries()
    log.sent(entry, 5)
    log.end(entry, "finished")
    [after] = log.entries()
    assert (before.outcome, before.bytes_sent, len(before.sent), before.ended_at) == ("open", 4, 1, None)
    assert (after.outcome, after.bytes_sent, [write.bytes_sent for write in after.sent]) == ("finished", 9, [4, 9])
    assert msgspec.json.decode(log.json()) == {"requests": [msgspec.json.decode(msgspec.json.encode(after))]}


def test_waiting_wakes_by_what_another_thread_notes_and_gives_the_first_that_fits():
    log = ReplayLog()
    first, second = log.begin(), log.begin()
    log.sent(first, 3)

    def go_on() -> None:
        log.sent(second, 5)
        log.end(second, "client_left")

    thread = threading.Thread(target=go_on)
    thread.start()
    assert log.wait_for("client_left").id == 2
    assert log.wait_for(bytes_sent=4).id == 2
    assert log.wait_for(request=1).bytes_sent == 3
    thread.join()
    with pytest.raises(UsageError, match="1 open after 3 bytes, 2 client_left after 5 bytes"):
        log.wait_for("client_left", request=1, timeout=0.01)


def test_a_refused_request_has_ended_and_followers_get_what_begins_and_ends():
    log = ReplayLog()
    queue = log.follow()
    log.begin(status=404)
    entry = log.begin()
    log.end(entry, "cut")
    assert [(each.id, each.outcome) for each in (queue.get(), queue.get(), queue.get())] == [
        (1, "refused"),
        (2, "open"),
        (2, "cut"),
    ]


def test_the_oldest_requests_are_forgotten_and_numbers_go_on():
    log = ReplayLog()
    for _ in range(KEPT + 5):
        log.begin()
    assert [log.entries()[0].id, log.entries()[-1].id, len(log.entries())] == [6, KEPT + 5, KEPT]
