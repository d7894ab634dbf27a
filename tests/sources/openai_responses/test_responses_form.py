from __future__ import annotations

from typing import Any

import pytest
from request_types import check_request

from penstock import ChunkResponse, ToolCallDelta, ToolResult, UsageError, drive
from penstock.events import AnswerEnd
from penstock.operators import to_invocations, to_segments
from penstock.pipeline import Answer

TEXT = {"type": "output_text", "text": "Hi", "annotations": []}
SAID = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [TEXT]}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "now",
    "arguments": "{}",
    "status": "completed",
}


def sent(*items: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """Return the items that are sent of kept ones, and the things that the Notices name."""
    answer = Answer([AnswerEnd("t", api="openai-responses", message=list(items))])
    message = answer.message("openai-responses")
    check_request("openai-responses", message)
    return message, [each.detail.partition(" goes without ")[2] for each in answer.notices("openai-responses")]


def answered(item: dict[str, Any], **result: Any) -> dict[str, Any]:
    """Return the item that answers a call of the client."""
    call = ToolCallDelta(0, item.get("call_id") or item["id"], item.get("name") or item["type"], "{}", done=True)
    end = ChunkResponse(finish_reason="tool_calls", api="openai-responses", message=[item])
    answer = Answer(drive([ChunkResponse(tool_calls=(call,)), end], to_segments(), to_invocations(keep_segments=True)))
    kept, output = answer.to_messages(
        "openai-responses", [ToolResult(each.id, **result) for each in answer.invocations]
    )
    check_request("openai-responses", [kept, output])
    return output


def test_items_go_back_as_they_came():
    assert sent(REASONING, SAID, CALL) == ([REASONING, SAID, CALL], [])


def test_nulls_and_what_only_answers_have_are_not_sent():
    items, notices = sent({**CALL, "namespace": None, "caller": None, "parsed_arguments": {"a": 1}, "prompt": "p"})
    assert (items, notices) == ([CALL], ["prompt of function_call"])
    custom = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"}
    assert sent({**custom, "status": "completed"}) == ([custom], [])


def test_an_item_or_a_part_that_no_request_knows_is_left_out_with_a_notice():
    assert sent({"type": "no_such_item"}, SAID) == ([SAID], ["items of the type no_such_item"])
    said, notices = sent({**SAID, "content": [TEXT, {"type": "no_such_part"}]})
    assert (said, notices) == ([SAID], ["parts of the type no_such_part"])


def test_reasoning_that_nothing_follows_is_left_out_with_a_notice():
    assert sent(SAID, REASONING) == ([SAID], ["reasoning that nothing follows"])
    assert sent(REASONING) == ([], ["reasoning that nothing follows"])


def test_what_the_type_requires_is_there():
    bare = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Hi"}],
    }
    assert sent(bare)[0][0]["content"] == [TEXT]
    assert sent({**CALL, "arguments": None})[0][0]["arguments"] == "{}"
    assert sent({"type": "reasoning", "id": "r"}, SAID)[0][0]["summary"] == []


def test_annotations_go_back_if_they_have_all_keys():
    whole = {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}
    cut = {"type": "url_citation", "url": "u"}
    said = {**SAID, "content": [{**TEXT, "annotations": [{**whole, "extra": 1}, cut, {"type": "other"}]}]}
    (item,), notices = sent(said)
    assert item["content"][0]["annotations"] == [whole]
    assert notices == ["annotations that lack a key"]


def test_a_web_search_has_an_action_that_the_request_takes():
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    sources = [{"type": "url", "url": "u"}, {"type": "api", "name": "oai-weather"}]
    action = {"type": "search", "query": "q", "sources": sources}
    assert sent({**search, "action": action}, SAID) == (
        [{**search, "action": {**action, "sources": sources[:1]}}, SAID],
        ["sources without a URL"],
    )
    assert sent({**search, "action": None}, SAID)[0][0]["action"] == {"type": "search"}


@pytest.mark.parametrize("items", [None, []])
def test_no_items_are_nothing_to_send(items: Any):
    assert Answer([AnswerEnd("t", api="openai-responses", message=items or [])]).to_messages("openai-responses") == []


