"""`PartReader`: ids, types and verdicts of what comes in other ways than our own chains send it."""

from __future__ import annotations

from typing import Any

from penstock.events import Notice, ProviderEvent, SegmentContent, SegmentEnd, SegmentStart, ToolInvocation
from penstock.operators.engine.stage import Completed
from penstock.sinks.parts.answer_parts import CallDelta, CallEnd, CallStart, TextDelta, TextEnd, TextStart, TurnStart
from penstock.sinks.parts.part_reader import PartReader

WRITE = {"tool_name": "write_file", "path": "a.py"}


def parts_of(*events: Any) -> list[Any]:
    reader = PartReader()
    parts = [part for event in events for part in reader.feed(event)]
    return [part for part in [*parts, *reader.close(Completed())] if not isinstance(part, TurnStart)]


def test_what_passes_has_the_ids_of_the_parts_where_an_id_was_there_in_another_turn():
    def turn(turn_id: str) -> list[Any]:
        return [
            SegmentStart("c", "write_file", WRITE, turn_id=turn_id),
            SegmentContent("c", "write_file", "x", turn_id=turn_id),
            SegmentEnd("c", "write_file", "complete", turn_id=turn_id),
            ProviderEvent("tool_result", {"n": 1}, turn_id=turn_id, segment_id="c"),
        ]

    parts = parts_of(*turn("t"), *turn("u"))
    shown = [part for part in parts if isinstance(part, SegmentStart | SegmentContent | SegmentEnd)]
    assert [part.segment_id for part in shown] == ["c"] * 3 + ["u:c"] * 3
    assert [part.segment_id for part in parts if isinstance(part, ProviderEvent)] == ["c", "u:c"]
    assert [part.call.id for part in parts if isinstance(part, CallEnd)] == ["c", "u:c"]


def test_events_that_have_their_type_at_start_only_are_read():
    text = parts_of(SegmentStart("s", "text"), SegmentContent("s", None, "Hi"), SegmentEnd("s", None, None))
    assert text == [TextStart("s", "text"), TextDelta("s", "text", "Hi"), TextEnd("s", "text", "complete", {})]
    call = parts_of(
        SegmentStart("c", "tool_call", {"tool_name": "f"}), SegmentContent("c", None, "{}"), SegmentEnd("c", None, None)
    )
    assert [type(part) for part in call] == [CallStart, CallDelta, CallEnd]


def test_a_notice_may_stand_between_a_call_and_its_invocation():
    start = SegmentStart("c", "tool_call", {"tool_name": "f"})
    content = SegmentContent("c", "tool_call", '{"n": "1"}')
    notice = Notice("mistyped_argument", "n")
    parts = parts_of(
        start, content, SegmentEnd("c", "tool_call", "complete"), notice, ToolInvocation("c", None, "f", {"n": 1})
    )
    assert notice in parts
    assert [part.arguments for part in parts if isinstance(part, CallEnd)] == [{"n": 1}]


def test_a_segment_that_begins_again_without_an_end_is_ended_first():
    begin = SegmentStart("s", "text", turn_id="t")
    parts = parts_of(begin, begin)
    assert [(type(part), part.id) for part in parts] == [
        (TextStart, "s"),
        (TextEnd, "s"),
        (TextStart, "t:s"),
        (TextEnd, "t:s"),
    ]
