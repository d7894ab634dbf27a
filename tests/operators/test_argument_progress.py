from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from answered import answered
from calls_made import calls_made, file_of
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from operator_contract import FROM_CALLS, FROM_FIELDS, SIDE_BY_SIDE, STOP, TROUBLE, TURN, Case, call, read_back
from strategies.answers import answers
from strategies.cuts import cuts, every_cut_in_two
from strategies.json_texts import SAMPLE

from penstock.events import (
    ChunkResponse,
    SegmentEvent,
    ToolCallArgumentProgress,
    ToolCallDelta,
    ToolInvocation,
    to_dict,
)
from penstock.events.segment_event import Fragment
from penstock.operators import compose, drive, json_fragments, stream_fields, to_invocations, to_segments
from penstock.operators.argument_progress import argument_progress
from penstock.operators.machines.json_values import FragmentAggregator

CONTRACT = (
    Case("argument_progress", argument_progress(), (*FROM_CALLS, *FROM_FIELDS)),
    Case("argument_progress read back", argument_progress(keep_segments=True), read_back(FROM_FIELDS)),
)

CALLS = compose(to_segments(turn_id=TURN), argument_progress())
FIELDS = compose(to_segments(turn_id=TURN), stream_fields(), argument_progress())


def progress(chunks: Iterable[ChunkResponse], operator: Any = CALLS) -> list[ToolCallArgumentProgress]:
    return [each for each in drive(chunks, operator) if isinstance(each, ToolCallArgumentProgress)]


def nested(chunks: Iterable[ChunkResponse]) -> list[Any]:
    return [form for each in progress(chunks) if (form := each.fragment.nested()) is not None]


def entry(key: str, value: Any) -> dict[str, Any]:
    return {"object_entry": {"key": key, "value": value}}


def item(index: int, value: Any) -> dict[str, Any]:
    return {"array_item": {"index": index, "value": value}}


def test_a_file_that_is_written_shows_its_path_at_once_and_its_content_as_it_comes():
    chunks = call(0, "c", "fs_create_file", '{"path":', '"src/main.rs","content":"fn main(', ') {...}"}')
    assert nested(chunks) == [
        entry("path", {"string": "src/main.rs"}),
        entry("path", "done"),
        entry("content", {"string": "fn main("}),
        entry("content", {"string": ") {...}"}),
        entry("content", "done"),
        "done",
    ]


def test_values_inside_arrays_and_objects_come_with_their_whole_path():
    chunks = call(0, "c", "fs_modify_file", '{"patterns": [{"old": "lo', 'ng", "new": ""}], "dry_run": true', "}")
    first = [entry("patterns", item(0, each)) for each in (entry("old", {"string": "lo"}),)]
    assert nested(chunks) == [
        *first,
        entry("patterns", item(0, entry("old", {"string": "ng"}))),
        entry("patterns", item(0, entry("old", "done"))),
        entry("patterns", item(0, entry("new", "done"))),
        entry("patterns", item(0, "done")),
        entry("patterns", "done"),
        entry("dry_run", {"scalar": True}),
        entry("dry_run", "done"),
        "done",
    ]


def test_each_piece_says_whose_it_is():
    names = {(each.tool_call_id, each.tool_name) for each in progress(SIDE_BY_SIDE, FIELDS)}
    assert names == {("a", "write_file"), ("b", "run_bash"), ("turn:call_2", "add"), ("c", "free"), ("a#2", "add")}


def test_its_plain_form_has_the_fragment():
    assert to_dict(progress(call(0, "c", "f", '{"a"', ": 1}"))[1]) == {
        "type": "TOOL_CALL_ARGUMENT_PROGRESS",
        "tool_call_id": "c",
        "tool_name": "f",
        "fragment": {"type": "FRAGMENT", "path": ["a"], "kind": "SCALAR", "value": 1, "at": 6},
    }


