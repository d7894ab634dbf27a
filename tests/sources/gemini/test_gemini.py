from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from chat_client import collected
from chunk_grammar import checked
from depth import scaled, stride
from framed_wire import by_gemini_wire, gemini_wire
from gemini_streams import NAMES, STREAMS, body_of, candidate, events_of, options_of, truth_of
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from stream_truth import assert_truth
from untyped import drive

from penstock.events import ChunkResponse, ProviderError, ToolInvocation, UsageError
from penstock.events.chunk_response import TokenUsage
from penstock.operators import to_invocations, to_segments
from penstock.operators.engine.stage import Completed, Failed
from penstock.sources.gemini.machine import Gemini
from penstock.sources.sdk_sources import from_gemini


def said(*responses: Any, **options: Any) -> list[ChunkResponse]:
    return collected(from_gemini(list(responses), turn_id="t", **options))[0]


def test_there_are_streams_of_our_own():
    assert len(NAMES) >= 20
    assert {f"{name}.json" for name in NAMES} == {path.name for path in STREAMS.glob("*.json")}


@looped("name", NAMES)
def test_a_stream_gives_its_truth(name: str):
    truth = truth_of(name)
    chunks, ends = by_gemini_wire([body_of(name)], **options_of(name))
    assert_truth(truth, chunks, ends)
    raw = checked(chunks).raw
    wanted = truth.get("raw_keys", [])
    assert [key for entry in raw for key in entry if key in wanted] == wanted


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=scaled(12), deadline=None)
@given(data=st.data())
def test_any_cutting_of_the_bytes_gives_the_same(name: str, data: st.DataObject):
    body = body_of(name)
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=30)))
    pieces = [body[start:end] for start, end in pairwise([0, *places, len(body)])]
    cut, cut_ends = by_gemini_wire(pieces, **options_of(name))
    whole, ends = by_gemini_wire([body], **options_of(name))
    assert cut == whole
    assert list(map(str, cut_ends)) == list(map(str, ends))


@looped("name", NAMES)
def test_without_alt_sse_the_same_comes_as_a_json_array_however_it_is_cut(name: str):
    whole, ends = by_gemini_wire([body_of(name)], **options_of(name))
    array = json.dumps(events_of(body_of(name)), indent=1).replace("\n", "\r\n").encode()
    for size in (1, 7, len(array)):
        pieces = [array[at : at + size] for at in range(0, len(array), size)]
        chunks, array_ends = by_gemini_wire(pieces, **options_of(name))
        assert chunks == whole
        assert list(map(str, array_ends)) == list(map(str, ends))


@pytest.mark.laws
@pytest.mark.parametrize("name", ["one_call", "streamed_gap_in_a_list", "error_as_bare_json", "halves_of_characters"])
def test_a_stream_cut_off_at_every_byte_keeps_the_grammar_and_only_grows(name: str):
    body = body_of(name)
    before: list[ChunkResponse] = []
    for length in range(0, len(body) + 1, stride(7)):
        machine = gemini_wire()
        chunks = machine.feed(body[:length])
        assert chunks[: len(before)] == before
        before = chunks
        rest, ends = by_gemini_wire([body[:length]])
        assert rest[: len(chunks)] == chunks
        checked(rest)
        assert ends == ["completed"] or isinstance(ends[0], ProviderError)


