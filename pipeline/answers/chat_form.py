"""The messages of the Chat Completions family: OpenAI, its relatives, and Mistral."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any

from .answer_parts import AnswerPart
from .message_form import CallResult, MessageCall, MessageForm, Notices, left_out, result_text

_TAKEN = frozenset(("role", "content", "refusal", "name", "tool_calls", "function_call", "audio"))
_CALLS = frozenset(("id", "type", "function", "custom"))
_MISTRALS_ID = re.compile("[a-zA-Z0-9]{9}")
_PROVIDERS_OWN = "call that the provider ran itself"


def chat_form(name: str, returned: tuple[str, ...] = (), *, lists: bool = False) -> MessageForm:
    """Return the form of a relative.

    - `returned`: the keys that this relative wants back besides OpenAI's own; of a call's, with the prefix `call.`.
    - `lists`: whether it takes content as a list of parts, as Mistral does; otherwise only text goes back.
    """
    keys = _TAKEN | {key for key in returned if not key.startswith("call.")}
    call_keys = _CALLS | {key.removeprefix("call.") for key in returned if key.startswith("call.")}
    return MessageForm(
        name,
        "openai-chat",
        partial(_sendable, name=name, keys=keys, call_keys=call_keys, lists=lists),
        partial(_plain, name=name, reasoning_key=next((key for key in returned if key == "reasoning_content"), None)),
        _calls,
        _entries,
        partial(_results, named=lists),
        lambda text: {"role": "user", "content": text},
    )


def _sendable(
    message: dict[str, Any],
    notices: Notices,
    *,
    name: str,
    keys: frozenset[str],
    call_keys: frozenset[str],
    lists: bool,
) -> dict[str, Any]:
    for key in message.keys() - keys:
        left_out(notices, key, name)
    sent = {key: value for key, value in message.items() if key in keys}
    if isinstance(sent.get("content"), list) and not lists:
        left_out(notices, "list of content parts", name)
        sent["content"] = _text(sent["content"])
    if "audio" in sent:
        sent["audio"] = {"id": sent["audio"].get("id")}
    if calls := sent.get("tool_calls"):
        sent["tool_calls"] = [_call(each, call_keys, notices, name) for each in calls]
    return sent


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    if any(message.get(key) for key in ("content", "tool_calls", "function_call", "audio")):
        return [message]
    if not message.get("refusal"):
        return []
    # The API requires content where there are no calls.
    said = {key: value for key, value in message.items() if key != "refusal"}
    return [{**said, "content": [{"type": "refusal", "refusal": message["refusal"]}]}]


def _text(parts: list[Any]) -> str:
    return "".join(part["text"] for part in parts if part.get("type") == "text")


def _call(call: dict[str, Any], keys: frozenset[str], notices: Notices, name: str) -> dict[str, Any]:
    for key in call.keys() - keys - {"index"}:
        left_out(notices, f"{key} of a call", name)
    sent = {"id": "", "type": "function"} | {key: value for key, value in call.items() if key in keys}
    if function := sent.get("function"):
        sent["function"] = {"name": function.get("name", ""), "arguments": _arguments(function, notices, name)}
    return sent


def _arguments(function: dict[str, Any], notices: Notices, name: str) -> str:
    """Return the arguments, or `{}` for what is no JSON object: servers read them again."""
    text = function.get("arguments")
    if not isinstance(text, str) or not text.strip():
        return "{}"
    try:
        is_object = isinstance(json.loads(text), dict)
    except ValueError:
        is_object = False
    if not is_object:
        left_out(notices, "arguments that are no JSON object", name)
    return text if is_object else "{}"


def _plain(parts: Sequence[AnswerPart], notices: Notices, *, name: str, reasoning_key: str | None) -> dict[str, Any]:
    texts: dict[str, list[str]] = {}
    calls: list[dict[str, Any]] = []
    for part in parts:
        if part.call is None:
            texts.setdefault(part.type, []).append(part.text)
        elif part.call.is_providers:
            left_out(notices, _PROVIDERS_OWN, name)
        elif part.call.is_free_form and name == "openai-chat":
            custom = {"name": part.call.name, "input": part.call.raw}
            calls.append({"id": part.call.id, "type": "custom", "custom": custom})
        else:
            function = {"name": part.call.name, "arguments": part.call.arguments_json}
            call_id = _mistrals_id(part.call.id) if name == "mistral" else part.call.id
            calls.append({"id": call_id, "type": "function", "function": function})
    sent: dict[str, Any] = {"role": "assistant"}
    for kind, found in texts.items():
        key = {"text": "content", "refusal": "refusal", "reasoning": reasoning_key}.get(kind)
        if key is None:
            left_out(notices, kind, name)
        else:
            sent[key] = "".join(found)
    if calls:
        sent["tool_calls"] = calls
    return _sendable(sent, notices, name=name, keys=frozenset(sent), call_keys=_CALLS, lists=False)


def _mistrals_id(call_id: str) -> str:
    """Return an id for a call of another provider: Mistral takes nine letters and digits only."""
    return call_id if _MISTRALS_ID.fullmatch(call_id) else sha256(call_id.encode()).hexdigest()[:9]


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    calls: list[MessageCall] = []
    for call in message.get("tool_calls") or ():
        named = call.get("custom") or call.get("function") or {}
        calls.append(MessageCall(call["id"], named.get("name", ""), call.get("type", "function")))
    if not calls and (legacy := message.get("function_call")):
        calls.append(MessageCall("", legacy.get("name", ""), "function_call"))
    return calls


def _results(results: list[CallResult], *, named: bool) -> list[dict[str, Any]]:
    return [_result(call, result_text(result), named=named) for call, result in results]


def _result(call: MessageCall, text: str, *, named: bool) -> dict[str, Any]:
    if call.type == "function_call":
        return {"role": "function", "name": call.name, "content": text}
    name = {"name": call.name} if named else {}
    return {"role": "tool", "tool_call_id": call.id, **name, "content": text}
