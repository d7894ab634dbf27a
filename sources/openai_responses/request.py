"""What a request of OpenAI's Responses API wants: tools, a structured answer, and the input of the next turn."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...events.errors import UsageError
from ...events.tool_invocation import ToolResult, result_data, result_text
from ...operators.schemas.json_schema import Schema
from ..base.request import (
    AnswerPart,
    CallResult,
    MessageCall,
    MessageForm,
    Notices,
    Request,
    Said,
    fitting_id,
    left_out,
    said_parts,
    user_message,
    without_none,
)
from ..base.sdk_fields import fields_of
from ..openai_chat.request import OPENAI_CHAT
from .items import call_kind


def _ask(client: Any, request: Request, tools: Any) -> Any:
    options = without_none(
        tools=tools,
        instructions=request.system,
        max_output_tokens=request.max_tokens,
    )
    return client.responses.create(model=request.model, input=request.prompt, stream=True, **options)


def _form(said: Said, parameters: Schema, more: Said) -> Said:
    # Sent even if False, because the API's default is True.
    return {"type": "function", **said, "parameters": parameters, "strict": False, **more}


def _choice(name: str) -> Said:
    return {"type": "function", "name": name}


def _output(name: str, schema: Schema, strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"text": {"format": {"type": "json_schema", "name": name, "schema": schema, "strict": strict}}}


_CALL_KEYS = ("id", "call_id", "status")
_OF_IMAGES = ("action", "background", "error", "output_format", "quality", "revised_prompt", "size", "svg_usage")
ITEM_KEYS: Mapping[str, frozenset[str]] = {
    kind: frozenset(("type", *keys))
    for kind, keys in {
        "message": ("id", "role", "content", "status", "phase"),
        "reasoning": ("id", "summary", "content", "encrypted_content", "status"),
        "function_call": (*_CALL_KEYS, "name", "arguments", "namespace", "caller", "async"),
        "custom_tool_call": ("id", "call_id", "name", "input", "namespace", "caller", "async"),
        "web_search_call": ("id", "action", "status"),
        "file_search_call": ("id", "queries", "results", "status"),
        "computer_call": (*_CALL_KEYS, "action", "actions", "pending_safety_checks"),
        "code_interpreter_call": ("id", "code", "container_id", "outputs", "status"),
        "image_generation_call": ("id", "result", "status", *_OF_IMAGES),
        "local_shell_call": (*_CALL_KEYS, "action"),
        "shell_call": (*_CALL_KEYS, "action", "caller", "environment"),
        "shell_call_output": (*_CALL_KEYS, "output", "caller", "max_output_length"),
        "apply_patch_call": (*_CALL_KEYS, "operation", "caller"),
        "apply_patch_call_output": (*_CALL_KEYS, "output", "caller"),
        "mcp_list_tools": ("id", "server_label", "tools", "error"),
        "mcp_call": ("id", "server_label", "name", "arguments", "output", "error", "approval_request_id", "status"),
        "mcp_approval_request": ("id", "server_label", "name", "arguments"),
        "tool_search_call": (*_CALL_KEYS, "arguments", "execution"),
        "tool_search_output": (*_CALL_KEYS, "tools", "execution"),
        "compaction": ("id", "encrypted_content"),
        "program": ("id", "call_id", "code", "fingerprint"),
        "program_output": (*_CALL_KEYS, "result"),
    }.items()
}
"""The input items of the Responses API, as its reference and the types of OpenAI's SDK have them."""
BOOKKEEPING = frozenset(("created_by", "logprobs", "parsed", "parsed_arguments", "status"))
"""Keys that no request needs, so that no Notice tells of them."""
PART_KEYS: Mapping[str, frozenset[str]] = {
    "output_text": frozenset(("type", "text", "annotations", "logprobs")),
    "refusal": frozenset(("type", "refusal")),
    "reasoning_text": frozenset(("type", "text")),
    "summary_text": frozenset(("type", "text")),
}
ANNOTATION_KEYS: Mapping[str, frozenset[str]] = {
    "file_citation": frozenset(("type", "file_id", "filename", "index")),
    "url_citation": frozenset(("type", "url", "title", "start_index", "end_index")),
    "container_file_citation": frozenset(
        ("type", "container_id", "file_id", "filename", "start_index", "end_index"),
    ),
    "file_path": frozenset(("type", "file_id", "index")),
}
"""The keys of each kind of annotation; the request needs them all."""
ACTION_KEYS: Mapping[str, frozenset[str]] = {
    "search": frozenset(("type", "query", "queries", "sources")),
    "open_page": frozenset(("type", "url")),
    "find_in_page": frozenset(("type", "pattern", "url")),
}
"""The keys of each kind of action of a web search."""

_NAME = "openai-responses"
_call_id = partial(fitting_id, accepted=re.compile("[a-zA-Z0-9_-]{1,64}"))


def _sendable(items: list[dict[str, Any]], notices: Notices) -> list[dict[str, Any]]:
    sent = [item for each in items or () if (item := _item(each, notices)) is not None]
    while sent and sent[-1]["type"] == "reasoning":  # refused without the item that follows it
        left_out(notices, "reasoning that nothing follows", _NAME)
        sent.pop()
    return sent


