from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
import reactivex
from answered import answered, before_the_end
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from msgspec.structs import replace
from operator_contract import CHUNKS, FROM_CALLS, FROM_FIELDS, TO_SEGMENTS, Case, read_back
from pydantic import BaseModel, Field
from segment_events import payload_of
from strategies.cuts import cuts
from untyped import drive, stage

from penstock.events import (
    ChunkResponse,
    InvocationFailed,
    Notice,
    ProviderError,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    UsageError,
    from_json,
    to_json,
)
from penstock.events.segment_event import Fragment
from penstock.operators import Failed, FieldSpec, Interrupted, Limits, stream_fields, to_invocations, to_segments
from penstock.operators.calls.field_spec import FILE_TOOLS
from penstock.operators.engine.stage import How, compose


class _WriteFile(BaseModel):
    path: str
    content: str


class _Add(BaseModel):
    a: int
    b: int = 0


CONTRACT = (
    Case("to_invocations", to_invocations(), FROM_FIELDS),
    Case("to_invocations read back", to_invocations(), read_back(FROM_FIELDS)),
    Case(
        "to_invocations with models",
        to_invocations({"write_file": _WriteFile, "add": _Add, "look_up": None}, keep_segments=True),
        FROM_CALLS,
    ),
    Case("the chain", compose(TO_SEGMENTS, stream_fields(), to_invocations(keep_segments=True)), CHUNKS),
)

CALLS = ChunkResponse(finish_reason="tool_calls")


class Add(BaseModel):
    a: int
    b: int = Field(default=0, le=9)


def segments_of(*pieces: str, name: str = "add", fields: bool = True, **said: Any) -> list[Any]:
    """Return the segment events of one call whose arguments come in pieces."""
    deltas = [ToolCallDelta(0, "c", name, **said), *(ToolCallDelta(0, arguments_delta=piece) for piece in pieces)]
    chunks = [*(ChunkResponse(tool_calls=(delta,)) for delta in deltas), CALLS]
    return answered(chunks, to_segments(turn_id="t"), stream_fields() if fields else stream_fields(()))


def result(*pieces: str, tools: Any = None, **said: Any) -> ToolInvocation | InvocationFailed:
    (only,) = drive(segments_of(*pieces, **said), to_invocations(tools))
    assert isinstance(only, ToolInvocation | InvocationFailed)
    return only


def by_hand(
    said: dict[str, Any], *deltas: str, kind: str = "tool_call", metadata: dict[str, Any] | None = None
) -> list[Any]:
    """Return a call's events as they may come from foreign JSON: no raw, no fragments, the type at START only."""
    return [
        SegmentStart("s", kind, metadata or {}),
        *(SegmentContent("s", None, delta) for delta in deltas),
        SegmentEnd("s", None, **{"status": None, **said}),
    ]


F = {"tool_name": "f"}


def test_a_complete_call_is_one_invocation_with_id_turn_name_arguments_and_raw() -> None:
    for pieces in (['{"a": 1, "b": [2]}'], list('{"a": 1, "b": [2]}')):
        assert result(*pieces) == ToolInvocation("c", "t", "add", {"a": 1, "b": [2]}, raw='{"a": 1, "b": [2]}')


