from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.events import UsageError
from penstock.studio.replay.replay_pieces import checked_chunk, checked_pace, pieces_of, split_events
from penstock.studio.replay.replay_recordings import Timing


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"", []),
        (b"data: 1\n\ndata: 2\n\n", [b"data: 1\n\n", b"data: 2\n\n"]),
        (b"data: 1\r\n\r\ndata: 2\r\n\r\n", [b"data: 1\r\n\r\n", b"data: 2\r\n\r\n"]),
        (b"a: 1\r\ndata: 2\r\n\r\nrest", [b"a: 1\r\ndata: 2\r\n\r\n", b"rest"]),
        (b"data: 1\r\rdata: 2\n\n\n", [b"data: 1\r\r", b"data: 2\n\n\n"]),
        (b'{"a": "}\\n"}\n{"b": 2}', [b'{"a": "}\\n"}\n', b'{"b": 2}']),
        (b'[{"a": [1]},\r\n{"b": 2}\n]', [b'[{"a": [1]},\r\n', b'{"b": 2}\n]']),
        ('{"ü": "\u2028"}\n{broken'.encode(), ['{"ü": "\u2028"}\n'.encode(), b"{broken"]),
    ],
)
def test_a_body_is_cut_after_each_of_its_events(body: bytes, events: list[bytes]):
    assert split_events(body) == events


@given(st.text('{}[]",:ad \r\n\\1', max_size=60))
def test_nothing_of_a_body_is_lost_by_cutting_it(text: str):
    assert b"".join(split_events(text.encode())) == text.encode()


@given(
    events=st.lists(st.binary(min_size=1, max_size=20), max_size=10),
    pace=st.sampled_from(["instant", "original", 0.5]),
    chunk=st.sampled_from([None, "event", 1, 7]),
    data=st.data(),
)
def test_pieces_are_the_body_however_it_is_cut(events: list[bytes], pace: Any, chunk: Any, data: st.DataObject):
    body = b"".join(events)
    inside = sorted(data.draw(st.sets(st.integers(1, max(len(body) - 1, 1)), max_size=5))) if len(body) > 1 else []
    sizes = tuple(end - start for start, end in pairwise([0, *inside, len(body)])) if body else ()
    timing = Timing(sizes, tuple(float(at) for at in range(len(sizes))))
    pieces = pieces_of(events, pace=pace, chunk=chunk, timing=timing)
    assert b"".join(piece.data for piece in pieces) == body
    assert all(piece.data for piece in pieces)
    waited = {"instant": 0.0, "original": max(len(sizes) - 1.0, 0.0), 0.5: 0.5 * len(events)}[pace]
    assert sum(piece.delay for piece in pieces) == waited
    if chunk in (1, 7):
        assert max((len(piece.data) for piece in pieces), default=0) <= chunk


def test_the_original_pace_is_that_of_the_network_and_what_was_put_in_takes_no_time():
    timing = Timing((3, 5, 2), (10.0, 10.5, 12.0))
    pieces = pieces_of([b"abcd", b"XY", b"efghij"], pace="original", timing=timing, inserted_at=4, inserted=2)
    assert pieces == [(0.0, b"abc"), (0.5, b"d"), (0.0, b"XYefgh"), (1.5, b"ij")]


def test_without_times_the_sizes_of_the_network_hold():
    assert pieces_of([b"abcd", b"ef"], pace="original", timing=Timing((1, 5), None)) == [(0.0, b"a"), (0.0, b"bcdef")]
    assert pieces_of([b"abcd", b"ef"], pace="original") == [(0.0, b"abcd"), (0.0, b"ef")]


def test_settings_are_read_and_wrong_ones_are_usage_errors():
    assert [checked_pace(each) for each in ("original", "instant", "0.5", 2)] == ["original", "instant", 0.5, 2.0]
    assert [checked_chunk(each) for each in ("event", "7", 7)] == ["event", 7, 7]
    for pace in ("", "fast", "-1", "nan", "inf"):
        with pytest.raises(UsageError):
            checked_pace(pace)
    for chunk in ("", "0", "-1", "1.5"):
        with pytest.raises(UsageError):
            checked_chunk(chunk)
