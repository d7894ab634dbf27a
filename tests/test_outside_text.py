"""Text outside of calls: where openers count, what stands for closers at the end, and native calls in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from operator_contract import wrong_segments

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.operators.dialect import NAME, Dialect, Json, Maybe
from penstock.operators.parse_text import parse_text
from penstock.operators.stage import drive


def said(events: Sequence[Any]) -> str:
    return "".join(event.payload.get("delta", "") for event in events if event.segment_type == "text")


LEADING = Dialect("leading", (Maybe("<s>"), "to=", NAME, ":", Json(name=()), Maybe("<e>")), leading=("to=",))


@pytest.mark.parametrize(
    ("text", "names", "left"),
    [
        ("to=f:{}", ["f"], ""),
        (" \n to=f:{}<e>\nto=g:{}", ["f", "g"], ""),
        ("Hi to=f:{}", [], "Hi to=f:{}"),
        ("Hi <s>to=f:{}", ["f"], "Hi "),
        ("to=f:{}<e> Hi to=g:{}", ["f"], " Hi to=g:{}"),
        ("to to=f:{}", [], "to to=f:{}"),
    ],
)
@pytest.mark.parametrize("blanks", ["lone", "keep"])
def test_an_opener_that_leads_counts_only_where_nothing_came_before(
    text: str, names: list[str], left: str, blanks: Any
) -> None:
    operator = parse_text(LEADING, turn_id="t", blanks=blanks)
    for pieces in ([text], list(text)):
        events = list(drive(pieces, operator))
        starts = [event for event in events if event.segment_type == "tool_call" and event.type == "SEGMENT_START"]
        assert [event.payload["metadata"]["tool_name"] for event in starts] == names
        assert said(events).strip() == left.strip()
        assert "".join(event.raw for event in events) == text


def test_a_closer_that_nothing_comes_after_is_a_text_that_says_nothing() -> None:
    text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>\n'
    *_, start, end = drive([text], parse_text("hermes", turn_id="t"))
    assert (start.type, start.segment_type, end.type, end.raw) == ("SEGMENT_START", "text", "SEGMENT_END", "\n")
    assert start.segment_id == end.segment_id


def test_a_chunk_costs_what_its_text_costs() -> None:
    """The short way of plain text is as good for chunks as for text, whatever else came between."""
    operator = parse_text("think_tags", turn_id="t")
    call = ToolCallDelta(0, "c", "g", "{}", done=True)
    items = [
        "a",
        "b",
        ChunkResponse(content="c"),
        ChunkResponse(tool_calls=(call,)),
        "d",
        ChunkResponse("e", "r"),
        "f<",
    ]
    events = list(drive([*items, ChunkResponse(content="a", choice=1), "g"], operator))
    assert said(events) == "abcdefa<g"
    kinds = [event.segment_type for event in events if event.type == "SEGMENT_START"]
    assert kinds == ["text", "tool_call", "text", "reasoning", "text", "text"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("harmony", "<|channel|>final<|message|>one two<|end|>"),
        ("structured_output", '{"content": "one two", "toolCall": null}'),
        ("hermes", "one two"),
    ],
)
def test_a_native_call_amid_a_text_ends_its_segment_and_loses_nothing(name: str, text: str) -> None:
    call = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "g", "{}", done=True),))
    for place in range(len(text) + 1):
        before, after = (map(ChunkResponse, part) for part in (text[:place], text[place:]))
        events = list(drive([*before, call, *after], parse_text(name, turn_id="t")))
        assert wrong_segments(events) == []
        assert said(events) == "one two"
        assert "".join(event.raw for event in events if event.segment_type != "tool_call") == text
