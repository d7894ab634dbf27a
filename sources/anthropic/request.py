"""What a request to Anthropic wants: the client, tools, a structured answer, and the messages of the next turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from ...events.tool_invocation import ToolResult, result_text
from ...operators.schemas.json_schema import Schema
from ...operators.schemas.strict_schema import DESCRIBED, FORMATS, SHAPE, StrictMode
from ..base.message_form import (
    AnswerPart,
    CallResult,
    MessageCall,
    MessageForm,
    Notices,
    fitting_id,
    left_out,
    said_parts,
    user_message,
)
from ..base.request import Client, Provider, Request, Said, stainless_client, without_none

_MAX_TOKENS = 8192
"""The `max_tokens` of requests to Anthropic, whose API requires a number; other APIs have defaults."""


def _client(module: Any, key: str, base_url: str | None) -> Client:
    return stainless_client(module, "Anthropic", key, base_url)


def _ask(client: Any, request: Request, tools: Any) -> Any:
    return client.messages.create(
        model=request.model,
        max_tokens=request.max_tokens or _MAX_TOKENS,
        messages=[{"role": "user", "content": request.prompt}],
        stream=True,
        **without_none(tools=tools, system=request.system),
    )


def _form(said: Said, parameters: Schema, more: Said) -> Said:
    return {**said, "input_schema": parameters, **more}


def _choice(name: str) -> Said:
    return {"type": "tool", "name": name}


def _parallel(form: Any, parallel: bool) -> Any:  # noqa: FBT001 - of the signature of a row
    if form == {"type": "none"}:
        return form
    return {**(form or {"type": "auto"}), "disable_parallel_tool_use": not parallel}


def _output(_name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


STRICT = StrictMode(
    "Anthropic",
    SHAPE | DESCRIBED | {"format", "minItems"},
    FORMATS | {"uri"},
    requires_all=False,
    recursive=False,
    min_items=(0, 1),
)
"""platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema limitations"; patterns and defaults,
which are only partly allowed, are moved to the description, as Anthropic's SDK does."""

_NAME = "anthropic"
_call_id = partial(fitting_id, accepted=re.compile("[a-zA-Z0-9_-]{1,64}"))


def _sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    content: Any = message.get("content") or []
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [each.get("text") or "" for each in blocks if each.get("type") == "text"]
    is_blank = not "".join(texts).strip()  # blanks between texts with citations go back, blanks alone are refused
    return {
        "role": "assistant",
        "content": [_block(each, notices) for each in blocks if _is_sent(each, notices, is_blank=is_blank)],
    }


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message["content"] else []


def _is_sent(block: dict[str, Any], notices: Notices, *, is_blank: bool) -> bool:
    kind = block.get("type")
    if kind == "text":
        return bool(block.get("text")) and not is_blank
    if kind == "thinking" and not block.get("signature"):
        left_out(notices, "thinking without a signature", _NAME)
        return False
    return True


def _block(block: dict[str, Any], notices: Notices) -> dict[str, Any]:
    sent = {key: value for key, value in block.items() if value is not None or key == "content"}
    if citations := sent.get("citations"):
        sent["citations"] = [{key: each[key] for key in each if key != "file_id"} for each in citations]
    if "tool_use" in str(sent.get("type")) and not isinstance(sent.get("input"), dict):
        if sent.get("input"):
            left_out(notices, "arguments that are not a JSON object", _NAME)
        sent["input"] = {}
    return sent


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _NAME, ("text", "refusal")):
        if part.call is None:
            content.append({"type": "text", "text": part.text})
        else:
            named = {"id": _call_id(part.call.id), "name": part.call.name}
            content.append({"type": "tool_use", **named, "input": part.call.arguments})
    return _sendable({"content": content}, notices)


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = (block for block in message["content"] if block.get("type") == "tool_use")
    return [MessageCall(str(block.get("id") or ""), str(block.get("name") or ""), holder=block) for block in calls]


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [_result(*each) for each in results]}]


def _result(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call.id, "content": result_text(result)}
    return {**block, "is_error": True} if result.is_error else block


_MESSAGES = MessageForm(
    _NAME,
    "anthropic-messages",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    user_message,
    _call_id,
)
"""Thinking goes back with its signature, and what the provider's own tools returned as it came."""

ANTHROPIC = Provider(
    name="anthropic",
    aliases=("anthropic-messages", "messages"),
    api="anthropic-messages",
    keys=("ANTHROPIC_API_KEY",),
    module="anthropic",
    install="pip install anthropic",
    url="https://api.anthropic.com",
    url_from="ANTHROPIC_BASE_URL",
    client=_client,
    ask=_ask,
    form=_form,
    own_keys=("cache_control", "eager_input_streaming"),
    names=(re.compile(r"[a-zA-Z0-9_-]{1,128}"), "letters, digits, _ and -, 1 to 128"),
    strict=STRICT,
    words={"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}},
    choice=_choice,
    output=_output,
    parallel=_parallel,
    messages=_MESSAGES,
)
