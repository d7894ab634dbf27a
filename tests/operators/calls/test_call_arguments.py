from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from law_oracles import raw_by_segment
from looped import looped
from operator_contract import SIDE_BY_SIDE, STOP, TURN, WRITING, call
from segment_events import payload_of
from strategies.answers import answers
from untyped import drive

from penstock.events import (
    ChunkResponse,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    from_json,
    to_json,
)
from penstock.events.segment_event import AnySegmentEvent, Fragment
from penstock.operators import FieldSpec, holdback, stream_fields, strip_markers, to_invocations, to_segments, within
from penstock.operators.calls.call_arguments import CallArguments
from penstock.operators.calls.field_spec import FILE_TOOLS, called_name
from penstock.operators.machines.json_values import FragmentAggregator

SPECS = {spec.segment_type: spec for spec in FILE_TOOLS}


def segments(chunks: Iterable[ChunkResponse], *, fields: bool = False) -> list[SegmentEvent]:
    operator = to_segments(turn_id=TURN)
    events = drive(chunks, operator, stream_fields()) if fields else drive(chunks, operator)
    return [event for event in events if isinstance(event, SegmentEvent)]


def read_back(events: Iterable[SegmentEvent]) -> list[SegmentEvent]:
    """Return events as they are after their JSON form; made without JSON, which has no infinities."""
    return [msgspec.structs.replace(event, raw="", fragments=None) for event in events]


def per_call(events: Iterable[SegmentEvent], method: str) -> dict[str, list[Any]]:
    """Return, for each call, what `method` returned for each event of its segment; the call is frozen after each."""
    states: dict[str, bytes] = {}
    given: dict[str, list[Any]] = {}
    for event in events:
        if isinstance(event, SegmentStart):
            name = called_name(event, SPECS)
            if name is None:
                continue
            opened = CallArguments(event, name, SPECS)
            states[event.segment_id] = msgspec.json.encode(opened.dump())
        if event.segment_id in states:
            thawed = CallArguments(SegmentStart("", "tool_call"), "", SPECS)
            thawed.load(msgspec.json.decode(states[event.segment_id]))
            given.setdefault(event.segment_id, []).append(getattr(thawed, method)(event))
            states[event.segment_id] = msgspec.json.encode(thawed.dump())
    return given


def texts(events: Iterable[SegmentEvent]) -> dict[str, str]:
    return {key: "".join(each) for key, each in per_call(events, "text").items()}


def fragments(events: Iterable[SegmentEvent]) -> dict[str, list[Fragment]]:
    """Return the fragments of each call, neighbouring pieces of a text as one."""
    given: dict[str, list[Fragment]] = {}
    for key, batches in per_call(events, "fragments").items():
        mine = given[key] = []
        for piece in (piece for batch in batches for piece in batch):
            if piece.kind == "TEXT" and mine and mine[-1].kind == "TEXT":
                mine[-1] = msgspec.structs.replace(mine[-1], value=mine[-1].value + piece.value)
            else:
                mine.append(piece)
    return given


def value_of(pieces: Sequence[Fragment]) -> Any:
    values = FragmentAggregator()
    values.feed_all(pieces)
    return values.value if values.done else None


def invoked(events: Iterable[SegmentEvent]) -> dict[str, Any]:
    return {each.id: each.arguments for each in drive(events, to_invocations()) if isinstance(each, ToolInvocation)}


@given(answers())
def test_the_text_of_a_call_is_its_raw_text_as_a_call_and_as_a_field(answer: list[ChunkResponse]):
    calls = segments(answer)
    by_id = texts(calls)
    raw = raw_by_segment(calls)
    assert by_id == {key: raw[key] for key in by_id}
    assert texts(segments(answer, fields=True)) == by_id


@given(answers())
def test_the_fragments_of_a_call_that_was_read_back_are_those_that_it_had(answer: list[ChunkResponse]):
    events = segments(answer)
    named = {event.segment_id for event in events if getattr(event, "metadata", {}).get("tool_name")}
    before, after = fragments(events), fragments(read_back(events))
    # A call whose name never came is not parsed, except where nobody can know that any more.
    assert {key: before[key] for key in named & set(before)} == {key: after[key] for key in named & set(after)}


@given(answers())
def test_the_fragments_of_an_invoked_call_are_its_arguments_wherever_they_come_from(answer: list[ChunkResponse]):
    calls, fields = segments(answer), segments(answer, fields=True)
    for events in (calls, fields, read_back(calls), read_back(fields)):
        values = {key: value_of(each) or {} for key, each in fragments(events).items()}
        for key, arguments in invoked(events).items():
            assert values[key] == arguments


@given(answers())
def test_a_field_segment_that_was_read_back_is_written_as_json_of_the_same_arguments(answer: list[ChunkResponse]):
    events = read_back(segments(answer, fields=True))
    written = texts(events)
    fields = {event.segment_id for event in events if event.segment_type in SPECS}
    for key, arguments in invoked(events).items():
        if key in fields:
            assert json.loads(written[key] or "{}") == arguments  # a call without arguments has no text


