"""Requests of the Responses API in the shapes of codex and opencode."""

from __future__ import annotations

import json
from typing import Any

import pytest
from looped import looped

from penstock.gateway.neutral import Call, Image, Message, NeutralRequest, Reasoning, Result, Text
from penstock.gateway.read_request import read_request, write_request

DOT = "data:image/png;base64,iVBORw0="


def function(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "strict": False, "parameters": {"type": "object"}, **more}


CODEX: dict[str, Any] = {
    "model": "m1",
    "stream": True,
    "input": [
        {
            "type": "message",
            "id": "msg_1",
            "role": "developer",
            "content": [{"type": "input_text", "text": "You code."}],
        },
        {
            "type": "message",
            "id": "msg_2",
            "role": "developer",
            "content": [{"type": "input_text", "text": "Skills."}, {"type": "input_text", "text": "Permissions."}],
        },
        {
            "type": "message",
            "id": "msg_3",
            "role": "user",
            "content": [{"type": "input_text", "text": "It is Friday."}],
        },
        {"type": "message", "id": "msg_4", "role": "user", "content": [{"type": "input_text", "text": "Look at x."}]},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "I must look."}],
            "content": None,
            "encrypted_content": "b3BhcXVl",
        },
        {
            "type": "message",
            "id": "msg_5",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": [], "logprobs": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "status": "completed",
            "call_id": "functions.view_image:0",
            "name": "view_image",
            "arguments": '{"path": "/x"}',
        },
        {
            "type": "function_call",
            "call_id": "call_2",
            "namespace": "multi_agent_v1",
            "name": "spawn_agent",
            "arguments": '{"task": ',
        },
        {
            "type": "function_call_output",
            "id": "fco_1",
            "call_id": "functions.view_image:0",
            "output": [{"type": "input_image", "image_url": DOT, "detail": "high"}],
        },
        {
            "type": "function_call_output",
            "call_id": "call_2",
            "output": "failed to parse function arguments: EOF",
        },
    ],
    "tools": [
        function("view_image", description="View an image."),
        {
            "type": "namespace",
            "name": "multi_agent_v1",
            "description": "Agents.",
            "tools": [function("spawn_agent"), function("wait_agent")],
        },
        {"type": "web_search", "external_web_access": True},
        {
            "type": "custom",
            "name": "apply_patch",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"},
        },
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"summary": "auto"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "key",
    "client_metadata": {"session_id": "1"},
}


def read(**changes: Any) -> NeutralRequest:
    return read_request("openai-responses", {"input": "Hi", **changes})


def test_a_conversation_of_codex_is_read_in_turns():
    request = read_request("openai-responses", json.dumps(CODEX).encode())
    assert request.messages == (
        Message("system", (Text("You code."),)),
        Message("system", (Text("Skills."), Text("Permissions."))),
        Message("user", (Text("It is Friday."),)),
        Message("user", (Text("Look at x."),)),
        Message(
            "assistant",
            (
                Reasoning("I must look.", "b3BhcXVl"),
                Text("I look."),
                Call("functions.view_image:0", "view_image", '{"path": "/x"}'),
                Call("call_2", "multi_agent_v1__spawn_agent", '{"task": '),
            ),
        ),
        Message(
            "tool",
            (
                Result("functions.view_image:0", (Image(DOT),)),
                Result("call_2", (Text("failed to parse function arguments: EOF"),)),
            ),
        ),
    )
    assert (request.stream, request.parallel_calls, request.store, request.effort) == (True, True, False, None)


def test_tools_of_a_namespace_get_names_of_their_own_and_hosted_ones_are_dropped():
    request = read_request("openai-responses", CODEX)
    assert [each.name for each in request.tools] == [
        "view_image",
        "multi_agent_v1__spawn_agent",
        "multi_agent_v1__wait_agent",
        "apply_patch",
    ]
    assert request.names == {
        "multi_agent_v1__spawn_agent": ("multi_agent_v1", "spawn_agent"),
        "multi_agent_v1__wait_agent": ("multi_agent_v1", "wait_agent"),
    }
    assert request.dropped == ("web_search in tools",)


