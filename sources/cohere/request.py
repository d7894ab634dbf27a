"""What a request to Cohere wants: the client, a structured answer, and the messages of the next turn."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ...events.errors import how_to_install
from ...events.tool_invocation import result_text
from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.machines.json_machine import decode_json
from ...operators.schemas.json_schema import Schema
from ..base.message_form import (
    AnswerPart,
    CallResult,
    MessageCall,
    MessageForm,
    Notices,
    left_out,
    text_and_calls,
    user_message,
)
from ..base.request import Provider, Request, messages_of, transport, without_none
from ..base.sdk_fields import fields_of


@contextmanager
def _client(module: Any, key: str, base_url: str | None) -> Generator[Any, None, None]:
    httpx: Any = import_module("httpx")  # which Cohere's SDK stands on
    with httpx.Client(timeout=300, follow_redirects=True, **transport(base_url)) as http_client:
        yield module.ClientV2(key, base_url=base_url, httpx_client=http_client)


def _ask(client: Any, request: Request, tools: Any) -> Any:
    options = without_none(tools=tools, max_tokens=request.max_tokens)
    return client.chat_stream(model=request.model, messages=messages_of(request), **options)


def _output(_name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"response_format": {"type": "json_object", "json_schema": schema}}


_NAME = "cohere"
_SENT = ("tool_plan", "content", "tool_calls", "citations")


def _sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": "assistant"}
    for key, value in message.items():
        if key in _SENT and value:
            sent[key] = value
        elif key != "role" and value:
            left_out(notices, key, _NAME)
    if isinstance(sent.get("content"), list):
        parts: list[dict[str, Any]] = sent["content"]
        said = [part for part in parts if any(value for key, value in part.items() if key != "type")]
        sent["content"] = said
        if not said:
            del sent["content"]
    if calls := sent.get("tool_calls"):
        sent["tool_calls"] = [_call(fields_of(each) or {}, place, notices) for place, each in enumerate(calls)]
    return sent


def _call(call: dict[str, Any], place: int, notices: Notices) -> dict[str, Any]:
    function = fields_of(call.get("function")) or {}
    arguments = function.get("arguments")
    is_text = isinstance(arguments, str) and bool(arguments.strip())
    if not is_text or not isinstance(decode_json(str(arguments), DEFAULT_LIMITS)[0], dict):
        if is_text:
            left_out(notices, "arguments that are not a JSON object", _NAME)
        arguments = "{}"
    said = {"name": str(function.get("name") or ""), "arguments": arguments}
    return {"id": call.get("id") or f"call_{place}", "type": "function", "function": said}


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    text, calls = text_and_calls(parts, notices, _NAME)
    return _sendable({"content": text, "tool_calls": calls}, notices)


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    return [MessageCall(call["id"], call["function"]["name"], holder=call) for call in message.get("tool_calls", ())]


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message.get("content") or message.get("tool_calls") else []


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": call.id, "content": result_text(result)} for call, result in results]


_MESSAGES = MessageForm(
    _NAME,
    "cohere",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    user_message,
)
"""The plan, the thinking and the citations go back as they came."""

COHERE = Provider(
    name="cohere",
    aliases=("cohere-chat", "cohere-v2"),
    api="cohere",
    keys=("CO_API_KEY", "COHERE_API_KEY"),
    module="cohere",
    install=how_to_install("cohere"),
    url="https://api.cohere.com",
    url_from="CO_API_URL",
    client=_client,
    ask=_ask,
    not_strict="Cohere takes its strict mode in the request as strict_tools=True; leave strict= out",
    words={"auto": None, "none": "NONE", "required": "REQUIRED"},
    output=_output,
    output_is_object=True,
    messages=_MESSAGES,
)
