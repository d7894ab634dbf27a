from __future__ import annotations

import msgspec
from looped import looped

from penstock.events import ProviderError, SegmentEnd, SegmentStart
from penstock.events.segment_event import JsonError
from penstock.operators.calls.open_segments import OpenSegments, end_status, error_detail
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted

FINISHES = ["stop", "length", "tool_calls", "content_filter", "refusal", "pause", "error", "other", None]


@looped(
    "finish, end",
    [
        *((finish, ("complete", None)) for finish in ("stop", "tool_calls", "refusal", "pause", "other")),
        *((finish, ("truncated", finish)) for finish in ("length", "content_filter")),
        ("error", ("failed", "provider_error")),
        (None, ("truncated", None)),
    ],
)
def test_a_stream_that_completed_ends_its_segments_by_the_finish_reason(
    finish: str | None, end: tuple[str, str]
) -> None:
    assert end_status(Completed(), finish) == end


@looped("finish", FINISHES)
@looped(
    "how, end",
    [
        (Interrupted(), ("interrupted", None)),
        (Interrupted("Ctrl-C"), ("interrupted", "Ctrl-C")),
        (Failed(OSError("x")), ("interrupted", None)),
        (Failed(ProviderError("x", transport=True)), ("interrupted", None)),
        (Failed(ProviderError("x")), ("failed", "provider_error")),
    ],
)
def test_a_stream_that_broke_ends_its_segments_by_what_broke_it(
    how: How, end: tuple[str, str], finish: str | None
) -> None:
    assert end_status(how, finish) == end


def test_an_error_is_told_as_plain_data() -> None:
    detail = error_detail(JsonError("malformed", 3, "a key", "x", ("a", 0)))
    assert detail == {"at": 3, "expected": "a key", "found": "x", "path": ["a", 0]}
    assert msgspec.json.decode(msgspec.json.encode(detail)) == detail


def test_open_segments_gives_the_ends_that_did_not_come_in_the_order_of_the_starts() -> None:
    opened = OpenSegments()
    for segment_id in "abc":
        opened.note(SegmentStart(segment_id, "text", turn_id="t"))
    for segment_id in ("b", "unknown"):
        opened.note(SegmentEnd(segment_id, "text", "complete", turn_id="t"))
    state = msgspec.json.decode(msgspec.json.encode(opened.dump()))
    loaded = OpenSegments()
    loaded.load(state)
    for each in (opened, loaded):
        assert each.ends(Interrupted("x")) == [
            SegmentEnd(segment_id, "text", "interrupted", "x", turn_id="t") for segment_id in ("a", "c")
        ]
        assert each.ends(Completed()) == []