def test_it_comes_when_its_segment_ends_and_not_later() -> None:
    chain = stage(to_segments(turn_id="t"), to_invocations())
    assert chain.feed(ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", "{}"),))) == []
    given = chain.feed(ChunkResponse(tool_calls=(ToolCallDelta(0, done=True),)))
    assert [each.id for each in given] == ["c"]
    assert chain.feed(CALLS) == before_the_end(chain.close()) == []


@pytest.mark.parametrize("text", ["", " ", "null", "{}", " {} "])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    given = result(text)
    assert isinstance(given, ToolInvocation)
    assert given.arguments == {}


@pytest.mark.parametrize("text", ["5", "[1]", '"a"', "true", "-0.5 "])
def test_a_root_that_is_no_object_is_invalid(text: str) -> None:
    for pieces in ([text], list(text)):
        assert result(*pieces) == InvocationFailed(
            *("c", "t", "add", text, "invalid"),
            ({"loc": [], "msg": "arguments must be an object", "type": "dict_type"},),
        )


@pytest.mark.parametrize(
    ("text", "reason", "expected"),
    [
        ('{"a": "x', "truncated", "the closing '\"' of a string"),
        ('{"a": 1', "truncated", "a digit, '.', 'e' or the end of the number"),
        ('{"a" 1}', "malformed", "':'"),
        ("{}{}", "malformed", "the end of the text"),
    ],
)
def test_a_call_that_is_cut_or_no_json_fails_with_all_its_text_and_what_was_expected(
    text: str, reason: str, expected: str
) -> None:
    for pieces in ([text], list(text)):
        given = result(*pieces)
        assert isinstance(given, InvocationFailed)
        assert (given.id, given.turn_id, given.name, given.reason, given.raw) == ("c", "t", "add", reason, text)
        assert given.errors[0]["expected"] == expected


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (Interrupted("x"), "interrupted"),
        (Failed(OSError("x")), "interrupted"),
        (Failed(ProviderError("x")), "provider_error"),
    ],
)
def test_a_call_that_was_not_sealed_when_the_stream_broke_is_not_invoked(how: How, reason: str) -> None:
    chain = stage(to_segments(turn_id="t"), stream_fields(), to_invocations())
    for name in ("f", "write_file"):
        chain.feed(ChunkResponse(tool_calls=(ToolCallDelta(int(name == "f"), name, name, '{"path": "a"'),)))
    failures = before_the_end(chain.close(how))
    assert [(each.name, each.reason, each.raw) for each in failures] == [
        (name, reason, '{"path": "a"') for name in ("f", "write_file")
    ]


def test_a_limit_fails_its_call() -> None:
    chunk = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", '{"a": [[]]}'),))
    (given,) = answered([chunk, CALLS], to_segments(limits=Limits(depth=1)), to_invocations())
    assert given.reason == "limit"


def test_parallel_calls_each_give_their_own() -> None:
    deltas = [ToolCallDelta(0, "a", "f"), ToolCallDelta(1, "b", "g"), ToolCallDelta(2, "c", "h")]
    deltas += [
        ToolCallDelta(1, arguments_delta='{"x":'),
        ToolCallDelta(0, arguments_delta='{"y"'),
        ToolCallDelta(1, arguments_delta=" 1}"),
    ]
    chunks = [*(ChunkResponse(tool_calls=(delta,)) for delta in deltas), CALLS]
    given = answered(chunks, to_segments(turn_id="t"), to_invocations())
    assert [(each.id, type(each).__name__) for each in given] == [
        ("b", "ToolInvocation"),
        ("c", "ToolInvocation"),
        ("a", "InvocationFailed"),
    ]


def test_free_form_text_is_the_argument_input() -> None:
    for pieces in (['{"no json'], list('{"no json')):
        assert result(*pieces, kind="text") == ToolInvocation("c", "t", "add", {"input": '{"no json'}, raw='{"no json')
    empty = result(kind="text")
    assert isinstance(empty, ToolInvocation)
    assert empty.arguments == {"input": ""}


def test_calls_that_the_provider_runs_are_neither_invoked_nor_failed() -> None:
    for pieces in (['{"a": 1}'], ['{"a'], []):
        assert list(drive(segments_of(*pieces, executed_by="provider"), to_invocations())) == []
    events = segments_of('{"a": 1}', executed_by="provider")
    assert list(drive(events, to_invocations({"other": None}, keep_segments=True))) == events


def test_a_native_part_reaches_the_invocation() -> None:
    given = result("{}", native={"signature": "s"})
    assert isinstance(given, ToolInvocation)
    assert given.native == {"signature": "s"}
    written = result('{"path": "a", "content": "x"}', name="write_file", native={"signature": "s"})
    assert isinstance(written, ToolInvocation)
    assert written.native == {"signature": "s"}


# tools


