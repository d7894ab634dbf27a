"""The same call by native deltas, between tags in text, and in an answer that is one object: the same updates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pytest
from answered import answered
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped

from penstock.events.chunk_response import ChunkResponse, ToolCallDelta
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import ToolCallUpdate, ToolInvocation
from penstock.operators.engine.drive import drive
from penstock.operators.engine.stage import stage
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations
from penstock.operators.to_segments import to_segments
from penstock.operators.tool_call_updates import tool_call_updates

VALUES = st.recursive(
    st.one_of(st.text(max_size=6), st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False, width=16)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=2)),
    max_leaves=5,
).filter(lambda value: "Infinity" not in json.dumps(value))
CALLS = st.builds(
    lambda name, arguments, ascii_only: (name, json.dumps(arguments, ensure_ascii=ascii_only)),
    st.sampled_from(("f", "write_file")),
    st.dictionaries(st.text(max_size=4), VALUES, max_size=4),
    st.booleans(),
)
SAID = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<`"), max_size=20).map(str.strip)
"""What is said before a call; what is in code is no call, and has its own tests."""


class Update(NamedTuple):
    """One update without its call's id, which each way makes in its own form."""

    name: str
    arguments: str
    is_complete: bool
    message_id: str | None
    status: str | None


def split(text: str, size: int) -> list[str]:
    return [text[place : place + size] for place in range(0, len(text), size)]


def native(said: str, calls: Sequence[tuple[str, str]], size: int) -> list[ChunkResponse]:
    chunks = [ChunkResponse(content=each) for each in split(said, size)]
    for index, (name, arguments) in enumerate(calls):
        chunks.append(ChunkResponse(tool_calls=(ToolCallDelta(index, f"call_{index}", name),)))
        chunks += [
            ChunkResponse(tool_calls=(ToolCallDelta(index, arguments_delta=each),)) for each in split(arguments, size)
        ]
    return [*chunks, ChunkResponse(finish_reason="tool_calls")]


def tagged(said: str, calls: Sequence[tuple[str, str]]) -> str:
    blocks = (f'<tool_call>{{"name": "{name}", "parameters": {given}}}</tool_call>' for name, given in calls)
    return said + "\n".join(blocks)


def structured(said: str, calls: Sequence[tuple[str, str]]) -> str:
    objects = [f'{{"name": "{name}", "args": {given}}}' for name, given in calls]
    held = objects[0] if len(objects) == 1 else f"[{', '.join(objects)}]"
    return f'{{"content": {json.dumps(said)}, "toolCall": {held}}}'


def updates(events: Iterable[Any]) -> list[Update]:
    """Return the updates with those of a call between its start and its completion as one."""
    out: list[Update] = []
    ids: list[str] = []
    for each in events:
        if not isinstance(each, ToolCallUpdate):
            continue
        if ids and ids[-1] == each.tool_call_id and not each.is_complete:
            out[-1] = out[-1]._replace(arguments=out[-1].arguments + each.arguments)
        else:
            out.append(Update(each.tool_name, each.arguments, each.is_complete, each.message_id, each.status))
        ids.append(each.tool_call_id)
    starts = [now for before, now in zip(["", *ids], ids, strict=False) if before != now]
    assert len(starts) == len(set(starts)), "a call's updates stand together"
    return out


def told(events: Iterable[Any]) -> tuple[str, list[tuple[str, str]]]:
    """Return the text and the invocations of an answer."""
    segments = list(events)
    deltas = (getattr(each, "delta", "") for each in segments if each.segment_type == "text")
    calls = [each for each in drive(segments, to_invocations()) if isinstance(each, ToolInvocation)]
    return "".join(deltas), [(each.name, json.dumps(each.arguments)) for each in calls]


