from __future__ import annotations

import json
import pickle
from typing import Any, get_args

import msgspec
import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    FileResult,
    InvocationFailed,
    Notice,
    Output,
    OutputFailed,
    PenstockError,
    ProviderError,
    ProviderEvent,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
    ToolCallArgumentProgress,
    ToolCallDelta,
    ToolCallStatus,
    ToolCallUpdate,
    ToolInvocation,
    ToolResult,
    UsageError,
    from_json,
    json_schema,
    to_dict,
    to_json,
)
from penstock.events.answer_end import AnswerStatus, OutputFailure
from penstock.events.chunk_response import FinishReason, ProviderEventKind, TokenUsage
from penstock.events.json_form import Event
from penstock.events.segment_event import Fragment, JsonError, SegmentEventType, Status
from penstock.events.tool_invocation import FileAction, FileChange, ToolCallState

TYPES: tuple[type[Any], ...] = get_args(Event)

texts = st.text(st.characters(codec="utf-8"), max_size=8)
maybe = st.none() | texts
numbers = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
plain: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, plain, max_size=3)
paths = st.lists(texts | st.integers(0, 99), max_size=4).map(tuple)
counts = st.integers(0, 10**9)
urls = st.lists(texts, max_size=2).map(tuple)

fragments = st.builds(Fragment, paths, st.sampled_from(("OPEN", "TEXT")), texts, counts) | st.builds(
    Fragment, paths, st.sampled_from(("SCALAR", "DONE")), st.none() | st.booleans() | numbers, counts
)
usages = st.builds(TokenUsage, counts, counts, counts, counts, counts)
deltas = st.builds(
    ToolCallDelta,
    counts,
    maybe,
    maybe,
    texts,
    st.sampled_from(("json", "text")),
    st.booleans(),
    st.sampled_from(("client", "provider")),
    st.none() | objects,
)
provider_events = st.builds(
    ProviderEvent,
    st.sampled_from(get_args(ProviderEventKind)),
    objects,
    maybe,
    st.integers(0, 9),
    maybe,
    maybe,
)
finish_reasons = st.sampled_from((None, *get_args(FinishReason)))
chunks = st.builds(
    ChunkResponse,
    content=texts,
    reasoning=texts,
    tool_calls=st.lists(deltas, max_size=2).map(tuple),
    usage=st.none() | usages,
    is_complete=st.booleans(),
    finish_reason=finish_reasons,
    finish_reason_raw=maybe,
    refusal=texts,
    image_urls=urls,
    audio_urls=urls,
    video_urls=urls,
    error=st.none() | objects,
    response_id=maybe,
    model=maybe,
    choice=st.integers(0, 9),
    raw=st.lists(objects, max_size=2).map(tuple),
    native=st.none() | objects,
    provider_events=st.lists(provider_events, max_size=2).map(tuple),
    api=maybe,
    message=st.none() | objects | st.lists(objects, max_size=2),
)
answer_ends = st.builds(
    AnswerEnd,
    turn_id=maybe,
    choice=st.integers(0, 9),
    status=st.sampled_from(get_args(AnswerStatus)),
    finish_reason=finish_reasons,
    finish_reason_raw=maybe,
    usage=st.none() | usages,
    model=maybe,
    response_id=maybe,
    error=st.none() | objects,
    api=maybe,
    message=st.none() | objects | st.lists(objects, max_size=2),
)
results = st.one_of(
    st.builds(ToolResult, texts, turn_id=maybe, value=plain),
    st.builds(ToolResult, texts, turn_id=maybe, error=texts),
    st.builds(ToolResult, texts, turn_id=maybe, denied=texts),
)
changes = st.builds(
    FileChange,
    texts,
    st.sampled_from(get_args(FileAction)),
    maybe,
    st.none() | counts,
    maybe,
    st.none() | counts,
    st.none() | counts,
    maybe,
)
file_results = st.one_of(
    st.builds(
        FileResult,
        texts,
        turn_id=maybe,
        value=texts,
        files=st.lists(changes, max_size=2).map(tuple),
        dry_run=st.booleans(),
    ),
    st.builds(FileResult, texts, turn_id=maybe, error=texts),
    st.builds(FileResult, texts, turn_id=maybe, denied=texts),
)
statuses = st.sampled_from((None, *get_args(Status)))
reasons = st.none() | st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
failures = st.builds(
    InvocationFailed,
    texts,
    maybe,
    texts,
    texts,
    st.sampled_from(("truncated", "malformed", "unknown_tool", "provider_error")),
    st.lists(objects, max_size=2).map(tuple),
)
invocations = st.builds(
    ToolInvocation,
    texts,
    maybe,
    texts,
    objects,
    raw=texts,
    repaired=st.booleans(),
    native=st.none() | objects,
    claimed_by=maybe,
)
STRATEGIES: dict[type[Any], st.SearchStrategy[Any]] = {
    ChunkResponse: chunks,
    ToolCallDelta: deltas,
    TokenUsage: usages,
    SegmentStart: st.builds(SegmentStart, texts, maybe, objects, turn_id=maybe),
    SegmentContent: st.builds(SegmentContent, texts, maybe, texts, turn_id=maybe),
    SegmentEnd: st.builds(SegmentEnd, texts, maybe, statuses, reasons, objects, turn_id=maybe),
    Fragment: fragments,
    JsonError: st.builds(
        JsonError, st.sampled_from(("malformed", "truncated", "limit", "duplicate_key")), counts, texts, texts, paths
    ),
    ToolCallArgumentProgress: st.builds(ToolCallArgumentProgress, texts, texts, fragments),
    ToolCallUpdate: st.builds(ToolCallUpdate, texts, texts, texts, st.booleans(), maybe, maybe),
    ToolInvocation: invocations,
    InvocationFailed: failures,
    Notice: st.builds(Notice, texts, texts),
    AnswerEnd: answer_ends,
    ProviderEvent: provider_events,
    ToolCallStatus: st.builds(
        ToolCallStatus, texts, maybe, texts, st.sampled_from(get_args(ToolCallState)), maybe, maybe
    ),
    ToolResult: results,
    FileResult: file_results,
    Output: st.builds(
        lambda segment_id, turn_id, data, raw: Output(segment_id, turn_id, data, data, raw), texts, maybe, plain, texts
    ),
    OutputFailed: st.builds(
        OutputFailed,
        texts,
        maybe,
        texts,
        st.sampled_from(get_args(OutputFailure)),
        st.lists(objects, max_size=2).map(tuple),
    ),
}


