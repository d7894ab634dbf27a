"""What a request to Anthropic wants: the client, tools, a structured answer, and the messages of the next turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from ...events.tool_invocation import ToolResult, result_text
from ...operators.engine.state import Stateful
from ...operators.schemas.json_schema import Schema
from ...operators.schemas.strict_schema import DESCRIBED, FORMATS, SHAPE, StrictMode
from ..base.answers import Choices
from ..base.kept_message import Blocks, Joined, json_as_far_as_it_came, set_json, wire_fields
from ..base.request import (
    AnswerPart,
    CallResult,
    Client,
    MessageCall,
    MessageForm,
    Notices,
    Provider,
    Request,
    Said,
    fitting_id,
    left_out,
    said_parts,
    stainless_client,
    user_message,
    without_none,
)
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json

_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "compaction_delta": ("compaction", "content"),
    "input_json_delta": ("", "partial_json"),
}
"""The deltas that continue a text: the block that one without a start belongs to, and the text's key."""
_SET = ("signature", "encrypted_content")
"""Keys of a delta that the block has as they are."""
_INPUT = "partial_json"
_TEXTS = frozenset({"text", "thinking"})
_MESSAGE = "message_start"


class AnthropicMessage(Stateful):
    """Joins the blocks of a message; those of a second `message_start` follow the first one's.

    An input that was cut ends with its last whole value, as in the SDK's own message. Text that cannot be read as
    JSON becomes `{"INVALID_JSON": text}`, the form in which Anthropic's documentation passes it on.
    """

    STATE = ("_blocks", "_has_begun")

    def __init__(self, _choices: Choices = 0) -> None:
        self._blocks = Blocks()
        self._has_begun = False

    def feed(self, item: Any, /) -> None:
        event = fields_of(item) or {}
        kind = event.get("type")
        if kind == "content_block_delta":
            self._delta(str(event.get("index")), fields_of(event.get("delta")) or {})
        elif kind == "content_block_start":
            self._begin(str(event.get("index")), wire_fields(event.get("content_block")) or {})
        elif kind == "content_block_stop":
            self._blocks.end(str(event.get("index")))
        elif kind == _MESSAGE:
            self._has_begun = True
            self._blocks.forget_keys()
            message = fields_of(event.get("message")) or {}
            for number, block in enumerate(entries_of(message.get("content"))):
                self._begin(f"{_MESSAGE}:{number}", wire_fields(block) or {})

    def messages(self) -> dict[int, Any]:
        if not (self._has_begun or self._blocks.all):
            return {}
        return {0: {"role": "assistant", "content": [_whole(block) for block in self._blocks.all]}}

    def _begin(self, index: str, given: Fields) -> Joined | None:
        if not given.get("type"):
            return None
        block = self._blocks.begin(index, Joined())
        if given.get("id") and given.get("name"):
            self._blocks.begin_call(index, call_id=given["id"], name=given["name"], text=_announced(given))
        block.add({name: value for name, value in given.items() if name != "input"}, _TEXTS)
        if (value := given.get("input")) is not None:
            block.fields["input"] = plain_json(value)
        return block

    def _delta(self, index: str, delta: Fields) -> None:
        kind = delta.get("type")
        block = self._blocks.of_input(index, delta.get(_INPUT)) if kind == "input_json_delta" else None
        missing, text = _DELTAS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
        if (block := block or self._blocks.at(index) or self._begin(index, {"type": missing})) is None:
            return
        block.text(text, delta.get(text))
        if kind == "citations_delta" and (citation := set_json(delta.get("citation"))) is not None:
            citations: Any = block.fields.get("citations")
            if citations.__class__ is not list:
                citations = block.fields["citations"] = []
            citations.append(citation)
        for name in _SET:
            if (value := delta.get(name)) is not None:
                block.fields[name] = set_json(value)


def _announced(block: Fields) -> str:
    """Return a text for the input that a block has at its start, so that it counts as one with arguments."""
    return "{" if block.get("input") else ""


def _whole(block: Joined) -> dict[str, Any]:
    whole = block.whole()
    text = whole.pop(_INPUT, "")
    if text and not text.isspace():
        whole["input"] = json_as_far_as_it_came(text)
    return whole


_MAX_TOKENS = 8192
"""The `max_tokens` of requests to Anthropic, whose API requires a number; other APIs have defaults."""


