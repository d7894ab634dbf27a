from __future__ import annotations

from typing import Any

from penstock.sources.openai_responses.message import ResponsesMessage

CREATED = {"type": "response.created", "response": {"id": "r", "output": []}}
CALL = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "", "status": "in_progress"}
ENDED = {**CALL, "arguments": "{}", "status": "completed", "namespace": None}


def output_of(*events: dict[str, Any]) -> Any:
    message = ResponsesMessage()
    for event in events:
        message.feed(event)
    return message.messages().get(0)


def item(what: str, given: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {"type": f"response.output_item.{what}", "output_index": index, "item": given}


def text(kind: str, text: str, index: int = 0, part: int = 0) -> dict[str, Any]:
    place = "summary_index" if "summary" in kind else "content_index"
    return {"type": f"response.{kind}.delta", "output_index": index, "item_id": f"i{index}", place: part, "delta": text}


def arguments(delta: str) -> dict[str, Any]:
    return {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc", "delta": delta}


def test_the_output_of_the_end_counts_before_the_items():
    final = {"type": "response.completed", "response": {"output": [{**ENDED, "id": "rotated"}]}}
    [kept] = output_of(CREATED, item("done", ENDED), final)
    assert kept == {**CALL, "id": "rotated", "arguments": "{}", "status": "completed"}


def test_where_the_end_has_no_output_the_items_count():
    final: dict[str, Any] = {"type": "response.completed", "response": {"output": []}}
    assert output_of(CREATED, item("added", CALL), arguments("{}"), item("done", ENDED), final) == [
        {**CALL, "arguments": "{}", "status": "completed"}
    ]


def test_a_cut_call_has_what_came_of_it():
    assert output_of(CREATED, item("added", CALL), arguments('{"a"'), arguments(": 1")) == [
        {**CALL, "arguments": '{"a": 1', "status": "incomplete"}
    ]


def test_a_cut_message_has_its_parts():
    message = {"type": "message", "id": "i0", "role": "assistant", "content": [], "status": "in_progress"}
    part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": [], "logprobs": None}
    cited = {"type": "response.output_text.annotation.added", "output_index": 0, "content_index": 0}
    assert output_of(
        item("added", message),
        {"type": "response.content_part.added", "output_index": 0, "content_index": 0, "part": part},
        text("output_text", "Hel"),
        text("output_text", "lo"),
        {**cited, "annotation": {"type": "url_citation", "url": "u"}},
        text("refusal", "no", part=1),
    ) == [
        {
            **message,
            "status": "incomplete",
            "content": [
                {"type": "output_text", "text": "Hello", "annotations": [{"type": "url_citation", "url": "u"}]},
                {"type": "refusal", "refusal": "no"},
            ],
        }
    ]


def test_the_whole_text_replaces_its_deltas():
    done = {
        "type": "response.output_text.done",
        "output_index": 0,
        "item_id": "i0",
        "content_index": 0,
        "text": "Hello",
    }
    [kept] = output_of(text("output_text", "Hel"), done)
    assert kept == {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}


def test_cut_reasoning_has_its_summary_and_its_text():
    [kept] = output_of(text("reasoning_summary_text", "a"), text("reasoning_summary_text", "b", part=1))
    assert kept == {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
    }
    [kept] = output_of(text("reasoning_text", "a"))
    assert kept == {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "a"}]}


def test_cut_commands_are_those_of_the_action():
    shell = {"type": "shell_call", "id": "sh", "call_id": "c", "status": "in_progress", "action": {"timeout_ms": None}}
    command = {"type": "response.shell_call_command.delta", "output_index": 0, "delta": "ls"}
    [kept] = output_of(item("added", shell), {**command, "command_index": 0}, {**command, "command_index": 1})
    assert kept["action"] == {"commands": ["ls", "ls"]}


def test_interleaved_deltas_go_to_their_own_items():
    events = [text("output_text", each, index) for index, each in ((0, "a"), (1, "x"), (0, "b"), (1, "y"), (1, "z"))]
    assert [each["content"][0]["text"] for each in output_of(*events)] == ["ab", "xyz"]


def test_nulls_in_arguments_are_the_models():
    search = {"type": "tool_search_call", "execution": "client", "arguments": {"a": None}, "call_id": None}
    assert output_of(item("done", search)) == [{k: search[k] for k in ("type", "execution", "arguments")}]


def test_a_response_that_began_has_a_message_and_nothing_has_none():
    assert output_of(CREATED) == []
    assert output_of({"type": "error", "message": "-"}) is None