def test_every_event_type_is_asked() -> None:
    assert set(STRATEGIES) == set(TYPES)


@pytest.mark.laws
@looped("kind", TYPES)
def test_what_is_read_back_from_json_equals_what_was_written(kind: type[Any]) -> None:
    @settings(deadline=None, max_examples=scaled(25))
    @given(STRATEGIES[kind])
    def check(event: Any) -> None:
        line = to_json(event)
        assert from_json(line) == event
        assert from_json(line.decode()) == event
        assert b"\n" not in line

    check()


@pytest.mark.laws
@looped("kind", TYPES)
def test_to_dict_says_what_to_json_writes(kind: type[Any]) -> None:
    @settings(deadline=None, max_examples=scaled(15))
    @given(STRATEGIES[kind])
    def check(event: Any) -> None:
        assert msgspec.json.encode(to_dict(event)) == to_json(event)
        assert json.loads(json.dumps(to_dict(event))) == msgspec.json.decode(to_json(event))

    check()


def test_the_json_of_a_segment_leaves_out_what_is_in_process_only_and_what_is_absent() -> None:
    piece = Fragment((), "OPEN", "{")
    event = SegmentContent("s", "tool_call", "{", turn_id="t", raw="{", fragments=(piece,))
    assert to_dict(event) == {
        "type": "SEGMENT_CONTENT",
        "segment_id": "s",
        "segment_type": "tool_call",
        "payload": {"delta": "{"},
        "turn_id": "t",
    }
    assert to_dict(SegmentEnd("s", None, None)) == {"type": "SEGMENT_END", "segment_id": "s", "payload": {}}
    back = from_json(to_json(event))
    assert isinstance(back, SegmentEvent)
    assert (back.raw, back.fragments) == ("", None)