def test_a_model_validates_and_comes_with_the_invocation() -> None:
    for tools in ({"add": Add}, {"add": Add, "other": None}):
        given = result('{"a": "1"}', tools=tools)
        assert isinstance(given, ToolInvocation)
        assert given.model == Add(a=1)
        assert given.arguments == {"a": "1"}


def test_models_alone_are_named_as_their_classes() -> None:
    given = result('{"a": 1}', name="Add", tools=[Add])
    assert isinstance(given, ToolInvocation)
    assert isinstance(given.model, Add)


def test_a_tool_without_a_model_takes_any_object() -> None:
    given = result('{"what": "ever"}', tools={"add": None})
    assert isinstance(given, ToolInvocation)
    assert (given.arguments, given.model) == ({"what": "ever"}, None)


def test_arguments_that_do_not_validate_are_invalid_with_all_details() -> None:
    given = result('{"a": "x", "b": 10}', tools={"add": Add})
    assert isinstance(given, InvocationFailed)
    assert (given.reason, given.raw) == ("invalid", '{"a": "x", "b": 10}')
    assert [(error["loc"], error["type"]) for error in given.errors] == [
        (("a",), "int_parsing"),
        (("b",), "less_than_equal"),
    ]
    assert all(set(error) == {"loc", "msg", "type"} for error in given.errors)
    assert isinstance(from_json(to_json(given)), InvocationFailed)


@pytest.mark.parametrize("tools", [{}, [], {"Add": Add, "adds": None}])
def test_a_name_that_is_no_tool_is_unknown(tools: Any) -> None:
    given = result('{"a": 1}', tools=tools)
    assert isinstance(given, InvocationFailed)
    assert given.reason == "unknown_tool"
    assert given.errors[0]["msg"] == f"known tools: {', '.join(sorted(tools))}"


def test_a_name_that_is_no_tool_may_pass() -> None:
    """For who passes calls on to somebody else, who knows what to say of it."""
    (given,) = drive(segments_of('{"a": 1}', name="sub"), to_invocations({"add": Add}, unknown_tool="pass"))
    assert isinstance(given, ToolInvocation)
    assert (given.name, given.arguments, given.model) == ("sub", {"a": 1}, None)
    (failed,) = drive(segments_of('{"a": "x"}'), to_invocations({"add": Add}, unknown_tool="pass"))
    assert failed.reason == "invalid"


class Adder:
    """A tool that is no pydantic model, as those of `penstock.pipeline`."""

    name = "add"

    def validate(self, arguments: dict[str, Any]) -> BaseModel | None:
        if "loose" in arguments:
            return None
        return Add.model_validate({key: value for key, value in arguments.items() if value is not None})


@pytest.mark.parametrize(
    "tools", [[Adder()], {"add": Adder()}, (tool for tool in (Add, Adder())), {"other": None, "add": Adder()}]
)
def test_a_tool_validates_by_itself(tools: Any) -> None:
    operator = to_invocations(tools)
    for text, model in (('{"a": "1", "b": null}', Add(a=1)), ('{"loose": 1}', None)):
        (given,) = drive(segments_of(text), operator)
        assert isinstance(given, ToolInvocation)
        assert (given.model, given.arguments) == (model, json.loads(text))
    (failed,) = drive(segments_of('{"a": "x"}'), operator)
    assert isinstance(failed, InvocationFailed)
    assert (failed.reason, failed.raw) == ("invalid", '{"a": "x"}')
    assert [(error["loc"], error["type"]) for error in failed.errors] == [(("a",), "int_parsing")]
    (unknown,) = drive(segments_of("{}", name="sub"), operator)
    assert unknown.reason == "unknown_tool"


def test_two_tools_of_one_name_are_a_usage_error_when_the_operator_is_made() -> None:
    with pytest.raises(UsageError, match="two tools are named 'add'"):
        to_invocations([Adder(), Adder()])


def test_a_models_instance_with_a_name_is_no_tool() -> None:
    class Named(BaseModel):
        name: str = "add"

    with pytest.raises(UsageError, match=r"got Named\(name='add'\); use penstock.tool\(...\) for a function"):
        to_invocations([Named()])