@given(SAID, st.lists(CALLS, min_size=1, max_size=3), st.integers(1, 9))
@settings(max_examples=scaled(150))
def test_all_ways_give_the_same_updates_text_and_invocations(said: str, calls: list[tuple[str, str]], size: int):
    ways: list[tuple[Any, Any]] = [
        (native(said, calls, size), to_segments(turn_id="t")),
        (split(tagged(said, calls), size), parse_text("tool_call", turn_id="t")),
        (split(structured(said, calls), size), parse_text("json_answer", turn_id="t")),
    ]
    expected = [
        update
        for name, arguments in calls
        for update in (Update(name, arguments, False, "t", None), Update(name, "", True, "t", "complete"))
    ]
    invoked = [(name, json.dumps(json.loads(arguments))) for name, arguments in calls]
    for items, operator in ways:
        assert updates(drive(items, operator, tool_call_updates())) == expected
        assert told(answered(items, operator)) == (said, invoked)


@pytest.mark.parametrize("dialect", ["tool_call", "json_answer"])
def test_text_and_arguments_come_with_the_characters_that_bring_them(dialect: str):
    said, arguments = "I look it up: now.", '{"city": "Köln", "days": [1, 2], "at": {"x": 1.5}}'
    text = (tagged if dialect == "tool_call" else structured)(said, [("f", arguments)])
    chain = stage(parse_text(dialect, turn_id="t"), tool_call_updates(keep_segments=True))
    text_at, arguments_at = text.index(said), text.index(arguments)
    given_text = given_arguments = ""
    for place, letter in enumerate(text):
        for event in chain.feed(letter):
            if isinstance(event, ToolCallUpdate):
                given_arguments += event.arguments
            elif isinstance(event, SegmentEvent) and event.segment_type == "text":
                given_text += getattr(event, "delta", "")
        assert given_text == said[: max(0, place + 1 - text_at)]
        assert given_arguments == arguments[: max(0, place + 1 - arguments_at)]


def test_an_escape_waits_until_it_is_whole_and_nothing_else_does():
    chain = stage(parse_text("json_answer", turn_id="t"))
    pieces = ['{"content": "a', "\\", "n", "b\\u00", "e9", "\\ud83d", "\\ude42", 'c"', ', "toolCall": null}']
    said = [
        "".join(getattr(each, "delta", "") for each in chain.feed(piece) if isinstance(each, SegmentEvent))
        for piece in pieces
    ]
    assert said == ["a", "", "\n", "b", "é", "", "🙂", "c", ""]
    assert not any(getattr(each, "segment_type", "") == "tool_call" for each in chain.close())


@pytest.mark.parametrize(
    "text",
    [
        '{"toolCall": {"args": {"a": 1}, "name": "f"}, "content": "b"}',
        '{"toolCall": {"name": "f", "args": {"a": 1}}, "content": "b"}',
        '{"content": "b", "toolCall": {"args": {"a": 1}, "name": "f"}}',
    ],
)
def test_the_order_of_keys_changes_nothing_but_when_it_comes(text: str):
    assert told(answered(list(text), parse_text("json_answer", turn_id="t"))) == ("b", [("f", '{"a": 1}')])


@looped("cut", range(1, 12))
def test_a_call_that_is_cut_is_told_alike(cut: int):
    arguments = '{"a": "bcd"}'
    texts = [tagged("", [("f", arguments)]), structured("", [("f", arguments)])]
    chunks = [*native("", [("f", arguments[:cut])], 3)[:-1], ChunkResponse(finish_reason="length")]
    ways: list[tuple[Any, Any]] = [(chunks, to_segments(turn_id="t"))]
    for text, dialect in zip(texts, ("tool_call", "json_answer"), strict=True):
        upto = text[: text.index(arguments) + cut]
        given = [ChunkResponse(content=upto), ChunkResponse(finish_reason="length")]
        ways.append((given, parse_text(dialect, turn_id="t")))
    expected = [Update("f", arguments[:cut], False, "t", None), Update("f", "", True, "t", "truncated")]
    for items, operator in ways:
        assert updates(drive(items, operator, tool_call_updates())) == expected