def test_two_namespaces_may_hold_one_name_and_a_function_may_look_like_both():
    tools = [
        {"type": "namespace", "name": "a", "tools": [function("wait"), function("b__wait")]},
        {"type": "namespace", "name": "a__b", "tools": [function("wait")]},
        function("wait"),
        function("a__wait"),
    ]
    request = read(tools=tools, tool_choice={"type": "function", "namespace": "a__b", "name": "wait"})
    assert [request.names.get(each.name, each.name) for each in request.tools] == [
        ("a", "wait"),
        ("a", "b__wait"),
        ("a__b", "wait"),
        "wait",
        (None, "a__wait"),
    ]
    assert len({each.name for each in request.tools}) == 5
    assert request.named_tool is not None
    assert request.names[request.named_tool] == ("a__b", "wait")
    written = write_request("openai-responses", request)
    assert [each["name"] for each in written["tools"]] == ["a", "a__b", "wait", "a__wait_2"]
    assert [each["name"] for each in written["tools"][0]["tools"]] == ["wait", "b__wait"]
    assert written["tool_choice"] == {"type": "function", "namespace": "a__b", "name": "wait"}


def test_a_tool_with_free_input_is_a_function_with_one_argument():
    items = [
        {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin\n"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "Done"},
    ]
    request = read_request("openai-responses", {**CODEX, "input": items})
    assert request.messages[0].parts == (Call("c", "apply_patch", '{"input": "*** Begin\\n"}'),)
    patch = request.tools[-1]
    assert patch.is_free_form
    assert patch.parameters["required"] == ["input"]
    assert "start: x" in patch.parameters["properties"]["input"]["description"]
    assert write_request("openai-responses", request)["input"] == [
        items[0],
        {**items[1], "output": [{"type": "input_text", "text": "Done"}]},
    ]


def test_opencode_sends_items_without_types():
    request = read(
        instructions="Be kind.",
        input=[
            {"role": "system", "content": "You code."},
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
        ],
        max_output_tokens=32000,
        prompt_cache_key="x",
    )
    assert request.system == (Text("Be kind."),)
    assert [each.role for each in request.messages] == ["system", "user", "assistant"]
    assert request.max_tokens == 32000


REASONING: dict[str, tuple[dict[str, Any], Reasoning]] = {
    "a summary": ({"summary": [{"type": "summary_text", "text": "a"}]}, Reasoning("a")),
    "its text": ({"summary": [], "content": [{"type": "reasoning_text", "text": "a"}]}, Reasoning("a")),
    "both": (
        {"summary": [{"type": "summary_text", "text": "s"}], "content": [{"type": "reasoning_text", "text": "a"}]},
        Reasoning("a"),
    ),
    "neither": ({"summary": [], "content": None, "encrypted_content": "x"}, Reasoning("", "x")),
}


@looped("item, reasoning", REASONING.values(), ids=REASONING)
def test_reasoning_is_read_in_each_of_its_forms(item: dict[str, Any], reasoning: Reasoning):
    request = read(input=[{"type": "reasoning", "id": "rs", **item}, {"role": "user", "content": "Hi"}])
    assert request.messages[0] == Message("assistant", (reasoning,))


@pytest.mark.parametrize("kind", ["web_search_call", "computer_call", "compaction", "brand_new"])
def test_items_that_nobody_here_understands_are_dropped_with_a_word(kind: str):
    request = read(input=[{"type": kind, "id": 7, "content": {"any": "thing"}}, {"role": "user", "content": "Hi"}])
    assert [each.role for each in request.messages] == ["user"]
    assert request.dropped == (f"{kind} in input",)


def test_only_the_allowed_tools_are_left():
    tools = [function("a"), function("b"), function("c")]
    allowed = {
        "type": "allowed_tools",
        "mode": "required",
        "tools": [{"type": "function", "name": name} for name in "ca"],
    }
    request = read(tools=tools, tool_choice=allowed)
    assert [each.name for each in request.tools] == ["a", "c"]
    assert request.tool_choice == "required"


def test_a_choice_of_a_hosted_tool_is_dropped_with_it():
    request = read(tools=[{"type": "web_search"}], tool_choice={"type": "web_search"})
    assert (request.tools, request.tool_choice, request.named_tool) == ((), "auto", None)
    assert request.dropped == ("web_search in tools", "tool_choice web_search")


def test_what_is_not_done_here_has_a_word():
    request = read(background=True, conversation="c", max_tool_calls=None)
    assert request.dropped == ("background", "conversation")


def test_an_answer_may_be_continued_unless_the_client_says_no():
    assert [read(**fields).store for fields in ({}, {"store": None}, {"store": True}, {"store": False})] == [
        True,
        True,
        True,
        False,
    ]
    assert read(previous_response_id="resp_1", input=[]).previous_response_id == "resp_1"
