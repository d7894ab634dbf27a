from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
import pytest
import reactivex
from answered import answered, before_the_end
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from operator_contract import FROM_CALLS, Case, read_back
from segment_events import payload_of
from strategies.cuts import cuts, every_cut_in_two
from untyped import drive, stage

from penstock.events import (
    ChunkResponse,
    InvocationFailed,
    Notice,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    UsageError,
    from_json,
    to_json,
)
from penstock.operators import FieldSpec, Interrupted, Limits, Operator, stream_fields, to_invocations, to_segments
from penstock.operators.calls.field_spec import FILE_TOOLS

CONTRACT = (
    Case("stream_fields", stream_fields(), FROM_CALLS),
    Case("stream_fields several", stream_fields([FieldSpec("write_file", paths=("path", "content"))]), FROM_CALLS),
    Case("stream_fields immediate", stream_fields(start="immediate"), read_back(FROM_CALLS)),
)

CALLS = ChunkResponse(finish_reason="tool_calls")
STRICT = stream_fields(replace(spec, strict=True) for spec in FILE_TOOLS)
MARKED = FieldSpec("write_file", "content", ("path",), ("path",), markers=("<S>", "<E>"))


def chunks_of(pieces: Iterable[str], name: str = "write_file", **said: Any) -> list[ChunkResponse]:
    """Return a call in chunks: its id and name, its argument text in pieces, the end of the answer."""
    first = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", name, **said),))
    rest = [ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=piece),)) for piece in pieces]
    return [first, *rest, CALLS]


def run(*pieces: str, name: str = "write_file", fields: Operator[Any, Any] | None = None, **said: Any) -> list[Any]:
    return answered(chunks_of(pieces, name, **said), to_segments(turn_id="t"), fields or stream_fields())


def told(events: list[Any]) -> list[tuple[str, str | None, Any]]:
    """Return what events say without ids: START with metadata, CONTENT with text, END with its payload."""
    lines: list[tuple[str, str | None, Any]] = []
    for event in events:
        kind = event.type.removeprefix("SEGMENT_")
        said: Any = payload_of(event)
        if kind != "END":
            said = said["metadata" if kind == "START" else "delta"]
        lines.append((kind, event.segment_type, said))
    return lines


def joined(events: list[Any]) -> tuple[list[Any], str, list[Any]]:
    """Return the same with all content in one piece, and no segment without its content."""
    lines = told(events)
    content = "".join(said for kind, _, said in lines if kind == "CONTENT")
    return [line for line in lines if line[0] == "START"], content, [line for line in lines if line[0] == "END"]


def result(*pieces: str, **options: Any) -> ToolInvocation | InvocationFailed:
    (only,) = drive(run(*pieces, **options), to_invocations())
    assert isinstance(only, ToolInvocation | InvocationFailed)
    return only


def test_a_call_of_a_named_tool_becomes_a_segment_whose_content_is_one_decoded_argument() -> None:
    assert told(run('{"path": "a.py", "con', 'tent": "x', " = 1\\", 'n"}')) == [
        ("START", "write_file", {"tool_name": "write_file", "path": "a.py"}),
        ("CONTENT", "write_file", "x"),
        ("CONTENT", "write_file", " = 1"),
        ("CONTENT", "write_file", "\n"),
        ("END", "write_file", {"status": "complete", "metadata": {"tool_name": "write_file", "path": "a.py"}}),
    ]


@pytest.mark.parametrize(
    ("name", "field"), [("write_file", "content"), ("edit_file", "patch"), ("patch_file", "patch")]
)
def test_the_file_tools_stream_their_field(name: str, field: str) -> None:
    events = run(f'{{"path": "a", "{field}": "b', 'c"}', name=name)
    assert {event.segment_type for event in events} == {name}
    assert [event.delta for event in events[1:3]] == ["b", "c"]
    assert {(event.segment_id, event.turn_id) for event in events} == {("c", "t")}


