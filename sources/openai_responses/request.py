"""The input of OpenAI's Responses API, and of its Assistants API, whose server keeps the thread."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...events.errors import UsageError
from ...events.result_text import result_data, result_text
from ...events.tool_invocation import ToolResult
from ..base.message_form import (
    AnswerPart,
    CallResult,
    MessageCall,
    MessageForm,
    Notices,
    fitting_id,
    left_out,
    said_parts,
    text_and_calls,
    user_message,
)
from ..base.sdk_fields import fields_of
from .item_keys import ACTION_KEYS, ANNOTATION_KEYS, BOOKKEEPING, ITEM_KEYS, PART_KEYS
from .items import call_kind

_ASSISTANTS = "openai-assistants"


def _assistants_sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    texts: list[str] = []
    for part in filter(None, map(fields_of, message.get("content") or ())):
        if part.get("type") == "text":
            texts.append(str((fields_of(part.get("text")) or {}).get("value") or ""))
        elif part.get("type") == "refusal":
            texts.append(str(part.get("refusal") or ""))
        else:
            left_out(notices, "content that is not text", _ASSISTANTS)
    return {"role": "assistant", "content": "".join(texts), "tool_calls": message.get("tool_calls") or []}


def _assistants_plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    text, calls = text_and_calls(parts, notices, _ASSISTANTS)
    return {"role": "assistant", "content": text, "tool_calls": calls}


def _assistants_calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = filter(None, map(fields_of, message["tool_calls"]))
    named = [(call, fields_of(call.get("function")) or {}) for call in calls]
    return [MessageCall(str(call.get("id") or ""), str(function.get("name") or "")) for call, function in named]


def _assistants_entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": message["content"]}] if message["content"] else []


def _assistants_results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"tool_call_id": call.id, "output": result_text(result)} for call, result in results]


ASSISTANTS_FORM = MessageForm(
    _ASSISTANTS,
    "openai-assistants",
    _assistants_sendable,
    _assistants_plain,
    _assistants_calls,
    _assistants_entries,
    _assistants_results,
    user_message,
)
"""Results are the `tool_outputs` of the run, which has the calls; the message is for another thread."""


_RESPONSES = "openai-responses"
_call_id = partial(fitting_id, accepted=re.compile("[a-zA-Z0-9_-]{1,64}"))


def _sendable(items: list[dict[str, Any]], notices: Notices) -> list[dict[str, Any]]:
    sent = [item for each in items or () if (item := _item(each, notices)) is not None]
    while sent and sent[-1]["type"] == "reasoning":  # refused without the item that follows it
        left_out(notices, "reasoning that nothing follows", _RESPONSES)
        sent.pop()
    return sent


def _item(item: dict[str, Any], notices: Notices) -> dict[str, Any] | None:
    kind = str(item.get("type"))
    if kind not in ITEM_KEYS:
        left_out(notices, f"items of the type {kind}", _RESPONSES)
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
            left_out(notices, f"{key} of {value['type']}", _RESPONSES)
    return {key: each for key, each in value.items() if key in keys and each is not None}


def _part(part: dict[str, Any], notices: Notices) -> dict[str, Any] | None:
    kind = str(part.get("type"))
    if kind not in PART_KEYS:
        left_out(notices, f"parts of the type {kind}", _RESPONSES)
        return None
    sent = _with_keys(part, PART_KEYS[kind], notices)
    if kind == "output_text":
        kept = [_known(each, ANNOTATION_KEYS) for each in sent.get("annotations", ())]
        whole = [each for each in kept if each is not None and each.keys() == ANNOTATION_KEYS[each["type"]]]
        if len(whole) < len(kept):
            left_out(notices, "annotations that lack a key", _RESPONSES)
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
            left_out(notices, "sources without a URL", _RESPONSES)
        sent["sources"] = whole
    return sent


def _known(value: dict[str, Any], keys: Mapping[str, frozenset[str]]) -> dict[str, Any] | None:
    """Return an object with the keys that are known for its type; None for an unknown type."""
    known = keys.get(str(value.get("type")))
    return None if known is None else {key: each for key, each in value.items() if key in known}


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _RESPONSES, ("text", "refusal")):
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


RESPONSES_FORM = MessageForm(
    _RESPONSES,
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
