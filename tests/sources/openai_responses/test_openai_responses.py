from __future__ import annotations

import json
import sys
from typing import Any, get_args

import provider_contract as contract
import pytest
from chat_client import collected
from chunk_grammar import checked
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from openai.types.responses.response import IncompleteDetails, Response
from provider_client import RESPONSES
from responses_fed import added, done, ended, fed
from untyped import drive

from penstock.events import AnswerEnd, ChunkResponse, InvocationFailed, ProviderEvent, SegmentEnd, ToolInvocation
from penstock.operators.engine.limits import Limits
from penstock.operators.engine.stage import Completed
from penstock.operators.to_invocations import to_invocations
from penstock.operators.to_segments import to_segments
from penstock.sources.base.endings import RESPONSES_FINISHES
from penstock.sources.from_stream import decode_sdk
from penstock.sources.openai_responses.items import CALLS, call_kind
from penstock.sources.openai_responses.machine import OpenAIResponses
from penstock.sources.recognition.apis import is_responses_event
from penstock.sources.sdk_sources import from_openai_responses

NAMES = RESPONSES.names


def function(index: Any, name: str, **item: Any) -> dict[str, Any]:
    return added(index, type="function_call", call_id=f"call_{name}", name=name, arguments="", **item)


def arguments(index: Any, text: Any, what: str = "delta") -> dict[str, Any]:
    field = "delta" if what == "delta" else "arguments"
    return {"type": f"response.function_call_arguments.{what}", "output_index": index, field: text}


def text(kind: str, index: int, number: int, given: Any) -> dict[str, Any]:
    place = "summary_index" if "summary" in kind else "content_index"
    return {"type": f"response.{kind}.delta", "output_index": index, place: number, "delta": given}


def test_there_are_streams_of_our_own():
    assert len(NAMES) >= 20
    assert {f"{name}.json" for name in NAMES} == {path.name for path in RESPONSES.streams.glob("*.json")}


@looped("name", NAMES)
def test_a_stream_gives_its_truth(name: str):
    contract.assert_truth(RESPONSES, name)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=scaled(10), deadline=None)
@given(data=st.data())
def test_any_cutting_of_the_bytes_gives_the_same(name: str, data: st.DataObject):
    contract.assert_any_cutting_gives_the_same(RESPONSES, name, data)


@looped("name", NAMES)
def test_one_byte_at_a_time_gives_the_same(name: str):
    contract.assert_bytes_give_the_same(RESPONSES, name)


@pytest.mark.laws
@pytest.mark.parametrize("name", ["custom_tool", "halves_of_characters", "envelope", "flat_error"])
def test_a_stream_cut_off_at_every_byte_keeps_the_grammar_and_only_grows(name: str):
    contract.assert_cut_at_every_byte_only_grows(RESPONSES, name)


@looped("name", NAMES)
def test_it_goes_on_from_its_dumped_state_after_any_event(name: str):
    contract.assert_goes_on_from_its_dump(RESPONSES, name)


@looped("name", [name for name in NAMES if name != "envelope"])
def test_dicts_and_the_sdks_objects_give_equal_chunks(name: str):
    contract.assert_objects_and_dicts_are_equal(RESPONSES, name)


ODD_EVENTS: list[Any] = [
    None,
    {},
    {"type": None},
    {"type": "response.created"},
    {"type": "response.in_progress", "response": {"id": 5, "model": None}},
    {"type": "response.output_text.delta", "delta": "a"},
    {"type": "response.output_text.delta", "output_index": None, "delta": None},
    {"type": "response.output_text.done", "output_index": 0, "text": None},
    {"type": "response.output_item.added", "output_index": 3, "item": None},
    {"type": "response.output_item.done", "output_index": 3},
    added(4, type="function_call", name="bare"),
    arguments(4, {"an": "object"}),
    arguments(4, "", "done"),
    done(4, type="function_call", name="bare", arguments=None),
    done(4, type="function_call", name="bare", arguments="again"),
    arguments(9, "nobody's"),
    done(5, type="message", content=[None, {"type": "output_text"}, {"type": "video"}]),
    done(6, type="reasoning", summary=None, content="x"),
    done(7, type="shell_call", call_id="s", action=None),
    {"type": "response.shell_call_command.delta", "output_index": 8},
    {"type": "response.completed", "response": {"output": [None, {}, {"type": "odd"}], "usage": {"input_tokens": "5"}}},
    {"type": "response.completed", "response": None},
    {"type": "response.completed", "response": {"usage": {"input_tokens": float("inf"), "output_tokens": 2.0}}},
    {"type": ["no", "type"]},
    text("output_text", 0, 0, "after the end"),
]