@pytest.mark.parametrize("operator", [CALLS, FIELDS], ids=["calls", "fields"])
@given(data=st.data())
def test_the_pieces_of_an_invoked_call_are_its_arguments(operator: Any, data: st.DataObject):
    answer = data.draw(answers())
    values: dict[str, FragmentAggregator] = {}
    for each in progress(answer, operator):
        values.setdefault(each.tool_call_id, FragmentAggregator()).feed(each.fragment)
    invoked = drive(answer, to_segments(turn_id=TURN), stream_fields(), to_invocations())
    for invocation in (each for each in invoked if isinstance(each, ToolInvocation)):
        if invocation.arguments:
            assert values[invocation.id].done
            assert values[invocation.id].value == invocation.arguments


@given(st.data())
def test_any_cutting_gives_the_same_pieces_but_for_where_texts_are_cut(data: st.DataObject):
    assert joined(call(0, "c", "write_file", *data.draw(cuts(SAMPLE)))) == joined(call(0, "c", "write_file", SAMPLE))


def joined(chunks: Iterable[ChunkResponse]) -> list[Fragment]:
    pieces: list[Fragment] = []
    for each in progress(chunks, FIELDS):
        piece = each.fragment
        if piece.kind == "TEXT" and pieces and pieces[-1].kind == "TEXT":
            piece = Fragment(piece.path, "TEXT", pieces[-1].value + piece.value, pieces.pop().at)
        pieces.append(piece)
    return pieces


@looped("pieces", every_cut_in_two('{"a": ["\\u00e9", -1.5e3, {"b": null}]}'))
def test_they_come_with_the_delta_that_made_them_certain_and_are_those_of_the_machine(pieces: list[str]):
    expected = [fragment for fragment in drive(pieces, json_fragments()) if isinstance(fragment, Fragment)]
    assert [each.fragment for each in progress(call(0, "c", "f", *pieces))] == expected


def test_a_call_that_is_no_json_gives_what_was_certain_before():
    bad = [each.fragment for each in progress(TROUBLE) if each.tool_call_id == "bad"]
    assert [(piece.path, piece.kind) for piece in bad] == [((), "OPEN")]


def test_a_call_that_the_provider_runs_gives_none():
    delta = ToolCallDelta(0, "c", "web_search", '{"query": "x"}', executed_by="provider", done=True)
    assert progress([ChunkResponse(tool_calls=(delta,)), *STOP]) == []


def test_the_segments_pass_if_wanted_each_before_its_pieces():
    chunks = [*call(0, "c", "f", '{"a"', ": 1}", done=True), *STOP]
    given = answered(chunks, to_segments(turn_id=TURN), argument_progress(keep_segments=True))
    kept = [each for each in given if isinstance(each, SegmentEvent)]
    assert kept == answered(chunks, to_segments(turn_id=TURN))
    assert [getattr(each, "type", None) or each.fragment.kind for each in given] == [
        *("SEGMENT_START", "SEGMENT_CONTENT", "OPEN", "SEGMENT_CONTENT", "SCALAR", "DONE", "DONE", "SEGMENT_END")
    ]


def test_a_delta_costs_the_same_however_much_came_before():
    small, middle, large = (calls_made(FIELDS, file_of(units)) for units in (50, 530, 2930))
    assert (middle - small) * 5 == large - middle


def test_a_hundred_thousand_characters_one_by_one_are_a_piece_each():
    text = json.dumps({"content": "x" * 100_000})
    pieces = progress(call(0, "c", "write_file", *text), FIELDS)
    assert sum(each.fragment.kind == "TEXT" for each in pieces) == 100_000


def test_a_malformed_field_call_gives_no_pieces_that_nobody_wrote_wherever_it_is_cut():
    text = '{"command": "ls"; "a": 1}'
    whole = [("command",)] * 3
    for place in range(1, len(text)):
        chunks = call(0, "c", "run_bash", text[:place], text[place:], done=True)
        pieces = [each.fragment for each in progress(chunks, FIELDS)]
        joined = [
            piece for number, piece in enumerate(pieces) if piece.kind != "TEXT" or pieces[number - 1].kind != "TEXT"
        ]
        assert [piece.path for piece in joined] == [(), *whole]