@pytest.mark.parametrize("chunks", [WRITING, SIDE_BY_SIDE])
def test_events_through_their_json_form_give_the_same_arguments(chunks: tuple[ChunkResponse, ...]):
    events = segments(chunks, fields=True)
    stored = [from_json(to_json(event)) for event in events]
    read = [event for event in stored if isinstance(event, SegmentEvent)]
    assert {key: value_of(each) for key, each in fragments(read).items()} == invoked(events)


def test_markup_around_a_call_in_text_is_no_argument_text():
    opening, inside, closing = '<tool_call>{"name": "f", "arguments": ', '{"a": 1}', "}</tool_call>"
    events: list[AnySegmentEvent] = [
        SegmentStart("c", "tool_call", {"tool_name": "f"}, raw=opening, fragments=()),
        SegmentContent("c", "tool_call", inside, raw=inside),
        SegmentEnd("c", "tool_call", "complete", raw=closing, fragments=()),
    ]
    assert texts(events) == {"c": inside}
    assert value_of(fragments(events)["c"]) == {"a": 1}


def test_calls_that_the_provider_runs_and_segments_of_text_are_no_calls():
    delta = ToolCallDelta(0, "c", "web_search", '{"query": "x"}', executed_by="provider", done=True)
    assert texts(segments([ChunkResponse(content="hi", tool_calls=(delta,)), *STOP])) == {}


@pytest.mark.parametrize(
    ("metadata", "name"), [({}, "run_bash"), ({"tool_name": "bash"}, "bash"), ({"cwd": "/"}, "run_bash")]
)
def test_a_field_segment_without_a_tools_name_is_of_its_specs_tool(metadata: dict[str, Any], name: str):
    assert called_name(SegmentStart("s", "run_bash", metadata), SPECS) == name


def foreign(kind: str, start: dict[str, Any], deltas: Sequence[str], end: dict[str, Any]) -> list[SegmentEvent]:
    return [
        SegmentStart("s", kind, start),
        *(SegmentContent("s", kind, delta) for delta in deltas),
        SegmentEnd("s", kind, **{"status": None, **end}),
    ]


def test_what_start_says_of_a_field_segment_is_told_at_once():
    events = foreign("write_file", {"tool_name": "write_file", "path": "a.py"}, ['say "hi"\n'], {})
    assert per_call(events, "text")["s"] == ['{"path": "a.py"', ', "content": "say \\"hi\\"\\n', '"}']


def test_other_names_are_understood_in_what_others_wrote():
    events = foreign("run_bash", {"timeoutSeconds": 5}, ["ls"], {"status": "complete"})
    assert json.loads(texts(events)["s"]) == {"timeout_seconds": 5, "command": "ls"} == invoked(events)["s"]


def test_a_value_that_end_corrects_is_written_again_so_that_the_last_wins():
    events = foreign("write_file", {"tool_name": "write_file", "path": "a"}, ["x"], {"metadata": {"path": "b"}})
    assert json.loads(texts(events)["s"]) == {"path": "b", "content": "x"}
    assert value_of(fragments(events)["s"]) == {"path": "b", "content": "x"}


@pytest.mark.parametrize("status", ["truncated", "interrupted", "failed"])
def test_content_that_may_be_cut_is_not_closed(status: str):
    end = {"status": status, "metadata": {"mode": 1}}
    events = foreign("write_file", {"tool_name": "write_file", "path": "a"}, ["x"], end)
    assert texts(events)["s"] == '{"path": "a", "content": "x'
    assert [piece.kind for piece in fragments(events)["s"]][-1] == "TEXT"


def test_a_field_segment_cut_before_its_content_tells_what_is_known_and_stays_open():
    events = foreign("write_file", {"tool_name": "write_file"}, [], {"status": "truncated", "metadata": {"path": "a"}})
    assert texts(events)["s"] == '{"path": "a"'


def test_a_number_beyond_all_floats_is_written_as_a_number():
    huge = {"n": [float("inf"), -float("inf")], "text": 'Infinity "Infinity" \\'}
    events = foreign("write_file", {"tool_name": "write_file", **huge}, ["-Infinity"], {"status": "complete"})
    assert value_of(fragments(events)["s"]) == {**huge, "content": "-Infinity"}


def test_an_empty_content_is_an_argument():
    events = segments([*call(0, "c", "write_file", '{"path": "a", "content": ""}', done=True), *STOP], fields=True)
    assert json.loads(texts(read_back(events))["c"]) == {"path": "a", "content": ""}


def test_a_segment_of_a_type_that_no_spec_explains_has_no_text_that_could_be_known():
    spec = FieldSpec("save_note", "body")
    chunks = [*call(0, "c", "save_note", '{"body": "x"}', done=True), *STOP]
    events = [each for each in drive(chunks, to_segments(), stream_fields([spec])) if isinstance(each, SegmentEvent)]
    assert texts(events)["c"] == '{"body": "x"}'
    assert texts(read_back(events))["c"] == ""