def test_odd_events_give_equal_chunks_both_ways_and_never_an_exception():
    by_dict = fed(*ODD_EVENTS)
    by_object = fed(*[RESPONSES.construct(event) if event else event for event in ODD_EVENTS])
    assert by_object == by_dict
    answer = checked(by_dict)
    assert answer.content == "aafter the end"
    assert [(call.call_id, call.name, call.arguments, call.done) for call in answer.calls] == [
        ("t:call_0", "bare", '{"an":"object"}', True),
        ("s", "shell", "", True),
        ("", "", "nobody's", False),
    ]
    assert answer.finish == {0: "tool_calls"}


KINDS = [f"response.{name}" for name in ("created", "completed", "incomplete", "failed", "output_item.added")]
KINDS += [f"response.{name}" for name in ("output_item.done", "output_text.delta", "output_text.done", "refusal.done")]
KINDS += [f"response.reasoning_summary_text.{name}" for name in ("delta", "done")]
KINDS += [f"response.function_call_arguments.{name}" for name in ("delta", "done")]
KINDS += [f"response.shell_call_command.{name}" for name in ("added", "delta", "done")]
FIELDS = ["output_index", "item_id", "item", "delta", "text", "content_index", "summary_index", "response", "output"]
FIELDS += ["id", "call_id", "name", "arguments", "content", "summary", "action", "commands", "status", "usage", "error"]
FIELDS += ["input", "result", "incomplete_details", "reason", "environment", "encrypted_content", "input_tokens"]
PARTS = [*CALLS, "message", "reasoning", "image_generation_call", "output_text", "refusal", "container_auto"]


@settings(max_examples=scaled(60), deadline=None)
@given(stream=contract.events(KINDS, FIELDS, PARTS))
def test_no_event_whatever_raises_or_breaks_the_grammar(stream: list[Any]):
    contract.assert_nothing_raises(RESPONSES, stream)


@pytest.mark.parametrize("item", [5, "text", [1]])
def test_what_is_no_event_passes_as_raw(item: Any):
    assert fed(item) == [ChunkResponse(raw=({"value": item},), api="openai-responses")]


@looped(
    "event, finish, words",
    [
        (ended("completed"), "stop", "completed"),
        (ended("incomplete", incomplete_details={"reason": "max_output_tokens"}), "length", "max_output_tokens"),
        (ended("incomplete", incomplete_details={"reason": "content_filter"}), "content_filter", "content_filter"),
        (ended("incomplete", incomplete_details={"reason": "steered"}), "pause", "steered"),
        (ended("incomplete", incomplete_details={"reason": "made_up"}), "other", "made_up"),
        (ended("incomplete"), "length", "incomplete"),
        (ended("completed") | {"response": {"status": "incomplete"}}, "length", "incomplete"),
        (ended("cancelled"), "other", "cancelled"),
        ({"type": "response.completed"}, "stop", "completed"),
    ],
)
def test_how_a_response_ends_is_in_our_words_and_in_the_providers(event: dict[str, Any], finish: str, words: str):
    [chunk] = fed(event)
    assert (chunk.finish_reason, chunk.finish_reason_raw, chunk.is_complete) == (finish, words, True)


def test_all_reasons_for_an_incomplete_response_that_the_sdk_has_are_known():
    [literal, _] = get_args(IncompleteDetails.model_fields["reason"].annotation)
    [statuses, _] = get_args(Response.model_fields["status"].annotation)
    assert {*get_args(literal), *get_args(statuses)} == set(RESPONSES_FINISHES)


def test_a_failed_response_is_fatal_and_says_its_usage_first():
    machine = OpenAIResponses()
    event = ended("failed", error={"code": "server_error", "message": "broken"}, usage={"input_tokens": 3})
    usage, error = machine.feed(event)
    assert usage.usage is not None
    assert error.error == {"detail": "broken", "code": "server_error"}
    assert machine.stopped
    assert str(machine.failure) == "provider error (server_error): broken"
    assert machine.feed(text("output_text", 0, 0, "never")) == machine.close(Completed()) == []


