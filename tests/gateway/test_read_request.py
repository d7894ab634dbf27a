from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from strategies.neutral_requests import neutral_requests

from penstock.gateway.neutral import Api, NeutralRequest, RequestError
from penstock.gateway.read_request import read_request, write_request

APIS: tuple[Api, ...] = get_args(Api)
USER = {"role": "user", "content": "Hi"}
LEAST: dict[Api, dict[str, Any]] = {
    "openai-chat": {"model": "m", "messages": [USER]},
    "openai-responses": {"model": "m", "input": [USER]},
    "anthropic-messages": {"model": "m", "messages": [USER], "max_tokens": 9},
}


@pytest.mark.laws
@pytest.mark.parametrize("api", APIS)
def test_what_an_api_can_say_is_read_as_it_was_written(api: Api):
    @given(neutral_requests(api))
    def holds(request: NeutralRequest):
        body = json.loads(json.dumps(write_request(api, request)))
        assert read_request(api, body) == request
        assert read_request(api, json.dumps(body).encode()) == request

    holds()


@pytest.mark.laws
@pytest.mark.parametrize("api", APIS)
def test_a_request_of_one_api_is_one_of_each_other(api: Api):
    """What the other cannot say is left out, and what is written is always a request that it can read."""

    @given(st.sampled_from(APIS).flatmap(neutral_requests))
    def holds(request: NeutralRequest):
        again = read_request(api, write_request(api, request))
        assert read_request(api, write_request(api, again)) == again
        assert [each.name for each in again.tools] == [each.name for each in request.tools]

    holds()


@pytest.mark.parametrize("api", APIS)
def test_unknown_fields_are_ignored(api: Api):
    body = LEAST[api] | {"betas": ["x"], "metadata": {"user_id": "{}"}, "cache_control": None, "n": None, "who": 1}
    assert read_request(api, body) == read_request(api, LEAST[api])
    assert read_request(api, body).dropped == ()


ERRORS: dict[str, tuple[Api, Any, str]] = {
    "no JSON": ("openai-chat", b'{"model": ', "the body: must be JSON: "),
    "too deep": ("openai-chat", b"[" * 100_000, "the body: must be JSON: "),
    "a lone surrogate": ("openai-chat", b'{"model": "\\ud800"}', "the body: must be JSON: "),
    "no UTF-8": ("openai-chat", b'{"model": "\xff"}', "the body: must be JSON: "),
    "half of a pair in UTF-8": ("anthropic-messages", b'{"model": "\xed\xa0\x80"}', "the body: must be JSON: "),
    "no object": ("anthropic-messages", b"[]", "the body: expected `object`, got `array`"),
    "no messages": ("openai-chat", {"model": "m"}, "the body: object missing required field `messages`"),
    "messages are none": ("openai-chat", {"messages": []}, "messages: must have a message"),
    "input is none": ("openai-responses", {"model": "m"}, "input: must have a message"),
    "a message": ("openai-chat", {"messages": [1]}, "messages[0]: expected `object`, got `int`"),
    "a role": (
        "openai-chat",
        {"messages": [USER, {"role": "robot"}]},
        "messages[1].role: invalid enum value 'robot'",
    ),
    "content": (
        "anthropic-messages",
        {"messages": [USER, {"role": "user", "content": 5}]},
        "messages[1].content: expected `str | array`, got `int`",
    ),
    "a part": (
        "openai-chat",
        {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
        "messages[0].content[0]: object missing required field `text`",
    ),
    "an item": (
        "openai-responses",
        {"input": [USER, {"type": "function_call", "call_id": "a", "name": 7}]},
        "input[1].name: expected `str`, got `int`",
    ),
    "a result of no call": (
        "openai-chat",
        {"messages": [USER, {"role": "tool", "content": "x"}]},
        "messages[1].tool_call_id: must be the id of the call that this is the result of",
    ),
    "a tool": (
        "openai-chat",
        {"messages": [USER], "tools": [{"type": "function", "function": {"parameters": {}}}]},
        "tools[0].function: object missing required field `name`",
    ),
    "a number": (
        "openai-responses",
        {"input": "Hi", "temperature": "warm"},
        "temperature: expected `float | null`, got `str`",
    ),
    "a limit": (
        "anthropic-messages",
        {"messages": [USER], "max_tokens": "9"},
        "max_tokens: expected `int | null`, got `str`",
    ),
    "a choice": (
        "openai-chat",
        {"messages": [USER], "tool_choice": "maybe"},
        "tool_choice: must be one of auto, none and required, or an object; got 'maybe'",
    ),
    "a tool that is not there": (
        "openai-responses",
        {"input": "Hi", "tool_choice": {"type": "function", "name": "now"}},
        "tool_choice: names the tool 'now', which is not in tools",
    ),
    "another tool that is not there": (
        "anthropic-messages",
        {"messages": [USER], "tool_choice": {"type": "tool", "name": "now"}},
        "tool_choice: names the tool 'now', which is not in tools",
    ),
    "no schema": (
        "openai-chat",
        {"messages": [USER], "response_format": {"type": "json_schema"}},
        "response_format: a format of the type json_schema needs a `schema`",
    ),
    "a reference": (
        "openai-responses",
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
        "input: refers to an item that is not kept here; send the item itself, with `store` false",
    ),
}


@looped("api, body, said", ERRORS.values(), ids=ERRORS)
def test_a_wrong_body_is_an_error_that_names_the_field(api: Api, body: Any, said: str):
    with pytest.raises(RequestError) as raised:
        read_request(api, body)
    assert str(raised.value).startswith(said), str(raised.value)
    assert (raised.value.status, raised.value.type) == (400, "invalid_request_error")
    assert raised.value.field == said.partition(": ")[0]