@pytest.mark.parametrize("where", ["start", "end"])
def test_arguments_that_stand_in_the_metadata_only_are_told(where: str):
    told = {"tool_name": "f", "arguments": {"a": [1, "é"]}}
    events = foreign("tool_call", told if where == "start" else {"tool_name": "f"}, [], {"metadata": told})
    assert texts(events)["s"] == '{"a": [1, "é"]}'
    assert value_of(fragments(events)["s"]) == {"a": [1, "é"]}


def test_arguments_that_the_end_repeats_are_told_once():
    chunks = [*call(0, "c", "f", '{"a"', ": 1}", done=True), *call(1, "d", "f", "", done=True), *STOP]
    events = [event for event in drive(chunks, to_segments(end_arguments=True)) if isinstance(event, SegmentEvent)]
    assert texts(events) == texts(read_back(events)) == {"c": '{"a": 1}', "d": ""}
    assert value_of(fragments(events)["c"]) == value_of(fragments(read_back(events))["c"]) == {"a": 1}


@pytest.mark.parametrize("tool", ["free", "run_bash"])
def test_a_free_form_text_is_the_argument_input_also_where_it_was_read_back(tool: str):
    updates = [
        ToolCallDelta(0, "c", tool, "l", kind="text"),
        ToolCallDelta(0, arguments_delta="s", kind="text", done=True),
    ]
    chunks = [*(ChunkResponse(tool_calls=(update,)) for update in updates), *STOP]
    calls, fields = segments(chunks), segments(chunks, fields=True)
    assert fragments(read_back(calls)) == fragments(calls)
    for events in (calls, fields, read_back(calls), read_back(fields)):
        assert value_of(fragments(events)["c"]) == {"input": "ls"}


def test_content_that_the_end_repeats_is_told_once():
    end = {"status": "complete", "metadata": {"mode": 1, "arguments": {"content": "xy"}}}
    events = foreign("write_file", {"tool_name": "write_file", "path": "a"}, ["x", "y"], end)
    assert texts(events)["s"] == '{"path": "a", "content": "xy", "mode": 1}'


@pytest.mark.parametrize("stored", [False, True])
def test_a_free_form_text_that_is_cut_has_not_ended(stored: bool):
    chunks = [ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "free", "some te", kind="text"),))]
    events = segments(chunks)
    last = fragments(read_back(events) if stored else events)["c"][-1]
    assert (last.path, last.kind, last.value) == (("input",), "TEXT", "some te")


def test_a_number_at_the_root_is_known_at_the_end_and_only_if_it_was_not_cut():
    for status, kinds in (("complete", ["SCALAR", "DONE"]), ("truncated", [])):
        events = foreign("tool_call", {"tool_name": "f"}, ["1", "2"], {"status": status})
        assert [piece.kind for piece in fragments(events)["s"]] == kinds


def test_after_what_is_no_json_nothing_is_told():
    events = foreign("tool_call", {"tool_name": "f"}, ['{"a": 1, b', '": 2}'], {"status": "failed"})
    assert [piece.path for piece in fragments(events)["s"]] == [(), ("a",), ("a",)]


def test_behind_what_is_no_json_a_field_segment_has_no_pieces_wherever_it_is_cut():
    text = '{"command": "ls"; "a": 1}'
    for place in range(1, len(text)):
        events = segments([*call(0, "c", "run_bash", text[:place], text[place:], done=True), *STOP], fields=True)
        pieces = [(piece.path, piece.kind) for piece in fragments(events)["c"]]
        assert pieces == [((), "OPEN"), *((("command",), kind) for kind in ("OPEN", "TEXT", "DONE"))]


def test_what_comes_without_fragments_behind_parsed_pieces_is_not_taken_for_a_new_root():
    events = segments(call(0, "c", "f", '{"a"', ": [", done=False))
    unparsed = SegmentContent("c", "tool_call", '"x"', turn_id=TURN, raw='"x"')
    assert fragments([*events[:-1], unparsed]) == fragments(events[:-1])


CHANGES = [within(lambda _: True, holdback('"', "<end>")), within(lambda _: True, strip_markers("l", "d"))]


@looped("change", CHANGES, ids=["held back", "stripped"])
@looped("stored", [False, True], ids=["in process", "read back"])
@looped("fields", [False, True], ids=["calls", "fields"])
@looped("tool", ["f", "run_bash"])
def test_what_within_changes_is_what_is_shown_and_never_the_arguments(
    tool: str, fields: bool, stored: bool, change: Any
):
    chunks = [
        *call(0, "c", tool, '{"command": "ls <end>", "cwd": "/x"}', done=True),
        ChunkResponse(tool_calls=(ToolCallDelta(1, "d", "free", "ls <end>l", kind="text", done=True),)),
        *STOP,
    ]
    events = segments(chunks, fields=fields)
    events = read_back(events) if stored else events
    changed = [event for event in drive(events, change) if isinstance(event, SegmentEvent)]
    assert [payload_of(event) for event in changed] != [payload_of(event) for event in events]
    assert fragments(changed) == fragments(events)
    assert {key: value_of(each) for key, each in fragments(changed).items()} == {
        "c": {"command": "ls <end>", "cwd": "/x"},
        "d": {"input": "ls <end>l"},
    }
