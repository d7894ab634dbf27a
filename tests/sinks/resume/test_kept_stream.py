"""`FrameBuffer`: the newest frames, and never more than its limits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.sinks.resume.kept_stream import FrameBuffer


@given(st.lists(st.binary(max_size=12)), st.integers(1, 30), st.integers(1, 6))
def test_it_keeps_the_longest_end_that_fits_and_always_the_last(frames: list[bytes], max_bytes: int, max_frames: int):
    buffer = FrameBuffer(max_bytes=max_bytes, max_frames=max_frames)
    for count, frame in enumerate(frames, 1):
        had, would_drop = buffer.first, buffer.would_drop(frame)
        buffer.append(frame)
        assert would_drop == (buffer.first > had)
        fitting = [
            n for n in range(1, min(count, max_frames) + 1) if sum(map(len, frames[count - n : count])) <= max_bytes
        ]
        kept = max(fitting, default=1)
        assert (buffer.first, buffer.last) == (count - kept + 1, count)
        assert [buffer[number] for number in range(buffer.first, buffer.last + 1)] == frames[count - kept : count]
        assert buffer.size == sum(map(len, frames[count - kept : count]))


def test_an_empty_one_has_no_frame():
    buffer = FrameBuffer(max_bytes=1, max_frames=1)
    assert (buffer.first, buffer.last, buffer.size) == (1, 0, 0)
    assert not buffer.would_drop(b"much too long")