def _client(module: Any, key: str, base_url: str | None) -> Client:
    return stainless_client(module, "Anthropic", key, base_url)


def _ask(client: Any, request: Request, tools: Any) -> Any:
    return client.messages.create(
        model=request.model,
        max_tokens=request.max_tokens or _MAX_TOKENS,
        messages=[{"role": "user", "content": request.prompt}],
        stream=True,
        **without_none(tools=tools, system=request.system),
    )


def _form(said: Said, parameters: Schema, more: Said) -> Said:
    return {**said, "input_schema": parameters, **more}


def _choice(name: str) -> Said:
    return {"type": "tool", "name": name}


def _parallel(form: Any, parallel: bool) -> Any:  # noqa: FBT001 - of the signature of a row
    if form == {"type": "none"}:
        return form
    return {**(form or {"type": "auto"}), "disable_parallel_tool_use": not parallel}


def _output(_name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


STRICT = StrictMode(
    "Anthropic",
    SHAPE | DESCRIBED | {"format", "minItems"},
    FORMATS | {"uri"},
    requires_all=False,
    recursive=False,
    min_items=(0, 1),
)
"""platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema limitations"; patterns and defaults,
which are only partly allowed, are moved to the description, as Anthropic's SDK does."""

_NAME = "anthropic"
_call_id = partial(fitting_id, accepted=re.compile("[a-zA-Z0-9_-]{1,64}"))


def _sendable(message: dict[str, Any], notices: Notices) -> dict[str, Any]:
    content: Any = message.get("content") or []
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [each.get("text") or "" for each in blocks if each.get("type") == "text"]
    is_blank = not "".join(texts).strip()  # blanks between texts with citations go back, blanks alone are refused
    return {
        "role": "assistant",
        "content": [_block(each, notices) for each in blocks if _is_sent(each, notices, is_blank=is_blank)],
    }


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message["content"] else []


def _is_sent(block: dict[str, Any], notices: Notices, *, is_blank: bool) -> bool:
    kind = block.get("type")
    if kind == "text":
        return bool(block.get("text")) and not is_blank
    if kind == "thinking" and not block.get("signature"):
        left_out(notices, "thinking without a signature", _NAME)
        return False
    return True


def _block(block: dict[str, Any], notices: Notices) -> dict[str, Any]:
    sent = {key: value for key, value in block.items() if value is not None or key == "content"}
    if citations := sent.get("citations"):
        sent["citations"] = [{key: each[key] for key in each if key != "file_id"} for each in citations]
    if "tool_use" in str(sent.get("type")) and not isinstance(sent.get("input"), dict):
        if sent.get("input"):
            left_out(notices, "arguments that are not a JSON object", _NAME)
        sent["input"] = {}
    return sent


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, _NAME, ("text", "refusal")):
        if part.call is None:
            content.append({"type": "text", "text": part.text})
        else:
            named = {"id": _call_id(part.call.id), "name": part.call.name}
            content.append({"type": "tool_use", **named, "input": part.call.arguments})
    return _sendable({"content": content}, notices)


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = (block for block in message["content"] if block.get("type") == "tool_use")
    return [MessageCall(str(block.get("id") or ""), str(block.get("name") or ""), holder=block) for block in calls]


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [_result(*each) for each in results]}]


def _result(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call.id, "content": result_text(result)}
    return {**block, "is_error": True} if result.is_error else block


_MESSAGES = MessageForm(
    _NAME,
    "anthropic-messages",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    user_message,
    _call_id,
)
"""Thinking goes back with its signature, and what the provider's own tools returned as it came."""

ANTHROPIC = Provider(
    name="anthropic",
    aliases=("anthropic-messages", "messages"),
    api="anthropic-messages",
    keys=("ANTHROPIC_API_KEY",),
    module="anthropic",
    install="pip install anthropic",
    url="https://api.anthropic.com",
    url_from="ANTHROPIC_BASE_URL",
    client=_client,
    ask=_ask,
    form=_form,
    own_keys=("cache_control", "eager_input_streaming"),
    names=(re.compile(r"[a-zA-Z0-9_-]{1,128}"), "letters, digits, _ and -, 1 to 128"),
    strict=STRICT,
    words={"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}},
    choice=_choice,
    output=_output,
    parallel=_parallel,
    messages=_MESSAGES,
)
