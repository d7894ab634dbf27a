"""`PartReader`: events become texts, and calls with the JSON text of their arguments, whatever the model wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from dialect_calls import WRITING, written
from looped import looped

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    ToolResult,
    UsageError,
    from_json,
    to_json,
)
from penstock.operators import drive, parse_text, stream_fields, to_invocations, to_segments
from penstock.operators.engine.stage import Completed, How, Interrupted
from penstock.sinks.parts.answer_parts import (
    CallDelta,
    CallEnd,
    CallStart,
    Media,
    TextDelta,
    TextEnd,
    TextStart,
    TurnStart,
)
from penstock.sinks.parts.part_reader import PartReader


def parts_of(events: Iterable[Any], how: How | None = None) -> list[Any]:
    reader = PartReader()
    return [part for event in events for part in reader.feed(event)] + reader.close(how or Completed())


def answer(*chunks: ChunkResponse, fields: bool = True) -> list[Any]:
    behind = (stream_fields(), to_invocations(keep_segments=True)) if fields else ()
    return list(drive(chunks, to_segments(turn_id="t"), *behind))


def call(arguments: str, *, index: int = 0, name: str = "f", **more: Any) -> ChunkResponse:
    return ChunkResponse(tool_calls=(ToolCallDelta(index, f"c{index}", name, arguments, **more),))


def more_of(arguments: str, index: int = 0) -> ChunkResponse:
    return ChunkResponse(tool_calls=(ToolCallDelta(index, arguments_delta=arguments),))


END = ChunkResponse(is_complete=True, finish_reason="stop")


def ends_in(parts: list[Any]) -> list[CallEnd]:
    return [each for each in parts if isinstance(each, CallEnd)]


def sent(parts: list[Any], call_id: str) -> list[str]:
    return [each.delta for each in parts if isinstance(each, CallDelta) and each.call.id == call_id]


def test_arguments_of_a_providers_call_pass_as_the_model_wrote_them():
    parts = parts_of(
        answer(call('{"a" :'), more_of(" 1"), more_of(",\n"), more_of('"b":"\\u00e9"}'), END, fields=False)
    )
    assert sent(parts, "c0") == ['{"a" :', " 1", ",\n", '"b":"\\u00e9"}']
    assert ends_in(parts)[0].arguments == {"a": 1, "b": "é"}


@looped("name", WRITING)
@looped("behind", [(), (stream_fields(), to_invocations(keep_segments=True)), (to_invocations(),)])
def test_the_arguments_of_every_dialect_become_their_json(name: str, behind: tuple[Any, ...]):
    case = written(name, 'a "b"\n<c>')
    pieces = [case.text[at : at + 3] for at in range(0, len(case.text), 3)]
    parts = parts_of(drive(pieces, parse_text(case.dialect, turn_id="t", tools=case.tools), *behind))
    (end,) = ends_in(parts)
    assert (end.call.name, end.arguments, end.error) == (case.name, case.arguments, None)
    assert json.loads(end.text) == case.arguments
    assert "".join(sent(parts, end.call.id)) == end.text


def test_a_files_segment_is_given_both_ways():
    parts = parts_of(answer(call('{"path": "a.py", "content": "x', name="write_file"), more_of('y"}'), END))
    kinds = [type(each) for each in parts]
    assert [kinds.count(each) for each in (CallStart, CallEnd, SegmentStart, SegmentEnd)] == [1, 1, 1, 1]
    assert "".join(sent(parts, "c0")) == '{"path": "a.py", "content": "xy"}'
    assert "".join(each.delta for each in parts if isinstance(each, SegmentContent)) == "xy"


def test_a_call_ends_when_its_verdict_is_there():
    *events, invocation, answer_end = answer(call("{}"), END)
    reader = PartReader()
    before = [part for event in events for part in reader.feed(event)]
    assert (isinstance(events[-1], SegmentEnd), ends_in(before)) == (True, [])
    assert [type(each) for each in reader.feed(invocation)] == [CallEnd]
    assert reader.feed(answer_end) == [answer_end]


def test_a_call_without_a_verdict_ends_with_the_next_event():
    events = answer(call('{"n": 1}'), END, fields=False)
    end, after = parts_of(events)[-2:]
    assert (end.arguments, after) == ({"n": 1}, events[-1])


@pytest.mark.parametrize(
    ("events", "status", "error"),
    [
        (answer(call('{"n": ')), "truncated", "truncated (at 6: expected a value, found the end)"),
        (answer(call('{"n": x}'), END), "failed", "malformed (at 6: expected a value, found x)"),
        (answer(call('{"n": 1'), fields=False), "truncated", "truncated"),
    ],
)
def test_a_call_that_must_not_be_run_says_why(events: list[Any], status: str, error: str):
    (end,) = ends_in(parts_of(events))
    assert (end.status, end.arguments, end.error) == (status, None, error)


def test_what_is_open_when_the_events_break_off_is_ended():
    text = SegmentStart("t:text_0", "text", turn_id="t")
    begun = SegmentStart("c", "tool_call", {"tool_name": "f"}, turn_id="t")
    parts = parts_of([text, begun], Interrupted("enough"))
    end = ends_in(parts)[0]
    assert (end.status, end.error) == ("interrupted", "interrupted: enough")
    assert TextEnd("t:text_0", "text", "interrupted", {}) in parts


def test_a_verdict_without_segments_is_a_whole_call():
    invocation = ToolInvocation("c", "t", "f", {"a": 1})
    failed = InvocationFailed("d", "t", "g", '{"a', "truncated")
    turn, first, delta, end, _, rest, broken = parts_of([invocation, failed])
    assert (turn, first.call.name, json.loads(delta.delta), end.arguments) == (TurnStart("t"), "f", {"a": 1}, {"a": 1})
    assert (rest.delta, broken.error, broken.arguments) == ('{"a', "truncated", None)


def test_an_invocation_that_comes_before_the_end_of_its_call_counts():
    start = SegmentStart("c", "tool_call", {"tool_name": "f"}, turn_id="t")
    content = SegmentContent("c", "tool_call", "{}", turn_id="t", raw="{}")
    end = SegmentEnd("c", "tool_call", "complete", turn_id="t")
    (ended,) = ends_in(parts_of([start, content, ToolInvocation("c", "t", "f", {"by": "model"}), end]))
    assert ended.arguments == {"by": "model"}


def test_a_free_form_tool_has_its_text():
    (end,) = ends_in(parts := parts_of(answer(call("*** B", kind="text"), more_of("egin"), END)))
    assert (sent(parts, "c0"), end.call.form, end.arguments) == (["*** B", "egin"], "text", {"input": "*** Begin"})


def test_texts_media_and_the_end_of_the_answer_come_in_order():
    parts = parts_of(answer(ChunkResponse(reasoning="Hm"), ChunkResponse(content="Hi", image_urls=("u",)), END))
    kinds = [TurnStart, TextStart, TextDelta, TextEnd, TextStart, TextDelta, TextEnd, Media, AnswerEnd]
    assert [type(each) for each in parts] == kinds
    assert (parts[1].kind, parts[4].kind, parts[7]) == ("reasoning", "text", Media("t:media_0", "image", "u"))


def test_an_id_that_an_earlier_turn_had_is_told_apart_and_so_is_its_result():
    turns = [
        event
        for turn in ("t1", "t2")
        for event in (
            *drive([call("{}"), END], to_segments(turn_id=turn), to_invocations(keep_segments=True)),
            ToolResult("c0", turn_id=turn, value=turn),
        )
    ]
    parts = parts_of(turns)
    assert [each.call.id for each in ends_in(parts)] == ["c0", "t2:c0"]
    assert [(each.id, each.value) for each in parts if isinstance(each, ToolResult)] == [("c0", "t1"), ("t2:c0", "t2")]
    assert [each.turn_id for each in parts if isinstance(each, TurnStart)] == ["t1", "t2"]


def test_a_result_that_says_no_turn_belongs_to_the_last_call_of_its_id():
    *_, result = parts_of([ToolInvocation("c", "t1"), ToolInvocation("c", "t2"), ToolResult("c", value=1)])
    assert result.id == "t2:c"


def test_events_that_were_read_back_from_json_give_the_same_calls():
    events = answer(call('{"path": "a.py", "content": "x', name="write_file"), more_of('y"}'), END)
    again = [from_json(to_json(each)) for each in events]
    assert [each.arguments for each in ends_in(parts_of(again))] == [
        each.arguments for each in ends_in(parts_of(events))
    ]
    assert json.loads(ends_in(parts_of(again))[0].text) == {"path": "a.py", "content": "xy"}


def test_what_is_no_part_passes_and_a_chunk_is_refused():
    notice, own = Notice("code", "detail"), {"type": "mine"}
    assert parts_of([notice, own]) == [notice, own]
    with pytest.raises(UsageError, match="to_segments"):
        PartReader().feed(ChunkResponse(content="x"))


def test_a_call_that_repeats_another_is_not_to_be_run():
    end = SegmentEnd("c", "tool_call", "complete", metadata={"tool_name": "f", "duplicate_of": "b"}, turn_id="t")
    events = [SegmentStart("c", "tool_call", {"tool_name": "f"}, turn_id="t"), end]
    [ended] = [part for part in parts_of(events) if isinstance(part, CallEnd)]
    assert (ended.arguments, ended.error) == (None, "a repetition of b")


@pytest.mark.parametrize("text", ["nul", "[1", "tru", "hello"])
def test_the_text_of_arguments_that_are_no_object_stays_as_it_came(text: str):
    [ended] = [part for part in parts_of(answer(call(text, name="write_file"), END)) if isinstance(part, CallEnd)]
    assert (ended.text, ended.arguments) == (text, None)


def test_a_verdict_behind_events_of_another_stream_is_that_of_its_call():
    one, other = (
        list(drive([call("{}"), END], to_segments(turn_id=turn), stream_fields(), to_invocations(keep_segments=True)))
        for turn in ("a", "b")
    )
    merged = [event for pair in zip(one, other, strict=True) for event in pair]
    ends = [part for part in parts_of(merged) if isinstance(part, CallEnd)]
    assert [(end.call.turn_id, end.arguments, end.error) for end in ends] == [("a", {}, None), ("b", {}, None)]


def test_a_call_whose_failure_comes_behind_events_of_another_stream_never_looks_runnable():
    begun = SegmentStart("c", "tool_call", {"tool_name": "f"}, turn_id="t")
    ended = SegmentEnd("c", "tool_call", "complete", metadata={"tool_name": "f"}, turn_id="t")
    failure = InvocationFailed("c", "t", "f", "{}", "invalid")
    text = SegmentStart("s", "text", turn_id="other")
    [end] = [part for part in parts_of([begun, ended, text, failure]) if isinstance(part, CallEnd)]
    assert (end.arguments, end.error) == (None, "invalid")


MUTANTS = {
    "a repeated call may be run by a front end": (["tests/sinks/parts/test_part_reader.py", "tests/sinks/parts/test_odd_parts.py"], ("sinks/parts/part_reader.py", '        if (first := event.metadata.get("duplicate_of")) is not None:\n', '        if (first := event.metadata.get("duplicate_of")) == "":\n')),
}  # fmt: skip
