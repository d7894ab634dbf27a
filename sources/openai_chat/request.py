"""The messages that are a text with calls: the Chat Completions family, Cohere's chat and Ollama's."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from ...events.result_text import result_text
from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.machines.json_machine import decode_json
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

_OLLAMA = "ollama"
_OLLAMA_KEYS = {"text": "content", "refusal": "content", "reasoning": "thinking"}
_OLLAMA_SENT = ("content", "thinking", "images")


def _ollama_sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    for key, value in message.items():
        if value and key not in (*_OLLAMA_SENT, "role", "tool_calls"):
            left_out(notices, key, _OLLAMA)
    sent = {key: value for key, value in message.items() if key in _OLLAMA_SENT and value is not None}
    if calls := message.get("tool_calls"):
        sent["tool_calls"] = [
            {"function": _ollama_function(_ollama_fields(_ollama_fields(call).get("function")), notices)}
            for call in calls
        ]
    return {"role": "assistant", **sent}


def _ollama_fields(value: Any) -> dict[str, Any]:
    """Return an object's fields; none for what a broken stream has in its place."""
    return fields_of(value) or {}


def _ollama_function(function: dict[str, Any], notices: Notices) -> dict[str, Any]:
    arguments: Any = function.get("arguments")
    if isinstance(arguments, str) and arguments.strip():
        arguments = decode_json(arguments, DEFAULT_LIMITS)[0]
    elif arguments is None or isinstance(arguments, str):
        arguments = {}
    if not isinstance(arguments, dict):
        left_out(notices, "arguments that are not a JSON object", _OLLAMA)
        arguments = {}
    return {"name": str(function.get("name") or ""), "arguments": arguments}


def _ollama_plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    texts: dict[str, str] = {}
    calls: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _OLLAMA, _OLLAMA_KEYS):
        if part.call is None:
            key = _OLLAMA_KEYS[part.type]
            texts[key] = texts.get(key, "") + part.text
        else:
            calls.append({"function": {"name": part.call.name, "arguments": part.call.arguments}})
    return _ollama_sendable({**texts, "tool_calls": calls}, notices)


def _ollama_calls(message: dict[str, Any]) -> list[MessageCall]:
    return [MessageCall("", call["function"]["name"]) for call in message.get("tool_calls", ())]


def _ollama_results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_name": call.name, "content": result_text(result)} for call, result in results]


def _ollama_entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message.get("content") or message.get("tool_calls") else []


OLLAMA_FORM = MessageForm(
    _OLLAMA,
    "ollama",
    _ollama_sendable,
    _ollama_plain,
    _ollama_calls,
    _ollama_entries,
    _ollama_results,
    user_message,
)
"""Calls have no ids: results go back in the order of the calls."""


_COHERE = "cohere"
_COHERE_SENT = ("tool_plan", "content", "tool_calls", "citations")


def _cohere_sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": "assistant"}
    for key, value in message.items():
        if key in _COHERE_SENT and value:
            sent[key] = value
        elif key != "role" and value:
            left_out(notices, key, _COHERE)
    if isinstance(sent.get("content"), list):
        parts: list[dict[str, Any]] = sent["content"]
        said = [part for part in parts if any(value for key, value in part.items() if key != "type")]
        sent["content"] = said
        if not said:
            del sent["content"]
    if calls := sent.get("tool_calls"):
        sent["tool_calls"] = [_cohere_call(fields_of(each) or {}, place, notices) for place, each in enumerate(calls)]
    return sent


def _cohere_call(call: dict[str, Any], place: int, notices: Notices) -> dict[str, Any]:
    function = fields_of(call.get("function")) or {}
    arguments = function.get("arguments")
    is_text = isinstance(arguments, str) and bool(arguments.strip())
    if not is_text or not isinstance(decode_json(str(arguments), DEFAULT_LIMITS)[0], dict):
        if is_text:
            left_out(notices, "arguments that are not a JSON object", _COHERE)
        arguments = "{}"
    said = {"name": str(function.get("name") or ""), "arguments": arguments}
    return {"id": call.get("id") or f"call_{place}", "type": "function", "function": said}