def test_the_tools_of_the_pipeline_are_tools_here() -> None:
    from penstock.pipeline.tool import tool  # noqa: PLC0415 - the floor above, as a user puts them together

    @tool
    def add(a: int, b: int = 0) -> int:
        return a + b

    schema = {
        "name": "sub",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    }
    operator = to_invocations([add, tool(schema, validate=True), Add])
    (given,) = drive(segments_of('{"a": "1", "b": null}'), operator)
    assert isinstance(given, ToolInvocation)
    assert add.run(given) == 1
    (failed,) = drive(segments_of('{"a": "x", "c": 1}'), operator)
    assert [(each["loc"], each["type"]) for each in failed.errors] == [
        (("a",), "int_parsing"),
        (("c",), "extra_forbidden"),
    ]
    (by_schema,) = drive(segments_of('{"a": "x"}', name="sub"), operator)
    assert (by_schema.reason, by_schema.errors) == (
        "invalid",
        ({"loc": ("a",), "msg": "'x' is not of type 'integer'", "type": "type"},),
    )
    assert isinstance(from_json(to_json(by_schema)), InvocationFailed)
    (by_model,) = drive(segments_of('{"a": 1}', name="Add"), operator)
    assert isinstance(by_model, ToolInvocation)
    assert by_model.model == Add(a=1)


def test_a_file_tool_is_validated_with_its_streamed_argument() -> None:
    class WriteFile(BaseModel):
        path: str
        content: str = Field(max_length=3)

    good = result('{"path": "a", "content": "abc"}', name="write_file", tools={"write_file": WriteFile})
    bad = result('{"path": "a", "content": "abcd"}', name="write_file", tools={"write_file": WriteFile})
    assert isinstance(good, ToolInvocation)
    assert good.model == WriteFile(path="a", content="abc")
    assert isinstance(bad, InvocationFailed)
    assert bad.reason == "invalid"


@pytest.mark.parametrize("tools", [{"f": int}, {"f": Add(a=1)}, [print], {"f": "Add"}])
def test_what_is_no_model_is_a_usage_error_when_the_operator_is_made(tools: Any) -> None:
    with pytest.raises(UsageError, match="must be a pydantic model class or None"):
        to_invocations(tools)


# file segments


@pytest.mark.parametrize("limits", [Limits(), Limits(deferred_length=3)])
def test_a_built_in_spec_refuses_no_call(limits: Limits) -> None:
    text = '{"file_path": "a.py", "content": "long enough"}'
    chunks = [ChunkResponse(tool_calls=(ToolCallDelta(0, None, None, each),)) for each in text]
    head = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "write_file"),))
    chain = (to_segments(), stream_fields(limits=limits), to_invocations(keep_segments=True))
    events = answered([head, *chunks, ChunkResponse(finish_reason="tool_calls")], *chain)
    assert isinstance(events[-1], ToolInvocation)
    assert events[-1].arguments == {"file_path": "a.py", "content": "long enough"}
    assert events[-2].status == "complete"
    again = list(drive([from_json(to_json(event)) for event in events[:-1]], to_invocations()))
    assert [each.arguments for each in again] == [events[-1].arguments]


def test_a_file_tool_without_its_path_is_not_invoked_where_its_spec_is_strict() -> None:
    specs = [replace(spec, strict=True) for spec in FILE_TOOLS]
    call = ToolCallDelta(0, "c", "write_file", '{"content": "x"}', done=True)
    (given,) = answered(
        [ChunkResponse(tool_calls=(call,))], to_segments(), stream_fields(specs), to_invocations(fields=specs)
    )
    assert isinstance(given, InvocationFailed)
    assert (given.reason, given.raw) == ("missing_path", '{"content": "x"}')
    assert given.errors == ({"loc": ["path"], "msg": "missing", "type": "missing"},)


def test_a_segment_that_others_wrote_is_refused_without_what_its_spec_requires() -> None:
    (given,) = drive(by_hand({}, "x", kind="write_file", metadata={}), to_invocations())
    assert given.reason == "missing_path"


