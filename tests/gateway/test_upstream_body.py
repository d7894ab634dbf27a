from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from strategies.neutral_requests import neutral_requests

from penstock.events import UsageError
from penstock.gateway.neutral import (
    AnswerSchema,
    Api,
    Call,
    Image,
    Message,
    NeutralRequest,
    Part,
    Reasoning,
    Result,
    Role,
    Text,
    ToolSpec,
)
from penstock.gateway.upstream_body import SERVERS, Lane, upstream_body

USER = Message("user", (Text("Hi"),))
TOOLS = (ToolSpec("now", "Tell the time.", {"type": "object", "$schema": "x"}), ToolSpec("write"))
APIS: tuple[Api, ...] = get_args(Api)


def asked(*messages: Message, **fields: Any) -> NeutralRequest:
    return NeutralRequest(**{"api": "openai-chat", "model": "m1", "messages": messages or (USER,), **fields})


def said(role: Role, *parts: Part | str) -> Message:
    return Message(role, tuple(Text(each) if isinstance(each, str) else each for each in parts))


def body_of(request: NeutralRequest, server: str = "llamacpp", lane: Lane = "raw", **options: Any) -> dict[str, Any]:
    return upstream_body(request, lane=lane, server=server, model="qwen", **options)


def turns_of(request: NeutralRequest, **options: Any) -> list[tuple[str, Any]]:
    return [(each["role"], each["content"]) for each in body_of(request, **options)["messages"]]


def test_what_the_system_says_before_the_first_answer_is_one_message_at_the_front():
    request = asked(
        said("system", "b", "c"),
        said("user", "d"),
        said("system", "e"),
        said("user", "f"),
        said("assistant", "g"),
        system=(Text("a"),),
    )
    assert turns_of(request) == [("system", "a\n\nb\n\nc\n\ne"), ("user", "d\n\nf"), ("assistant", "g")]


def test_where_only_the_system_speaks_it_is_the_users_question():
    assert turns_of(asked(said("system", "b"), system=(Text("a"),))) == [("user", "a\n\nb")]


def test_an_answer_without_anything_is_left_out():
    assert turns_of(asked(said("user", "a"), said("assistant"), said("user", "b"))) == [("user", "a\n\nb")]
    assert turns_of(asked(said("assistant"), system=(Text("a"),))) == [("user", "a")]


def test_what_it_says_later_stands_in_the_users_turn_behind_the_results():
    call = Call("c", "now", "{}")
    request = asked(USER, said("assistant", call), said("system", "New."), said("tool", Result("c", (Text("12"),))))
    turns = [("user", "Hi"), ("assistant", ""), ("tool", "12"), ("user", "<system-reminder>\nNew.\n</system-reminder>")]
    assert turns_of(request) == turns
    more = asked(
        *request.messages, said("user", "Go on."), said("assistant", "g"), said("system", "h"), said("assistant", "i")
    )
    assert turns_of(more) == [
        *turns[:3],
        ("user", f"{turns[3][1]}\n\nGo on."),
        ("assistant", "g"),
        ("user", "<system-reminder>\nh\n</system-reminder>"),
        ("assistant", "i"),
    ]


def test_what_is_added_to_a_conversation_changes_nothing_before_it():
    """A server has read that already, and would read it all again."""
    messages = (
        said("user", "a"),
        said("system", "b"),
        said("assistant", "c", Call("c", "now", "{}")),
        said("tool", Result("c", (Text("12"), Image("https://a.example")))),
        said("assistant", "d"),
        said("system", "e"),
        said("user", "f"),
        said("assistant", "g"),
    )
    at_each_answer = [turns_of(asked(*messages[:end])) for end in (2, 4, 7, 8)]
    for before, after in pairwise(at_each_answer):
        assert after[: len(before)] == before


