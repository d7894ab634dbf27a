from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.sources.recordings.recording_format import WireEvents

BODY = st.lists(st.sampled_from([b"data: 1", b"\n", b"\r\n", b"\r", b"{", b"[", b" ", b"\xff", b"\xef\xbb\xbf"])).map(
    b"".join
)


@given(BODY, st.lists(st.integers(0, 100)))
def test_joined_the_events_are_the_body_however_it_is_cut(body: bytes, cuts: list[int]):
    at = sorted({min(each, len(body)) for each in cuts} | {0, len(body)})
    pieces = [body[begin:end] for begin, end in pairwise(at)]
    events = WireEvents()
    found = [event for piece in pieces for event in events.feed(piece)] + events.close()
    assert b"".join(found) == body
    assert all(found)
    assert events.close() == []


def test_an_event_comes_with_its_blank_line_and_a_row_with_its_line():
    sse, rows = WireEvents(), WireEvents()
    assert sse.feed(b"event: a\r\ndata: 1\r\n\r") == []
    assert sse.feed(b"\ndata: 2\n\ndata: 3") == [b"event: a\r\ndata: 1\r\n\r\n", b"data: 2\n\n"]
    assert rows.feed(b'{"a": 1}\n{"b"') == [b'{"a": 1}\n']
    assert rows.close() == [b'{"b"']


def test_a_long_event_is_searched_once():
    events = WireEvents()
    for _ in range(10_000):
        assert events.feed(b"x" * 1000) == []
    assert len(events.feed(b"\n\n")[0]) == 10_000_002
