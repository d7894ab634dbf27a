from __future__ import annotations

import json
import sys
from typing import Any, get_args

import provider_contract as contract
import pytest
from anthropic.types.beta import BetaStopReason
from chunk_grammar import checked
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from provider_client import ANTHROPIC
from untyped import drive, stage

from penstock.events import ChunkResponse, ProviderError
from penstock.operators.engine.limits import Limits
from penstock.operators.engine.stage import Completed, Failed
from penstock.operators.to_invocations import to_invocations
from penstock.operators.to_segments import to_segments
from penstock.sources.anthropic.machine import AnthropicMessages
from penstock.sources.base.endings import ANTHROPIC_FINISHES
from penstock.sources.recognition.apis import is_anthropic_event

NAMES = ANTHROPIC.names
KINDS = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"]


def fed(*events: Any, **options: Any) -> list[ChunkResponse]:
    machine = AnthropicMessages(turn_id="t", **options)
    chunks = [chunk for event in events for chunk in machine.feed(event)]
    return chunks + machine.close(Completed())


def start(index: Any, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: Any, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def arguments(index: Any, text: str) -> dict[str, Any]:
    return delta(index, "input_json_delta", partial_json=text)


def stop(index: Any) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def finish(reason: Any, **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}


def test_there_are_streams_of_our_own():
    assert len(NAMES) >= 19
    assert {f"{name}.json" for name in NAMES} == {path.name for path in ANTHROPIC.streams.glob("*.json")}


@looped("name", NAMES)
def test_a_stream_gives_its_truth(name: str):
    contract.assert_truth(ANTHROPIC, name)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=scaled(10), deadline=None)
@given(data=st.data())
def test_any_cutting_of_the_bytes_gives_the_same(name: str, data: st.DataObject):
    contract.assert_any_cutting_gives_the_same(ANTHROPIC, name, data)


@looped("name", NAMES)
def test_one_byte_at_a_time_gives_the_same(name: str):
    contract.assert_bytes_give_the_same(ANTHROPIC, name)


@pytest.mark.laws
@pytest.mark.parametrize("name", ["input_with_the_block", "halves_of_characters", "envelope", "error_in_stream"])
def test_a_stream_cut_off_at_every_byte_keeps_the_grammar_and_only_grows(name: str):
    contract.assert_cut_at_every_byte_only_grows(ANTHROPIC, name)


@looped("name", NAMES)
def test_it_goes_on_from_its_dumped_state_after_any_event(name: str):
    contract.assert_goes_on_from_its_dump(ANTHROPIC, name)


@looped("name", NAMES)
def test_dicts_and_the_sdks_objects_give_equal_chunks(name: str):
    contract.assert_objects_and_dicts_are_equal(ANTHROPIC, name)


