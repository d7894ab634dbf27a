"""The bugs that other parsers of calls in text were reported for, each named by its report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from complaint_cases import COMPLAINTS, VALUES, Complaint, Value
from counted_calls import counted
from depth import stride
from looped import looped
from operator_contract import frozen, rest_of_run
from untyped import drive, stage

from penstock.events import SegmentContent
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import InvocationFailed, ToolInvocation
from penstock.operators.engine.stage import Operator, compose
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations


def reader(complaint: Complaint) -> Operator[Any, Any]:
    return parse_text(*complaint.dialects.split(), tools=complaint.tools, turn_id="t", **complaint.options)


def outcome(complaint: Complaint, pieces: Iterable[str]) -> tuple[list[Any], str, str]:
    """Return the calls, the text and the reasoning that come out; everything that went in is in somebody's `raw`."""
    calls: list[Any] = []
    said = {"text": "", "reasoning": ""}
    raw = ""
    open_segments: set[str] = set()
    for event in drive(pieces, reader(complaint), to_invocations(keep_segments=True)):
        match event:
            case ToolInvocation():
                calls.append((event.name, event.arguments))
            case InvocationFailed():
                calls.append((event.name, event.reason))
            case SegmentEvent():
                raw += event.raw
                if event.type == "SEGMENT_START":
                    assert event.segment_id not in open_segments
                    open_segments.add(event.segment_id)
                elif event.type == "SEGMENT_END":
                    open_segments.remove(event.segment_id)
                elif isinstance(event, SegmentContent) and event.segment_type in said:
                    said[event.segment_type] += event.delta
    assert raw == "".join(complaint.pieces)
    assert not open_segments
    return calls, said["text"], said["reasoning"]


def named(complaint: Complaint | Value) -> str:
    dialects = complaint.dialects if isinstance(complaint, Complaint) else complaint.dialect
    return f"{complaint.issues}-{dialects}".replace(", ", "+").replace(" ", "+")


@pytest.mark.laws
@looped("complaint", COMPLAINTS, ids=named)
def test_it_comes_out_right_however_the_text_is_cut(complaint: Complaint) -> None:
    text = "".join(complaint.pieces)
    expected = list(complaint.calls), complaint.text, complaint.reasoning
    assert outcome(complaint, [text]) == expected
    assert outcome(complaint, complaint.pieces) == expected
    assert outcome(complaint, list(text)) == expected
    for place in range(1, len(text), stride(5)):
        assert outcome(complaint, (text[:place], text[place:])) == expected, place


@pytest.mark.laws
@looped("complaint", COMPLAINTS, ids=named)
def test_it_comes_out_right_wherever_it_was_frozen(complaint: Complaint) -> None:
    operator = compose(reader(complaint), to_invocations())
    text = "".join(complaint.pieces)
    expected = list(drive([text], operator))
    for place in range(1, len(text), stride(5)):
        chain = stage(operator)
        before = chain.feed(text[:place])
        after = rest_of_run(operator, frozen(chain), [text[place:]])
        assert [*before, *(event for events in after for event in events)] == expected, place


LINE = "if a < b: c = d + 1; "
STRINGS = {"f": {"properties": {"a": {"type": "string"}}}}


def in_fours(text: str) -> list[str]:
    return [text[place : place + 4] for place in range(0, len(text), 4)]


@pytest.mark.parametrize("value", VALUES, ids=named)
def test_a_text_comes_while_it_arrives(value: Value) -> None:
    chain = stage(parse_text(value.dialect, tools=STRINGS, turn_id="t"))
    chain.feed(value.before)
    fed = given = ""
    late: list[int] = []
    for piece in in_fours(LINE * 20):
        fed += piece
        for event in chain.feed(piece):
            assert isinstance(event, SegmentEvent)
            given += "".join(each.value for each in event.fragments or () if each.kind == "TEXT")
        assert fed.startswith(given)
        late.append(len(fed) - len(given))
    assert max(late) <= 2  # a `<`, and a blank after it or before
    assert sum(late) <= len(late) / 5
    chain.feed(value.after)


@pytest.mark.parametrize("value", VALUES, ids=named)
def test_each_piece_of_a_text_costs_the_same(value: Value) -> None:
    def calls(lines: int) -> int:
        chain = stage(parse_text(value.dialect, tools=STRINGS, turn_id="t"))
        chain.feed(value.before)
        pieces = [*in_fours(LINE * lines), value.after]

        def read() -> None:
            for piece in pieces:
                chain.feed(piece)

        return counted(read)

    calls(20)  # what is compiled and remembered once is not counted
    few, some, many = calls(20), calls(120), calls(1120)
    assert many - some == 10 * (some - few)