def test_a_command_streams_from_its_first_character_on() -> None:
    chain = stage(to_segments(turn_id="t"), stream_fields())
    chain.feed(chunks_of(["{"], "run_bash")[0])
    given = [
        told(chain.feed(chunk)) for chunk in chunks_of(['{"timeout_seconds": 5, "command"', ': "', "l", 's"', "}"])[1:]
    ]
    assert given == [
        [],
        [("START", "run_bash", {"tool_name": "run_bash", "timeout_seconds": 5})],
        [("CONTENT", "run_bash", "l")],
        [("CONTENT", "run_bash", "s")],
        [],
        [("END", "run_bash", {"status": "complete", "metadata": {"tool_name": "run_bash", "timeout_seconds": 5}})],
    ]


def test_start_waits_for_the_required_metadata_and_what_was_kept_back_follows_it() -> None:
    chain = stage(to_segments(turn_id="t"), stream_fields())
    first, *pieces, last = chunks_of(['{"content": "a', 'b", "path": "p', '"', "}"])
    assert [told(chain.feed(chunk)) for chunk in (first, *pieces)] == [
        [],
        [],
        [],
        [("START", "write_file", {"tool_name": "write_file", "path": "p"}), ("CONTENT", "write_file", "ab")],
        [],
    ]
    assert told(chain.feed(last))[0][0] == "END"


def test_start_waits_until_the_end_at_most_and_what_is_required_is_missed_there() -> None:
    missing = {"loc": ["path"], "msg": "missing", "type": "missing"}
    start, content, end = run('{"content": "a"}', fields=STRICT)
    assert told([start, content]) == [
        ("START", "write_file", {"tool_name": "write_file"}),
        ("CONTENT", "write_file", "a"),
    ]
    assert payload_of(end) == {
        "status": "failed",
        "reason": "missing_path",
        "metadata": {"tool_name": "write_file", "error": missing},
    }


@pytest.mark.parametrize("text", ['{"content": "a"}', '{"name": "a.py", "content": "x"}', "{}"])
def test_a_call_that_does_not_fit_a_spec_that_is_not_strict_passes_as_it_is(text: str) -> None:
    for pieces in ([text], list(text)):
        plain = run(*pieces, fields=stream_fields(()))
        assert run(*pieces) == plain
        assert [event.segment_type for event in plain] == ["tool_call"] * len(plain)


def test_a_call_that_does_not_fit_passes_from_a_dumped_state_too() -> None:
    before, after = '{"name": "a", "n": 1e999, "con', 'tent": "x"}'
    straight = run(before, after)
    first, second, third, end = chunks_of([before, after])
    chain, moved = (stage(to_segments(turn_id="t"), stream_fields()) for _ in range(2))
    assert chain.feed(first) == chain.feed(second) == []
    moved.load(msgspec.json.decode(msgspec.json.encode(chain.dump())))
    assert before_the_end([*moved.feed(third), *moved.feed(end), *moved.close()]) == straight


def test_where_start_was_out_a_call_that_does_not_fit_ends_without_what_is_missing() -> None:
    options: dict[str, Any]
    for options in ({"start": "immediate"}, {"limits": Limits(deferred_length=3)}):
        events = run('{"content": "', "abcd", 'e"}', fields=stream_fields(**options))
        assert {event.segment_type for event in events} == {"write_file"}
        assert payload_of(events[-1]) == {"status": "complete", "metadata": {"tool_name": "write_file"}}


def test_a_cut_call_is_not_asked_whether_it_fits() -> None:
    events = run('{"content": "a')
    assert [event.segment_type for event in events] == ["write_file"] * 3
    assert events[-1].status == "truncated"


def test_start_waits_until_too_much_is_kept_back() -> None:
    chain = stage(to_segments(turn_id="t"), stream_fields(limits=Limits(deferred_length=3)))
    first, *pieces, _ = chunks_of(['{"content": "ab', "c", "d", "e"])
    assert [len(chain.feed(chunk)) for chunk in (first, *pieces)] == [0, 0, 0, 2, 1]