def test_the_json_of_an_invocation_leaves_its_model_out() -> None:
    event = ToolInvocation("i", None, "f", {"a": 1}, model=object())
    assert "model" not in to_dict(event)
    assert from_json(to_json(event)) == ToolInvocation("i", None, "f", {"a": 1})


def test_the_json_of_the_end_of_an_answer_has_its_usage_and_its_message() -> None:
    event = AnswerEnd("t", usage=TokenUsage(1, 2, 3), api="openai-chat", message={"role": "assistant"})
    plain = to_dict(event)
    assert (plain["type"], plain["status"], plain["choice"]) == ("ANSWER_END", "complete", 0)
    assert (plain["usage"]["total"], plain["message"]) == (3, {"role": "assistant"})


@pytest.mark.parametrize(
    "two", [{"value": 1, "error": "x"}, {"error": "x", "denied": "y"}, {"value": 0, "denied": "y"}]
)
def test_a_tool_has_one_result(two: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="has one of value=, error= and denied="):
        ToolResult("c", **two)
    with pytest.raises(UsageError):
        from_json(msgspec.json.encode({"type": "TOOL_RESULT", "id": "c", **two}))


def test_the_json_of_an_output_has_the_plain_data_for_its_value() -> None:
    event = Output("s", "t", object(), {"a": [1]}, '{"a": [1]}')
    assert to_dict(event) == {
        "type": "OUTPUT",
        "segment_id": "s",
        "turn_id": "t",
        "value": {"a": [1]},
        "raw": '{"a": [1]}',
    }
    assert from_json(to_json(event)) == Output("s", "t", {"a": [1]}, {"a": [1]}, '{"a": [1]}')


def test_the_json_of_a_tool_call_update_has_the_documented_names() -> None:
    assert to_dict(ToolCallUpdate("c", "f", '{"a', is_complete=False, message_id="m")) == {
        "type": "assistant_streaming_tool_call",
        "toolCallId": "c",
        "toolName": "f",
        "arguments": '{"a',
        "isComplete": False,
        "messageId": "m",
    }


@looped(
    "data",
    [
        "",
        "nothing",
        "[]",
        "5",
        "null",
        '"NOTICE"',
        "{}",
        '{"type": null}',
        '{"type": []}',
        '{"type": "OTHER"}',
        '{"type": "NOTICE", "code": "c"}',
        '{"type": "NOTICE", "code": 1, "detail": "d"}',
        '{"type": "SEGMENT_MIDDLE", "segment_id": "s"}',
        '{"type": "TOOL_CALL_DELTA", "index": 0, "kind": "xml"}',
        b'{"type": "NOTICE", "code": "\xff", "detail": ""}',
        b'{"type": "NOTICE", "code": "c", "detail": "d"',
    ],
)
def test_from_json_says_what_is_no_event_and_which_types_there_are(data: bytes | str) -> None:
    with pytest.raises(UsageError, match=r"not the JSON form of an event .*'type' must be one of: .*NOTICE"):
        from_json(data)


@pytest.mark.parametrize("data", ["\ud800", "[" * 100_000], ids=["a lone surrogate", "endless nesting"])
def test_from_json_refuses_half_characters_and_endless_nesting_as_it_refuses_all_else(data: str) -> None:
    with pytest.raises(UsageError, match="not the JSON form of an event"):
        from_json(data)


KEYWORDS: dict[str, Any] = {
    "$defs": dict,
    "$ref": str,
    "$schema": str,
    "additionalProperties": (dict, bool),
    "anyOf": list,
    "const": object,
    "default": object,
    "description": str,
    "enum": list,
    "items": (dict, bool),
    "maxItems": int,
    "minItems": int,
    "oneOf": list,
    "prefixItems": list,
    "properties": dict,
    "required": list,
    "title": str,
    "type": str,
}
JSON_TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}