def test_only_what_is_missing_is_named() -> None:
    spec = FieldSpec("note", "body", ("title", "tag"), ("title", "tag"))
    (given,) = drive(by_hand({}, "x", kind="note", metadata={"title": "t"}), to_invocations(fields=[spec]))
    assert given.reason == "missing_path"
    assert [error["loc"] for error in given.errors] == [["tag"]]


def test_segments_of_specs_of_ones_own_are_understood_when_they_are_named() -> None:
    spec = FieldSpec("save", "body", ("title",), ("title",), segment_type="note", aliases=(("name", "title"),))
    events = by_hand({"status": "complete"}, "a", "b", kind="note", metadata={"name": "t"})
    assert list(drive(events, to_invocations())) == []
    assert list(drive(events, to_invocations(fields=[spec]))) == [
        ToolInvocation("s", None, "save", {"title": "t", "body": "ab"}, raw="ab")
    ]


def test_metadata_of_the_end_counts_too() -> None:
    events = by_hand({"metadata": {"path": "a"}}, "x", kind="write_file")
    assert list(drive(events, to_invocations())) == [
        ToolInvocation("s", None, "write_file", {"path": "a", "content": "x"}, raw="x")
    ]


def test_a_command_may_stand_in_the_metadata_and_under_another_name() -> None:
    for metadata in ({"command": "ls"}, {"cmd": "ls"}):
        (given,) = drive(by_hand({}, kind="run_bash", metadata=metadata), to_invocations())
        assert given.arguments == {"command": "ls"}
    (given,) = drive(
        by_hand({}, "ls", kind="run_bash", metadata={"command": "no", "timeoutSeconds": 5}), to_invocations()
    )
    assert given.arguments == {"command": "ls", "timeout_seconds": 5}


@pytest.mark.parametrize("name", [{}, {"tool_name": "run_bash"}])
def test_what_is_no_argument_in_the_segments_of_others_is_one_in_our_own(name: dict[str, str]) -> None:
    events = by_hand({}, "ls", kind="run_bash", metadata={"background": True, "cwd": "a", **name})
    (given,) = drive(events, to_invocations())
    assert given.arguments == {"command": "ls", "cwd": "a"} | ({"background": True} if name else {})


# events of others


def test_arguments_in_the_metadata_count_before_the_text() -> None:
    for where in ("start", "end"):
        arguments = {**F, "arguments": {"a": 1}}
        events = by_hand(
            {"metadata": arguments if where == "end" else {}}, '{"a": 2}', metadata=F if where == "end" else arguments
        )
        (given,) = drive(events, to_invocations())
        assert given.arguments == {"a": 1}


def test_an_end_without_a_status_is_complete() -> None:
    assert list(drive(by_hand({}, '{"a":', " 1}", metadata=F), to_invocations())) == [
        ToolInvocation("s", None, "f", {"a": 1}, raw='{"a": 1}')
    ]


def test_a_name_may_come_with_the_end() -> None:
    (given,) = drive(by_hand({"metadata": F}, "{}"), to_invocations())
    assert (given.name, given.arguments) == ("f", {})


def test_a_call_without_any_name_is_malformed() -> None:
    (given,) = drive(by_hand({}, "{}"), to_invocations())
    assert (given.name, given.reason, given.errors) == ("", "malformed", ({"msg": "the call has no tool name"},))


def test_text_that_is_no_json_is_malformed_even_if_its_end_says_complete() -> None:
    (given,) = drive(by_hand({"status": "complete"}, "{]", metadata=F), to_invocations())
    assert (given.reason, given.raw, given.errors[0]["at"]) == ("malformed", "{]", 1)
    (cut,) = drive(by_hand({"status": "complete"}, "{", metadata=F), to_invocations())
    assert cut.reason == "truncated"


def test_fragments_that_do_not_close_are_truncated_even_if_their_end_says_complete() -> None:
    start, end = by_hand({"status": "complete"}, metadata=F)
    content = SegmentContent("s", None, "{", raw="{", fragments=(Fragment((), "OPEN", "{"),))
    (given,) = drive([start, content, end], to_invocations())
    assert (given.reason, given.raw) == ("truncated", "{")