def test_an_error_in_any_event_is_fatal_as_it_is_for_the_sdk():
    [chunk] = fed({"error": {"message": "bare", "status_code": 503}}, text("output_text", 0, 0, "never"))
    assert chunk.error == {"detail": "bare", "status": 503}


def test_parts_of_one_items_reasoning_are_paragraphs_and_parts_of_text_are_not():
    summary = [text("reasoning_summary_text", 0, number, given) for number, given in ((0, "a"), (0, "b"), (1, "c"))]
    other = [text("reasoning_text", 1, number, given) for number, given in ((0, "d"), (1, "e"))]
    content = [text("output_text", 2, number, given) for number, given in ((0, "f"), (1, "g"))]
    answer = checked(fed(*summary, *other, *content))
    assert (answer.reasoning, answer.content) == ("ab\n\ncd\n\ne", "fg")


def test_half_a_character_comes_out_where_its_text_is_left():
    first = text("reasoning_text", 0, 0, "a\ud83d")
    for event in (text("output_text", 1, 0, "b"), function(1, "f"), {"type": "made_up"}, {"error": "gone"}):
        chunks = fed(first, event)
        assert [chunk.reasoning for chunk in chunks] == ["a", "\ufffd", ""]


def test_an_item_of_reasoning_that_never_spoke_says_its_summary_or_else_its_text():
    summary, content = [{"type": "summary_text", "text": "short"}], [{"type": "reasoning_text", "text": "long"}]
    assert checked(fed(done(0, type="reasoning", summary=summary, content=content))).reasoning == "short"
    assert checked(fed(done(0, type="reasoning", summary=[], content=content))).reasoning == "long"


def test_chunks_have_the_first_id_of_a_response_and_the_end_has_the_last():
    events = [{"type": f"response.{how}", "response": {"id": how, "model": "m"}} for how in ("created", "in_progress")]
    *chunks, end = fed(*events, function(0, "f"), ended("completed", id="x"))
    assert {chunk.response_id for chunk in chunks} == {"created"}
    assert (end.response_id, end.finish_reason) == ("x", "tool_calls")


def test_ids_that_are_made_have_the_first_id_whatever_id_the_end_has():
    late = {"type": "function_call", "name": "g", "arguments": "{}"}
    events = [{"type": "response.created", "response": {"id": "first"}}, ended("completed", id="last", output=[late])]
    [call] = checked(collected(from_openai_responses(events))[0]).calls
    assert call.call_id == "first:call_0"


def test_an_open_item_is_not_ended_by_one_of_another_type_at_its_place():
    whole = {"type": "function_call", "call_id": "call_f", "name": "f", "arguments": '{"a": 1}'}
    message = {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}
    events = [function(0, "f"), arguments(0, '{"a"'), text("output_text", 1, 0, "hi"), done(1, **message)]
    answer = checked(fed(*events, ended("completed", output=[message])))
    assert [(call.arguments, call.done) for call in answer.calls] == [('{"a"', False)]
    assert answer.content == "hi"
    answer = checked(fed(*events, ended("completed", output=[whole, message])))
    assert [(call.arguments, call.done) for call in answer.calls] == [('{"a": 1}', True)]
    assert answer.content == "hi"


def test_a_call_is_done_with_its_item_and_not_with_its_arguments():
    whole = [function(0, "f"), arguments(0, "{}"), arguments(0, "{}", "done")]
    assert not checked(fed(*whole)).calls[0].done
    end = done(0, type="function_call", name="f", arguments="{}")
    assert [each.done for chunk in fed(*whole, end) for each in chunk.tool_calls] == [False, False, True]
    empty = [function(0, "f"), arguments(0, "", "done")]
    call = checked(fed(*empty, done(0, type="function_call", name="f", arguments='{"a": 1}'))).calls[0]
    assert (call.arguments, call.done) == ('{"a": 1}', True)


def fates(*events: Any, **options: Any) -> list[Any]:
    chain = to_segments(turn_id="t", **options), to_invocations()
    found = drive(events, decode_sdk("openai-responses", turn_id="t"), *chain)
    return [each for each in found if not isinstance(each, AnswerEnd | ProviderEvent)]


CONTRADICTION = [
    function(0, "f"),
    arguments(0, '{"a":1}'),
    arguments(0, '{"a":2}', "done"),
    done(0, type="function_call", call_id="call_f", name="f", arguments='{"a":3}', status="completed"),
]


