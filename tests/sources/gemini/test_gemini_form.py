from __future__ import annotations

from request_types import check_request

from penstock import ChunkResponse, ToolCallDelta, ToolResult, drive
from penstock.events import AnswerEnd
from penstock.operators import to_invocations, to_segments
from penstock.pipeline import Answer

CALLS = (
    ToolCallDelta(0, None, "now", '{"zone": null}'),
    ToolCallDelta(1, None, "now", "{}"),
    ToolCallDelta(2, None, "look", "{}"),
)


def test_parts_go_back_as_they_came_with_their_signatures_the_empty_ones_too():
    parts = [
        {"text": "hm", "thought": True},
        {"functionCall": {"name": "now", "args": {"zone": None}}, "thoughtSignature": "czE="},
        {"text": "", "thoughtSignature": "czI="},
    ]
    odd = [{"text": ""}, {}, {"text": None}]
    answer = Answer([AnswerEnd("t", api="gemini", message={"role": "model", "parts": [*parts, *odd]})])
    assert answer.message("gemini") == {"role": "model", "parts": parts}
    check_request("gemini", [answer.message("gemini")])


def test_a_message_without_parts_is_not_sent():
    for parts in (None, [], [{"text": ""}]):
        assert Answer([AnswerEnd("t", api="gemini", message={"parts": parts})]).to_messages("gemini") == []


def test_the_first_call_of_another_providers_answer_has_the_word_that_stands_for_a_signature():
    answer = Answer(
        drive([ChunkResponse(content="Hi", tool_calls=CALLS)], to_segments(), to_invocations(keep_segments=True))
    )
    assert answer.message("gemini")["parts"] == [
        {"text": "Hi"},
        {
            "functionCall": {"name": "now", "args": {"zone": None}},
            "thoughtSignature": "skip_thought_signature_validator",
        },
        {"functionCall": {"name": "now", "args": {}}},
        {"functionCall": {"name": "look", "args": {}}},
    ]


def test_results_are_objects_in_the_order_of_the_calls():
    answer = Answer(drive([ChunkResponse(tool_calls=CALLS)], to_segments(), to_invocations(keep_segments=True)))
    first, second, third = (each.id for each in answer.invocations)
    results = [
        ToolResult(third, denied="no"),
        ToolResult(second, value=float("nan")),
        ToolResult(first, value={"a": 1}),
    ]
    entries = answer.to_messages("gemini", results)
    check_request("gemini", entries)
    assert entries[1] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "now", "response": {"a": 1}}},
            {"functionResponse": {"name": "now", "response": {"output": "NaN"}}},
            {"functionResponse": {"name": "look", "response": {"error": "The call was denied: no"}}},
        ],
    }


def test_a_result_has_the_id_of_its_call_if_that_has_one():
    call = {"functionCall": {"id": "f1", "name": "now", "args": {}}}
    chunks = [
        ChunkResponse(tool_calls=(ToolCallDelta(0, "f1", "now", "{}"),)),
        ChunkResponse(finish_reason="stop", api="gemini", message={"role": "model", "parts": [call]}),
    ]
    answer = Answer(drive(chunks, to_segments(), to_invocations(keep_segments=True)))
    assert answer.to_messages("gemini", [ToolResult("f1", value=[1])])[1]["parts"] == [
        {"functionResponse": {"id": "f1", "name": "now", "response": {"output": [1]}}}
    ]