@pytest.mark.parametrize("arguments", [None, [], "a", 5])
@pytest.mark.parametrize("kind", ["tool_call", "write_file"])
def test_arguments_in_the_metadata_that_are_no_object_raise_nothing(kind: str, arguments: Any) -> None:
    metadata = {"tool_name": "f", "path": "a", "arguments": arguments}
    (given,) = drive(by_hand({"metadata": metadata}, "x", kind=kind), to_invocations())
    assert isinstance(given, ToolInvocation | InvocationFailed)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"status": "truncated", "reason": "length"}, "truncated"),
        ({"status": "interrupted", "reason": "Ctrl-C"}, "interrupted"),
        ({"status": "failed", "reason": "duplicate_key"}, "duplicate_key"),
        ({"status": "failed", "reason": "something of others"}, "malformed"),
        ({"status": "cancelled"}, "malformed"),
    ],
)
def test_only_a_complete_end_is_invoked_whatever_the_text(said: dict[str, Any], reason: str) -> None:
    (given,) = drive(by_hand(said, "{}", metadata=F), to_invocations())
    assert isinstance(given, InvocationFailed)
    assert given.reason == reason


@pytest.mark.parametrize("said", [{"status": "failed"}, {"status": "failed", "reason": None}, {"status": ""}])
def test_a_failed_end_that_gives_no_reason_is_not_invoked(said: dict[str, Any]) -> None:
    (given,) = drive(by_hand(said, "{}", metadata=F), to_invocations())
    assert isinstance(given, InvocationFailed)
    assert given.reason == "malformed"


def test_an_end_or_content_without_a_start_is_nothing() -> None:
    events = by_hand({"status": "complete"}, "{}", metadata=F)[1:]
    assert list(drive(events, to_invocations())) == []


def test_segments_that_are_no_calls_give_nothing() -> None:
    for kind in ("text", "reasoning", "refusal", "media", "of_users"):
        assert list(drive(by_hand({}, "x", kind=kind), to_invocations())) == []


def test_a_call_is_invoked_once_by_turn_and_id() -> None:
    events = by_hand({}, "{}", metadata=F)
    first, second = drive([*events, *events], to_invocations())
    assert isinstance(first, ToolInvocation)
    assert isinstance(second, Notice)
    assert second.code == "duplicate_call"
    other_turn = [msgspec.structs.replace(event, turn_id="u") for event in events]
    assert all(isinstance(each, ToolInvocation) for each in drive([*events, *other_turn], to_invocations()))


def test_a_failed_call_is_not_invoked_by_a_second_one_with_its_id() -> None:
    events = [*by_hand({"status": "truncated"}, "{", metadata=F), *by_hand({}, "{}", metadata=F)]
    assert [type(each) for each in drive(events, to_invocations())] == [InvocationFailed, Notice]


def test_notices_pass() -> None:
    notice = Notice("c", "d")
    for keep in (True, False):
        assert list(drive([notice], to_invocations(keep_segments=keep))) == [notice]


# keep_segments


def test_with_keep_segments_all_events_pass_and_the_invocation_follows_its_end() -> None:
    events = [*by_hand({}, "x", kind="text")[:2], *segments_of('{"a": 1}'), *by_hand({}, kind="text")[1:]]
    given = list(drive(events, to_invocations(keep_segments=True)))
    assert [each for each in given if isinstance(each, SegmentEvent)] == events
    places = [place for place, each in enumerate(given) if isinstance(each, ToolInvocation)]
    assert [given[place - 1].type for place in places] == ["SEGMENT_END"]


def test_the_kept_end_of_a_call_that_fails_only_here_says_so() -> None:
    events = segments_of('{"a": "x"}')
    *_, end, failure = drive(events, to_invocations({"add": Add}, keep_segments=True))
    assert payload_of(end) == {"status": "failed", "reason": "invalid", "metadata": {"tool_name": "add"}}
    assert failure.reason == "invalid"
    assert events[-1].status == "complete"


def test_the_kept_end_of_a_call_that_had_failed_is_unchanged() -> None:
    events = segments_of('{"a"')
    *_, end, failure = drive(events, to_invocations(keep_segments=True))
    assert end is events[-1]
    assert failure.reason == "truncated"