def test_an_immediate_start_follows_the_calls_and_the_end_says_what_was_not_known_then() -> None:
    chain = stage(to_segments(turn_id="t"), stream_fields(start="immediate"))
    first, *pieces, last = chunks_of(['{"content": "a', 'b", "path": "p"}'])
    assert [told(chain.feed(chunk)) for chunk in (first, *pieces, last)] == [
        [("START", "write_file", {"tool_name": "write_file"})],
        [("CONTENT", "write_file", "a")],
        [("CONTENT", "write_file", "b")],
        [("END", "write_file", {"status": "complete", "metadata": {"tool_name": "write_file", "path": "p"}})],
    ]


def test_no_specs_turn_it_off() -> None:
    pieces = ('{"path": "a", ', '"content": "x"}')
    assert run(*pieces, fields=stream_fields(())) == answered(chunks_of(pieces), to_segments(turn_id="t"))


@pytest.mark.parametrize("name", ["Write_File", "write_files", "other", "run_bash "])
def test_a_tool_is_named_exactly(name: str) -> None:
    assert {event.segment_type for event in run('{"path": "a"}', name=name)} == {"tool_call"}


def test_a_spec_of_ones_own_names_its_tool_its_field_and_its_segments() -> None:
    spec = FieldSpec("save_note", "body", ("title", "tags"), ("title",), segment_type="note")
    events = run(
        '{"tags": ["a"], "body": "b", "title": "t", "more": {"x": [1]}}', name="save_note", fields=stream_fields([spec])
    )
    assert told(events) == [
        ("START", "note", {"tool_name": "save_note", "tags": ["a"], "title": "t"}),
        ("CONTENT", "note", "b"),
        (
            *("END", "note"),
            {
                "status": "complete",
                "metadata": {"tool_name": "save_note", "tags": ["a"], "title": "t", "more": {"x": [1]}},
            },
        ),
    ]


def test_the_end_has_the_other_arguments_and_never_the_streamed_one() -> None:
    text = '{"path": "a", "content": "long", "mode": 420, "meta": {"content": "inner"}}'
    metadata = {"tool_name": "write_file", "path": "a", "mode": 420, "meta": {"content": "inner"}}
    for pieces in ([text], list(text)):
        assert run(*pieces)[-1].metadata == metadata


def test_the_ends_own_arguments_are_not_sent_a_second_time() -> None:
    chain = (to_segments(turn_id="t", end_arguments=True), stream_fields())
    end = answered(chunks_of(['{"path": "a", "content": "x"}']), *chain)[-1]
    assert end.metadata == {"tool_name": "write_file", "path": "a"}


def test_keys_of_the_same_name_inside_other_arguments_are_not_the_field() -> None:
    text = '{"meta": {"path": "no", "content": "no"}, "list": [{"content": "no"}], "path": "a", "content": "yes"}'
    for pieces in ([text], list(text)):
        starts, content, _ = joined(run(*pieces))
        assert starts == [("START", "write_file", {"tool_name": "write_file", "path": "a"})]
        assert content == "yes"


@pytest.mark.parametrize("value", ["5", "null", "true", "[1, [2]]", '{"a": {"b": "c"}}', "[]"])
def test_a_field_that_is_no_string_is_an_argument_like_any_other(value: str) -> None:
    text = f'{{"path": "a", "content": {value}, "more": 1}}'
    for pieces in ([text], list(text)):
        events = run(*pieces)
        assert [event.type for event in events] == ["SEGMENT_START", "SEGMENT_END"]
        assert events[-1].metadata["content"] == json.loads(value)
        assert result(*pieces).arguments == json.loads(text)  # type: ignore[union-attr]


def test_an_empty_field_has_no_content_and_is_an_argument() -> None:
    assert [event.type for event in run('{"path": "a", "content": ""}')] == ["SEGMENT_START", "SEGMENT_END"]
    assert result('{"path": "a", "content": ""}').arguments == {"path": "a", "content": ""}  # type: ignore[union-attr]


