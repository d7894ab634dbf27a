"""What a request to Ollama wants: the client, tools in the keywords that it sends, and the next turn's messages."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from ...events.errors import UsageError
from ...events.tool_invocation import result_text
from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.engine.state import Stateful
from ...operators.machines.json_machine import decode_json
from ...operators.schemas.json_schema import Schema, types_of, with_note
from ...operators.schemas.schema_references import inline_references, recursive_references
from ..base.answers import Choices
from ..base.kept_message import Joined, set_json, wire_fields
from ..base.request import (
    AnswerPart,
    CallResult,
    MessageCall,
    MessageForm,
    Notices,
    Provider,
    Request,
    Said,
    function_form,
    left_out,
    messages_of,
    said_parts,
    transport,
    user_message,
    without_none,
)
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json

_TEXTS = frozenset({"content", "thinking"})
_LISTS = frozenset({"tool_calls", "images"})
_BESIDE = {"response": "content", "thinking": "thinking"}
"""The texts of a `generate` stream, which has no message."""


class OllamaMessage(Stateful):
    """Joins the texts of the stream's messages; calls and images come whole."""

    STATE = ("_message",)

    def __init__(self, _choices: Choices = 0) -> None:
        self._message: Joined | None = None

    def feed(self, item: Any, /) -> None:
        chunk = fields_of(item) or {}
        message = wire_fields(chunk.get("message")) or {}
        beside = {key: chunk[name] for name, key in _BESIDE.items() if chunk.get(name)}
        if not (message or beside):
            return
        kept = self._message = self._message or Joined()
        for name, value in message.items():
            if name in _TEXTS:
                kept.text(name, value)
            elif name in _LISTS:
                given = [_call(each) if name == "tool_calls" else set_json(each) for each in entries_of(value)]
                if given:
                    kept.fields.setdefault(name, []).extend(given)
            elif value is not None:
                kept.fields[name] = set_json(value)
        for name, value in beside.items():
            if not message.get(name):
                kept.text(name, value)

    def messages(self) -> dict[int, Any]:
        return {} if self._message is None else {0: {"role": "assistant", **self._message.whole()}}

    def new_part(self, _name: str, _state: Any, /) -> Joined:
        return Joined()


def _call(given: object) -> Any:
    """Return a call; nulls in its arguments are the model's."""
    call: Fields = dict(wire_fields(given) or {})
    function = wire_fields(call.pop("function", None))
    if function is None:
        return set_json(given)
    arguments = function.get("arguments")
    plain: Fields = set_json({name: value for name, value in function.items() if name != "arguments"})
    if arguments is not None:
        plain["arguments"] = plain_json(arguments)
    return {**set_json(call), "function": plain}


@contextmanager
def _client(module: Any, _: str, base_url: str | None) -> Generator[Any, None, None]:
    client = module.Client(host=base_url, **transport(base_url))
    try:
        yield client
    finally:
        client.close()


def _ask(client: Any, request: Request, tools: Any) -> Any:
    options = None if request.max_tokens is None else {"num_predict": request.max_tokens}
    return client.chat(
        model=request.model, messages=messages_of(request), stream=True, **without_none(tools=tools, options=options)
    )


def _form(said: Said, parameters: Schema, more: Said) -> Said:
    return function_form(said, ollama_parameters(parameters, said["name"]), more)


def _output(_name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"format": schema}


_KEYWORDS = ("type", "description", "enum", "items")
_LEFT_OUT_SILENTLY = ("title", "$schema", "$comment", "discriminator")


def ollama_parameters(parameters: Schema, tool: str) -> Schema:
    """Return parameters in the keywords that Ollama's client sends: type, enum, items and description.

    >>> ollama_parameters({"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}, "f")["properties"]
    {'a': {'type': 'integer', 'description': '{"minimum": 1}'}}

    Other keywords go to the description. `UsageError` for a recursive schema, which needs `$ref`.
    """
    if recursive := recursive_references(parameters):
        message = f"tool {tool!r}: Ollama cannot take {min(recursive)!r}, which refers to itself; inline it"
        raise UsageError(message)
    whole = inline_references(parameters)
    properties = {name: _property(each) for name, each in whole["properties"].items()}
    required = {"required": whole["required"]} if whole.get("required") else {}
    return {"type": "object", "properties": properties, **required}


