"""Requests of clients: what is wrong in them is told as such, and what was read is written so that it is read again."""

from __future__ import annotations

import json
from random import Random
from typing import Any, get_args

from fuzzing.drawn_bytes import ByteRandom
from lanes import mutated

from penstock.gateway.neutral import Api, RequestError
from penstock.gateway.read_request import read_request, write_request
from penstock.gateway.upstream_body import SERVERS, Lane, upstream_body

APIS: tuple[Api, ...] = get_args(Api)
TOOL = {"name": "now", "description": "d", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}
SCHEMA = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": True}
IMAGE = "data:image/png;base64,iVBORw0="
BODIES: dict[Api, dict[str, Any]] = {
    "openai-chat": {
        "model": "m",
        "messages": [
            {"role": "developer", "content": "s"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "t"}, {"type": "image_url", "image_url": {"url": IMAGE}}],
            },
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "r",
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "now", "arguments": '{"a": "b"}'}},
                    {"id": "d", "type": "custom", "custom": {"name": "write", "input": "x"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": "r"},
        ],
        "tools": [
            {"type": "function", "function": TOOL | {"strict": True}},
            {"type": "custom", "custom": {"name": "write", "format": {"type": "text"}}},
        ],
        "tool_choice": {"type": "function", "function": {"name": "now"}},
        "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": SCHEMA},
        "reasoning_effort": "low",
        "max_completion_tokens": 9,
        "stop": ["a"],
        "stream": True,
        "stream_options": {"include_usage": True},
        "n": 2,
        "temperature": 0.5,
        "seed": 1,
    },
    "openai-responses": {
        "model": "m",
        "instructions": "i",
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "t"}, {"type": "input_image", "image_url": IMAGE}],
            },
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "r"}], "encrypted_content": "e"},
            {"type": "function_call", "call_id": "c", "name": "now", "arguments": "{}", "namespace": "files"},
            {"type": "function_call_output", "call_id": "c", "output": "r"},
            {"type": "custom_tool_call", "call_id": "d", "name": "write", "input": "x"},
            {"type": "custom_tool_call_output", "call_id": "d", "output": [{"type": "input_text", "text": "t"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "t"}]},
        ],
        "tools": [
            {"type": "function", **TOOL, "strict": False},
            {"type": "custom", "name": "write", "format": {"type": "grammar", "syntax": "lark", "definition": "a"}},
            {"type": "namespace", "name": "files", "tools": [{"type": "function", **TOOL}]},
            {"type": "web_search"},
        ],
        "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "now"}]},
        "text": {"format": SCHEMA},
        "reasoning": {"effort": "high", "summary": "auto"},
        "previous_response_id": "resp_1",
        "max_output_tokens": 9,
        "store": False,
        "stream": True,
        "top_p": 0.5,
    },
    "anthropic-messages": {
        "model": "m",
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "a"}}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "r", "signature": "p"},
                    {"type": "text", "text": "t"},
                    {"type": "tool_use", "id": "c", "name": "now", "input": {"a": "b"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c",
                        "content": [{"type": "text", "text": "r"}],
                        "is_error": True,
                    },
                    {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "t"}]}},
                    {"type": "search_result", "source": "u", "title": "t", "content": [{"type": "text", "text": "t"}]},
                    {"type": "tool_reference", "tool_name": "now"},
                ],
            },
        ],
        "tools": [
            {
                "name": "now",
                "description": "d",
                "input_schema": {"type": "object"},
                "strict": True,
                "defer_loading": True,
            },
            {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
        ],
        "tool_choice": {"type": "tool", "name": "now", "disable_parallel_tool_use": True},
        "output_config": {"effort": "low", "format": SCHEMA},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "stop_sequences": ["a"],
        "max_tokens": 9,
        "stream": True,
        "top_k": 1,
    },
}
"""Bodies with something of everything that is read."""


def changed(body: Any, random: Random) -> Any:
    """Return a body with parts left out, so that those which only fit without another part are reached, too."""
    if isinstance(body, dict):
        return {key: changed(value, random) for key, value in body.items() if random.random() < 0.95}
    if isinstance(body, list):
        return [changed(each, random) for each in body if random.random() < 0.95]
    return body


def requests(data: bytes) -> None:
    random = ByteRandom(data)
    api = random.choice(APIS)
    text = json.dumps(changed(BODIES[api], random))
    for _ in range(random.randrange(3)):
        text = mutated(text, json.dumps(BODIES[random.choice(APIS)]), random)
    try:
        asked = read_request(api, text.encode("utf-8", "surrogatepass"))
    except RequestError:
        return
    for other in APIS:
        body = json.dumps(write_request(other, asked)).encode()
        if not asked.messages and asked.previous_response_id is not None and other != "openai-responses":
            continue  # only Responses can ask without a message
        again = read_request(other, body)
        assert read_request(other, write_request(other, again)) == again, (other, text)
    lane: Lane = random.choice(get_args(Lane))
    sent = upstream_body(asked, lane=lane, server=random.choice([*SERVERS]), model="m", images=random.random() < 0.5)
    json.dumps(sent, allow_nan=False).encode()
    assert sent["messages"], text


TARGETS = {"requests": requests}