@looped("name", NAMES)
def test_it_goes_on_from_its_dumped_state_after_any_piece(name: str):
    body = body_of(name)
    size = max(1, len(body) // 60)
    straight, moving = gemini_wire(**options_of(name)), gemini_wire(**options_of(name))
    for at in range(0, len(body), size):
        assert moving.feed(body[at : at + size]) == straight.feed(body[at : at + size])
        state = msgspec.json.decode(msgspec.json.encode(moving.dump()))
        moving = gemini_wire(**options_of(name))
        moving.load(state)
    assert moving.close(Completed()) == straight.close(Completed())
    assert str(moving.failure) == str(straight.failure)


@pytest.mark.parametrize("name", ["streamed_back_to_what_closed", "streamed_gap_in_a_list", "streamed_cut_by_length"])
def test_arguments_that_could_not_be_written_are_a_failed_call_and_never_an_invocation(name: str):
    chunks, _ = by_gemini_wire([body_of(name)])
    results = list(drive(chunks, to_segments(), to_invocations()))
    failed = {getattr(each, "name", ""): getattr(each, "reason", "") for each in results}
    assert failed[truth_of(name)["calls"][0]["name"]] in ("malformed", "truncated")


def test_calls_without_a_terminal_part_are_invoked_when_the_answer_ends_regularly():
    chunks, _ = by_gemini_wire([body_of("streamed_without_terminal")])
    results = drive(chunks, to_segments(), to_invocations())
    assert [each.arguments for each in results if isinstance(each, ToolInvocation)] == [
        {"a": {"b": "one"}},
        {"c": "two"},
    ]


def test_an_answer_that_failed_is_a_value_and_the_stream_completes():
    chunks, ends = by_gemini_wire([body_of("malformed_function_call")])
    assert ends == ["completed"]
    assert [chunk.finish_reason for chunk in chunks if chunk.error] == ["error"]


def test_parts_of_a_call_that_is_not_known_are_a_call_without_a_name():
    leaf = {"jsonPath": "$.a", "stringValue": "b"}
    chunks = said(candidate({"functionCall": {"partialArgs": [leaf]}}, {"functionCall": {"args": {"a": 1}}}))
    calls = checked(chunks).calls
    assert [(call.name, call.arguments) for call in calls] == [
        ("", '{"a":"b"}'),
        ("", '{"a":1}'),
    ]


def test_arguments_that_come_whole_before_leaves_are_written_first():
    first = {"name": "f", "args": {"a": {"b": [1]}}, "willContinue": True}
    rest = {"partialArgs": [{"jsonPath": "$.c", "boolValue": False}]}
    [call] = checked(said(candidate({"functionCall": first}, {"functionCall": rest}))).calls
    assert (call.arguments, call.done) == ('{"a":{"b":[1]},"c":false}', True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"numberValue": 3}, "3"),
        ({"numberValue": 3.0}, "3"),
        ({"numberValue": 2**53 + 2}, "9007199254740994.0"),
        ({"numberValue": 1e-7}, "1e-07"),
        ({"nullValue": None}, "null"),
        ({"nullValue": "NULL_VALUE"}, "null"),
        ({"boolValue": False}, "false"),
        ({"stringValue": ""}, '""'),
    ],
)
def test_a_leaf_is_written_as_its_json(value: dict[str, Any], text: str):
    leaf = {"jsonPath": "$.a", **value}
    [call] = checked(said(candidate({"functionCall": {"name": "f", "partialArgs": [leaf]}}))).calls
    assert call.arguments == f'{{"a":{text}}}'
    assert json.loads(call.arguments)["a"] == json.loads(text)


@pytest.mark.parametrize("value", [{}, {"numberValue": "NaN"}, {"numberValue": 10**400}, {"numberValue": "no"}])
def test_a_leaf_that_has_no_json_leaves_the_root_open(value: dict[str, Any]):
    leaf = {"jsonPath": "$.a", **value}
    chunks = said(candidate({"functionCall": {"name": "f", "partialArgs": [leaf]}}))
    answer = checked(chunks)
    assert answer.calls[0].arguments == ""
    assert [entry["type"] for entry in answer.raw] == ["arguments_broken"]


@looped(
    "reason, wanted",
    [
        ("STOP", "stop"),
        (1, "stop"),
        (2, "length"),
        ("MAX_TOKENS", "length"),
        ("RECITATION", "content_filter"),
        ("MODEL_ARMOR", "content_filter"),
        ("CONTINUATION", "pause"),
        ("TOO_MANY_TOOL_CALLS", "error"),
        ("LANGUAGE", "other"),
        (9, "other"),
        ("SOMETHING_NEW", "other"),
    ],
)
def test_finish_reasons_are_in_our_words_and_in_the_providers(reason: Any, wanted: str):
    [chunk] = said(candidate({"text": "a"}, finishReason=reason))
    assert (chunk.finish_reason, chunk.finish_reason_raw, chunk.is_complete) == (wanted, str(reason), True)


