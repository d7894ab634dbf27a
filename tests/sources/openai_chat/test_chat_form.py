from __future__ import annotations

import re
from typing import Any

import pytest
from looped import looped
from request_types import check_request

from penstock import ChunkResponse, ToolCallDelta, ToolResult, drive
from penstock.events import AnswerEnd
from penstock.operators import to_invocations, to_segments
from penstock.pipeline import Answer
from penstock.sources.openai_chat.request import RELATIVES
from penstock.sources.recognition.apis import form_of

CALL = {"id": "call_1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
CUSTOM = {"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
LONG_ID = "turn_0123456789abcdef0123456789abcdef:call_0"


def sent(name: str, message: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return what is sent of a kept message, and the things that the Notices name."""
    answer = Answer([AnswerEnd("t", api="openai-chat", message={"role": "assistant", **message})])
    return answer.message(name), [each.detail.partition(" goes without ")[2] for each in answer.notices(name)]


def arguments_of(message: dict[str, Any]) -> list[str]:
    return [call["function"]["arguments"] for call in message["tool_calls"]]


@looped("name", RELATIVES)
def test_a_relative_gets_back_what_it_wants_of_its_reasoning_and_nothing_else(name: str):
    reasoning = {
        "reasoning_content": "hm",
        "reasoning": "hm",
        "reasoning_details": [{"text": "hm"}],
        "extra_content": {"google": {"thought_signature": "s"}},
    }
    extra = {"extra_content": {"google": {"thought_signature": "s"}}}
    message, notices = sent(name, {"content": "Hi", **reasoning, "tool_calls": [{**CALL, **extra}]})
    returned = RELATIVES[name].returned
    wanted = {key: reasoning[key] for key in returned if not key.startswith("call.")}
    call = {**CALL, **(extra if "call.extra_content" in returned else {})}
    assert message == {"role": "assistant", "content": "Hi", **wanted, "tool_calls": [call]}
    assert ("reasoning_details" in notices) == ("reasoning_details" not in returned)
    assert RELATIVES[name].source


def test_openai_gets_no_reasoning_and_a_notice_says_so():
    message, notices = sent(
        "openai-chat", {"content": "Hi", "reasoning_content": "hm", "channel": "final", "parsed": None}
    )
    assert message == {"role": "assistant", "content": "Hi"}
    assert notices == ["reasoning_content", "channel"]


def test_the_reasoning_of_one_relative_gets_the_name_that_another_one_has_for_it():
    assert sent("moonshot", {"content": "Hi", "reasoning": "hm"})[0]["reasoning_content"] == "hm"
    assert sent("openrouter", {"content": "Hi", "reasoning_content": "hm"})[0]["reasoning"] == "hm"
    assert sent("openrouter", {"content": "Hi", "reasoning_content": "hm"})[1] == []


def test_the_reasoning_of_another_provider_goes_to_those_that_take_it_as_text():
    answer = Answer(drive([ChunkResponse(reasoning="hm"), ChunkResponse(content="Hi")], to_segments()))
    assert answer.message("deepseek") == {"role": "assistant", "content": "Hi", "reasoning_content": "hm"}
    assert answer.message("groq") == {"role": "assistant", "content": "Hi", "reasoning": "hm"}
    assert answer.message("xai") == {"role": "assistant", "content": "Hi"}
    assert [each.detail for each in answer.notices("xai")] == ["the message for xai goes without reasoning"]


@pytest.mark.parametrize("arguments", ["", " ", None, "null"])
def test_a_call_without_arguments_has_an_empty_object(arguments: str | None):
    message, notices = sent(
        "openai-chat", {"tool_calls": [{**CALL, "function": {"name": "now", "arguments": arguments}}]}
    )
    assert (arguments_of(message), notices) == (["{}"], [])


@pytest.mark.parametrize("arguments", ['{"a": 1', "[1]", '"a"', "NaN", "[" * 5_000])
def test_arguments_that_are_not_an_object_are_left_out_with_a_notice(arguments: str):
    message, notices = sent(
        "openai-chat", {"tool_calls": [{**CALL, "function": {"name": "now", "arguments": arguments}}]}
    )
    assert (arguments_of(message), notices) == (["{}"], ["arguments that are not a JSON object"])


def test_arguments_that_came_as_an_object_are_written_as_json():
    message, notices = sent(
        "mistral", {"tool_calls": [{**CALL, "function": {"name": "now", "arguments": {"a": None, "é": [1]}}}]}
    )
    assert (arguments_of(message), notices) == (['{"a": null, "é": [1]}'], [])


def test_own_arguments_keep_their_text():
    call = ToolCallDelta(0, "c", "now", '{ "a" :1e999, "b": "\\ud83d" }', done=True)
    answer = Answer(drive([ChunkResponse(tool_calls=(call,))], to_segments(), to_invocations(keep_segments=True)))
    assert arguments_of(answer.message("openai-chat")) == ['{ "a" :1e999, "b": "\\ud83d" }']


def test_nulls_and_empty_lists_are_not_sent():
    odd: dict[str, Any] = {
        "content": None,
        "tool_calls": [],
        "function_call": None,
        "audio": None,
        "refusal": None,
        "annotations": [],
    }
    message, notices = sent("openai-chat", odd)
    assert message == {"role": "assistant", "content": None}
    assert form_of("openai-chat").entries(message) == []
    assert notices == []


def test_calls_without_an_id_get_one_that_their_results_have_too():
    calls = [{"function": {"name": "now", "arguments": "{}"}}, {**CALL, "id": None}, {**CALL, "id": "null", "index": 2}]
    deltas = tuple(ToolCallDelta(number, None, "now", "{}") for number in range(3))
    end = ChunkResponse(finish_reason="tool_calls", api="openai-chat", message={"tool_calls": calls})
    answer = Answer(drive([ChunkResponse(tool_calls=deltas), end], to_segments(), to_invocations(keep_segments=True)))
    results = [ToolResult(each.id, value=number) for number, each in enumerate(answer.invocations)]
    for name in ("openai-chat", "mistral"):
        entries = answer.to_messages(name, results)
        check_request(name, entries)
        ids = [call["id"] for call in entries[0]["tool_calls"]]
        assert len(set(ids)) == 3
        assert [(each["tool_call_id"], each["content"]) for each in entries[1:]] == list(zip(ids, "012", strict=True))


def test_ids_that_a_provider_refuses_are_replaced_in_the_plain_form():
    call = ToolCallDelta(0, LONG_ID, "now", "{}")
    answer = Answer(drive([ChunkResponse(tool_calls=(call,))], to_segments(), to_invocations(keep_segments=True)))
    for name, taken in (("openai-chat", ".{1,40}"), ("mistral", "[a-zA-Z0-9]{9}"), ("groq", re.escape(LONG_ID))):
        assistant, result = answer.to_messages(name, [ToolResult(LONG_ID)])
        assert re.fullmatch(taken, result["tool_call_id"])
        assert assistant["tool_calls"][0]["id"] == result["tool_call_id"]


def test_own_ids_stay_where_the_provider_takes_them():
    for name, call_id in (
        ("openai-chat", "call_1"),
        ("openai-chat", LONG_ID),
        ("groq", LONG_ID),
        ("mistral", "abcdefghi"),
    ):
        assert sent(name, {"tool_calls": [{**CALL, "id": call_id}]})[0]["tool_calls"][0]["id"] == call_id
    assert len(sent("mistral", {"tool_calls": [CALL]})[0]["tool_calls"][0]["id"]) == 9


def test_content_of_several_parts_goes_to_mistral_as_it_is_and_to_others_as_text():
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi"}, "!"]
    assert sent("mistral", {"content": parts}) == ({"role": "assistant", "content": parts}, [])
    assert sent("groq", {"content": parts}) == ({"role": "assistant", "content": "Hi!"}, ["content that is not text"])
    assert sent("groq", {"content": parts[1:]})[1] == []


def test_a_free_form_call_goes_to_openai_as_it_is_and_to_relatives_as_a_function():
    assert sent("openai-chat", {"tool_calls": [CUSTOM]})[0]["tool_calls"] == [CUSTOM]
    function = {"name": "sql", "arguments": '{"input": "select 1"}'}
    assert sent("groq", {"tool_calls": [CUSTOM]})[0]["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": function}
    ]
    call = ToolCallDelta(0, "call_1", "sql", "select 1", kind="text")
    chunks = [ChunkResponse(tool_calls=(call,), finish_reason="tool_calls")]
    answer = Answer(drive(chunks, to_segments(), to_invocations(keep_segments=True)))
    assert answer.message("openai-chat")["tool_calls"] == [CUSTOM]
    assert answer.message("groq")["tool_calls"][0]["function"] == function


def test_a_refusal_is_content_where_there_is_nothing_else():
    answer = Answer([AnswerEnd("t", api="openai-chat", message={"content": None, "refusal": "no"})])
    (entry,) = answer.to_messages("openai-chat")
    assert entry == {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    check_request("openai-chat", [entry])
    assert answer.to_messages("groq") == [{"role": "assistant", "content": "no"}]


def test_audio_goes_back_by_its_id():
    assert sent("openai-chat", {"audio": {"id": "a", "data": "…"}})[0] == {"role": "assistant", "audio": {"id": "a"}}
    assert sent("groq", {"content": "Hi", "audio": {"id": "a"}})[1] == ["audio"]


def test_the_older_kind_of_call_has_the_older_kind_of_result():
    kept = {"content": None, "function_call": {"name": "now", "arguments": ""}}
    call = ToolCallDelta(0, None, "now", "{}")
    end = ChunkResponse(finish_reason="tool_calls", api="openai-chat", message=kept)
    answer = Answer(drive([ChunkResponse(tool_calls=(call,)), end], to_segments(), to_invocations(keep_segments=True)))
    assistant, result = answer.to_messages("openai-chat", [ToolResult(answer.invocations[0].id, value="12:00")])
    assert assistant["function_call"] == {"name": "now", "arguments": "{}"}
    assert result == {"role": "function", "name": "now", "content": "12:00"}
    check_request("openai-chat", [assistant, result])


def test_results_for_mistral_have_the_tools_name():
    call = ToolCallDelta(0, "abcdefghi", "now", "{}")
    answer = Answer(drive([ChunkResponse(tool_calls=(call,))], to_segments(), to_invocations(keep_segments=True)))
    assert answer.to_messages("mistral", [ToolResult("abcdefghi", value=1)])[1] == {
        "role": "tool",
        "tool_call_id": "abcdefghi",
        "name": "now",
        "content": "1",
    }