def test_arguments_that_disagree_are_invoked_by_nobody_and_told_with_their_texts():
    (failure,) = fates(*CONTRADICTION, ended("completed"))
    assert isinstance(failure, InvocationFailed)
    assert (failure.reason, failure.raw) == ("contradiction", '{"a":1}')
    (error,) = failure.errors
    assert error["texts"] == {"deltas": '{"a":1}', "done": '{"a":2}', "item": '{"a":3}'}


@pytest.mark.parametrize("place", ["done", "item"])
def test_each_place_where_arguments_come_again_is_compared(place: str):
    again = '{"a":2}' if place == "done" else '{"a":1}'
    item = '{"a":2}' if place == "item" else ""
    events = [*CONTRADICTION[:2], arguments(0, again, "done"), done(0, type="function_call", name="f", arguments=item)]
    assert [each.reason for each in fates(*events, ended("completed"))] == ["contradiction"]


def test_a_contradiction_is_told_although_the_end_of_the_item_does_not_come():
    for last in (ended("completed"), ended("incomplete"), function(1, "g")):
        assert fates(*CONTRADICTION[:3], last)[0].reason == "contradiction"


def test_arguments_that_are_equal_after_decoding_are_no_contradiction():
    item = done(0, type="function_call", name="f", arguments='{ "a" : 1.0 }', status="completed")
    (invocation,) = fates(*CONTRADICTION[:2], arguments(0, '{"a": 1}', "done"), item, ended("completed"))
    assert isinstance(invocation, ToolInvocation)


def test_what_disagrees_after_the_invocation_is_a_notice():
    invocation, notice = fates(*CONTRADICTION, ended("completed"), eager=True)
    assert (invocation.arguments, notice.code) == ({"a": 1}, "contradiction")
    item = {"type": "function_call", "id": "fc_f", "call_id": "call_f", "name": "f", "arguments": '{"a":4}'}
    whole = [*CONTRADICTION[:2], done(0, **{**item, "arguments": '{"a":1}'})]
    invocation, notice = fates(*whole, ended("completed", output=[item]))
    assert (invocation.arguments, notice.code) == ({"a": 1}, "contradiction")


