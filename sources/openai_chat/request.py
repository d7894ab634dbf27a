"""What a request of OpenAI's chat, and of its relatives, wants: the client, tools, and the next turn's messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from ...events.tool_invocation import result_text
from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.machines.json_machine import decode_json
from ...operators.schemas.strict_schema import DESCRIBED, FORMATS, NUMBERS, SHAPE, StrictMode
from ..base.request import (
    NAMES_OF_64,
    AnswerPart,
    CallResult,
    Client,
    MessageCall,
    MessageForm,
    Notices,
    Provider,
    Request,
    fitting_id,
    function_choice,
    left_out,
    messages_of,
    said_parts,
    stainless_client,
    user_message,
    without_none,
)


def _client(module: Any, key: str, base_url: str | None) -> Client:
    return stainless_client(module, "OpenAI", key, base_url)


def _ask(client: Any, request: Request, tools: Any) -> Any:
    # OpenAI's newer models refuse the old name, and servers that are not OpenAI's know no other.
    limit = "max_completion_tokens" if request.base_url is None else "max_tokens"
    options = without_none(tools=tools, **{limit: request.max_tokens})
    return client.chat.completions.create(model=request.model, messages=messages_of(request), stream=True, **options)


STRICT = StrictMode(
    "OpenAI",
    SHAPE | DESCRIBED | NUMBERS | {"pattern", "format", "minItems", "maxItems"},
    FORMATS,
    requires_all=True,
    recursive=True,
)
"""OpenAI's strict mode, after developers.openai.com/api/docs/guides/structured-outputs, "Supported schemas". Mistral's
strict mode allows at least the same."""
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


class Relative(NamedTuple):
    """What a relative of OpenAI's chat takes back of its reasoning."""

    returned: tuple[str, ...]
    """The keys of the message; of a call's, with the prefix `call.`."""
    source: str
    """The document that says so."""


RELATIVES: Mapping[str, Relative] = {
    "deepseek": Relative(("reasoning_content",), "DeepSeek API Docs, Thinking Mode: refused without, after calls"),
    "fireworks": Relative(("reasoning_content",), "Fireworks docs, Reasoning: Interleaved thinking"),
    "gemini-chat": Relative(
        ("extra_content", "call.extra_content"), "Gemini API docs, Thought signatures: refused without, after calls"
    ),
    "groq": Relative(
        ("reasoning",), "Groq's Python SDK, ChatCompletionAssistantMessageParam; reasoning_content is refused"
    ),
    "moonshot": Relative(("reasoning_content",), "Kimi API docs, Tool use compatibility: refused without, after calls"),
    "openrouter": Relative(
        ("reasoning", "reasoning_details"), "OpenRouter docs, Reasoning Tokens: Preserving reasoning"
    ),
    "qwen": Relative(("reasoning_content",), "Qwen Cloud docs, Thinking: Function calling with thinking mode"),
    "vercel-gateway": Relative(
        ("reasoning", "reasoning_details"), "Vercel docs, Chat Completions Reasoning: Preserving reasoning details"
    ),
    "xai": Relative((), "xAI docs, Best Practices Guide: its chat has no field for reasoning, its Responses API has"),
    "zai": Relative(("reasoning_content",), "Z.AI docs, Thinking Mode: Interleaved thinking"),
}
"""Relatives of OpenAI's chat, each with what it wants back of its reasoning; for all others use `openai-chat`."""

OPENAI_CHAT = Provider(
    name="openai-chat",
    aliases=("openai", "chat"),
    api="openai-chat",
    keys=("OPENAI_API_KEY",),
    module="openai",
    install="pip install openai",
    url="https://api.openai.com/v1",
    url_from="OPENAI_BASE_URL",
    client=_client,
    ask=_ask,
    names=NAMES_OF_64,
    strict=STRICT,
    words={"auto": "auto", "none": "none", "required": "required"},
    choice=function_choice,
    output_is_object=True,
    parallel="takes it in the request as parallel_tool_calls=True or False",
    messages=chat_form("openai-chat"),
)