ODD: list[Any] = [
    None,
    5,
    "text",
    [],
    [candidate({"text": "in a list"})],
    {"candidates": None},
    {"candidates": {"content": {"parts": {"text": "alone"}}}},
    {"candidates": [None, 5, {}, {"content": None}, {"content": {"parts": [None, 5, {}, {"text": 5}]}}]},
    candidate({"functionCall": {}}, {"functionCall": None}, {"functionCall": {"id": "x"}}),
    candidate({"functionCall": {"name": "f", "args": [1], "id": 7}}),
    candidate({"functionCall": {"name": "g", "partialArgs": [None, 5, {"jsonPath": 3, "stringValue": "a"}]}}),
    candidate({"toolCall": {}}, {"executableCode": {}}, {"brandNew": {"a": 1}}, {"inlineData": {"mimeType": "text/x"}}),
    candidate({"text": "a", "thoughtSignature": "not base64!"}, {"thought": True}),
    {"usageMetadata": {"promptTokenCount": "5", "candidatesTokenCount": -1, "totalTokenCount": None}},
    {"somethingNew": {"b": "\ud83d"}, "modelVersion": "m2", "responseId": "r"},
    {"promptFeedback": {"safetyRatings": []}},
]


def test_odd_responses_are_never_an_exception_and_never_lost():
    chunks, ends = collected(from_gemini(ODD, turn_id="t", choices="all"))
    assert ends == ["completed"]
    answer = checked(chunks)
    assert answer.content == "in a listalonea"
    assert [(call.call_id, call.name, call.arguments) for call in answer.calls if call.choice == 0][:2] == [
        ("7", "f", "[1]"),
        ("t:call_1", "g", ""),
    ]
    kept = [key for entry in answer.raw for key in entry]
    assert {"value", "brandNew", "somethingNew"} <= set(kept)
    assert [event.kind for event in answer.events if "inlineData" in event.data] == ["file"]


def test_functions_that_the_sdk_ran_itself_are_a_usage_error():
    history = [{"role": "user", "parts": [{"text": "-"}]}]
    chunks, [end] = collected(from_gemini([{**candidate({"text": "a"}), "automaticFunctionCallingHistory": history}]))
    assert chunks == []
    assert isinstance(end, UsageError)
    assert "declarations" in str(end)


def test_only_the_wanted_candidate_comes():
    assert checked(said(*events_of(body_of("two_candidates")), choices=1)).content == "B0 B1"
    assert [chunk.choice for chunk in said(*events_of(body_of("two_candidates")), choices=1)] == [1, 1]


def test_after_a_fatal_error_nothing_comes():
    machine = Gemini(turn_id="t")
    assert machine.feed({"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}})[0].error == {
        "detail": "slow down",
        "code": "429",
        "type": "RESOURCE_EXHAUSTED",
        "status": 429,
    }
    assert machine.stopped
    assert machine.feed(candidate({"text": "a"})) == machine.close(Failed(ValueError())) == []


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 2**60, "5"])
def test_a_count_that_is_none_raises_nothing(number: Any):
    machine = Gemini(turn_id="t")
    item = {"candidates": [], "usageMetadata": {"promptTokenCount": number, "candidatesTokenCount": 3}}
    assert [chunk.usage for chunk in machine.feed(item)] == [TokenUsage(0, 3, 3)]


MUTANTS = {
    "a token count of Infinity breaks the stream": ("count_that", ("sources/gemini/wire.py", 'token_count(fields, "thoughts_token_count"),', 'int(fields.get("prompt_token_count") or 0) * 0,')),
}  # fmt: skip
