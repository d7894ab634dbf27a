"""`PartReader`: what refers to a segment names it by the id that its parts have."""

from __future__ import annotations

from typing import Any

from segment_events import content, end, start

from penstock.events import ProviderEvent, SegmentEvent, ToolResult
from penstock.sinks.parts.answer_parts import CallStart, TextStart
from penstock.sinks.parts.part_reader import PartReader


def turn(turn_id: str) -> list[Any]:
    argument: dict[str, Any] = {"call_id": "c", "tool_name": "edit_file", "path": ["edits"]}
    return [
        start("write_file", "c", turn_id, tool_name="write_file", path="a.py"),
        content("x", "c", turn_id),
        start("edit_text", "c/edits", turn_id, **argument),
        content("y", "c/edits", turn_id),
        end("complete", "c/edits", turn_id, **argument),
        end("complete", "c", turn_id),
        ProviderEvent("tool_result", {"n": 1}, turn_id=turn_id, segment_id="c"),
        ToolResult("c", turn_id=turn_id, value="ok"),
    ]


def test_an_id_that_comes_again_in_the_next_turn_is_the_same_in_all_that_names_it():
    reader = PartReader()
    first = [part for event in turn("t1") for part in reader.feed(event)]
    second = [part for event in turn("t2") for part in reader.feed(event)]
    for parts, call, argument in ((first, "c", "c/edits"), (second, "t2:c", "t2:c/edits")):
        assert [part.call.id for part in parts if isinstance(part, CallStart)] == [call]
        segments: list[Any] = [part for part in parts if isinstance(part, SegmentEvent)]
        assert [each.segment_id for each in segments] == [call, call, argument, argument, argument, call]
        named = [each.metadata["call_id"] for each in segments if "call_id" in getattr(each, "metadata", {})]
        assert named == [call, call]
        assert [part.segment_id for part in parts if isinstance(part, ProviderEvent)] == [call]
        assert [part.id for part in parts if isinstance(part, ToolResult)] == [call]


def test_an_argument_whose_own_id_is_new_names_its_call_as_it_is_here():
    reader = PartReader()
    for event in (start("tool_call", "c", "t1", tool_name="f"), end("complete", "c", "t1")):
        reader.feed(event)
    segments: list[Any] = [
        part for event in turn("t2") for part in reader.feed(event) if isinstance(part, SegmentEvent)
    ]
    assert [(each.segment_id, each.metadata["call_id"]) for each in (segments[2], segments[4])] == 2 * [
        ("c/edits", "t2:c")
    ]


def test_what_names_no_segment_passes_as_it_is():
    for event in (ProviderEvent("citation", {}), ProviderEvent("tool_result", {}, segment_id="other")):
        assert PartReader().feed(event) == [event]


def test_ids_that_are_repeated_within_a_turn_are_numbered_and_stay_short():
    reader = PartReader()
    events = [each for _ in range(1000) for each in (start("text", "s", "t"), end("complete", "s", "t"))]
    ids = [part.id for event in events for part in reader.feed(event) if isinstance(part, TextStart)]
    assert ids[:4] == ["s", "t:s", "t:s:2", "t:s:3"]
    assert (len({*ids}), len(ids[-1])) == (1000, len("t:s:999"))
