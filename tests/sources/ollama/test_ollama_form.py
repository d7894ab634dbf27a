from __future__ import annotations

from request_types import check_request

from penstock import ChunkResponse, ToolCallDelta, ToolResult, drive
from penstock.events import AnswerEnd
from penstock.operators import to_invocations, to_segments
from penstock.pipeline import Answer


def test_a_message_goes_back_without_what_the_request_does_not_know():
    calls = [
        {"id": "c", "function": {"index": 0, "name": "now", "arguments": {"zone": None}}},
        {"function": {"name": "now", "arguments": '{"a": 1}'}},
        {"function": {"name": "now", "arguments": None}},
        {"function": {"name": "now", "arguments": '{"a'}},
    ]
    kept = {"role": "assistant", "content": "", "thinking": "hm", "images": None, "logprobs": [1], "tool_calls": calls}
    answer = Answer([AnswerEnd("t", api="ollama", message=kept)])
    functions = [{"name": "now", "arguments": each} for each in ({"zone": None}, {"a": 1}, {}, {})]
    assert answer.message("ollama") == {
        "role": "assistant",
        "content": "",
        "thinking": "hm",
        "tool_calls": [{"function": each} for each in functions],
    }
    check_request("ollama", [answer.message("ollama")])
    assert [each.detail.partition(" goes without ")[2] for each in answer.notices("ollama")] == [
        "logprobs",
        "arguments that are not a JSON object",
    ]


def test_another_providers_reasoning_is_thinking_and_results_have_the_tools_name():
    call = ToolCallDelta(0, "c", "now", "{}")
    chunks = [ChunkResponse(reasoning="hm"), ChunkResponse(content="Hi", tool_calls=(call,))]
    answer = Answer(drive(chunks, to_segments(), to_invocations(keep_segments=True)))
    entries = answer.to_messages("ollama", [ToolResult("c", value="12:00")])
    check_request("ollama", entries)
    assert entries == [
        {
            "role": "assistant",
            "thinking": "hm",
            "content": "Hi",
            "tool_calls": [{"function": {"name": "now", "arguments": {}}}],
        },
        {"role": "tool", "tool_name": "now", "content": "12:00"},
    ]
    assert answer.notices("ollama") == []
