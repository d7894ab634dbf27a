"""The messages of Bedrock's Converse API, as boto3 takes them."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Sequence
from functools import partial
from typing import Any

from ...events.tool_invocation import ToolResult
from ...sinks.wording.result_text import result_text
from ...sources.fields.sdk_fields import fields_of
from .answer_parts import AnswerPart
from .message_form import CallResult, MessageCall, MessageForm, Notices, fitting_id, left_out, said_parts

_NAME = "bedrock"
_call_id = partial(fitting_id, accepted=re.compile("[a-zA-Z0-9_.:-]{1,64}"))


def _sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    blocks = filter(None, map(fields_of, message.get("content") or ()))
    sent = (_block(block, notices) for block in blocks)
    return {"role": "assistant", "content": [block for block in sent if block is not None]}


def _block(block: dict[str, Any], notices: Notices) -> dict[str, Any] | None:
    """Return a block as the API takes it; None for one that it refuses: blank text, reasoning without a signature."""
    if "text" in block:
        return block if str(block["text"]).strip() else None
    if (call := fields_of(block.get("toolUse"))) is not None:
        given = call.get("input")
        if not isinstance(given, dict) and given:
            left_out(notices, "arguments that are not a JSON object", _NAME)
        return {"toolUse": {**call, "input": given if isinstance(given, dict) else {}}}
    if (reasoning := fields_of(block.get("reasoningContent"))) is not None:
        if isinstance(redacted := reasoning.get("redactedContent"), str):
            return {"reasoningContent": {"redactedContent": b64decode(redacted)}}
        if not (fields_of(reasoning.get("reasoningText")) or {}).get("signature"):
            left_out(notices, "reasoning without a signature", _NAME)
            return None
        return block
    if (image := fields_of(block.get("image"))) is not None:
        data = (fields_of(image.get("source")) or {}).get("bytes")
        if isinstance(data, str):
            return {"image": {**image, "source": {"bytes": b64decode(data)}}}
    return block


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _NAME, ("text", "refusal")):
        if part.call is None:
            content.append({"text": part.text})
        else:
            call = {"toolUseId": _call_id(part.call.id), "name": part.call.name, "input": part.call.arguments}
            content.append({"toolUse": call})
    return _sendable({"content": content}, notices)


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
    own = (call for call in calls if call.get("type") != "server_tool_use")
    return [
        MessageCall(str(call.get("toolUseId") or ""), str(call.get("name") or ""), holder=call, key="toolUseId")
        for call in own
    ]


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message["content"] else []


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"toolResult": _result(*each)} for each in results]}]


def _result(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    said = {"toolUseId": call.id, "content": [{"text": result_text(result)}]}
    return {**said, "status": "error"} if result.is_error else said


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": text}]}


BEDROCK_FORM = MessageForm(
    _NAME,
    "bedrock-converse",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    _user,
    _call_id,
)
"""Bytes, which a kept message has as base64, are bytes for boto3."""