ODD_EVENTS: list[Any] = [
    None,
    {},
    {"type": None},
    {"type": "message_start"},
    {"type": "message_start", "message": {"id": 5, "content": [None, {"type": "text", "text": "a"}], "usage": 3}},
    {"type": "content_block_start", "index": 0, "content_block": None},
    start(None, type="text", text="b"),
    start(0, type=["no", "type"]),
    {"type": "message_delta", "usage": {"output_tokens": float("inf"), "input_tokens": float("nan")}},
    start(1, type="tool_use", id=None, name="bare", input="in words"),
    start(2, type="tool_use", id="named", name="f", input=[1, {"b": None}]),
    {"type": "content_block_delta", "index": 1, "delta": None},
    delta(1, "text_delta", text=None),
    delta(9, "input_json_delta", partial_json="nobody's"),
    stop(1),
    stop(2),
    stop(7),
    {"type": "content_block_stop"},
    {"type": "message_delta", "delta": None, "usage": {"output_tokens": 3.0, "input_tokens": None}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": "###"}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
    delta(1, "text_delta", text="after the end"),
]


def test_odd_events_give_equal_chunks_both_ways_and_never_an_exception():
    by_dict = fed(*ODD_EVENTS)
    assert fed(*[ANTHROPIC.construct(event) if event else event for event in ODD_EVENTS]) == by_dict
    answer = checked(by_dict)
    assert answer.content == "abafter the end"
    assert [(call.call_id, call.name, call.arguments, call.done) for call in answer.calls] == [
        ("t:call_0", "bare", "in words", True),
        ("named", "f", '[1,{"b":null}]', True),
        ("", "", "nobody's", False),
    ]
    assert answer.finish_raw == ["end_turn"]


FIELDS = ["index", "delta", "content_block", "message", "usage", "id", "name", "input", "text", "thinking", "signature"]
FIELDS += ["partial_json", "stop_reason", "stop_details", "explanation", "content", "data", "error", "citations"]
PARTS = ["text", "tool_use", "server_tool_use", "thinking", "redacted_thinking", "text_delta", "input_json_delta"]


@settings(max_examples=scaled(60), deadline=None)
@given(stream=contract.events([*KINDS, "ping", "error"], [*FIELDS, "input_tokens", "output_tokens"], PARTS))
def test_no_event_whatever_raises_or_breaks_the_grammar(stream: list[Any]):
    contract.assert_nothing_raises(ANTHROPIC, stream)


@pytest.mark.parametrize("item", [5, "text", [1]])
def test_what_is_no_event_passes_as_raw(item: Any):
    assert fed(item) == [ChunkResponse(raw=({"value": item},), api="anthropic-messages")]


@looped(
    "reason, wanted",
    [*((word, finish.reason) for word, finish in ANTHROPIC_FINISHES.items()), ("made_up", "other")],
)
def test_stop_reasons_are_in_our_words_and_in_the_providers(reason: str, wanted: str):
    [chunk] = fed(finish(reason))
    assert (chunk.finish_reason, chunk.finish_reason_raw, chunk.is_complete) == (wanted, reason, True)


@pytest.mark.parametrize(
    ("later", "wanted"), [([], "pause_turn"), ([None], "pause_turn"), (["max_tokens"], "max_tokens")]
)
def test_a_stop_reason_at_the_start_counts_unless_another_comes(later: list[str | None], wanted: str):
    message = {"type": "message_start", "message": {"id": "m", "stop_reason": "pause_turn"}}
    chunks = fed(message, *map(finish, later), {"type": "message_stop"})
    assert [each.finish_reason_raw for each in chunks if each.is_complete] == [wanted]


def test_what_comes_after_a_fallback_is_by_the_model_that_it_names():
    message = {"type": "message_start", "message": {"id": "m", "model": "large"}}
    text = delta(1, "text_delta", text="Hi")
    for to, wanted in (({"model": "small"}, "small"), ({}, "large"), (None, "large")):
        block = start(0, type="fallback", **{"from": {"model": "large"}}, to=to)
        assert fed(message, block, stop(0), text)[-1].model == wanted


def test_all_stop_reasons_of_the_sdk_are_known():
    assert set(get_args(BetaStopReason)) == set(ANTHROPIC_FINISHES)


def test_usage_is_cumulative_and_prompt_includes_the_cache():
    begin = {"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 5, "output_tokens": 1}
    message = {"type": "message_start", "message": {"usage": begin}}
    first, last = fed(message, finish(None, output_tokens=1), finish("end_turn", output_tokens=9, input_tokens=None))
    assert first.usage is not None
    assert (first.usage.prompt, first.usage.cached, first.usage.completion, first.usage.total) == (48, 40, 1, 49)
    assert last.usage is not None
    assert (last.usage.prompt, last.usage.cached, last.usage.completion, last.usage.total) == (48, 40, 9, 57)


def test_deltas_win_over_an_input_that_came_with_the_block():
    shown = start(0, type="tool_use", id="a", name="f", input={"x": 1})
    assert checked(fed(shown, arguments(0, ""), arguments(0, '{"y": 2}'), stop(0))).calls[0].arguments == '{"y": 2}'
    assert checked(fed(shown, arguments(0, ""), stop(0))).calls[0].arguments == '{"x":1}'
    assert checked(fed(shown)).calls[0].arguments == '{"x":1}'


def test_an_input_that_waits_is_out_before_an_error_from_outside():
    machine = AnthropicMessages(turn_id="t")
    chunks = machine.feed(start(0, type="tool_use", id="a", name="f", input={"x": "\ud83d"}))
    chunks += machine.close(Failed(ProviderError("gone", transport=True)))
    assert checked(chunks).calls[0].arguments == '{"x":"\ufffd"}'
    assert chunks[-1].error == {"detail": "gone", "transport": True}
    assert machine.feed(stop(0)) == []


def test_a_chunk_says_each_thing_as_soon_as_its_event_does():
    chunks = fed(
        start(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="hm"),
        delta(0, "signature_delta", signature="s"),
        stop(0),
        start(1, type="tool_use", id="a", name="f", input={}),
        arguments(1, "{}"),
        stop(1),
    )
    said = [
        (chunk.reasoning, chunk.native, [(each.name, each.arguments_delta, each.done) for each in chunk.tool_calls])
        for chunk in chunks
    ]
    assert said == [
        ("hm", None, []),
        ("", {"type": "thinking", "signature": "s"}, []),
        ("", None, [("f", "", False)]),
        ("", None, [(None, "{}", False)]),
        ("", None, [(None, "", True)]),
    ]


def test_calls_are_numbered_densely_whatever_the_blocks_are():
    blocks = [(4, "a"), (2, "b"), ("7", "c"), (-1, "d")]
    events = [start(index, type="tool_use", id=name, name=name, input={}) for index, name in blocks]
    calls = checked(fed(*events, *(arguments(index, name) for index, name in blocks))).calls
    assert [(call.index, call.name, call.arguments) for call in calls] == [
        (0, "a", "a"),
        (1, "b", "b"),
        (2, "c", "c"),
        (3, "d", "d"),
    ]


def test_a_second_message_goes_on_in_the_same_turn_with_its_own_blocks():
    def message(name: str) -> dict[str, Any]:
        return {"type": "message_start", "message": {"id": name, "model": name}}

    call = start(0, type="tool_use", name="f", input={})
    machine = AnthropicMessages()
    events = [message("one"), call, arguments(0, "{"), message("two"), call, arguments(0, "{}"), stop(0)]
    chunks = [chunk for event in events for chunk in machine.feed(event)]
    calls = checked(chunks).calls
    assert [(each.call_id, each.arguments, each.done) for each in calls] == [
        ("one:call_0", "{", False),
        ("one:call_1", "{}", True),
    ]
    assert (chunks[-1].response_id, chunks[-1].model) == ("two", "two")


def test_half_a_character_comes_out_where_its_text_is_left_and_never_goes_into_another_message():
    message = {"type": "message_start", "message": {"id": "two"}}
    first, last = delta(0, "text_delta", text="a\ud83d"), delta(0, "text_delta", text="\ude00b")
    assert [chunk.content for chunk in fed(first, message, last)] == ["a", "\ufffd", "\ufffdb"]
    for event in (
        delta(0, "thinking_delta", thinking="hm"),
        delta(0, "signature_delta", signature="s"),
        {"type": "made_up"},
        start(1, type="tool_use", id="a", name="f", input={}),
        {"type": "error", "error": "gone"},
        finish("end_turn"),
    ):
        chunks = fed(first, event, last)
        assert [chunk.content for chunk in chunks[:2]] == ["a", "\ufffd"]
        assert len(chunks) > 2


def test_an_input_that_waits_is_out_before_the_finish():
    shown = start(0, type="tool_use", id="a", name="f", input={"x": 1})
    for end in (finish("tool_use"), {"type": "message_stop"}):
        chunks = fed(shown, end)
        assert [each.arguments_delta for each in chunks[-2].tool_calls] == ['{"x":1}']
        assert chunks[-1].finish_reason == "tool_calls"


def test_how_many_calls_may_be_open_is_not_for_the_source_to_say():
    events = [
        start(0, type="tool_use", id="a", name="f", input={}),
        start(1, type="tool_use", id="b", name="g", input={}),
        arguments(1, "{}"),
        start(2, type="text", text="on"),
    ]
    answer = checked(fed(*events, limits=Limits(open_calls=1)))
    assert [(call.name, call.arguments) for call in answer.calls] == [("f", ""), ("g", "{}")]
    assert answer.content == "on"


def test_an_error_ends_the_stream_and_nothing_after_it_counts():
    machine = AnthropicMessages()
    [chunk] = machine.feed({"type": "error", "error": {"type": "api_error", "message": "broken"}})
    assert chunk.error == {"detail": "broken", "type": "api_error"}
    assert machine.stopped
    assert machine.feed(start(0, type="text", text="never")) == []
    assert machine.close(Completed()) == []


def test_its_events_are_recognised():
    assert all(any(map(is_anthropic_event, ANTHROPIC.events_of(ANTHROPIC.body_of(name)))) for name in NAMES)
    assert not is_anthropic_event({"type": "response.created"})
    assert not is_anthropic_event({"choices": []})


def test_arguments_of_a_hundred_kilobytes_cost_the_same_for_each_delta_and_arrive_whole():
    def calls_made(repeats: int) -> int:
        text = json.dumps({"content": "x = '\u00e9\\n \u2028'\n" * repeats}, ensure_ascii=False)
        pieces = [text[at : at + 17] for at in range(0, len(text), 17)]
        machine = AnthropicMessages()
        machine.feed(start(0, type="tool_use", id="a", name="f", input={}))
        count = 0

        def profile(_frame: Any, what: str, _argument: Any) -> None:
            nonlocal count
            count += what in ("call", "c_call")

        sys.setprofile(profile)
        try:
            given = [chunk for piece in pieces for chunk in machine.feed(arguments(0, piece))]
        finally:
            sys.setprofile(None)
        assert "".join(chunk.tool_calls[0].arguments_delta for chunk in given) == text
        return count

    assert calls_made(6000) < 2.05 * calls_made(3000)


def test_the_chain_invokes_what_the_client_runs_and_fails_what_was_cut():
    chunks = ANTHROPIC.by_wire([ANTHROPIC.body_of("provider_calls")])[0]
    results = [event for event in drive(chunks, to_segments(), to_invocations()) if hasattr(event, "name")]
    assert [(event.name, getattr(event, "arguments", None)) for event in results] == [("umbrella", {"open": True})]
    chain = stage(to_segments(), to_invocations())
    spliced = ANTHROPIC.by_wire([ANTHROPIC.body_of("second_message_start")])[0]
    events = [event for chunk in spliced for event in chain.feed(chunk)] + chain.close()
    assert [(event.id, getattr(event, "reason", "invoked")) for event in events if hasattr(event, "name")] == [
        ("toolu_two", "invoked"),
        ("toolu_one", "truncated"),
    ]