def test_free_form_input_is_compared_as_it_is():
    begin = added(0, type="custom_tool_call", call_id="c", name="p")
    delta = {"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "a b"}
    for text, kind in (("a b", ToolInvocation), ("a  b", InvocationFailed)):
        item = done(0, type="custom_tool_call", call_id="c", name="p", input=text, status="completed")
        assert [type(each) for each in fates(begin, delta, item, ended("incomplete"))] == [kind]


def test_the_end_of_the_response_has_the_status_of_items_that_were_not_done():
    begin = added(0, type="custom_tool_call", id="ctc_0", call_id="c", name="p")
    delta = {"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "a"}
    item = {"type": "custom_tool_call", "id": "ctc_0", "call_id": "c", "name": "p", "input": "a"}
    for events in ([begin, delta], [begin, delta, done(0, **item)]):
        whole = fates(*events, ended("incomplete", output=[{"type": "message"}, {**item, "status": "completed"}]))
        assert [type(each) for each in whole] == [ToolInvocation]
        cut = fates(*events, ended("completed", output=[{"type": "message"}, {**item, "status": "incomplete"}]))
        assert [type(each) for each in cut] == [InvocationFailed]


CUSTOM = {"type": "custom_tool_call", "id": "ctc", "call_id": "c", "name": "p", "input": "rm -rf /"}


@pytest.mark.parametrize(
    "other",
    [
        {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "reasoning", "id": "rs", "encrypted_content": "e"},
        {"type": "mcp_call", "id": "mcp", "name": "s", "arguments": "{}"},
        {"type": "function_call", "id": "fc", "call_id": "d", "name": "g", "arguments": "{}"},
    ],
)
@pytest.mark.parametrize("status", ["incomplete", None])
def test_what_only_the_end_of_the_response_has_may_have_stood_before_the_call(other: Any, status: str | None):
    last = {**CUSTOM, "status": status} if status else CUSTOM
    for output in ([other, last], [other]):
        results = fates(done(1, **CUSTOM), ended("incomplete", output=output))
        assert [type(each) for each in results if each.name == "p"] == [InvocationFailed]


def test_items_that_share_an_index_are_different_items():
    reasoning = done(0, type="reasoning", id="rs", summary=[])
    first, second = ({**CUSTOM, "id": each, "call_id": each, "input": each} for each in ("a", "b"))
    deltas = [
        {"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": each} for each in ("a", "b")
    ]
    begins = [added(0, **{**each, "input": ""}) for each in (first, second)]
    for events in (
        [reasoning, begins[0], deltas[0], begins[1], deltas[1]],
        [reasoning, begins[0], deltas[0], done(0, **first), begins[1], deltas[1], done(0, **second)],
        [reasoning, done(0, **first), done(0, **second)],
    ):
        results = fates(*events, ended("completed"))
        assert [each.arguments for each in results] == [{"input": "a"}, {"input": "b"}]


def test_items_without_an_index_are_known_by_their_ids():
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi"}]}
    call = {"type": "function_call", "call_id": "fc_1", "name": "f", "arguments": '{"a":1}', "status": "completed"}
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "item": {**message, "content": []}},
        {"type": "response.output_text.delta", "item_id": "m", "content_index": 0, "delta": "Hi"},
        {"type": "response.output_item.added", "item": {**call, "arguments": "", "status": "in_progress"}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": '{"a":1}'},
        {"type": "response.output_item.done", "item": message},
        {"type": "response.output_item.done", "item": call},
        ended("completed", output=[message, call]),
    ]
    answer = checked(fed(*events))
    assert answer.content == "Hi"
    assert [(each.call_id, each.arguments) for each in answer.calls] == [("fc_1", '{"a":1}')]
    assert [each.arguments for each in fates(*events)] == [{"a": 1}]


def test_arguments_with_which_an_item_begins_count_where_no_others_come():
    whole = function(0, "f") | {}
    whole["item"] = {**whole["item"], "arguments": '{"a":1}'}
    for end in (ended("completed"), done(0, type="function_call", call_id="call_f", name="f", status="completed")):
        assert [each.arguments for each in fates(whole, end)] == [{"a": 1}]
    assert [each.arguments for each in fates(whole, arguments(0, '{"a":2}'), ended("completed"))] == [{"a": 2}]
    placeholder = function(0, "f") | {}
    placeholder["item"] = {**placeholder["item"], "arguments": "{}"}
    assert [type(each) for each in fates(placeholder)] == [InvocationFailed]


def test_an_end_of_an_item_that_comes_twice_is_compared():
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"}
    invocation, notice = fates(done(0, **item), done(0, **{**item, "arguments": "[]"}), ended("completed"))
    assert (type(invocation), notice.code) == (ToolInvocation, "contradiction")


def test_who_runs_a_call_follows_from_its_item():
    runners = {kind: call.executed_by for kind in CALLS if (call := call_kind({"type": kind, "execution": "client"}))}
    client = {"function_call", "custom_tool_call", "apply_patch_call", "computer_call", "local_shell_call"}
    assert {kind for kind, runner in runners.items() if runner == "client"} == client | {
        "shell_call",
        "tool_search_call",
    }
    assert set(runners) == set(CALLS)
    for places, runner in (((None, "local"), "client"), (("container_auto", "container_reference"), "provider")):
        for place in places:
            kind = call_kind({"type": "shell_call", "environment": place and {"type": place}})
            assert (kind and kind.executed_by) == runner
    kind = call_kind({"type": "tool_search_call", "execution": "server"})
    assert (kind and kind.executed_by) == "provider"
    assert call_kind({"type": "image_generation_call"}) is None


def test_native_has_what_the_provider_wants_back():
    item = {"namespace": "bank", "caller": {"type": "program", "caller_id": "p"}, "async": True, "status": "completed"}
    event = function(0, "f", id="fc_0", **item)
    for chunks in (fed(event), fed(RESPONSES.construct(event))):
        assert chunks[0].tool_calls[0].native == {
            "type": "function_call",
            "id": "fc_0",
            "call_id": "call_f",
            "namespace": "bank",
            "caller": {"type": "program", "caller_id": "p"},
            "async": True,
        }


def test_items_at_the_end_that_were_there_under_another_index_do_not_count_again():
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "hi"}]}
    extra = {"type": "function_call", "id": "fc", "call_id": "call_new", "name": "new", "arguments": "{}"}
    events = [text("output_text", 1, 0, "hi"), done(1, **message), ended("completed", output=[message, extra, message])]
    for output in ([message, extra, message], [extra, message]):
        answer = checked(fed(*events[:-1], ended("completed", output=output)))
        assert answer.content == "hi"
        assert [call.call_id for call in answer.calls] == ["call_new"]


