"""Each reason for which a case of another parser's suite is refused has an example that holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from answered import answered
from dialects_refused import REFUSED, Reason
from looped import looped

from penstock.events import SegmentEnd
from penstock.events.segment_event import Fragment, SegmentEvent
from penstock.operators.machines.json_values import FragmentAggregator
from penstock.operators.parse_text import parse_text

REASONS = list({each.rule: each for each in REFUSED.values()}.values())


def said(events: list[SegmentEvent]) -> Iterator[str]:
    """Yield what each segment is: its text, if it is not only markup, or its call."""
    texts: dict[str, str] = {}
    for event in events:
        texts[event.segment_id] = texts.get(event.segment_id, "") + getattr(event, "delta", "")
        if isinstance(event, SegmentEnd) and event.segment_type == "tool_call":
            values = FragmentAggregator()
            values.feed_all([piece for each in events if each.segment_id == event.segment_id for piece in sound(each)])
            yield f"{event.metadata['tool_name']}({values.value}) {event.status}"
        elif event.type == "SEGMENT_END" and texts[event.segment_id]:
            yield texts[event.segment_id]


def sound(event: SegmentEvent) -> Iterator[Fragment]:
    return (each for each in event.fragments or () if isinstance(each, Fragment))


@looped("reason", REASONS, ids=lambda each: each.dialect + ": " + each.rule[:30])
@looped("size", [1, 1000])
def test_an_example_of_the_reason_gives_what_it_says(reason: Reason, size: int):
    pieces = [reason.text[place : place + size] for place in range(0, len(reason.text), size)]
    events: list[Any] = answered(pieces, parse_text(reason.dialect, turn_id="t", **reason.options))
    assert tuple(said(events)) == reason.gives
    assert "".join(event.raw for event in events) == reason.text
