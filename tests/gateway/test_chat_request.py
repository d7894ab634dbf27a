"""Requests of OpenAI's chat in the shapes of opencode, qwen-code, cline and the SDK."""

from __future__ import annotations

from typing import Any

from looped import looped

from penstock.gateway.chat_request import write_chat
from penstock.gateway.neutral import AnswerSchema, Call, Image, Message, NeutralRequest, Reasoning, Result, Text
from penstock.gateway.openai_tools import NO_PARAMETERS
from penstock.gateway.read_request import read_request

CALL = {"id": "call_1", "type": "function", "function": {"name": "write", "arguments": '{"path":"a"}'}}


def read(*messages: dict[str, Any], **changes: Any) -> NeutralRequest:
    return read_request("openai-chat", {"messages": messages or [{"role": "user", "content": "Hi"}], **changes})


def test_opencode_sends_back_what_was_thought():
    request = read(
        {"role": "system", "content": "You code."},
        {"role": "user", "content": "Write."},
        {"role": "assistant", "content": "I write.", "reasoning_content": "Hm.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "Written."},
        max_tokens=32000,
        stream=True,
        stream_options={"include_usage": True},
    )
    assert request.messages[2:] == (
        Message("assistant", (Reasoning("Hm."), Text("I write."), Call("call_1", "write", '{"path":"a"}'))),
        Message("tool", (Result("call_1", (Text("Written."),)),)),
    )
    assert (request.max_tokens, request.stream, request.include_usage) == (32000, True, True)


def test_qwen_code_sends_lists_of_texts_and_tools_without_parameters():
    texts = [{"type": "text", "text": "a"}, {"type": "text", "text": ""}, {"type": "text", "text": "b"}]
    request = read(
        {"role": "user", "content": texts},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": texts},
        tools=[{"type": "function", "function": {"name": "get_goal", "description": "Read the goal."}}],
    )
    assert request.messages[0].parts == (Text("a"), Text("b"))
    assert request.messages[2].parts == (Result("call_1", (Text("a"), Text("b"))),)
    assert request.tools[0].parameters == NO_PARAMETERS


def test_results_of_one_turn_are_one_message_and_two_users_are_two():
    request = read(
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "tool_calls": [CALL, {**CALL, "id": "call_2"}]},
        {"role": "tool", "tool_call_id": "call_2", "content": ""},
        {"role": "tool", "tool_call_id": "call_1", "content": "Written."},
    )
    assert [each.role for each in request.messages] == ["user", "user", "assistant", "tool"]
    assert request.messages[3].parts == (Result("call_2"), Result("call_1", (Text("Written."),)))


def test_images_and_refusals_are_parts_and_sound_is_dropped_with_a_word():
    request = read(
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "https://a.example", "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
                {"type": "file", "file": {"file_id": "f"}},
            ],
        },
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    )
    assert request.messages == (Message("user", (Image("https://a.example"),)), Message("assistant", (Text("No."),)))
    assert request.dropped == ("input_audio in messages.content", "file in messages.content")


def test_a_developer_is_the_system():
    assert read({"role": "developer", "content": "Be kind."}).messages == (Message("system", (Text("Be kind."),)),)


FIELDS: dict[str, tuple[dict[str, Any], str, Any]] = {
    "the newer limit": ({"max_tokens": 5, "max_completion_tokens": 7}, "max_tokens", 7),
    "one stop": ({"stop": "x"}, "stop", ("x",)),
    "stops": ({"stop": ["x", "y"]}, "stop", ("x", "y")),
    "no stop": ({"stop": None}, "stop", ()),
    "an object": ({"response_format": {"type": "json_object"}}, "schema", AnswerSchema()),
    "text": ({"response_format": {"type": "text"}}, "schema", None),
    "a schema": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"a": 1}, "strict": True}}},
        "schema",
        AnswerSchema({"a": 1}, "n", strict=True),
    ),
    "an effort": ({"reasoning_effort": "low"}, "effort", "low"),
    "sampling": ({"temperature": 0, "top_k": 3, "seed": None, "user": "me"}, "extra", {"temperature": 0, "top_k": 3}),
    "template": ({"chat_template_kwargs": {"a": 1}}, "extra", {"chat_template_kwargs": {"a": 1}}),
    "several answers": ({"n": 2, "logprobs": True}, "dropped", ("logprobs", "n=2")),
    "one answer": ({"n": 1, "logprobs": False}, "dropped", ()),
    "Mistral's word": ({"tool_choice": "any"}, "tool_choice", "required"),
    "hosted": ({"tools": [{"type": "web_search"}]}, "dropped", ("web_search in tools",)),
}


@looped("changes, field, value", FIELDS.values(), ids=FIELDS)
def test_what_a_client_asks_is_in_a_field(changes: dict[str, Any], field: str, value: Any):
    assert getattr(read(**changes), field) == value


def test_a_named_tool_and_allowed_tools_have_the_form_of_chat():
    tools = [{"type": "function", "function": {"name": name}} for name in "abc"]
    named = read(tools=tools, tool_choice={"type": "function", "function": {"name": "b"}})
    assert (named.tool_choice, named.named_tool) == ("required", "b")
    allowed = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "c"}}]}
    request = read(tools=tools, tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
    assert ([each.name for each in request.tools], request.tool_choice) == (["c"], "auto")


def test_free_input_has_the_form_of_chat():
    custom = {"type": "custom", "custom": {"name": "patch", "description": "Patch a file."}}
    call = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "+a"}}
    request = read({"role": "assistant", "content": "", "tool_calls": [call]}, tools=[custom])
    assert request.messages[0].parts == (Call("c", "patch", '{"input": "+a"}'),)
    written = write_chat(request)
    assert written["tools"] == [custom]
    assert written["messages"] == [{"role": "assistant", "content": "", "tool_calls": [call]}]


def test_a_name_that_not_all_servers_take_is_another_one_in_tools_and_calls():
    tools: list[dict[str, Any]] = [
        {"type": "function", "function": {"name": name}} for name in ("fs.read", "fs_read", "x" * 70, "x" * 71)
    ]
    call = {"id": "c", "function": {"name": "fs.read", "arguments": "{}"}}
    request = read({"role": "assistant", "tool_calls": [call]}, tools=tools)
    names = [each.name for each in request.tools]
    assert names[:2] == ["fs_read", "fs_read_2"]
    assert len({*names}) == 4
    assert max(map(len, names)) == 64
    assert [request.names[each] for each in names] == [(None, each["function"]["name"]) for each in tools]
    assert request.messages[0].parts == (Call("c", "fs_read", "{}"),)


@looped("arguments, text", [({"a": 1}, '{"a": 1}'), (None, "{}"), ("", ""), ('{"a": ', '{"a": ')])
def test_arguments_may_be_an_object_or_left_out_or_broken(arguments: Any, text: str):
    call = {"id": "c", "type": "function", "function": {"name": "a", "arguments": arguments}}
    assert read({"role": "assistant", "tool_calls": [call]}).messages[0].parts == (Call("c", "a", text),)