def test_every_item_that_only_the_end_of_the_response_has_is_taken():
    messages = [{"type": "message", "id": i, "content": [{"type": "output_text", "text": i}]} for i in ("m1", "m2")]
    thoughts = [{"type": "reasoning", "id": i, "summary": [{"type": "summary_text", "text": i}]} for i in ("r1", "r2")]
    answer = checked(fed(ended("completed", output=[thoughts[0], messages[0], thoughts[1], messages[1]])))
    assert answer.content == "m1m2"
    assert answer.reasoning == "r1r2"


def test_calls_at_the_end_whose_ids_have_changed_do_not_come_again():
    def item(number: int, prefix: str) -> dict[str, Any]:
        arguments = f'{{"n": {number}}}'
        return {"type": "function_call", "call_id": f"{prefix}_{number}", "name": "f", "arguments": arguments}

    events = [done(None, **item(number, "first")) for number in range(3)]
    output = [item(number, "other") for number in range(3)]
    results = fates(*events, ended("completed", output=output))
    assert [(type(each), each.id) for each in results] == [(ToolInvocation, f"first_{n}") for n in range(3)]


def test_how_many_calls_may_be_open_is_not_for_the_source_to_say():
    events = [function(0, "f"), function(1, "g"), arguments(1, "{}"), text("output_text", 2, 0, "on")]
    answer = checked(fed(*events, limits=Limits(open_calls=1)))
    assert [(call.name, call.arguments) for call in answer.calls] == [("f", ""), ("g", "{}")]
    assert answer.content == "on"


def test_its_events_are_recognised():
    assert all(any(map(is_responses_event, RESPONSES.events_of(RESPONSES.body_of(name)))) for name in NAMES)
    assert not is_responses_event({"type": "message_start"})
    assert not is_responses_event({"choices": []})


def test_arguments_of_a_hundred_kilobytes_cost_the_same_for_each_delta_and_arrive_whole():
    def calls_made(repeats: int) -> int:
        whole = json.dumps({"content": "x = '\u00e9\\n \u2028'\n" * repeats}, ensure_ascii=False)
        pieces = [whole[at : at + 17] for at in range(0, len(whole), 17)]
        machine = OpenAIResponses()
        machine.feed(function(0, "f"))
        count = 0

        def profile(_frame: Any, what: str, _argument: Any) -> None:
            nonlocal count
            count += what in ("call", "c_call")

        sys.setprofile(profile)
        try:
            given = [chunk for piece in pieces for chunk in machine.feed(arguments(0, piece))]
        finally:
            sys.setprofile(None)
        assert "".join(chunk.tool_calls[0].arguments_delta for chunk in given) == whole
        return count

    assert calls_made(6000) < 2.05 * calls_made(3000)


def test_the_chain_invokes_none_of_the_providers_calls_and_the_shell_of_the_client():
    chunks = RESPONSES.by_wire([RESPONSES.body_of("provider_calls")])[0]
    assert not [each for each in drive(chunks, to_segments(), to_invocations()) if hasattr(each, "name")]
    chunks = RESPONSES.by_wire([RESPONSES.body_of("shell")])[0]
    events = list(drive(chunks, to_segments(), to_invocations(keep_segments=True)))
    assert [(each.id, each.arguments) for each in events if isinstance(each, ToolInvocation)] == [
        ("call_l", {"commands": ["pwd", "whoami"], "max_output_length": 4096, "timeout_ms": None}),
        ("call_q", {"commands": ["date", "id"], "timeout_ms": 10}),
    ]
    assert "call_h" in {event.segment_id for event in events if isinstance(event, SegmentEnd)}


