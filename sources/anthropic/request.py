"""The messages that are made of blocks or parts: Anthropic's, Bedrock's, and both of Gemini's APIs."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

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
    user_message,
)
from ..base.sdk_fields import fields_of

_INTERACTIONS = "gemini-interactions"
_INTERACTIONS_CALL = "function_call"


def _interactions_sendable(steps: list[dict[str, Any]], notices: Notices) -> list[dict[str, Any]]:
    return [_interactions_step(step, notices) for step in filter(None, map(fields_of, steps or ()))]


def _interactions_step(step: dict[str, Any], notices: Notices) -> dict[str, Any]:
    if step.get("type") != _INTERACTIONS_CALL:
        return step
    arguments = step.get("arguments")
    if not isinstance(arguments, dict):
        if arguments:
            left_out(notices, "arguments that are not a JSON object", _INTERACTIONS)
        arguments = {}
    # The API writes an empty signature, and its type for requests has none.
    return {**{key: value for key, value in step.items() if key != "signature" or value}, "arguments": arguments}


def _interactions_plain(parts: Sequence[AnswerPart], notices: Notices) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _INTERACTIONS, ("text", "refusal")):
        if part.call is None:
            steps.append({"type": "model_output", "content": [{"type": "text", "text": part.text}]})
        else:
            call = {"id": part.call.id, "name": part.call.name, "arguments": part.call.arguments}
            steps.append({"type": _INTERACTIONS_CALL, **call})
    return steps


def _interactions_calls(steps: list[dict[str, Any]]) -> list[MessageCall]:
    calls = (step for step in steps if step.get("type") == _INTERACTIONS_CALL)
    return [MessageCall(str(step.get("id") or ""), str(step.get("name") or ""), holder=step) for step in calls]


def _interactions_entries(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return steps


def _interactions_results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [_interactions_result(*each) for each in results]


def _interactions_result(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    said = {"type": "function_result", "call_id": call.id, "name": call.name, "result": result_text(result)}
    return {**said, "is_error": True} if result.is_error else said


def _interactions_user(text: str) -> dict[str, Any]:
    return {"type": "user_input", "content": [{"type": "text", "text": text}]}


INTERACTIONS_FORM = MessageForm(
    _INTERACTIONS,
    "gemini-interactions",
    _interactions_sendable,
    _interactions_plain,
    _interactions_calls,
    _interactions_entries,
    _interactions_results,
    _interactions_user,
)
"""The message is a list of steps. Thoughts go back with their signatures."""


_GEMINI = "gemini"
_NOT_SIGNED = "skip_thought_signature_validator"
"""In place of the signature that Gemini 3 requires of a turn's first call, for a call that Gemini did not make; from
"Thought signatures" in the documentation of the Gemini API."""


def _gemini_sendable(message: dict[str, Any], _notices: Notices) -> dict[str, Any]:
    parts = ({key: value for key, value in part.items() if value is not None} for part in message.get("parts") or ())
    return {"role": "model", "parts": [part for part in parts if any(value != "" for value in part.values())]}


def _gemini_plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    signature = {"thoughtSignature": _NOT_SIGNED}
    for part in said_parts(parts, notices, _GEMINI, ("text", "refusal")):
        if part.call is None:
            found.append({"text": part.text})
        else:
            found.append({"functionCall": {"name": part.call.name, "args": part.call.arguments}, **signature})
            signature = {}
    return {"role": "model", "parts": found}


def _gemini_calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = (fields_of(part["functionCall"]) or {} for part in message["parts"] if "functionCall" in part)
    return [MessageCall(str(call.get("id") or ""), str(call.get("name") or ""), holder=call) for call in calls]


def _gemini_results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "user", "parts": [{"functionResponse": _gemini_response(*each)} for each in results]}]


def _gemini_response(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    call_id = {"id": call.id} if call.id else {}
    return {**call_id, "name": call.name, "response": _gemini_object(result)}


def _gemini_object(result: ToolResult) -> dict[str, Any]:
    """Return a result as the object that the API wants: under the keys that its reference names."""
    if result.is_error:
        return {"error": result_text(result)}
    value: Any = result_data(result)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"output": value}


def _gemini_entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message["parts"] else []


def _gemini_user(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}


GEMINI_FORM = MessageForm(
    _GEMINI,
    "gemini",
    _gemini_sendable,
    _gemini_plain,
    _gemini_calls,
    _gemini_entries,
    _gemini_results,
    _gemini_user,
)
"""Thought signatures go back in the parts in which they came, empty ones included."""


_BEDROCK = "bedrock"
_bedrock_call_id = partial(fitting_id, accepted=re.compile("[a-zA-Z0-9_.:-]{1,64}"))


def _bedrock_sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    blocks = filter(None, map(fields_of, message.get("content") or ()))
    sent = (_bedrock_block(block, notices) for block in blocks)
    return {"role": "assistant", "content": [block for block in sent if block is not None]}


def _bedrock_block(block: dict[str, Any], notices: Notices) -> dict[str, Any] | None:
    """Return a block as the API takes it; None for one that it refuses: blank text, reasoning without a signature."""
    if "text" in block:
        return block if str(block["text"]).strip() else None
    if (call := fields_of(block.get("toolUse"))) is not None:
        given = call.get("input")
        if not isinstance(given, dict) and given:
            left_out(notices, "arguments that are not a JSON object", _BEDROCK)
        return {"toolUse": {**call, "input": given if isinstance(given, dict) else {}}}
    if (reasoning := fields_of(block.get("reasoningContent"))) is not None:
        if isinstance(redacted := reasoning.get("redactedContent"), str):
            return {"reasoningContent": {"redactedContent": b64decode(redacted)}}
        if not (fields_of(reasoning.get("reasoningText")) or {}).get("signature"):
            left_out(notices, "reasoning without a signature", _BEDROCK)
            return None
        return block
    if (image := fields_of(block.get("image"))) is not None:
        data = (fields_of(image.get("source")) or {}).get("bytes")
        if isinstance(data, str):
            return {"image": {**image, "source": {"bytes": b64decode(data)}}}
    return block


def _bedrock_plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _BEDROCK, ("text", "refusal")):
        if part.call is None:
            content.append({"text": part.text})
        else:
            call = {"toolUseId": _bedrock_call_id(part.call.id), "name": part.call.name, "input": part.call.arguments}
            content.append({"toolUse": call})
    return _bedrock_sendable({"content": content}, notices)


def _bedrock_calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
    own = (call for call in calls if call.get("type") != "server_tool_use")
    return [
        MessageCall(str(call.get("toolUseId") or ""), str(call.get("name") or ""), holder=call, key="toolUseId")
        for call in own
    ]


def _bedrock_entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message["content"] else []


def _bedrock_results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"toolResult": _bedrock_result(*each)} for each in results]}]


def _bedrock_result(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    said = {"toolUseId": call.id, "content": [{"text": result_text(result)}]}
    return {**said, "status": "error"} if result.is_error else said


def _bedrock_user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": text}]}


BEDROCK_FORM = MessageForm(
    _BEDROCK,
    "bedrock-converse",
    _bedrock_sendable,
    _bedrock_plain,
    _bedrock_calls,
    _bedrock_entries,
    _bedrock_results,
    _bedrock_user,
    _bedrock_call_id,
)
"""Bytes, which a kept message has as base64, are bytes for boto3."""


_ANTHROPIC = "anthropic"
_anthropic_call_id = partial(fitting_id, accepted=re.compile("[a-zA-Z0-9_-]{1,64}"))


def _anthropic_sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    content: Any = message.get("content") or []
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [each.get("text") or "" for each in blocks if each.get("type") == "text"]
    is_blank = not "".join(texts).strip()  # blanks between texts with citations go back, blanks alone are refused
    return {
        "role": "assistant",
        "content": [_anthropic_block(each, notices) for each in blocks if _is_sent(each, notices, is_blank=is_blank)],
    }


def _anthropic_entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message["content"] else []


def _is_sent(block: dict[str, Any], notices: Notices, *, is_blank: bool) -> bool:
    kind = block.get("type")
    if kind == "text":
        return bool(block.get("text")) and not is_blank
    if kind == "thinking" and not block.get("signature"):
        left_out(notices, "thinking without a signature", _ANTHROPIC)
        return False
    return True


def _anthropic_block(block: dict[str, Any], notices: Notices) -> dict[str, Any]:
    sent = {key: value for key, value in block.items() if value is not None or key == "content"}
    if citations := sent.get("citations"):
        sent["citations"] = [{key: each[key] for key in each if key != "file_id"} for each in citations]
    if "tool_use" in str(sent.get("type")) and not isinstance(sent.get("input"), dict):
        if sent.get("input"):
            left_out(notices, "arguments that are not a JSON object", _ANTHROPIC)
        sent["input"] = {}
    return sent


def _anthropic_plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _ANTHROPIC, ("text", "refusal")):
        if part.call is None:
            content.append({"type": "text", "text": part.text})
        else:
            named = {"id": _anthropic_call_id(part.call.id), "name": part.call.name}
            content.append({"type": "tool_use", **named, "input": part.call.arguments})
    return _anthropic_sendable({"content": content}, notices)


def _anthropic_calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = (block for block in message["content"] if block.get("type") == "tool_use")
    return [MessageCall(str(block.get("id") or ""), str(block.get("name") or ""), holder=block) for block in calls]


def _anthropic_results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [_anthropic_result(*each) for each in results]}]


def _anthropic_result(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call.id, "content": result_text(result)}
    return {**block, "is_error": True} if result.is_error else block


ANTHROPIC_FORM = MessageForm(
    _ANTHROPIC,
    "anthropic-messages",
    _anthropic_sendable,
    _anthropic_plain,
    _anthropic_calls,
    _anthropic_entries,
    _anthropic_results,
    user_message,
    _anthropic_call_id,
)
"""Thinking goes back with its signature, and what the provider's own tools returned as it came."""