def check_schema(schema: Any, definitions: dict[str, Any]) -> None:
    """Check that a schema has known keywords only, with the right types, and no reference to nowhere."""
    if isinstance(schema, bool):
        return
    assert isinstance(schema, dict)
    for key, value in schema.items():
        assert isinstance(value, KEYWORDS[key]), key
    assert schema.get("type", "object") in JSON_TYPES
    if "$ref" in schema:
        assert schema["$ref"].removeprefix("#/$defs/") in definitions
    assert set(schema.get("required", ())) <= set(schema.get("properties", {}))
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for each in (*inner, *schema.get("prefixItems", ())):
        check_schema(each, definitions)


def test_the_schema_is_a_json_schema_of_every_event() -> None:
    schema = json_schema()
    definitions = schema["$defs"]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    check_schema({key: value for key, value in schema.items() if key != "$defs"}, definitions)
    for each in definitions.values():
        check_schema(each, definitions)
    assert {each["$ref"].removeprefix("#/$defs/") for each in schema["oneOf"]} == {kind.__name__ for kind in TYPES}
    assert json.loads(json.dumps(schema)) == msgspec.json.decode(msgspec.json.encode(schema))


@looped("kind", TYPES)
def test_the_schema_describes_every_event_and_every_field(kind: type[Any]) -> None:
    definition = json_schema()["$defs"][kind.__name__]
    assert definition["description"]
    fields = {name: each for name, each in definition["properties"].items() if name != "type" or "enum" not in each}
    assert fields or kind is Notice
    undescribed = [name for name, each in fields.items() if name != "type" and not each.get("description")]
    assert undescribed == []


@pytest.mark.laws
@looped("kind", TYPES)
def test_the_schema_has_exactly_the_keys_of_the_json_form(kind: type[Any]) -> None:
    definition = json_schema()["$defs"][kind.__name__]

    @settings(deadline=None, max_examples=scaled(15))
    @given(STRATEGIES[kind])
    def check(event: Any) -> None:
        keys = set(to_dict(event))
        assert set(definition["required"]) <= keys <= set(definition["properties"])

    check()


def test_a_match_statement_takes_events_apart() -> None:
    def said(event: Event) -> str:
        match event:
            case SegmentContent(delta=text):
                return f"text {text}"
            case SegmentEnd(status="truncated" | "failed" as status):
                return status
            case ToolInvocation(name=name, arguments={"path": path}):
                return f"{name} {path}"
            case InvocationFailed(reason=reason):
                return reason
            case ChunkResponse(tool_calls=(ToolCallDelta(name=str(name)), *_)):
                return name
            case Fragment(("content",), "TEXT", text):
                return text
        return "other"

    events: list[Event] = [
        SegmentContent("s", "text", "hi"),
        SegmentEnd("s", "text", "truncated"),
        SegmentEnd("s", "text", "complete"),
        ToolInvocation("i", None, "write_file", {"path": "a", "content": "x"}),
        InvocationFailed("i", name="f", reason="malformed"),
        ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "g"), ToolCallDelta(0))),
        Fragment(("content",), "TEXT", "y"),
        Notice("c", "d"),
    ]
    given = [said(event) for event in events]
    assert given == ["text hi", "truncated", "other", "write_file a", "malformed", "g", "y", "other"]