def test_all_escapes_are_decoded_wherever_they_are_cut() -> None:
    content = 'a"\\/\b\f\n\r\té😀�'
    text = '{"path": "p", "content": "a\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\\ud800"}'
    for pieces in every_cut_in_two(text):
        assert joined(run(*pieces))[1] == content
        assert result(*pieces).arguments == {"path": "p", "content": content}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "a", "content": "x", "content": "y"}',
        '{"path": "a", "content": "x", "content": 5}',
        '{"path": "a", "content": 1, "content": "y"}',
    ],
)
def test_a_streamed_key_that_is_repeated_fails_its_call(text: str) -> None:
    for pieces in ([text], list(text)):
        end = payload_of(run(*pieces)[-1])
        assert (end["status"], end["reason"]) == ("failed", "duplicate_key")
        failed = result(*pieces)
        assert isinstance(failed, InvocationFailed)
        assert (failed.reason, failed.raw) == ("duplicate_key", text)


def test_after_a_repeated_key_nothing_more_streams() -> None:
    assert joined(run('{"path": "a", "content": "x", "content": "y"}'))[1] == "x"


def test_a_streamed_key_that_is_repeated_fails_its_call_with_markers_too() -> None:
    events = run('{"path": "a", "content": "x", "content": "y"}', fields=stream_fields([MARKED]))
    assert events[-1].reason == "duplicate_key"


def test_a_cut_call_that_repeats_the_key_is_still_cut() -> None:
    end = payload_of(run('{"path": "a", "content": "x", "content": "y')[-1])
    assert end["status"] == "truncated"


def test_the_last_of_other_repeated_keys_wins() -> None:
    assert result('{"mode": 1, "path": "a", "content": "x", "mode": 2}').arguments["mode"] == 2  # type: ignore[union-attr]


def test_metadata_that_start_did_not_show_is_what_the_end_says() -> None:
    text = '{"path": "a", "path": "b", "content": "x"}'
    immediate = stream_fields(start="immediate")
    assert payload_of(run(text, fields=immediate)[-1])["metadata"]["path"] == "b"
    (invocation,) = answered(chunks_of([text]), to_segments(turn_id="t"), immediate, to_invocations())
    assert invocation.arguments["path"] == "b"


INVARIANT: dict[str, tuple[str, str, dict[str, Any]]] = {
    "metadata after the field": ('{"command": "ls", "timeout_seconds": 5}', "run_bash", {}),
    "metadata repeated": ('{"path": "a", "content": "x", "path": "b"}', "write_file", {}),
    "more than is kept back": ('{"content": "long", "path": "a"}', "write_file", {"limits": Limits(deferred_length=2)}),
}


@pytest.mark.parametrize("name", INVARIANT)
def test_what_start_says_does_not_depend_on_the_cutting(name: str) -> None:
    text, tool, options = INVARIANT[name]
    fields = stream_fields(**options)
    assert joined(run(text, name=tool, fields=fields)) == joined(run(*text, name=tool, fields=fields))


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [('{"path": "a", "content": "x', "truncated", None), ('{"path": "a", "content": "x"]', "failed", "malformed")],
)
def test_a_call_that_is_cut_or_no_json_ends_so_with_what_came(text: str, status: str, reason: str | None) -> None:
    for pieces in ([text], list(text)):
        starts, content, ends = joined(run(*pieces))
        assert (len(starts), content, len(ends)) == (1, "x", 1)
        end = ends[0][2]
        assert (end["status"], end.get("reason")) == (status, reason)
        assert end["metadata"]["path"] == "a"
        assert isinstance(result(*pieces), InvocationFailed)


@pytest.mark.parametrize("text", ["", "{}", '{"path": "a"}', "nope", "[1]", '"x"', '{"content": "x'])
def test_every_call_has_one_start_and_one_end(text: str) -> None:
    for how in (None, Interrupted("x")):
        for start in ("deferred", "immediate"):
            chain = stage(to_segments(turn_id="t"), stream_fields(start=start))
            events = [event for chunk in chunks_of([text])[:2] for event in chain.feed(chunk)] + chain.close(how)
            assert [event.type for event in before_the_end(events) if event.type != "SEGMENT_CONTENT"] == [
                "SEGMENT_START",
                "SEGMENT_END",
            ]


