"""`whole_calls`: a call comes when it is whole, and what never is one is text, in its place."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from answered import answered, before_the_end
from hypothesis import given
from operator_contract import FROM_CALLS, FROM_TEXT, Case, wrong_segments
from strategies.dialect_texts import answer_by
from strategies.randoms import randoms
from strategies.text_flows import cut_by
from untyped import drive, stage

from penstock.events.answer_end import AnswerEnd
from penstock.events.chunk_response import ChunkResponse, ProviderEvent, ToolCallDelta
from penstock.events.segment_event import SegmentEnd, SegmentStart
from penstock.events.tool_invocation import Notice
from penstock.operators.catalogue import DIALECTS
from penstock.operators.engine.stage import Completed, Failed
from penstock.operators.parse_text import parse_text
from penstock.operators.whole_calls import whole_calls

CONTRACT = (Case("whole_calls", whole_calls(), (*FROM_CALLS, *FROM_TEXT)),)

CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
BROKEN = '<tool_call>{"name": "f", "arguments": {"a": oops}}</tool_call>'
NAMES = ("hermes", "qwen3_coder", "glm45", "pythonic", "json_bare")


def said(events: Sequence[Any]) -> list[tuple[str, str, str]]:
    """Return each segment as its type, its text and its status."""
    texts: dict[str, str] = {}
    out = []
    for event in events:
        texts[event.segment_id] = texts.get(event.segment_id, "") + getattr(event, "delta", "")
        if event.type == "SEGMENT_END":
            out.append((event.segment_type, texts[event.segment_id], event.status))
    return out


def test_nothing_of_a_call_comes_before_it_is_complete():
    chain = stage(parse_text("hermes", turn_id="t"), whole_calls())
    assert [event for piece in CALL[:-1] for event in chain.feed(piece)] == []
    events = list(chain.feed(CALL[-1]))
    assert said(events) == [("tool_call", '{"a": 1}', "complete")]
    assert "".join(event.raw for event in events) == CALL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a{BROKEN}b", [("text", "a", "complete"), ("text", BROKEN, "complete"), ("text", "b", "complete")]),
        (CALL[:-15], [("text", CALL[:-15], "truncated")]),
        (BROKEN + CALL, [("text", BROKEN, "complete"), ("tool_call", '{"a": 1}', "complete")]),
        ("plain", [("text", "plain", "complete")]),
    ],
)
def test_what_is_no_whole_call_is_text_in_its_place(text: str, expected: list[tuple[str, str, str]]):
    assert said(answered(list(text), parse_text("hermes", turn_id="t"), whole_calls())) == expected


@given(randoms)
def test_complete_calls_and_other_segments_are_as_they_were_and_no_text_is_lost(random: Random):
    name = random.choice(NAMES)
    text, tools = answer_by(random, [DIALECTS[name]])
    given_events = drive(cut_by(random, text), parse_text(name, tools=tools, turn_id="t"))
    before = [each for each in given_events if not isinstance(each, Notice)]
    after = before_the_end(drive(before, whole_calls()))
    *before, _ = before
    assert wrong_segments(after) == []
    assert "".join(event.raw for event in after) == text
    whole = {
        event.segment_id
        for event in before
        if getattr(event, "status", None) == "complete" or event.segment_type != "tool_call"
    }
    assert [event for event in after if event.segment_id in whole] == [
        event for event in before if event.segment_id in whole
    ]
    assert {event.status for event in after if event.type == "SEGMENT_END" and event.segment_type == "tool_call"} <= {
        "complete"
    }


def test_what_waits_behind_a_call_keeps_its_place_and_what_is_no_segment_passes():
    start, *rest = drive([CALL], parse_text("hermes", turn_id="t"))
    text: list[Any] = [
        SegmentStart("x", "text"),
        SegmentEnd("x", "text", "complete"),
        ProviderEvent("other", {}),
        AnswerEnd(choice=1),
    ]
    chain, notice = stage(whole_calls()), Notice("code", "detail")
    assert [*chain.feed(start), *(each for event in text for each in chain.feed(event))] == []
    assert list(chain.feed(notice)) == [notice]
    assert [each for event in rest for each in chain.feed(event)] == [start, *text, *rest]


def test_native_calls_do_not_wait():
    call = ToolCallDelta(0, call_id="c", name="f", arguments_delta='{"a": ')
    chain = stage(parse_text("hermes", turn_id="t"), whole_calls())
    begun = chain.feed(ChunkResponse(tool_calls=(call,)))
    assert said(begun) == []
    assert said(before_the_end([*begun, *chain.close(Completed())])) == [("tool_call", '{"a": ', "truncated")]


def test_a_call_whose_end_never_comes_is_text_and_an_open_text_is_ended():
    events = answered([CALL], parse_text("hermes", turn_id="t"))[:-1]
    opened = SegmentStart("x", "text")
    chain = stage(whole_calls())
    assert [*chain.feed(opened), *(each for event in events for each in chain.feed(event))] == [opened]
    raw = "".join(event.raw for event in events)
    found = said(list(chain.close(Failed(ValueError()))))
    assert found == [("text", raw, "interrupted"), ("text", "", "interrupted")]
