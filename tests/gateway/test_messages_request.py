"""Requests of the Messages API in the shapes of Claude Code and opencode."""

from __future__ import annotations

from typing import Any

import pytest
from looped import looped

from penstock.gateway.neutral import Call, Image, Message, NeutralRequest, Reasoning, Result, Text
from penstock.gateway.openai_tools import NO_PARAMETERS
from penstock.gateway.read_request import read_request

CACHED = {"cache_control": {"type": "ephemeral"}}
SCHEMA = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {}}
CLAUDE: dict[str, Any] = {
    "model": "m1",
    "max_tokens": 32000,
    "stream": True,
    "system": [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=1.2.3.abc; cc_entrypoint=cli;"},
        {"type": "text", "text": "You are an agent.", **CACHED},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "A reminder."}, {"type": "text", "text": "Write hi."}]},
        {"role": "system", "content": "# Environment"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "text", "text": "I write."},
                {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {"path": "hello.txt"}},
                {"type": "tool_use", "id": "toolu_2", "name": "Write", "input": {"__unparsedToolInput": {"x": 1}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Written"},
                {"type": "text", "text": "Go on."},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "is_error": True,
                    "content": [{"type": "text", "text": "<tool_use_error>not JSON</tool_use_error>"}],
                    **CACHED,
                },
            ],
        },
    ],
    "tools": [
        {"name": "Write", "description": "Write a file.", "input_schema": SCHEMA},
        {"name": "DeferredToolPlaceholder", "input_schema": SCHEMA, "defer_loading": True},
    ],
    "metadata": {"user_id": "{}"},
    "thinking": {"type": "adaptive", "display": "omitted"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "output_config": {"effort": "high"},
}


def read(**changes: Any) -> NeutralRequest:
    return read_request("anthropic-messages", {"messages": [{"role": "user", "content": "Hi"}], **changes})


def parts_of(content: Any) -> tuple[Any, ...]:
    return read(messages=[{"role": "user", "content": content}]).messages[0].parts


def test_a_conversation_of_claude_code_is_read_in_turns():
    request = read_request("anthropic-messages", CLAUDE)
    assert request.system == (Text("You are an agent."),)
    assert request.messages == (
        Message("user", (Text("A reminder."), Text("Write hi."))),
        Message("system", (Text("# Environment"),)),
        Message(
            "assistant",
            (
                Reasoning("Hm.", "c2ln"),
                Text("I write."),
                Call("toolu_1", "Write", '{"path": "hello.txt"}'),
                Call("toolu_2", "Write", '{"__unparsedToolInput": {"x": 1}}'),
            ),
        ),
        Message(
            "tool",
            (
                Result("toolu_1", (Text("Written"),)),
                Result("toolu_2", (Text("<tool_use_error>not JSON</tool_use_error>"),), is_error=True),
            ),
        ),
        Message("user", (Text("Go on."),)),
    )
    assert (request.max_tokens, request.stream, request.effort, request.dropped) == (32000, True, "high", ())


BILLING = {
    "x-anthropic-billing-header: cc_version=1;": (),
    "x-anthropic-billing-header: cc_version=1;\nYou code.": (Text("You code."),),
    "You code.\nx-anthropic-billing-header: it is": (Text("You code.\nx-anthropic-billing-header: it is"),),
}


@looped("text, system", BILLING.items())
def test_only_the_line_of_billing_is_left_out(text: str, system: tuple[Text, ...]):
    assert read(system=text).system == system
    assert read(system=[{"type": "text", "text": text}]).system == system


def test_a_deferred_tool_is_shown_once_it_was_found():
    found = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "tool_reference", "tool_name": "CronList"}],
    }
    tools = [
        {"name": name, "defer_loading": name != "Read"} for name in ("CronList", "DeferredToolPlaceholder", "Read")
    ]
    before = read(tools=tools)
    assert [each.name for each in before.tools] == ["Read"]
    after = read(tools=tools, messages=[{"role": "user", "content": [found]}])
    assert [each.name for each in after.tools] == ["CronList", "Read"]
    assert after.messages[0].parts == (Result("t", (Text("The tool CronList is now available."),)),)