def _cohere_plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    text, calls = text_and_calls(parts, notices, _COHERE)
    return _cohere_sendable({"content": text, "tool_calls": calls}, notices)


def _cohere_calls(message: dict[str, Any]) -> list[MessageCall]:
    return [MessageCall(call["id"], call["function"]["name"], holder=call) for call in message.get("tool_calls", ())]


def _cohere_entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message.get("content") or message.get("tool_calls") else []


def _cohere_results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": call.id, "content": result_text(result)} for call, result in results]


COHERE_FORM = MessageForm(
    _COHERE,
    "cohere",
    _cohere_sendable,
    _cohere_plain,
    _cohere_calls,
    _cohere_entries,
    _cohere_results,
    user_message,
)
"""The plan, the thinking and the citations go back as they came."""


_KEYS = frozenset(("role", "content", "tool_calls", "function_call"))
_CALL_KEYS = frozenset(("id", "type", "function"))
_REASONING = ("reasoning_content", "reasoning")
"""The two names of the reasoning's text."""


class _Rules(NamedTuple):
    name: str
    keys: frozenset[str]
    call_keys: frozenset[str]
    ids: re.Pattern[str]
    """The ids of calls that the server accepts."""
    is_openai: bool
    is_mistral: bool

    @property
    def reasoning(self) -> str | None:
        """The key of the reasoning's text."""
        return next((key for key in _REASONING if key in self.keys), None)

    def call_id(self, call_id: str) -> str:
        return fitting_id(call_id, self.ids)


def chat_form(name: str, returned: tuple[str, ...] = ()) -> MessageForm:
    """Return the form of "openai-chat", of "mistral", or of a relative.

    `returned`: the keys that a relative wants back besides those that all take; of a call's, with the prefix `call.`.

    Only OpenAI takes refusals, audio and free-form calls, and only ids of up to 40 characters. Only Mistral takes
    content as a list of parts and the tool's name in a result, and only ids of nine letters and digits.
    """
    is_openai, is_mistral = name == "openai-chat", name == "mistral"
    of_call = frozenset(key.removeprefix("call.") for key in returned if key.startswith("call."))
    of_message = frozenset(key for key in returned if not key.startswith("call."))
    rules = _Rules(
        name,
        _KEYS | of_message | ({"refusal", "audio"} if is_openai else set()),
        _CALL_KEYS | of_call | ({"custom"} if is_openai else set()),
        re.compile("[a-zA-Z0-9]{9}" if is_mistral else "(?s).{1,40}" if is_openai else "(?s).+"),
        is_openai,
        is_mistral,
    )
    return MessageForm(
        name,
        "openai-chat",
        partial(_sendable, rules=rules),
        partial(_plain, rules=rules),
        _calls,
        _entries,
        partial(_results, named=is_mistral),
        user_message,
        rules.call_id,
        keeps_own_ids=not is_mistral,
    )


def _sendable(message: dict[str, Any], notices: Notices, *, rules: _Rules) -> dict[str, Any]:
    said = {key: value for key, value in message.items() if key != "role" and value not in (None, "", [])}
    if not rules.is_openai and "refusal" in said and "content" not in said:
        said["content"] = said.pop("refusal")
    key = rules.reasoning
    text = next((said[each] for each in _REASONING if isinstance(said.get(each), str)), None)
    if key is not None and text is not None:
        said.setdefault(key, text)
    sent: dict[str, Any] = {"role": "assistant"}
    if "content" in message or "content" in said:
        sent["content"] = _content(said.get("content", message.get("content")), notices, rules)
    for each, value in said.items():
        if each == "tool_calls":
            sent[each] = [_call(call, place, notices, rules) for place, call in enumerate(value)]
        elif each == "function_call" and not rules.is_mistral:
            sent[each] = {"name": value.get("name") or "", "arguments": _arguments(value, notices, rules)}
        elif each == "audio" and rules.is_openai:
            sent[each] = {"id": value.get("id")}
        elif each in rules.keys:
            sent.setdefault(each, value)
        elif each not in _REASONING or key is None:
            left_out(notices, each, rules.name)
    return sent


