from __future__ import annotations

from typing import Any

import pytest
from request_types import check_request

from penstock import ChunkResponse, ToolCallDelta, ToolResult, drive
from penstock.events import AnswerEnd
from penstock.operators import to_invocations, to_segments
from penstock.pipeline import Answer


def sent(content: Any) -> tuple[list[Any], list[str]]:
    """Return the blocks that are sent of a kept message, and the things that the Notices name."""
    answer = Answer([AnswerEnd("t", api="anthropic-messages", message={"role": "assistant", "content": content})])
    check_request("anthropic", answer.to_messages("anthropic"))
    notices = [each.detail.partition(" goes without ")[2] for each in answer.notices("anthropic")]
    return answer.message("anthropic")["content"], notices


@pytest.mark.parametrize(
    "blocks",
    [
        [{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "text", "text": "Hi"}],
        [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Hi"}],
        [{"type": "tool_use", "id": "toolu_1", "name": "now", "input": {"zone": None, "deep": {"a": [None]}}}],
        [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        ],
        [{"type": "text", "text": "a"}, {"type": "text", "text": " \n"}],
    ],
)
def test_blocks_go_back_as_they_came(blocks: list[Any]):
    assert sent(blocks) == (blocks, [])


@pytest.mark.parametrize("text", ["", None])
def test_a_text_that_says_nothing_is_not_sent(text: str | None):
    assert sent([{"type": "text", "text": text}, {"type": "text", "text": "Hi"}]) == (
        [{"type": "text", "text": "Hi"}],
        [],
    )


@pytest.mark.parametrize("signature", [{}, {"signature": ""}, {"signature": None}])
def test_thinking_that_was_cut_is_left_out_with_a_notice(signature: dict[str, Any]):
    blocks = [{"type": "thinking", "thinking": "hm", **signature}, {"type": "text", "text": "Hi"}]
    assert sent(blocks) == (blocks[1:], ["thinking without a signature"])


def test_nulls_of_a_block_are_not_sent_and_citations_are_without_what_only_answers_have():
    citation = {
        "type": "char_location",
        "cited_text": "t",
        "document_index": 0,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    blocks = [
        {"type": "text", "text": "Hi", "citations": [{**citation, "file_id": None}]},
        {"type": "text", "text": "Hi", "citations": None},
        {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}, "caller": None},
    ]
    assert sent(blocks)[0] == [
        {"type": "text", "text": "Hi", "citations": [citation]},
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}},
    ]


@pytest.mark.parametrize("blanks", ["\n\n", " \t"])
def test_blanks_before_a_call_are_not_sent(blanks: str):
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    assert sent([{"type": "text", "text": blanks}, call]) == ([call], [])


@pytest.mark.parametrize("blanks", ["\n\n", " \t"])
def test_an_answer_of_blanks_is_not_sent(blanks: str):
    chunks = [ChunkResponse(content=blanks), ChunkResponse(finish_reason="stop")]
    assert Answer(drive(chunks, to_segments())).to_messages("anthropic") == []


@pytest.mark.parametrize(
    ("value", "notices"), [(None, []), ("", []), ('{"a', ["arguments that are not a JSON object"])]
)
def test_input_that_is_not_an_object_is_sent_as_an_empty_one(value: Any, notices: list[str]):
    block = {"type": "tool_use", "id": "toolu_1", "name": "now", "input": value}
    assert sent([block]) == ([{**block, "input": {}}], notices)


def test_content_may_be_a_text_or_nothing():
    assert sent("Hi") == ([{"type": "text", "text": "Hi"}], [])
    assert sent(None) == ([], [])
    assert Answer([AnswerEnd("t", api="anthropic-messages", message={"content": []})]).to_messages("anthropic") == []


def test_results_are_one_message_and_errors_are_marked():
    calls = tuple(ToolCallDelta(n, f"functions.now:{n}", "now", '{"zone": null}') for n in range(3))
    answer = Answer(drive([ChunkResponse(tool_calls=calls)], to_segments(), to_invocations(keep_segments=True)))
    results = [
        ToolResult("functions.now:2", denied="not on Sundays"),
        ToolResult("functions.now:0", value={"time": "12:00"}),
        ToolResult("functions.now:1", error="no clock"),
    ]
    assistant, user = entries = answer.to_messages("anthropic", results)
    check_request("anthropic", entries)
    assert [block["input"] for block in assistant["content"]] == [{"zone": None}] * 3
    assert [(block["content"], block.get("is_error", False)) for block in user["content"]] == [
        ('{"time":"12:00"}', False),
        ("Error: no clock", True),
        ("The call was denied: not on Sundays", True),
    ]
    ids = [block["tool_use_id"] for block in user["content"]]
    assert ids == [block["id"] for block in assistant["content"]]
    assert all(each.isalnum() for each in ids)