def test_markers_around_the_content_are_taken_off_for_the_screen_and_for_the_tool() -> None:
    text = '{"path": "a", "content": " <S>\\nx = 1\\n<E>\\n", "more": "<S>y<E>"}'
    for pieces in ([text], list(text)):
        events = run(*pieces, fields=stream_fields([MARKED]))
        assert joined(events)[1] == "x = 1\n"
        (invocation,) = drive(events, to_invocations())
        assert invocation.arguments == {"path": "a", "content": "x = 1\n", "more": "<S>y<E>"}
        assert invocation.raw == text


def test_content_without_markers_and_content_of_another_type_pass_the_markers() -> None:
    for value in ('"x"', '"<E>"', '""', "5", '{"content": "<S>x"}'):
        text = f'{{"path": "a", "content": {value}}}'
        events = run(*text, fields=stream_fields([MARKED]))
        assert next(iter(drive(events, to_invocations()))).arguments == json.loads(text)


def test_what_markers_keep_back_comes_out_when_the_call_is_cut() -> None:
    events = run('{"path": "a", "content": "<S>x<E', fields=stream_fields([MARKED]))
    assert joined(events)[1] == "x<E"
    assert events[-1].status == "truncated"
    before_its_path = run('{"content": "<S>x<E', fields=stream_fields([MARKED]))
    assert joined(before_its_path)[1] == "x<E"


def test_calls_that_the_provider_runs_stay_what_they_are() -> None:
    assert {event.segment_type for event in run('{"command": "ls"}', name="run_bash", executed_by="provider")} == {
        "tool_call"
    }


def test_a_free_form_call_of_a_named_tool_ends_with_its_input() -> None:
    events = run("x", "y", kind="text", fields=STRICT)
    assert [event.type for event in events] == ["SEGMENT_START", "SEGMENT_END"]
    metadata = events[-1].metadata
    assert {**metadata, "error": None} == {"tool_name": "write_file", "kind": "text", "input": "xy", "error": None}
    assert run("x", "y", kind="text") == run("x", "y", kind="text", fields=stream_fields(()))


def test_a_native_part_is_in_start_and_end() -> None:
    events = run('{"path": "a", "content": "x"}', native={"n": 1})
    assert events[0].metadata["native"] == events[-1].metadata["native"] == {"n": 1}


def test_other_segments_and_notices_pass_as_the_same_objects() -> None:
    before = answered([ChunkResponse(reasoning="r", content="a"), *chunks_of(["{}"], "f")], to_segments(turn_id="t"))
    events: list[Any] = [Notice("c", "d"), *before]
    assert all(given is event for given, event in zip(drive(events, stream_fields()), events, strict=True))


def test_a_segment_that_is_no_tool_call_is_left_alone_whatever_its_metadata() -> None:
    event = SegmentStart("s", "note", {"tool_name": "write_file"})
    assert stage(stream_fields()).feed(event) == [event]


def test_two_calls_at_once_do_not_mix() -> None:
    deltas = [
        *(ToolCallDelta(0, "a", "write_file"), ToolCallDelta(1, "b", "write_file"), ToolCallDelta(2, "c", "f")),
        *(
            ToolCallDelta(0, arguments_delta='{"path": "A", "content": "'),
            ToolCallDelta(1, arguments_delta='{"content": "2'),
        ),
        *(ToolCallDelta(2, arguments_delta="{}"), ToolCallDelta(0, arguments_delta='1"}')),
        ToolCallDelta(1, arguments_delta='", "path": "B"}'),
    ]
    chunks = [*(ChunkResponse(tool_calls=(each,)) for each in deltas), CALLS]
    invoked = answered(chunks, to_segments(turn_id="t"), stream_fields(), to_invocations())
    assert {each.id: each.arguments for each in invoked} == {
        "a": {"path": "A", "content": "1"},
        "b": {"content": "2", "path": "B"},
        "c": {},
    }