def test_what_is_open_when_the_input_ends_gets_its_end_and_its_failure() -> None:
    for keep in (True, False):
        chain = stage(to_invocations(keep_segments=keep))
        for event in (
            *by_hand({}, kind="text")[:1],
            *(msgspec.structs.replace(each, segment_id="call") for each in by_hand({}, '{"a', metadata=F)[:2]),
        ):
            chain.feed(event)
        given = chain.close(Interrupted("stop"))
        assert [each.segment_id for each in given if isinstance(each, SegmentEvent)] == (["s", "call"] if keep else [])
        assert [(each.id, each.reason, each.raw) for each in given if isinstance(each, InvocationFailed)] == [
            ("call", "interrupted", '{"a')
        ]
        assert chain.close() == []


# JSON there and back

READ_BACK: dict[str, dict[str, Any]] = {
    "tool_call": {"pieces": ['{"a": "é\\n", ', '"b": [1, null]}'], "name": "f"},
    "tool_call without arguments": {"pieces": [], "name": "f"},
    "tool_call that is cut": {"pieces": ['{"a": '], "name": "f"},
    "tool_call with native": {"pieces": ["{}"], "name": "f", "native": {"n": 1}},
    "write_file": {"pieces": ['{"content": "x\\n', 'y", "path": "a", "mode": 420}'], "name": "write_file"},
    "write_file without content": {"pieces": ['{"path": "a"}'], "name": "write_file"},
    "write_file whose content is no text": {"pieces": ['{"path": "a", "content": [1]}'], "name": "write_file"},
    "write_file without path": {"pieces": ['{"content": "x"}'], "name": "write_file"},
    "write_file with a repeated key": {"pieces": ['{"content": "x", "content": "y"}'], "name": "write_file"},
    "run_bash": {"pieces": ['{"command": "ls', ' -l", "timeout_seconds": 5, "more": {"x": 1}}'], "name": "run_bash"},
    "run_bash under other names": {
        "pieces": ['{"command": "ls", "cmd": "x", "timeoutSeconds": 5, "background": true}'],
        "name": "run_bash",
    },
    "free form": {"pieces": ["a {", '"'], "name": "f", "kind": "text"},
    "free form without text": {"pieces": [], "name": "f", "kind": "text"},
    "run by the provider": {"pieces": ["{}"], "name": "f", "executed_by": "provider"},
}


def essence(results: Iterable[Any]) -> list[Any]:
    """Return what counts of results; the raw text of a field's segment is not in its JSON."""
    given: list[Any] = []
    for each in results:
        if isinstance(each, ToolInvocation):
            given.append((each.id, each.turn_id, each.name, each.arguments, each.native))
        else:
            given.append((each.id, each.turn_id, each.name, each.reason))
    return given


def there_and_back(events: list[Any]) -> list[Any]:
    return [from_json(to_json(event)) for event in events]


@looped("case", READ_BACK)
@looped("fields", [True, False])
def test_events_read_back_from_json_give_the_same_invocations(case: str, fields: bool) -> None:
    said = dict(READ_BACK[case])
    given = said.pop("pieces")
    for pieces in (given, "".join(given)):
        events = segments_of(*pieces, fields=fields, **said)
        assert essence(drive(there_and_back(events), to_invocations())) == essence(drive(events, to_invocations()))


def test_an_empty_content_survives_json() -> None:
    events = segments_of('{"path": "a", "content": ""}', name="write_file")
    assert essence(drive(there_and_back(events), to_invocations())) == essence(drive(events, to_invocations()))


OURS = ("tool_name", "kind", "native", "executed_by", "error", "arguments")


@pytest.mark.parametrize("key", OURS)
def test_an_argument_that_is_named_as_a_key_of_ours_survives_json(key: str) -> None:
    events = segments_of(json.dumps({"path": "a", "content": "x", key: {"path": "b"}}), name="write_file")
    assert essence(drive(there_and_back(events), to_invocations())) == essence(drive(events, to_invocations()))


