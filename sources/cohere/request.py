"""What a request to Cohere wants: the client, a structured answer, and the messages of the next turn."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from msgspec import Struct, field

from ...events.errors import how_to_install
from ...events.tool_invocation import result_text
from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.engine.state import Stateful
from ...operators.machines.json_machine import decode_json
from ...operators.schemas.json_schema import Schema
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
    left_out,
    messages_of,
    text_and_calls,
    transport,
    user_message,
    without_none,
)
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json

_TEXTS = frozenset({"text", "thinking"})
_FUNCTION = "function."
"""The begin of the keys that belong to the function of a call."""


class _Message(Struct):
    """What has come of a message."""

    plain: Joined = field(default_factory=Joined)
    content: dict[str, Joined] = {}  # msgspec gives each instance its own
    calls: dict[str, Joined] = {}
    citations: list[Any] = []


class CohereMessage(Stateful):
    """Joins the plan, the content and the calls of a message, by their indexes; citations come whole."""

    STATE = ("_message",)

    def __init__(self, _choices: Choices = 0) -> None:
        self._message: _Message | None = None

    def feed(self, item: Any, /) -> None:
        event = fields_of(item) or {}
        delta = fields_of(event.get("delta")) or {}
        message = wire_fields(delta.get("message"))
        if message is None:
            return
        kept = self._message = self._message or _Message()
        index = str(event.get("index"))
        kept.plain.text("tool_plan", message.get("tool_plan"))
        if isinstance(role := message.get("role"), str):
            kept.plain.fields["role"] = role
        for place, content in enumerate(map(wire_fields, entries_of(message.get("content")))):
            kept.content.setdefault(_place(index, place), Joined()).add(content or {}, _TEXTS)
        for place, call in enumerate(map(wire_fields, entries_of(message.get("tool_calls")))):
            _add_call(kept.calls.setdefault(_place(index, place), Joined()), call or {})
        kept.citations += [set_json(each) for each in entries_of(message.get("citations")) if each]

    def messages(self) -> dict[int, Any]:
        kept = self._message
        if kept is None:
            return {}
        message = {"role": "assistant", **kept.plain.whole()}
        if not message.get("tool_plan"):
            message.pop("tool_plan", None)
        lists = {
            "content": [block.whole() for block in kept.content.values()],
            "tool_calls": [_whole_call(call) for call in kept.calls.values()],
            "citations": kept.citations,
        }
        return {0: message | {name: each for name, each in lists.items() if each}}

    def new_part(self, _name: str, state: Any, /) -> Any:
        return _Message() if "citations" in state else Joined()


def _place(index: str, place: int) -> str:
    return index if not place else f"{index}:{place}"


def _add_call(kept: Joined, call: Fields) -> None:
    kept.add({name: value for name, value in call.items() if name != "function"}, ())
    function = wire_fields(call.get("function")) or {}
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = json.dumps(plain_json(arguments), ensure_ascii=False)
    kept.text("arguments", arguments)
    kept.add({f"{_FUNCTION}{name}": each for name, each in function.items() if name != "arguments"}, ())


def _whole_call(call: Joined) -> dict[str, Any]:
    whole = call.whole()
    function = {name.removeprefix(_FUNCTION): whole.pop(name) for name in list(whole) if name.startswith(_FUNCTION)}
    arguments = whole.pop("arguments", "")
    return {**whole, "function": {**function, "arguments": arguments}}


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
