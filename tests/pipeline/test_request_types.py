from __future__ import annotations

from typing import Any

import pytest
from looped import looped
from pydantic import ValidationError
from request_types import check_request

CHAT_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FUNCTION_CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
TOOL_USE = {"type": "tool_use", "id": "c", "name": "f", "input": {"any": "thing"}}
TAKEN: list[tuple[str, Any]] = [
    ("openai-chat", {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}),
    ("openai-chat", {"role": "tool", "tool_call_id": "c", "content": "1"}),
    ("openai-responses", FUNCTION_CALL),
    ("openai-responses", {"role": "user", "content": "Hi"}),
    ("anthropic", {"role": "assistant", "content": [TOOL_USE]}),
    ("gemini", {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"any": "thing"}}}]}),
    ("mistral", {"role": "assistant", "content": "Hi", "tool_calls": [CHAT_CALL]}),
    ("mistral", {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}),
    ("ollama", {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"any": "thing"}}}]}),
]
REFUSED: dict[str, tuple[str, Any]] = {
    "chat: a key": ("openai-chat", {"role": "assistant", "content": "a", "reasoning_content": "b"}),
    "chat: a key of a call": ("openai-chat", {"role": "assistant", "tool_calls": [{**CHAT_CALL, "index": 0}]}),
    "chat: a value, read lazily": ("openai-chat", {"role": "assistant", "tool_calls": [{**CHAT_CALL, "id": 5}]}),
    "chat: a role": ("openai-chat", {"role": "model", "content": "a"}),
    "responses: a key": ("openai-responses", {**FUNCTION_CALL, "parsed": {}}),
    "responses: a type": ("openai-responses", {"type": "no_such_call", "id": "a"}),
    "responses: a value, read lazily": (
        "openai-responses",
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": 5}]},
    ),
    "anthropic: a key": ("anthropic", {"role": "assistant", "content": "a", "id": "msg"}),
    "anthropic: a key of a block": ("anthropic", {"role": "assistant", "content": [{**TOOL_USE, "index": 0}]}),
    "anthropic: a value": ("anthropic", {"role": "assistant", "content": [{**TOOL_USE, "name": None}]}),
    "gemini: a key": ("gemini", {"role": "model", "parts": [{"text": "a", "index": 0}]}),
    "gemini: a key of a call": ("gemini", {"role": "model", "parts": [{"functionCall": {"name": "f", "no": 1}}]}),
    "mistral: a key": ("mistral", {"role": "assistant", "content": "a", "refusal": "b"}),
    "mistral: a key of a call": (
        "mistral",
        {"role": "assistant", "tool_calls": [{**CHAT_CALL, "custom": {"name": "f"}}]},
    ),
    "ollama: a key": ("ollama", {"role": "assistant", "content": "a", "refusal": "b"}),
    "ollama: a key of a call": (
        "ollama",
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {}}}]},
    ),
    "ollama: a value": (
        "ollama",
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
    ),
}


@looped("api, entry", TAKEN)
def test_what_the_types_know_is_taken(api: str, entry: Any):
    check_request(api, [entry])


@looped("case", REFUSED)
def test_unknown_keys_and_wrong_values_are_refused_at_any_depth(case: str):
    api, entry = REFUSED[case]
    with pytest.raises((ValidationError, ValueError)):
        check_request(api, [entry])


def test_one_entry_among_many_is_found():
    good = {"role": "user", "content": "Hi"}
    with pytest.raises(ValidationError):
        check_request("openai-chat", [good, {**good, "id": "m"}, good])


def test_an_api_without_types_is_a_mistake_of_the_test():
    with pytest.raises(KeyError):
        check_request("no-such-api", [{}])