def test_what_is_open_when_the_input_ends_gets_its_end() -> None:
    chain = stage(stream_fields())
    chain.feed(SegmentStart("s", "text", turn_id="t"))
    chain.feed(SegmentStart("c", "tool_call", {"tool_name": "write_file"}, turn_id="t"))
    chain.feed(SegmentContent("c", None, '{"content": "x', turn_id="t"))
    text_end, start, content, end = chain.close(Interrupted("stop"))
    assert (text_end.segment_id, payload_of(text_end)) == ("s", {"status": "interrupted", "reason": "stop"})
    assert (start.type, payload_of(content)) == ("SEGMENT_START", {"delta": "x"})
    assert payload_of(end) == {"status": "interrupted", "reason": "stop", "metadata": {"tool_name": "write_file"}}
    assert chain.close() == []


def test_events_without_fragments_are_parsed_once_from_their_deltas() -> None:
    text = '{"path": "a", "content": "x\\ny", "more": [1]}'
    for pieces in every_cut_in_two(text):
        before = answered(chunks_of(pieces), to_segments(turn_id="t"))
        read_back: list[Any] = [from_json(to_json(event)) for event in before]
        after = list(drive(read_back, stream_fields()))
        assert joined(after) == joined(run(*pieces))
        assert "".join(event.raw for event in after) == text


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [('{"path": "a", "content": "x', "truncated", None), ('{"path": "a", "content": "x"]', "failed", "malformed")],
)
def test_an_end_that_says_complete_is_not_believed_where_nobody_had_parsed_the_text(
    text: str, status: str, reason: str | None
) -> None:
    start = SegmentStart("c", "tool_call", {"tool_name": "write_file"})
    end = SegmentEnd("c", None, "complete")
    for pieces in every_cut_in_two(text):
        contents = [SegmentContent("c", None, piece) for piece in pieces]
        events = list(drive([start, *contents, end], stream_fields()))
        payload = payload_of(events[-1])
        assert (payload["status"], payload.get("reason")) == (status, reason)
        assert payload["metadata"]["error"]["at"] == len(text) - (reason is not None)
        (failed,) = drive(events, to_invocations())
        assert failed.reason == (reason or "truncated")


def test_raw_accounts_for_every_character_of_the_arguments() -> None:
    text = '{"a": 1, "content": "x\\u00e9", "path": "p", "content2": [" "]} '
    for fields in (stream_fields(), stream_fields(start="immediate"), stream_fields([MARKED])):
        for pieces in every_cut_in_two(text):
            assert "".join(event.raw for event in run(*pieces, fields=fields)) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(("path", "content", "x")), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def argument_texts(draw: st.DrawFn) -> str:
    """Draw the arguments of write_file, with others, in any order."""
    others = draw(st.dictionaries(st.text(max_size=3), json_values, max_size=3))
    arguments = {**others, "path": draw(st.text(max_size=5)), "content": draw(st.text(max_size=12))}
    return json.dumps(dict(draw(st.permutations(list(arguments.items())))), ensure_ascii=draw(st.booleans()))


@settings(deadline=None)
@given(st.data(), argument_texts())
def test_any_cutting_gives_the_content_and_the_arguments_of_json_loads(data: st.DataObject, text: str) -> None:
    pieces = data.draw(cuts(text))
    arguments = json.loads(text)
    for fields in (stream_fields(), stream_fields(start="immediate")):
        events = run(*pieces, fields=fields)
        assert joined(events)[1] == arguments["content"]
        (invocation,) = drive(events, to_invocations())
        assert isinstance(invocation, ToolInvocation)
        assert invocation.arguments == arguments
    assert joined(run(*pieces)) == joined(run(text))


