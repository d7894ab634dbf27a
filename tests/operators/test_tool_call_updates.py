from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from calls_made import HOWS, calls_made, file_of
from hypothesis import given
from hypothesis import strategies as st
from law_oracles import raw_by_segment
from operator_contract import FROM_CALLS, FROM_FIELDS, SIDE_BY_SIDE, STOP, TROUBLE, TURN, Case, call, read_back
from strategies.answers import answers
from untyped import drive, stage

from penstock.events import (
    ChunkResponse,
    InvocationFailed,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
    ToolCallDelta,
    ToolCallUpdate,
    ToolInvocation,
    from_json,
    to_json,
)
from penstock.operators import Completed, Interrupted, Operator, compose, stream_fields, to_invocations, to_segments
from penstock.operators.engine.stage import How
from penstock.operators.tool_call_updates import tool_call_updates
from penstock.pipeline import api_tool_call

CONTRACT = (
    Case("tool_call_updates", tool_call_updates(keep_segments=True), (*FROM_CALLS, *FROM_FIELDS)),
    Case("tool_call_updates read back", tool_call_updates(message_id="message"), read_back(FROM_FIELDS)),
)

CALLS = compose(to_segments(turn_id=TURN), tool_call_updates())
FIELDS = compose(to_segments(turn_id=TURN), stream_fields(), tool_call_updates())


def updates(chunks: Iterable[ChunkResponse], operator: Any = CALLS, how: How | None = None) -> list[ToolCallUpdate]:
    chain = stage(operator)
    events = [event for chunk in chunks for event in chain.feed(chunk)] + chain.close(how)
    return [each for each in events if isinstance(each, ToolCallUpdate)]