def test_images_of_results_follow_in_a_message_of_the_user():
    calls = (Call("c1", "look", "{}"), Call("c2", "look", "{}"))
    request = asked(
        USER,
        said("assistant", *calls),
        said("tool", Result("c1", (Text("A dot:"), Image("data:1"))), Result("c2", (Image("data:2"),))),
        said("user", "Well?"),
    )
    assert turns_of(request)[2:] == [
        ("tool", "A dot:\n\n[an image: it is in the next message of the user]"),
        ("tool", "[an image: it is in the next message of the user]"),
        (
            "user",
            [
                {"type": "text", "text": "What the call c1 returned as an image:"},
                {"type": "image_url", "image_url": {"url": "data:1"}},
                {"type": "text", "text": "What the call c2 returned as an image:"},
                {"type": "image_url", "image_url": {"url": "data:2"}},
                {"type": "text", "text": "Well?"},
            ],
        ),
    ]


def test_words_stand_for_images_that_the_model_cannot_see():
    request = asked(
        said("user", "Look:", Image("data:1"), "Well?"),
        said("assistant", Call("c", "look", "{}")),
        said("tool", Result("c", (Image("data:2"),))),
    )
    dropped: list[str] = []
    assert turns_of(request, images=False, dropped=dropped) == [
        ("user", "Look:\n\n[an image, which you cannot see]\n\nWell?"),
        ("assistant", ""),
        ("tool", "[an image, which you cannot see]"),
    ]
    assert dropped == ["images"]


ARGUMENTS = {
    '{"a": 1}': '{"a": 1}',
    '{"__unparsedToolInput": {"x": 1}}': '{"__unparsedToolInput": {"x": 1}}',
    "": "{}",
    " \n": "{}",
    '{"a": ': '{"INVALID_JSON": "{\\"a\\": "}',
    "[1]": '{"INVALID_JSON": "[1]"}',
    "null": '{"INVALID_JSON": "null"}',
    '{"a": NaN}': '{"INVALID_JSON": "{\\"a\\": NaN}"}',
    '{"a": "\\ud800"}': '{"INVALID_JSON": "{\\"a\\": \\"\\\\ud800\\"}"}',
    '{"a": 1} and more': '{"INVALID_JSON": "{\\"a\\": 1} and more"}',
}


@looped("text, sent", ARGUMENTS.items())
def test_arguments_that_are_no_object_are_sent_in_one(text: str, sent: str):
    messages = body_of(asked(USER, said("assistant", Call("c", "now", text))))["messages"]
    assert messages[1]["tool_calls"] == [
        {"id": "c", "type": "function", "function": {"name": "now", "arguments": sent}}
    ]
    assert isinstance(json.loads(sent), dict)


def test_an_error_says_so_and_two_answers_in_a_row_are_one():
    request = asked(
        USER,
        said("assistant", Reasoning("Hm."), "a", Call("c", "now", "{}"), "b"),
        said("tool", Result("c", (Text("no clock"),), is_error=True)),
        said("assistant"),
        said("assistant", "d"),
    )
    body = body_of(request)
    assert body["messages"][1]["content"] == "a\n\nb"
    assert body["messages"][1]["reasoning_content"] == "Hm."
    assert turns_of(request)[2:] == [("tool", "Error: no clock"), ("assistant", "d")]


RAW: dict[str, dict[str, Any]] = {
    "llamacpp": {"tool_choice": "none", "reasoning_format": "none"},
    "vllm": {"tool_choice": "none", "skip_special_tokens": False},
    "sglang": {"tool_choice": "auto", "separate_reasoning": False, "skip_special_tokens": False},
    "ollama": {},
    "lmstudio": {"tool_choice": "auto"},
    "openai": {"tool_choice": "auto"},
}
ALWAYS = {"model": "qwen", "stream": True, "stream_options": {"include_usage": True}}


@looped("server", SERVERS)
def test_in_the_raw_lane_the_server_shows_the_tools_and_does_not_parse(server: str):
    body = body_of(asked(tools=TOOLS), server)
    tools = [each["function"] for each in body.pop("tools")]
    assert [each["name"] for each in tools] == ["now", "write"]
    assert [each["parameters"] for each in tools] == [{"type": "object"}, {"type": "object", "properties": {}}]
    assert body.pop("messages") == [{"role": "user", "content": "Hi"}]
    assert body == {**ALWAYS, **RAW[server]}