EXAMPLES: dict[type[Any], Any] = {
    ChunkResponse: ChunkResponse(content="a", raw=({"type": "x"},)),
    ToolCallDelta: ToolCallDelta(0, "c", "f", "{", native={"n": 1}),
    TokenUsage: TokenUsage(1, 2, 3),
    SegmentStart: SegmentStart("s", "write_file", {"path": "a"}, turn_id="t"),
    SegmentContent: SegmentContent("s", "text", "a", turn_id="t", raw="a", fragments=()),
    SegmentEnd: SegmentEnd("s", "text", "failed", "limit", {"error": {}}),
    Fragment: Fragment(("a", 0), "TEXT", "b", 3),
    JsonError: JsonError("limit", 0, "x"),
    ToolCallArgumentProgress: ToolCallArgumentProgress("c", "f", Fragment((), "DONE")),
    ToolCallUpdate: ToolCallUpdate("c", "f", "", is_complete=True),
    ToolInvocation: ToolInvocation("i", None, "f", {"a": [1]}),
    InvocationFailed: InvocationFailed("i", name="f", reason="invalid", errors=({"loc": ["a"]},)),
    Notice: Notice("c", "d"),
    AnswerEnd: AnswerEnd("t", 1, "failed", usage=TokenUsage(1, 2, 3), error={"detail": "x"}, message={"role": "a"}),
    ProviderEvent: ProviderEvent("citation", {"url": "u"}, turn_id="t", segment_id="s"),
    ToolCallStatus: ToolCallStatus("c", "t", "f", "denied", "00", "no"),
    ToolResult: ToolResult("c", turn_id="t", value={"a": [1]}),
    FileResult: FileResult("c", turn_id="t", value="created a", files=(FileChange("a", "created", size=1),)),
    Output: Output("s", "t", {"a": [1]}, {"a": [1]}, '{"a": [1]}'),
    OutputFailed: OutputFailed("s", "t", "{", "truncated", ({"at": 1},)),
}


@looped("kind", TYPES)
def test_events_do_not_change(kind: type[Any]) -> None:
    example = EXAMPLES[kind]
    for name in kind.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(example, name, getattr(example, name))


@pytest.mark.parametrize(
    "payload",
    [
        '{"metadata": null}',
        '{"metadata": {"tool_name": []}}',
        '{"status": 5}',
        '{"metadata": {"native": 1}}',
        "[]",
        "null",
    ],
)
def test_from_json_refuses_payloads_that_operators_could_not_read(payload: str) -> None:
    for kind in ("START", "CONTENT", "END"):
        with pytest.raises(UsageError, match="not the JSON form of an event"):
            from_json(f'{{"type": "SEGMENT_{kind}", "segment_id": "s", "payload": {payload}}}')


@pytest.mark.parametrize("payload", ["{}", '{"delta": 5}', '{"delta": null}'])
def test_from_json_refuses_content_without_a_text(payload: str) -> None:
    with pytest.raises(UsageError, match="delta"):
        from_json(f'{{"type": "SEGMENT_CONTENT", "segment_id": "s", "payload": {payload}}}')


def test_segments_made_without_metadata_do_not_share_it() -> None:
    first, second = SegmentEnd("a", None, None), SegmentEnd("b", None, None)
    first.metadata["tool_name"] = "f"
    assert second.metadata == SegmentStart("c", None).metadata == {}


def test_a_segment_event_is_one_of_three_and_nothing_else() -> None:
    with pytest.raises(UsageError, match="abstract base; make a SegmentStart, SegmentContent or SegmentEnd"):
        SegmentEvent("s", "text")
    assert [kind.type for kind in (SegmentStart, SegmentContent, SegmentEnd)] == list(get_args(SegmentEventType))
    for kind in (SegmentStart, SegmentContent, SegmentEnd):
        match EXAMPLES[kind]:
            case SegmentEvent(segment_id="s", type=name):
                assert name == kind.type
            case other:
                pytest.fail(f"{other} is no SegmentEvent")