def _property(given: Any) -> Schema:
    if not isinstance(given, dict):  # True: anything
        return {}
    schema = cast("Schema", given)
    alternatives: list[Any] = schema.get("anyOf") or schema.get("oneOf") or []
    values = [each for each in alternatives if each != {"type": "null"}]
    if len(values) == 1 and isinstance(values[0], dict):
        # The usual form of an optional value: the value's own, and null among its types.
        schema = cast("Schema", values[0]) | {key: schema[key] for key in schema if key not in ("anyOf", "oneOf")}
        if "type" in schema and len(alternatives) > 1:
            schema["type"] = [*types_of(schema), "null"]
    elif alternatives and all("type" in each for each in alternatives):
        # Described in full below; the client can send only the types.
        names = list(dict.fromkeys(name for each in alternatives for name in types_of(each)))
        schema = {**schema, "type": names if len(names) > 1 else names[0]}
    if "const" in schema:
        schema = {key: schema[key] for key in schema if key != "const"} | {"enum": [schema["const"]]}
    carried = {key: schema[key] for key in _KEYWORDS if key in schema}
    told = {
        key: value
        for key, value in schema.items()
        if key not in (*_KEYWORDS, *_LEFT_OUT_SILENTLY) and value is not None
    }
    return with_note(carried, told)


_NAME = "ollama"
_KEYS = {"text": "content", "refusal": "content", "reasoning": "thinking"}
_SENT = ("content", "thinking", "images")


def _sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    for key, value in message.items():
        if value and key not in (*_SENT, "role", "tool_calls"):
            left_out(notices, key, _NAME)
    sent = {key: value for key, value in message.items() if key in _SENT and value is not None}
    if calls := message.get("tool_calls"):
        sent["tool_calls"] = [
            {"function": _function(_fields(_fields(call).get("function")), notices)} for call in calls
        ]
    return {"role": "assistant", **sent}


def _fields(value: Any) -> dict[str, Any]:
    """Return an object's fields; none for what a broken stream has in its place."""
    return fields_of(value) or {}


def _function(function: dict[str, Any], notices: Notices) -> dict[str, Any]:
    arguments: Any = function.get("arguments")
    if isinstance(arguments, str) and arguments.strip():
        arguments = decode_json(arguments, DEFAULT_LIMITS)[0]
    elif arguments is None or isinstance(arguments, str):
        arguments = {}
    if not isinstance(arguments, dict):
        left_out(notices, "arguments that are not a JSON object", _NAME)
        arguments = {}
    return {"name": str(function.get("name") or ""), "arguments": arguments}


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    texts: dict[str, str] = {}
    calls: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _NAME, _KEYS):
        if part.call is None:
            key = _KEYS[part.type]
            texts[key] = texts.get(key, "") + part.text
        else:
            calls.append({"function": {"name": part.call.name, "arguments": part.call.arguments}})
    return _sendable({**texts, "tool_calls": calls}, notices)


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    return [MessageCall("", call["function"]["name"]) for call in message.get("tool_calls", ())]


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_name": call.name, "content": result_text(result)} for call, result in results]


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message.get("content") or message.get("tool_calls") else []


_MESSAGES = MessageForm(
    _NAME,
    "ollama",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    user_message,
)
"""Calls have no ids: results go back in the order of the calls."""

OLLAMA = Provider(
    name="ollama",
    aliases=(),
    api="ollama",
    keys=(),
    module="ollama",
    install="pip install ollama",
    url="http://127.0.0.1:11434",
    url_from="OLLAMA_HOST",
    client=_client,
    ask=_ask,
    form=_form,
    output=_output,
    not_strict="Ollama has no strict mode; leave strict= out",
    instead={
        "none": "send no tools",
        "required": "leave tool_choice out",
        "validated": "it has no strict mode either",
    },
    messages=_MESSAGES,
)