def test_an_argument_named_native_is_not_what_is_replayed_to_the_provider() -> None:
    given = result('{"path": "a", "content": "x", "native": {"signature": "forged"}}', name="write_file")
    assert isinstance(given, ToolInvocation)
    assert given.native is None


def test_a_number_beyond_64_bits_survives_json_and_the_dump() -> None:
    text = '{"a": 123456789012345678901234567890}'
    given = result(*text)
    assert from_json(to_json(given)) == given


# laws


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
texts = st.builds(
    lambda value, ascii_only: json.dumps(value, ensure_ascii=ascii_only),
    st.dictionaries(st.text(max_size=3), json_values, max_size=4),
    st.booleans(),
)


@settings(deadline=None)
@given(st.data(), texts, st.booleans())
def test_any_cutting_gives_the_arguments_of_json_loads(data: st.DataObject, text: str, read_back: bool) -> None:
    events = segments_of(*data.draw(cuts(text)))
    (given,) = drive(there_and_back(events) if read_back else events, to_invocations())
    assert given == ToolInvocation("c", "t", "add", json.loads(text), raw=text)


@settings(deadline=None)
@given(st.data(), texts | st.sampled_from(('{"a', "[1]", "{]")), st.booleans(), st.booleans())
def test_dumped_and_loaded_after_any_item_it_goes_on_the_same(
    data: st.DataObject, text: str, keep: bool, read_back: bool
) -> None:
    name = data.draw(st.sampled_from(("add", "write_file", "run_bash")))
    events = [SegmentStart("s", "text"), *segments_of(*data.draw(cuts(text)), name=name)]
    events += [*events[1:], *by_hand({}, "{", metadata=F)[:2]]
    operator = to_invocations({"add": None}, keep_segments=keep)
    unbroken, frozen = stage(operator), stage(operator)
    for event in there_and_back(events) if read_back else events:
        assert frozen.feed(event) == unbroken.feed(event)
        state = msgspec.json.decode(msgspec.json.encode(frozen.dump()))
        frozen = stage(operator)
        frozen.load(state)
    assert frozen.close() == unbroken.close()


def test_all_ways_to_run_give_the_same() -> None:
    events = segments_of('{"a": ', "1}")
    given: list[Any] = []
    reactivex.from_iterable(events).pipe(to_invocations(keep_segments=True)).subscribe(given.append)
    assert given == list(drive(events, to_invocations(keep_segments=True)))


def test_the_operator_pickles_and_has_no_state_of_its_own() -> None:
    operator = pickle.loads(pickle.dumps(to_invocations({"add": Add}, keep_segments=True)))
    events = segments_of('{"a": 1}')
    assert list(drive(events, operator)) == list(drive(events, operator))
    assert next(each for each in drive(events, operator) if isinstance(each, ToolInvocation)).model == Add(a=1)


@pytest.mark.parametrize(("ignore_case", "wanted"), [(True, ["add", "Add", "SUB"]), (False, ["Add"])])
def test_names_in_any_case_find_the_tool_and_the_invocation_has_its_name(ignore_case: bool, wanted: list[str]):
    tools: dict[str, None] = {"add": None, "Add": None, "SUB": None}
    calls = (ToolCallDelta(index, f"c{index}", name, "{}") for index, name in enumerate(["aDD", "Add", "sub"]))
    chunks = [ChunkResponse(tool_calls=tuple(calls)), ChunkResponse(finish_reason="tool_calls")]
    results = list(drive(chunks, to_segments(), to_invocations(tools, ignore_case=ignore_case)))
    assert [each.name for each in results if isinstance(each, ToolInvocation)] == wanted
    assert [each.name for each in answered(chunks, to_segments(), to_invocations(ignore_case=ignore_case))] == [
        "aDD",
        "Add",
        "sub",
    ]


MUTANTS = {
    "a built-in spec refuses a call": ("built_in_spec", ("operators/calls/field_call.py", "required = call.spec.required if call.spec.strict else ()", "required = call.spec.required"), ("operators/to_invocations.py", "_refuses(spec, call) and any", "any")),
}  # fmt: skip