def test_where_the_server_would_search_for_tools_all_are_shown():
    request = read(
        tools=[{"type": "tool_search_tool_regex_20251119", "name": "search"}, {"name": "a", "defer_loading": True}]
    )
    assert [each.name for each in request.tools] == ["a"]
    assert request.dropped == ("tool_search_tool_regex_20251119 in tools",)


def test_tools_of_the_provider_are_dropped_with_a_word():
    request = read(tools=[{"type": "web_search_20250305", "name": "web_search"}, {"type": "custom", "name": "a"}])
    assert [(each.name, each.parameters) for each in request.tools] == [("a", NO_PARAMETERS)]
    assert request.dropped == ("web_search_20250305 in tools",)


BLOCKS: dict[str, tuple[Any, Any]] = {
    "base64": (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
        Image("data:image/png;base64,iVBO"),
    ),
    "an address": (
        {"type": "image", "source": {"type": "url", "url": "https://a.example"}},
        Image("https://a.example"),
    ),
    "a text": ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}}, Text("a")),
    "blocks": (
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}]}},
        Text("a"),
    ),
    "a find": (
        {"type": "search_result", "source": "x", "title": "y", "content": [{"type": "text", "text": "a"}]},
        Text("a"),
    ),
}


@looped("block, part", BLOCKS.values(), ids=BLOCKS)
def test_a_block_of_content_is_a_part(block: Any, part: Any):
    assert parts_of([block]) == (part,)


@looped(
    "block, word",
    [
        ({"type": "image", "source": {"type": "file", "file_id": "f"}}, "image that is not in the request"),
        ({"type": "document", "source": {"type": "base64", "data": "JVBE"}}, "document that is not in the request"),
        ({"type": "server_tool_use", "id": 5, "input": []}, "server_tool_use in messages.content"),
        ({"type": "redacted_thinking", "data": "x"}, "redacted_thinking in messages.content"),
    ],
)
def test_a_block_that_cannot_be_read_is_dropped_with_a_word(block: Any, word: str):
    request = read(messages=[{"role": "user", "content": [block, {"type": "text", "text": "Hi"}]}])
    assert request.messages == (Message("user", (Text("Hi"),)),)
    assert request.dropped == (word,)


@pytest.mark.parametrize("content", ["", [], None, [{"type": "text", "text": ""}]])
def test_a_result_may_be_empty(content: Any):
    assert parts_of([{"type": "tool_result", "tool_use_id": "t", "content": content}]) == (Result("t"),)


CHOICES: dict[str, tuple[Any, Any]] = {
    "auto": ({"type": "auto"}, ("auto", None, None)),
    "any": ({"type": "any", "disable_parallel_tool_use": True}, ("required", None, False)),
    "none": ({"type": "none"}, ("none", None, None)),
    "tool": ({"type": "tool", "name": "a", "disable_parallel_tool_use": False}, ("required", "a", True)),
}


@looped("choice, said", CHOICES.values(), ids=CHOICES)
def test_the_choice_of_a_tool_is_read(choice: Any, said: Any):
    request = read(tools=[{"name": "a"}], tool_choice=choice)
    assert (request.tool_choice, request.named_tool, request.parallel_calls) == said


def test_thinking_that_is_forbidden_is_no_effort():
    assert read(thinking={"type": "disabled"}, output_config={"effort": "high"}).effort == "none"
    assert read(thinking={"type": "enabled", "budget_tokens": 31999}).effort is None


def test_a_schema_of_either_field_is_read():
    asked = {"type": "json_schema", "schema": {"type": "object"}}
    for fields in ({"output_config": {"format": asked}}, {"output_format": asked}):
        schema = read(**fields).schema
        assert schema is not None
        assert schema.schema == {"type": "object"}


@looped("value, text", [({"a": "é"}, '{"a": "é"}'), ("a", '"a"'), ([1], "[1]")])
def test_the_input_of_a_call_is_read_as_text(value: Any, text: str):
    said = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "a", "input": value}]}
    assert read(messages=[said]).messages[0].parts == (Call("t", "a", text),)