def test_each_kind_of_call_has_its_kind_of_result():
    assert answered(CALL, value={"a": 1}) == {"type": "function_call_output", "call_id": "call_1", "output": '{"a":1}'}
    custom = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"}
    assert answered(custom, error="no") == {"type": "custom_tool_call_output", "call_id": "c", "output": "Error: no"}
    shell = {"type": "shell_call", "id": "sh", "call_id": "c", "action": {"commands": ["ls"]}, "status": "completed"}
    assert answered(shell, value="a.py")["output"] == [
        {"stdout": "a.py", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
    ]
    assert answered(shell, denied="no")["output"] == [
        {"stderr": "The call was denied: no", "stdout": "", "outcome": {"type": "exit", "exit_code": 1}}
    ]
    parts = [{"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}]
    assert answered(shell, value=parts)["output"] == parts
    action = {"type": "exec", "command": ["ls"], "env": {}}
    local = {"type": "local_shell_call", "id": "ls_1", "call_id": "c", "action": action, "status": "completed"}
    assert answered(local, value="a")["type"] == "local_shell_call_output"
    operation = {"type": "delete_file", "path": "a"}
    patch = {"type": "apply_patch_call", "id": "ap", "call_id": "c", "operation": operation, "status": "completed"}
    assert [answered(patch, **said)["status"] for said in ({"value": "done"}, {"error": "no"})] == [
        "completed",
        "failed",
    ]
    search = {"type": "tool_search_call", "call_id": "c", "arguments": {}, "execution": "client", "status": "completed"}
    assert answered(search, value=[])["tools"] == []


def test_the_result_of_a_computer_call_is_a_screenshot():
    call = {
        "type": "computer_call",
        "id": "cu",
        "call_id": "c",
        "action": {"type": "screenshot"},
        "pending_safety_checks": [],
        "status": "completed",
    }
    shot = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="}
    assert answered(call, value=shot["image_url"])["output"] == answered(call, value=shot)["output"] == shot
    with pytest.raises(UsageError, match="must be a screenshot; pass its URL as value="):
        answered(call, error="no screen")


@pytest.mark.parametrize(
    ("item", "is_clients"),
    [
        ({"type": "shell_call", "call_id": "c"}, True),
        ({"type": "shell_call", "call_id": "c", "environment": {"type": "local"}}, True),
        ({"type": "shell_call", "call_id": "c", "environment": {"type": "container_reference"}}, False),
        ({"type": "tool_search_call", "call_id": "c", "execution": "server"}, False),
        ({"type": "web_search_call", "id": "c"}, False),
        ({"type": "mcp_call", "id": "c"}, False),
        ({"type": "custom_tool_call", "call_id": "call_1", "name": "sql"}, True),
        ({"type": "custom_tool_call", "call_id": "xs_call_1", "name": "x_keyword_search"}, False),
    ],
)
def test_calls_that_the_server_runs_need_no_result(item: dict[str, Any], is_clients: bool):
    entries = Answer([AnswerEnd("t", api="openai-responses", message=[item])]).to_messages("openai-responses")
    assert len(entries) == 1 + is_clients


def test_the_plain_form_has_texts_and_calls_in_order():
    calls = (ToolCallDelta(0, "functions.now:0", "now", "{}"), ToolCallDelta(1, "c", "sql", "select 1", kind="text"))
    chunks = [ChunkResponse(reasoning="hm"), ChunkResponse(content="Hi", tool_calls=calls, finish_reason="tool_calls")]
    answer = Answer(drive(chunks, to_segments(), to_invocations(keep_segments=True)))
    entries = answer.to_messages(
        "openai-responses", [ToolResult(each.id, value=each.name) for each in answer.invocations]
    )
    check_request("openai-responses", entries)
    assert [entry["type"] for entry in entries] == [
        *("message", "function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output")
    ]
    assert entries[1]["call_id"] == entries[3]["call_id"] != "functions.now:0"
    assert [entry["output"] for entry in entries[3:]] == ["now", "sql"]
    assert [each.detail for each in answer.notices("openai-responses")] == [
        "the message for openai-responses goes without reasoning"
    ]