LINES = {
    b'{"type":"SEGMENT_START","segment_id":"s","payload":{}}': SegmentStart("s", None),
    b'{"type":"SEGMENT_START","segment_id":"s","segment_type":"x","payload":{"metadata":{"tool_name":"f"}}}': SegmentStart(
        "s", "x", {"tool_name": "f"}
    ),
    b'{"type":"SEGMENT_CONTENT","segment_id":"s","segment_type":"x","payload":{"delta":""},"turn_id":"t"}': SegmentContent(
        "s", "x", "", turn_id="t"
    ),
    b'{"type":"SEGMENT_END","segment_id":"s","payload":{}}': SegmentEnd("s", None, None),
    b'{"type":"SEGMENT_END","segment_id":"s","segment_type":"x","payload":{"status":"complete"}}': SegmentEnd(
        "s", "x", "complete"
    ),
    b'{"type":"SEGMENT_END","segment_id":"s","segment_type":"x",'
    b'"payload":{"status":"failed","reason":"limit","metadata":{"a":1}},"turn_id":"t"}': SegmentEnd(
        "s", "x", "failed", "limit", {"a": 1}, turn_id="t"
    ),
}


@pytest.mark.parametrize("line", LINES)
def test_the_json_of_segments_has_its_keys_in_order_and_none_that_says_nothing(line: bytes) -> None:
    assert to_json(LINES[line]) == line
    assert from_json(line) == LINES[line]


def test_what_stands_beside_a_payload_is_not_taken_for_what_it_says() -> None:
    line = '{"type": "SEGMENT_END", "segment_id": "s", "status": "failed", "delta": 5, "payload": {"turn_id": 7}}'
    assert from_json(line) == SegmentEnd("s", None, None)
    with pytest.raises(UsageError, match="delta"):
        from_json('{"type": "SEGMENT_CONTENT", "segment_id": "s", "delta": "x", "payload": {}}')


def test_from_json_refuses_a_status_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="status"):
        from_json('{"type": "SEGMENT_END", "segment_id": "s", "payload": {"status": "cancelled"}}')


@looped("kind", TYPES)
def test_events_pickle(kind: type[Any]) -> None:
    example = EXAMPLES[kind]
    assert pickle.loads(pickle.dumps(example)) == example


def test_a_fragment_gives_the_recursive_form() -> None:
    assert Fragment((), "TEXT", "a").nested() == {"string": "a"}
    assert Fragment((), "SCALAR", None).nested() == {"scalar": None}
    assert Fragment((), "DONE").nested() == "done"
    assert Fragment((), "OPEN", "{").nested() is None
    assert Fragment((2, "k"), "SCALAR", 1.5).nested() == {
        "array_item": {"index": 2, "value": {"object_entry": {"key": "k", "value": {"scalar": 1.5}}}}
    }


def test_a_json_error_says_where_what_was_expected_and_what_was_found() -> None:
    assert str(JsonError("malformed", 3, "a key", "x")) == "malformed at 3: expected a key, found 'x'"
    assert str(JsonError("truncated", 0, "a value")) == "truncated at 0: expected a value, the text ended"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ProviderError("no money"), "provider error: no money"),
        (
            ProviderError("slow down", code="rate", type="limit", status=429),
            "provider error (429, limit, rate): slow down",
        ),
        (ProviderError("reset", transport=True), "connection lost: reset"),
        (ProviderError("gone", status=0, transport=True), "connection lost (0): gone"),
        (ProviderError("Reset", type="Reset", transport=True), "connection lost (Reset)"),
        (ProviderError("", status=500), "provider error (500)"),
    ],
)
def test_a_provider_error_makes_its_message_of_its_data(error: ProviderError, message: str) -> None:
    assert str(error) == message


def test_errors_pickle_with_their_data() -> None:
    error = pickle.loads(pickle.dumps(ProviderError("d", code="c", type="t", status=500, transport=True)))
    assert isinstance(error, ProviderError)
    assert (error.detail, error.code, error.type, error.status, error.transport) == ("d", "c", "t", 500, True)
    assert str(pickle.loads(pickle.dumps(UsageError("so not")))) == "so not"


def test_every_error_is_a_penstock_error_and_blames_one_side() -> None:
    assert issubclass(UsageError, PenstockError)
    assert issubclass(ProviderError, PenstockError)
    assert not issubclass(UsageError, ProviderError)
    assert not issubclass(ProviderError, UsageError)