def joined(given: Iterable[ToolCallUpdate]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for each in given:
        texts[each.tool_call_id] = texts.get(each.tool_call_id, "") + each.arguments
    return texts


def test_a_call_gives_its_start_its_deltas_as_they_came_and_its_completion():
    chunks = [*call(0, "c", "weather", '{"', "location", '":"', "Boston", '"}'), *STOP]
    assert [(each.arguments, each.is_complete, each.status) for each in updates(chunks)] == [
        ("", False, None),
        *((delta, False, None) for delta in ('{"', "location", '":"', "Boston", '"}')),
        ("", True, "complete"),
    ]
    assert {(each.tool_call_id, each.tool_name, each.message_id) for each in updates(chunks)} == {
        ("c", "weather", TURN)
    }


def test_its_json_is_the_event_assistant_streaming_tool_call():
    first, delta, last = updates([*call(0, "c", "f", '{"é": 1}'), *STOP])
    common = {"type": "assistant_streaming_tool_call", "toolCallId": "c", "toolName": "f", "messageId": TURN}
    assert json.loads(to_json(first)) == {**common, "arguments": "", "isComplete": False}
    assert json.loads(to_json(delta)) == {**common, "arguments": '{"é": 1}', "isComplete": False}
    assert json.loads(to_json(last)) == {**common, "arguments": "", "isComplete": True, "status": "complete"}
    assert [from_json(to_json(each)) for each in (first, delta, last)] == [first, delta, last]


def test_the_message_is_the_given_one_else_the_turn():
    operator = compose(to_segments(turn_id=TURN), tool_call_updates(message_id="m"))
    assert {each.message_id for each in updates(SIDE_BY_SIDE, operator)} == {"m"}
    assert {each.message_id for each in updates(SIDE_BY_SIDE)} == {TURN}


@given(answers(), st.sampled_from(HOWS))
def test_the_joined_deltas_are_the_raw_arguments_as_calls_and_as_fields(answer: list[ChunkResponse], how: How):
    chain = stage(to_segments(turn_id=TURN))
    segments = [event for chunk in answer for event in chain.feed(chunk)] + chain.close(how)
    raw = raw_by_segment(segments)
    for operator in (CALLS, FIELDS):
        texts = joined(updates(answer, operator, how))
        assert texts == {key: raw[key] for key in texts}


@given(answers(), st.sampled_from(HOWS))
def test_every_call_gets_one_completion_which_is_its_last_and_says_how_it_ended(answer: list[ChunkResponse], how: How):
    chain = stage(to_segments(turn_id=TURN), stream_fields(), to_invocations(keep_segments=True))
    events = [event for chunk in answer for event in chain.feed(chunk)] + chain.close(how)
    ends = {each.segment_id: each.status for each in events if getattr(each, "type", "") == "SEGMENT_END"}
    fates = [each for each in events if isinstance(each, InvocationFailed | ToolInvocation)]
    after = stage(tool_call_updates())
    given = [each for event in events for each in after.feed(event) if isinstance(each, ToolCallUpdate)]
    assert {each.id for each in fates} == {each.tool_call_id for each in given}
    for fate in fates:
        mine = [each for each in given if each.tool_call_id == fate.id]
        assert [each.is_complete for each in mine] == [False] * (len(mine) - 1) + [True]
        assert (mine[-1].arguments, mine[-1].status) == ("", ends[fate.id])
        assert {each.tool_name for each in mine} == {fate.name}


@given(answers())
def test_a_delta_comes_with_the_chunk_that_brought_it(answer: list[ChunkResponse]):
    chain, plain = stage(CALLS), stage(to_segments(turn_id=TURN))
    called = set()
    for chunk in answer:
        events = [each for each in plain.feed(chunk) if isinstance(each, SegmentEvent)]
        given = [each for each in chain.feed(chunk) if isinstance(each, ToolCallUpdate)]
        called |= {each.tool_call_id for each in given}
        raw = raw_by_segment(events)
        assert joined(given) == {key: text for key, text in raw.items() if key in called}


@pytest.mark.parametrize("length", range(1, 8))
def test_a_call_that_is_interrupted_or_cut_says_so_and_is_not_mended(length: int):
    chunks = call(0, "c", "write_file", '{"pa', 'th": "a", ', '"content": "x', "\\u00e", '9", "n": 1', "2", "}")[
        :length
    ]
    for how, status in ((Completed(), "truncated"), (Interrupted("Ctrl-C"), "interrupted")):
        for operator in (CALLS, FIELDS):
            given = updates(chunks, operator, how)
            whole = length == 7 and status == "truncated"
            assert (given[-1].is_complete, given[-1].status) == (True, "complete" if whole else status)
            assert joined(given)["c"] == "".join(chunk.tool_calls[0].arguments_delta for chunk in chunks)


def test_malformed_arguments_come_as_they_are_and_complete_as_failed():
    given = {each.tool_call_id: each.status for each in updates(TROUBLE) if each.is_complete}
    assert given["bad"] == "failed"
    assert joined(updates(TROUBLE))["bad"] == '{"a": 01}, "b"}'


def test_a_call_that_the_provider_runs_gives_none():
    delta = ToolCallDelta(0, "c", "web_search", '{"query": "x"}', executed_by="provider", done=True)
    assert updates([ChunkResponse(tool_calls=(delta,)), *STOP]) == []


def test_a_name_that_others_tell_at_the_end_is_in_the_completion():
    events = [
        SegmentStart("s", "tool_call"),
        SegmentContent("s", None, "{}"),
        SegmentEnd("s", None, None, metadata={"tool_name": "f"}),
    ]
    assert [each.tool_name for each in drive(events, tool_call_updates())] == ["", "", "f"]


def test_behind_a_strategy_the_invocation_still_follows_its_end_directly():
    operator = compose(api_tool_call(turn_id=TURN), tool_call_updates(keep_segments=True))
    events = list(drive([*call(0, "c", "run_bash", '{"command": "ls"}', done=True), *STOP], operator))
    kinds = [getattr(each, "type", None) or type(each).__name__ for each in events]
    assert kinds == [
        *("SEGMENT_START", "ToolCallUpdate", "SEGMENT_CONTENT"),
        *("ToolCallUpdate", "SEGMENT_END", "ToolInvocation", "AnswerEnd"),
    ]
    without = [each for each in events if not isinstance(each, ToolCallUpdate)]
    assert without == list(
        drive([*call(0, "c", "run_bash", '{"command": "ls"}', done=True), *STOP], api_tool_call(turn_id=TURN))
    )


def test_before_the_fields_are_made_the_deltas_are_the_same():
    early = compose(to_segments(turn_id=TURN), tool_call_updates(keep_segments=True), stream_fields(), to_invocations())
    assert joined(updates(SIDE_BY_SIDE, early)) == joined(updates(SIDE_BY_SIDE, FIELDS))


def test_a_field_segment_read_back_gives_json_of_the_same_arguments():
    fields = compose(to_segments(turn_id=TURN), stream_fields())
    stored = [from_json(to_json(event)) for event in drive(SIDE_BY_SIDE, fields)]
    texts = joined(each for each in drive(stored, tool_call_updates()) if isinstance(each, ToolCallUpdate))
    invoked = {
        each.id: each.arguments
        for each in drive(SIDE_BY_SIDE, fields, to_invocations())
        if isinstance(each, ToolInvocation)
    }
    assert {key: json.loads(text) for key, text in texts.items() if key != "c"} == {
        key: arguments for key, arguments in invoked.items() if key != "c"
    }
    assert texts["c"] == "raw { text"


def python_calls(operator: Operator[Any, Any], chunks: Iterable[ChunkResponse]) -> Counter[str]:
    """Count the calls of Python functions that a run makes, by the file that they stand in."""
    chain = stage(operator)
    count: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            count[Path(frame.f_code.co_filename).name] += 1

    sys.setprofile(note)
    try:
        for chunk in chunks:
            chain.feed(chunk)
    finally:
        sys.setprofile(None)
    return count


OURS = ("tool_call_updates.py", "call_arguments.py")
OFF = api_tool_call()
ON = api_tool_call(updates=True)


def test_switched_off_it_adds_no_call_and_switched_on_the_same_few_for_each_delta():
    off, on = python_calls(OFF, file_of(50)), python_calls(ON, file_of(50))
    assert [off[name] for name in OURS] == [0, 0]
    assert all(on[name] for name in OURS)
    by_hand = compose(to_segments(), stream_fields(), to_invocations(keep_segments=True))
    assert calls_made(OFF, file_of(50)) == calls_made(by_hand, file_of(50))
    added = [calls_made(ON, file_of(units)) - calls_made(OFF, file_of(units)) for units in (50, 530, 1010)]
    assert added[1] - added[0] == added[2] - added[1] > 0
    # Ten deltas to a unit; a call each of the stage, the machine, the call's text and the event, and some of C.
    assert (added[1] - added[0]) / 4800 <= 12


@pytest.mark.parametrize("operator", [CALLS, FIELDS], ids=["calls", "fields"])
def test_a_delta_costs_the_same_however_much_came_before(operator: Operator[Any, Any]):
    small, middle, large = (calls_made(operator, file_of(units)) for units in (50, 530, 2930))
    assert (middle - small) * 5 == large - middle