def _content(content: Any, notices: Notices, rules: _Rules) -> Any:
    if rules.is_mistral or not isinstance(content, list | tuple):
        return content
    parts = cast("list[Any]", content)
    texts = [part for part in parts if isinstance(part, str) or part.get("type") == "text"]
    if len(texts) < len(parts):
        left_out(notices, "content that is not text", rules.name)
    return "".join(part if isinstance(part, str) else part.get("text") or "" for part in texts) or None


def _call(call: dict[str, Any], place: int, notices: Notices, rules: _Rules) -> dict[str, Any]:
    for key, value in call.items():
        if value and key not in rules.call_keys and key not in ("index", "custom"):
            left_out(notices, f"{key} of a call", rules.name)
    call_id = call.get("id")
    if not call_id or call_id == "null":  # Mistral's word for none
        call_id = f"call_{place}"
    sent = {"type": "function"} | {key: value for key, value in call.items() if key in rules.call_keys and value}
    sent["id"] = rules.call_id(call_id) if rules.is_mistral else call_id
    if custom := call.get("custom"):
        if rules.is_openai:
            return {**sent, "custom": {"name": custom.get("name") or "", "input": custom.get("input") or ""}}
        arguments = {"input": custom.get("input") or ""}
        function: dict[str, Any] = {"name": custom.get("name"), "arguments": arguments}
        sent["type"] = "function"
    else:
        function = call.get("function") or {}
    return {
        **sent,
        "function": {"name": function.get("name") or "", "arguments": _arguments(function, notices, rules)},
    }


def _arguments(function: dict[str, Any], notices: Notices, rules: _Rules) -> str:
    """Return the arguments, or `{}` for what is not a JSON object: servers read them again."""
    text = function.get("arguments")
    if isinstance(text, dict):
        return json.dumps(text, ensure_ascii=False)
    if not isinstance(text, str) or text.strip() in ("", "null"):
        return "{}"
    if isinstance(decode_json(text, DEFAULT_LIMITS)[0], dict):
        return text
    left_out(notices, "arguments that are not a JSON object", rules.name)
    return "{}"


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    if any(message.get(key) for key in ("content", "tool_calls", "function_call", "audio")):
        return [message]
    if not message.get("refusal"):
        return []
    # The API requires content where there are no calls.
    said = {key: value for key, value in message.items() if key != "refusal"}
    return [{**said, "content": [{"type": "refusal", "refusal": message["refusal"]}]}]


def _plain(parts: Sequence[AnswerPart], notices: Notices, *, rules: _Rules) -> dict[str, Any]:
    texts: dict[str, str] = {}
    calls: list[dict[str, Any]] = []
    taken = ("text", "refusal", *(("reasoning",) if rules.reasoning else ()))
    for part in said_parts(parts, notices, rules.name, taken):
        if part.call is None:
            key = "content" if part.type == "text" else part.type
            texts[key] = texts.get(key, "") + part.text
        elif part.call.is_free_form:
            custom = {"name": part.call.name, "input": part.call.arguments.get("input", "")}
            calls.append({"id": rules.call_id(part.call.id), "type": "custom", "custom": custom})
        else:
            function = {"name": part.call.name, "arguments": part.call.arguments_json}
            calls.append({"id": rules.call_id(part.call.id), "function": function})
    return _sendable({**texts, "tool_calls": calls}, notices, rules=rules)


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    calls: list[MessageCall] = []
    for call in message.get("tool_calls", ()):
        named = call.get("custom") or call["function"]
        calls.append(MessageCall(call["id"], named["name"], call["type"], call))
    if not calls and (legacy := message.get("function_call")):
        calls.append(MessageCall("", legacy.get("name") or "", "function_call"))
    return calls


def _results(results: list[CallResult], *, named: bool) -> list[dict[str, Any]]:
    return [_result(call, result_text(result), named=named) for call, result in results]


def _result(call: MessageCall, text: str, *, named: bool) -> dict[str, Any]:
    if call.type == "function_call":
        return {"role": "function", "name": call.name, "content": text}
    name = {"name": call.name} if named else {}
    return {"role": "tool", "tool_call_id": call.id, **name, "content": text}