def shell(event: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.shell_call_command.{event}", "output_index": 0, **fields}


SHELL = [
    added(0, type="shell_call", call_id="s", status="in_progress", action={"commands": []}),
    shell("added", command_index=0, command=""),
    shell("delta", command_index=0, delta='echo "a'),
    shell("delta", command_index=0, delta='\n"'),
    shell("done", command_index=0, command='echo "a\n"'),
    shell("done", command_index=1, command=""),
]
RUN = {"type": "shell_call", "call_id": "s", "action": {"commands": ['echo "a\n"', ""], "timeout_ms": 5}}


def test_the_commands_of_a_shell_stream_as_its_arguments():
    [call] = checked(fed(*SHELL)).calls
    assert call.arguments == '{"commands":["echo \\"a\\n\\"","'
    [invocation] = fates(*SHELL, done(0, **RUN, status="completed"), ended("completed"))
    assert (invocation.name, invocation.arguments) == ("shell", RUN["action"])


@pytest.mark.parametrize("end", [[], [ended("incomplete")], [done(0, **RUN), ended("incomplete")]])
def test_a_shell_that_the_model_did_not_finish_is_not_run(end: list[Any]):
    [failure] = fates(*SHELL, *end)
    assert (type(failure), failure.reason) == (InvocationFailed, "truncated")


def test_commands_that_the_item_has_otherwise_are_a_contradiction():
    other = {**RUN, "action": {"commands": ["rm -r ."], "timeout_ms": 5}}
    [failure] = fates(*SHELL, done(0, **other, status="completed"), ended("completed"))
    assert failure.reason == "contradiction"


def test_an_item_that_began_and_never_ended_is_told_at_the_end():
    began = added(0, type="hologram", id="h", size=3)
    assert [chunk.raw for chunk in fed(began)] == [(began,)]
    assert [chunk.raw for chunk in fed(began, done(0, type="hologram", id="h", size=4)) if chunk.raw] == [
        (done(0, type="hologram", id="h", size=4),)
    ]


def test_an_annotation_comes_once_wherever_it_stands():
    annotation = {"type": "url_citation", "url": "u"}
    event = {"type": "response.output_text.annotation.added", "output_index": 0, "annotation": annotation}
    part = {"type": "output_text", "text": "hi", "annotations": [annotation]}
    part_done = {"type": "response.content_part.done", "output_index": 0, "content_index": 0, "part": part}
    end = done(0, type="message", content=[part])
    said = text("output_text", 0, 0, "hi")
    for events in ([said, event], [said, part_done], [said, end], [end], [said, event, part_done, end]):
        found = checked(fed(*events, ended("completed", output=[end["item"]]))).events
        assert [(each.kind, each.data) for each in found] == [("citation", annotation)]


def test_the_result_of_a_search_names_its_call_even_if_ids_change():
    begun = added(0, type="web_search_call", id="ws_a")
    item = {"type": "web_search_call", "id": "ws_b", "action": {"type": "search", "query": "q", "sources": [{"u": 1}]}}
    answer = checked(fed(begun, done(0, **item, status="completed"), ended("completed")))
    assert [(call.call_id, call.name, call.arguments) for call in answer.calls] == [
        ("ws_a", "web_search", '{"query":"q","type":"search"}')
    ]
    [event] = answer.events
    assert (event.kind, event.segment_id, event.data["action"]) == ("tool_result", "ws_a", item["action"])


def test_a_result_without_an_id_is_of_the_last_call():
    call = {"type": "tool_search_call", "id": "tsc_1", "call_id": None, "execution": "server", "arguments": {"a": 1}}
    output = {"type": "tool_search_output", "id": "tso_1", "call_id": None, "tools": [{"name": "f"}]}
    answer = checked(fed(done(0, **call), done(1, **output), ended("completed")))
    assert [
        (each.executed_by, each.call_id) for chunk in fed(done(0, **call)) for each in chunk.tool_calls if each.name
    ]
    assert [(event.kind, event.segment_id) for event in answer.events] == [("tool_result", "tsc_1")]


@pytest.mark.parametrize("kind", [[], {"a": 1}, 5])
def test_an_item_of_the_end_with_a_type_that_is_no_text_passes(kind: Any):
    assert fed(ended("completed", output=[{"type": "message", "content": []}, {"type": kind, "id": "x"}]))


MUTANTS = {
    "the status of items is not read": (["free_form", "tests/laws/test_cut_models.py responses"], ("sources/openai_responses/items.py", "return _STATUSES.get(status) if isinstance(status, str) else None", "return None")),
    "items are known by their index alone": ("share", ("sources/openai_responses/items.py", "if item is None or item.kind:", "if item is None:")),
    "arguments that come again are not compared": ("disagree", ("sources/base/call_tracker.py", "if not text or not call.is_compared or same_arguments(kept, text, call.kind):", "if True:")),
    "a contradiction waits for an end that does not come": ("contradiction_is_told", ("sources/base/call_tracker.py", "*self._contradictions(), *ended", "*ended")),
}  # fmt: skip