@settings(deadline=None)
@given(st.data(), argument_texts())
def test_what_came_out_is_a_beginning_of_what_comes_out_in_the_end(data: st.DataObject, text: str) -> None:
    content = json.loads(text)["content"]
    chain, given = stage(to_segments(turn_id="t"), stream_fields()), ""
    for chunk in chunks_of(data.draw(cuts(text))):
        given += "".join(event.delta for event in chain.feed(chunk) if event.type == "SEGMENT_CONTENT")
        assert content.startswith(given)


@settings(deadline=None)
@given(
    st.data(),
    argument_texts() | st.just('{"content": "<S>a<E>", "path": "'),
    st.sampled_from((stream_fields(), stream_fields([MARKED], start="immediate"))),
)
def test_dumped_and_loaded_after_any_item_it_goes_on_the_same(
    data: st.DataObject, text: str, fields: Operator[Any, Any]
) -> None:
    events = answered(chunks_of(data.draw(cuts(text))), to_segments(turn_id="t"))
    if data.draw(st.booleans()):
        events = [from_json(to_json(event)) for event in events]
    unbroken, frozen = stage(fields), stage(fields)
    for event in (SegmentStart("s", "text"), *events[:-1]):
        assert frozen.feed(event) == unbroken.feed(event)
        state = msgspec.json.decode(msgspec.json.encode(frozen.dump()))
        frozen = stage(fields)
        frozen.load(state)
    assert frozen.close() == unbroken.close()


def test_a_number_beyond_the_range_of_floats_survives_dump_and_load() -> None:
    first, piece, rest, last = chunks_of(['{"n": 1e999, "path": "a", "content": "', 'x"}'])
    chain, frozen = (stage(to_segments(turn_id="t"), stream_fields()) for _ in range(2))
    for chunk in (first, piece):
        chain.feed(chunk)
    frozen.load(msgspec.json.decode(msgspec.json.encode(chain.dump())))
    assert [frozen.feed(rest), frozen.feed(last)] == [chain.feed(rest), chain.feed(last)]


def test_all_ways_to_run_give_the_same() -> None:
    events = answered(chunks_of(['{"path": "a", "con', 'tent": "x"}']), to_segments(turn_id="t"))
    given: list[Any] = []
    reactivex.from_iterable(events).pipe(stream_fields()).subscribe(given.append)
    assert given == list(drive(events, stream_fields()))


def test_the_operator_pickles_and_has_no_state_of_its_own() -> None:
    operator = pickle.loads(pickle.dumps(stream_fields([MARKED], start="immediate", limits=Limits(depth=9))))
    assert run('{"path": "a", ', '"content": "x"}', fields=operator) == run(
        '{"path": "a", ', '"content": "x"}', fields=operator
    )


def test_wrong_options_are_usage_errors_when_the_operator_is_made() -> None:
    with pytest.raises(UsageError, match="two specs are for the tool 'f'"):
        stream_fields([FieldSpec("f", "a"), FieldSpec("f", "b")])
    with pytest.raises(UsageError, match="start must be 'deferred' or 'immediate', got 'late'"):
        stream_fields(start="late")  # type: ignore[arg-type]


@pytest.mark.parametrize("start", ["deferred", "immediate"])
def test_a_call_whose_id_starts_again_is_ended_before_the_second_one(start: Literal["deferred", "immediate"]):
    begins = SegmentStart("c", "tool_call", {"tool_name": "write_file"}, turn_id="t")
    ends = SegmentEnd("c", "tool_call", "complete", turn_id="t")
    pieces = SegmentContent("c", "tool_call", '{"path": "a", "content": "x"}', turn_id="t")
    events = list(drive([begins, begins, pieces, ends], stream_fields(start=start)))
    assert [event.type[8:] for event in events] == ["START", "END", "START", "CONTENT", "END"]
    assert [event.status for event in events if isinstance(event, SegmentEnd)] == ["truncated", "complete"]


MUTANTS = {
    "a call that does not fit its spec is shown as what it is not": ("fit", ("operators/stream_fields.py", "            return [*call.held, end]\n", "            pass\n")),
}  # fmt: skip