@looped("server", SERVERS)
def test_without_tools_there_is_no_choice_of_one(server: str):
    for lane in ("raw", "parsed"):
        body = body_of(asked(parallel_calls=True), server, lane)
        assert {"tools", "tool_choice", "parallel_tool_calls"}.isdisjoint(body)


NAMED = {"type": "function", "function": {"name": "write"}}
BOTH, ONE, NONE = ["now", "write"], ["write"], list[str]()
CHOICES: dict[tuple[str, Lane, str], tuple[Any, list[str], str]] = {
    ("llamacpp", "raw", "none"): (None, NONE, ""),
    ("llamacpp", "raw", "required"): ("none", BOTH, "Answer with a call of a tool."),
    ("llamacpp", "raw", "write"): ("none", ONE, "Answer with a call of the tool write."),
    ("sglang", "raw", "none"): (None, NONE, ""),
    ("sglang", "raw", "required"): ("auto", BOTH, "Answer with a call of a tool."),
    ("openai", "raw", "required"): ("required", BOTH, ""),
    ("llamacpp", "parsed", "auto"): ("auto", BOTH, ""),
    ("llamacpp", "parsed", "none"): ("none", BOTH, ""),
    ("llamacpp", "parsed", "required"): ("required", BOTH, ""),
    ("llamacpp", "parsed", "write"): ("required", ONE, ""),
    ("lmstudio", "parsed", "write"): ("required", ONE, ""),
    ("vllm", "parsed", "write"): (NAMED, BOTH, ""),
    ("sglang", "parsed", "required"): ("required", BOTH, ""),
    ("openai", "parsed", "write"): (NAMED, BOTH, ""),
    ("ollama", "parsed", "auto"): (None, BOTH, ""),
    ("ollama", "parsed", "none"): (None, NONE, ""),
    ("ollama", "parsed", "required"): (None, BOTH, "Answer with a call of a tool."),
    ("ollama", "parsed", "write"): (None, ONE, "Answer with a call of the tool write."),
}


@looped("server, lane, choice, field, tools, words", [(*key, *value) for key, value in CHOICES.items()])
def test_a_choice_is_a_field_or_said(server: str, lane: Lane, choice: str, field: Any, tools: list[str], words: str):
    is_name = choice == "write"
    fields = {"tool_choice": "required", "named_tool": choice} if is_name else {"tool_choice": choice}
    body = body_of(asked(tools=TOOLS, **fields), server, lane)
    assert body.get("tool_choice") == field
    assert [each["function"]["name"] for each in body.get("tools", ())] == tools
    assert [each["content"] for each in body["messages"] if each["role"] == "system"] == [words] * bool(words)


@looped(
    "server, lane, parallel, field, is_said",
    [
        ("vllm", "parsed", False, False, False),
        ("vllm", "parsed", True, True, False),
        ("vllm", "raw", True, None, False),
        ("vllm", "raw", False, None, True),
        ("ollama", "parsed", False, None, True),
        ("ollama", "parsed", None, None, False),
    ],
)
def test_parallel_calls_are_a_field_or_said(server: str, lane: Lane, parallel: Any, field: Any, is_said: bool):
    body = body_of(asked(tools=TOOLS, parallel_calls=parallel), server, lane)
    assert body.get("parallel_tool_calls") == field
    assert (body["messages"][0]["content"] == "Call at most one tool in an answer.") == is_said


def test_a_schema_is_a_field_unless_it_would_forbid_calls():
    schema = AnswerSchema({"type": "object"}, "city", strict=True)
    form = {"type": "json_schema", "json_schema": {"name": "city", "schema": {"type": "object"}, "strict": True}}
    assert body_of(asked(schema=schema))["response_format"] == form
    assert body_of(asked(schema=schema, tools=TOOLS), "openai", "parsed")["response_format"] == form
    body = body_of(asked(said("system", "a"), USER, schema=schema, tools=TOOLS))
    assert "response_format" not in body
    words = 'a\n\nGive the final answer as JSON of this schema, and nothing else:\n{"type": "object"}'
    assert body["messages"][0]["content"] == words
    any_object = body_of(asked(schema=AnswerSchema(), tools=TOOLS))
    assert any_object["messages"][0]["content"] == "Give the final answer as a JSON object, and nothing else."
    assert body_of(asked(schema=AnswerSchema()))["response_format"] == {"type": "json_object"}


