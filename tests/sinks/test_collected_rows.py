"""A whole stream as rows: one for each thing that happened, in order."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    Output,
    OutputFailed,
    ProviderEvent,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    ToolResult,
)
from penstock.operators import drive
from penstock.pipeline.strategies import api_tool_call
from penstock.sinks.collect import Collected, Segment, collect

NAMES = ["kind", "type", "id", "status", "reason", "text", "characters", "pieces", "first_event", "last_event", "turn"]
WRITTEN = ToolCallDelta(0, "w", "write_file", '{"path": "a.py", "content": "x = ', done=False)
CHUNKS = [
    ChunkResponse(content="Hi"),
    ChunkResponse(content=" 🌱"),
    ChunkResponse(tool_calls=(WRITTEN, ToolCallDelta(1, "f", "run_bash", '{"command": "l'))),
    ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='1"}', done=True),)),
    ChunkResponse(model="m", response_id="r", finish_reason="length"),
]


def rows_of(events: Collected[Any]) -> list[dict[str, Any]]:
    """Return each row without its missing values."""
    rows = events.rows()
    assert all(list(row) == NAMES for row in rows)
    return [{name: cell for name, cell in row.items() if cell is not None} for row in rows]


def test_segments_calls_and_failures_have_a_row_each_in_order():
    collected = collect(drive(CHUNKS, api_tool_call(turn_id="t")))
    told = [
        (row["kind"], row.get("type"), row["status"], row.get("text"), row.get("pieces")) for row in rows_of(collected)
    ]
    assert told == [
        ("segment", "text", "complete", "Hi 🌱", 2),
        ("segment", "write_file", "complete", "x = 1", 2),
        ("segment", "run_bash", "truncated", "l", 1),
        ("call", "write_file", "complete", '{"path": "a.py", "content": "x = 1"}', None),
        ("failure", "run_bash", "failed", '{"command": "l', None),
        ("answer", "m", "truncated", None, None),
    ]
    assert {row["turn"] for row in rows_of(collected)} == {"t"}


def test_the_places_of_a_segment_are_those_of_its_events():
    collected = collect(drive(CHUNKS, api_tool_call()))
    for row in rows_of(collected):
        first, last = collected.events[row["first_event"]], collected.events[row["last_event"]]
        if row["kind"] == "segment":
            assert (first.type, first.segment_id) == ("SEGMENT_START", row["id"])
            assert (last.type, last.segment_id) == ("SEGMENT_END", row["id"])
        else:
            assert first is last


# turn, kind, type, id, status, reason, text
CASES: list[tuple[Any, list[str | None]]] = [
    (ToolInvocation("c", "t", "f", {"a": ["ü", 1]}), ["t", "call", "f", "c", "complete", None, '{"a": ["ü", 1]}']),
    (InvocationFailed("c", "t", "f", '{"a', "malformed"), ["t", "failure", "f", "c", "failed", "malformed", '{"a']),
    (Output("s", "t", data=[1]), ["t", "output", None, "s", "complete", None, "[1]"]),
    (OutputFailed("s", "t", "[1", "truncated"), ["t", "output", None, "s", "failed", "truncated", "[1"]),
    (ToolResult("c", turn_id="t", value={"a": 1}), ["t", "result", None, "c", "complete", None, '{"a": 1}']),
    (ToolResult("c"), [None, "result", None, "c", "complete", None, "null"]),
    (ToolResult("c", error="gone"), [None, "result", None, "c", "failed", "gone", None]),
    (ToolResult("c", denied="no"), [None, "result", None, "c", "denied", "no", None]),
    (ProviderEvent("safety", {"a": 1}, segment_id="s"), [None, "provider", "safety", "s", None, None, '{"a": 1}']),
    (Notice("late_text", "came"), [None, "notice", "late_text", None, None, None, "came"]),
    (AnswerEnd("t", finish_reason="stop"), ["t", "answer", None, None, "complete", "stop", None]),
    (
        AnswerEnd("t", 0, "failed", "other", "tools", model="m", response_id="r"),
        ["t", "answer", "m", "r", "failed", "tools", None],
    ),
]


@looped("event, told", CASES, ids=lambda each: type(each).__name__)
def test_what_each_kind_of_event_has_in_its_row(event: Any, told: list[str | None]):
    text = told[-1]
    assert rows_of(collect([event])) == [
        {name: cell for name, cell in zip(["turn", *NAMES], told, strict=False) if cell is not None}
        | ({"characters": len(text)} if text is not None else {})
        | {"first_event": 0, "last_event": 0}
    ]


def test_pandas_and_polars_take_the_rows():
    pd, pl = import_module("pandas"), import_module("polars")
    halves = [ChunkResponse(content="a\ud83d"), *CHUNKS]
    rows = collect(drive(halves, api_tool_call(turn_id="t"))).rows()
    assert pl.DataFrame(rows).to_dicts() == rows
    assert pd.DataFrame(rows).astype(object).where(lambda cells: cells.notna(), None).to_dict("records") == rows


def test_nothing_has_no_rows():
    assert collect([]).rows() == []


def test_half_of_a_surrogate_pair_can_be_stored():
    [row] = rows_of(Collected(segments=[Segment("s", "text", content="a\ud83d")]))
    assert (row["text"], row["characters"]) == ("a\ufffd", 2)


def test_a_segment_that_has_not_ended_is_open_and_other_values_have_no_row():
    rows = rows_of(
        collect([SegmentStart("s", "text"), SegmentContent("s", "text", "a"), 5, SegmentEnd("x", None, None)])
    )
    assert rows == [
        {"kind": "segment", "type": "text", "id": "s", "status": "open", "text": "a", "characters": 1}
        | {"pieces": 1, "first_event": 0, "last_event": 1}
    ]


def test_segments_without_their_events_have_a_row_without_counts():
    rows = rows_of(Collected(segments=[Segment("s", "text", content="ab", status="complete")]))
    assert rows == [{"kind": "segment", "type": "text", "id": "s", "status": "complete", "text": "ab", "characters": 2}]


STEPS = st.tuples(
    st.sampled_from([SegmentStart, SegmentContent, SegmentEnd]), st.sampled_from("ab"), st.sampled_from("tu")
)


@given(st.lists(STEPS))
def test_rows_and_segments_agree_whatever_comes_in_which_order(steps: list[tuple[Any, str, str]]):
    made = {
        SegmentStart: lambda s, t: SegmentStart(s, "text", turn_id=t),
        SegmentContent: lambda s, t: SegmentContent(s, "text", "x", turn_id=t),
        SegmentEnd: lambda s, t: SegmentEnd(s, "text", "complete", turn_id=t),
    }
    collected = collect([made[kind](segment, turn) for kind, segment, turn in steps])
    rows = rows_of(collected)
    assert [(row["id"], row["turn"], row["status"]) for row in rows] == [
        (each.id, each.turn_id, each.status or "open") for each in collected.segments
    ]
    assert [row["pieces"] for row in rows] == [len(each.content) for each in collected.segments]
    assert all(row["first_event"] + row["pieces"] <= row["last_event"] for row in rows)