def _item(item: dict[str, Any], notices: Notices) -> dict[str, Any] | None:
    kind = str(item.get("type"))
    if kind not in ITEM_KEYS:
        left_out(notices, f"items of the type {kind}", _NAME)
        return None
    sent = _with_keys(item, ITEM_KEYS[kind], notices)
    for field in ("content", "summary"):
        if isinstance(sent.get(field), list):
            parts = filter(None, map(fields_of, sent[field]))
            sent[field] = [part for each in parts if (part := _part(each, notices)) is not None]
    match kind:
        case "function_call":
            sent.setdefault("arguments", "{}")
        case "reasoning":
            sent.setdefault("summary", [])
        case "web_search_call":
            sent["action"] = _action(sent.get("action") or {}, notices)
        case _:
            pass
    return sent


def _with_keys(value: dict[str, Any], keys: frozenset[str], notices: Notices) -> dict[str, Any]:
    """Return what an object has under some keys; a Notice says what it has under others."""
    for key, each in value.items():
        if each and key not in keys and key not in BOOKKEEPING:
            left_out(notices, f"{key} of {value['type']}", _NAME)
    return {key: each for key, each in value.items() if key in keys and each is not None}


def _part(part: dict[str, Any], notices: Notices) -> dict[str, Any] | None:
    kind = str(part.get("type"))
    if kind not in PART_KEYS:
        left_out(notices, f"parts of the type {kind}", _NAME)
        return None
    sent = _with_keys(part, PART_KEYS[kind], notices)
    if kind == "output_text":
        kept = [_known(each, ANNOTATION_KEYS) for each in sent.get("annotations", ())]
        whole = [each for each in kept if each is not None and each.keys() == ANNOTATION_KEYS[each["type"]]]
        if len(whole) < len(kept):
            left_out(notices, "annotations that lack a key", _NAME)
        sent["annotations"] = whole
    return sent


def _action(action: dict[str, Any], notices: Notices) -> dict[str, Any]:
    sent = _known(action, ACTION_KEYS)
    if sent is None:
        return {"type": "search"}
    if "sources" in sent:
        sources = filter(None, map(fields_of, sent["sources"]))
        whole = [{"type": "url", "url": each["url"]} for each in sources if each.get("url")]
        if len(whole) < len(sent["sources"]):
            left_out(notices, "sources without a URL", _NAME)
        sent["sources"] = whole
    return sent


def _known(value: dict[str, Any], keys: Mapping[str, frozenset[str]]) -> dict[str, Any] | None:
    """Return an object with the keys that are known for its type; None for an unknown type."""
    known = keys.get(str(value.get("type")))
    return None if known is None else {key: each for key, each in value.items() if key in known}


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _NAME, ("text", "refusal")):
        if part.call is None:
            items.append({"type": "message", "role": "assistant", "content": part.text})
        else:
            said = {"call_id": _call_id(part.call.id), "name": part.call.name}
            if part.call.is_free_form:
                items.append({"type": "custom_tool_call", **said, "input": part.call.arguments.get("input", "")})
            else:
                items.append({"type": "function_call", **said, "arguments": part.call.arguments_json})
    return items


def _calls(items: list[dict[str, Any]]) -> list[MessageCall]:
    return [
        MessageCall(
            str(item.get("call_id") or item.get("id") or ""),
            str(item.get("name") or kind.name or ""),
            item["type"],
            item,
            "call_id" if item.get("call_id") else "id",
        )
        for item in items
        if (kind := call_kind(item)) is not None and kind.executed_by == "client"
    ]


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [_result(*each) for each in results]


def _result(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    match call.type:
        case "local_shell_call":
            return {"type": "local_shell_call_output", "id": call.id, "output": result_text(result)}
        case "shell_call":
            return {"type": "shell_call_output", "call_id": call.id, "output": _shell_output(result)}
        case "apply_patch_call":
            status = "failed" if result.is_error else "completed"
            output = result_text(result)
            return {"type": "apply_patch_call_output", "call_id": call.id, "status": status, "output": output}
        case "computer_call":
            return {"type": "computer_call_output", "call_id": call.id, "output": _screenshot(result)}
        case "tool_search_call":
            tools: list[Any] = result_data(result) if isinstance(result.value, list) else []
            said = {"execution": "client", "status": "completed", "tools": tools}
            return {"type": "tool_search_output", "call_id": call.id, **said}
        case _:
            return {"type": f"{call.type}_output", "call_id": call.id, "output": result_text(result)}


def _shell_output(result: ToolResult) -> list[dict[str, Any]]:
    """Return the output of a shell; a value that is a list of its parts goes as it is."""
    if isinstance(result.value, list):
        return list(result_data(result))
    said, text = ("stderr", "stdout") if result.is_error else ("stdout", "stderr"), result_text(result)
    return [{said[0]: text, said[1]: "", "outcome": {"type": "exit", "exit_code": int(result.is_error)}}]


def _screenshot(result: ToolResult) -> dict[str, Any]:
    """Return what a computer shows: the value is a URL, or the object of the API's reference."""
    if isinstance(result.value, str):
        return {"type": "computer_screenshot", "image_url": result.value}
    if not isinstance(result.value, dict):
        message = f"the result of computer call {result.id!r} must be a screenshot; pass its URL as value="
        raise UsageError(message)
    return dict(result_data(result))


_MESSAGES = MessageForm(
    _NAME,
    "openai-responses",
    _sendable,
    _plain,
    _calls,
    list,
    _results,
    user_message,
    _call_id,
)
"""Reasoning without encrypted content goes back by its id, which works where the server keeps it (`store`)."""

OPENAI_RESPONSES = OPENAI_CHAT._replace(
    name="openai-responses",
    aliases=("responses",),
    api="openai-responses",
    ask=_ask,
    form=_form,
    choice=_choice,
    output=_output,
    messages=_MESSAGES,
)