def test_limits_are_carried():
    request = asked(max_tokens=32000, stop=("x",), extra={"temperature": 0, "top_k": 3})
    body = body_of(request)
    assert [body[key] for key in ("max_tokens", "stop", "temperature", "top_k")] == [32000, ["x"], 0, 3]
    assert body_of(request, most_tokens=100)["max_tokens"] == 100
    assert body_of(asked(), most_tokens=100)["max_tokens"] == 100
    assert "max_tokens" not in body_of(asked())


EFFORTS: dict[tuple[str, str, str], tuple[Any, Any, list[str]]] = {
    ("vllm", "anthropic-messages", "xhigh"): ("high", None, []),
    ("llamacpp", "openai-chat", "low"): ("low", None, []),
    ("sglang", "openai-chat", "none"): (None, {"enable_thinking": False}, []),
    ("ollama", "anthropic-messages", "high"): (None, None, ["effort high"]),
    ("ollama", "openai-responses", "minimal"): ("low", None, []),
    ("openai", "openai-chat", "minimal"): ("minimal", None, []),
    ("openai", "openai-chat", "none"): ("none", None, []),
}


@looped("server, api, effort, field, template, words", [(*key, *value) for key, value in EFFORTS.items()])
def test_an_effort_is_one_that_the_server_takes(
    server: str, api: Any, effort: str, field: Any, template: Any, words: list[str]
):
    dropped: list[str] = []
    body = body_of(asked(api=api, effort=effort), server, "parsed", dropped=dropped)
    assert (body.get("reasoning_effort"), body.get("chat_template_kwargs"), dropped) == (field, template, words)


def test_reasoning_has_the_key_of_its_server():
    request = asked(USER, said("assistant", Reasoning("Hm."), "a"))
    keys = {server: {*body_of(request, server)["messages"][1]} - {"role", "content"} for server in SERVERS}
    assert keys.pop("ollama") == {"reasoning"}
    assert keys.pop("openai") == set()
    assert {key for each in keys.values() for key in each} == {"reasoning_content"}


def test_free_input_is_a_function_for_the_server():
    tool = ToolSpec("patch", "", {"type": "object", "properties": {"input": {}}}, is_free_form=True)
    body = body_of(asked(USER, said("assistant", Call("c", "patch", '{"input": "x"}')), tools=(tool,)))
    assert [each["type"] for each in (*body["tools"], *body["messages"][1]["tool_calls"])] == ["function", "function"]


def test_an_unknown_server_is_a_mistake():
    with pytest.raises(UsageError, match="unknown server 'llama'; known are llamacpp, vllm, sglang"):
        body_of(asked(), "llama")


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


@pytest.mark.laws
@pytest.mark.parametrize("lane", ["raw", "parsed"])
def test_strict_templates_take_whatever_any_client_says(lane: Lane):
    """One system message, at the front; no two of one role in a row; calls with JSON objects; no text is lost."""

    @given(st.sampled_from(APIS).flatmap(neutral_requests), st.sampled_from([*SERVERS]), st.booleans())
    def holds(request: NeutralRequest, server: str, images: bool):
        body = json.loads(json.dumps(body_of(request, server, lane, images=images)))
        roles = [each["role"] for each in body["messages"]]
        assert "system" not in roles[1:]
        assert not any(one == other != "tool" for one, other in pairwise(roles))
        for message in body["messages"]:
            for call in message.get("tool_calls", ()):
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
            if isinstance(message["content"], list):
                assert images
                assert message["role"] in ("user", "assistant")
        whole = "\n".join(texts_in(body["messages"]))
        parts = [part for message in request.messages for part in message.parts]
        results = [each for part in parts if isinstance(part, Result) for each in part.parts]
        for part in (*request.system, *parts, *results):
            if isinstance(part, Text):
                assert part.text in whole
            if isinstance(part, Image) and images:
                assert part.url in whole
        assert {*roles} - {"system"}

    holds()
