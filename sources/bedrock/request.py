"""What a request to Bedrock wants: the client, tools, a structured answer, and the messages of the next turn."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from ...events.errors import how_to_install
from ...events.tool_invocation import ToolResult, result_text
from ...operators.engine.state import Stateful
from ...operators.schemas.json_schema import Schema
from ..base.answers import Choices
from ..base.kept_message import Blocks, Joined, json_as_far_as_it_came, set_json
from ..base.request import (
    NAMES_OF_64,
    AnswerPart,
    CallResult,
    MessageCall,
    MessageForm,
    Notices,
    Provider,
    Request,
    Said,
    fitting_id,
    is_local,
    left_out,
    said_parts,
    without_none,
)
from ..base.sdk_fields import Fields, fields_of, plain_json
from .wire import base64_of, plain_fields, reasoning_fields

_BLOCKS = ("toolUse", "toolResult", "image")
"""The kinds of blocks that have a start."""
_KIND, _INPUT = "", "arguments"


class BedrockMessage(Stateful):
    """Joins the blocks of a message, as the Converse API takes them back.

    Text with citations becomes `citationsContent`. Bytes are base64, as on the wire. An input that was cut ends with
    its last whole value. Text that cannot be read as JSON becomes `{"INVALID_JSON": text}`.
    """

    STATE = ("_blocks", "_has_begun")

    def __init__(self, _choices: Choices = 0) -> None:
        self._blocks = Blocks()
        self._has_begun = False

    def feed(self, item: Any, /) -> None:
        event = fields_of(item) or {}
        self._has_begun = self._has_begun or "messageStart" in event
        if (start := fields_of(event.get("contentBlockStart"))) is not None:
            self._blocks.forget(_key(start))
            given = fields_of(start.get("start")) or {}
            for kind in _BLOCKS:
                if (block := fields_of(given.get(kind))) is not None:
                    self._block(start, kind).fields |= set_json(block)
            if (call := fields_of(given.get("toolUse"))) is not None:
                self._blocks.begin_call(_key(start), call_id=call.get("toolUseId"), name=call.get("name"))
        if (stop := fields_of(event.get("contentBlockStop"))) is not None:
            self._blocks.end(_key(stop))
        if (delta := fields_of(event.get("contentBlockDelta"))) is not None:
            self._delta(delta, fields_of(delta.get("delta")) or {})

    def messages(self) -> dict[int, Any]:
        if not (self._has_begun or self._blocks.all):
            return {}
        return {0: {"role": "assistant", "content": [_whole(block) for block in self._blocks.all]}}

    def _block(self, event: Fields, kind: str) -> Joined:
        return self._blocks.at(_key(event)) or self._blocks.begin(_key(event), Joined({_KIND: kind}))

    def _delta(self, event: Fields, delta: Fields) -> None:
        if "text" in delta:
            self._block(event, "text").text("text", delta["text"])
        if (citation := delta.get("citation")) is not None:
            self._block(event, "text").fields.setdefault("citations", []).append(set_json(citation))
        if (call := fields_of(delta.get("toolUse"))) is not None:
            block = self._blocks.of_input(_key(event), call.get("input")) or self._block(event, "toolUse")
            block.text(_INPUT, call.get("input"))
        if isinstance(result := delta.get("toolResult"), list):
            self._block(event, "toolResult").fields.setdefault("content", []).extend(plain_json(result))
        if (reasoning := fields_of(delta.get("reasoningContent"))) is not None:
            reasoning = reasoning_fields(reasoning)
            block = self._block(event, "reasoningContent")
            block.text("text", reasoning.get("text"))
            if (signature := reasoning.get("signature")) is not None:
                block.fields["signature"] = plain_json(signature)
            if (redacted := reasoning.get("redactedContent")) is not None:
                block.fields["redactedContent"] = base64_of(redacted)
        if (image := fields_of(delta.get("image"))) is not None:
            self._block(event, "image").fields |= plain_fields(image)


def _key(event: Fields) -> str:
    return str(event.get("contentBlockIndex"))


def _whole(block: Joined) -> dict[str, Any]:
    whole = block.whole()
    kind = whole.pop(_KIND)
    if kind == "text":
        if (citations := whole.get("citations")) is None:
            return whole
        return {"citationsContent": {"content": [{"text": whole.get("text", "")}], "citations": citations}}
    if kind == "reasoningContent":
        redacted = {"redactedContent": whole["redactedContent"]} if "redactedContent" in whole else None
        return {kind: redacted or {"reasoningText": {"text": "", **whole}}}
    if kind == "toolUse":
        text = whole.pop(_INPUT, "")
        whole["input"] = json_as_far_as_it_came(text) if text and not text.isspace() else {}
    return {kind: whole}


@contextmanager
def _client(module: Any, _: str, base_url: str | None) -> Generator[Any, None, None]:
    """Yield boto3's client; its keys and its region are boto3's own affair, except on this machine."""
    config: Any = import_module("botocore.config").Config
    options: dict[str, Any] = {"config": config(retries={"total_max_attempts": 1})}
    if is_local(base_url):
        options["config"] = config(retries={"total_max_attempts": 1}, proxies={})
        options |= {"region_name": "us-east-1", "aws_access_key_id": "-", "aws_secret_access_key": "-"}
    client = module.client("bedrock-runtime", endpoint_url=base_url, **options)
    try:
        yield client
    finally:
        client.close()


def _ask(client: Any, request: Request, tools: Any) -> Any:
    return client.converse_stream(
        modelId=request.model,
        messages=[{"role": "user", "content": [{"text": request.prompt}]}],
        **without_none(
            system=[{"text": request.system}] if request.system else None,
            inferenceConfig={"maxTokens": request.max_tokens} if request.max_tokens else None,
            toolConfig={"tools": tools} if tools else None,
        ),
    )


def _form(said: Said, parameters: Schema, more: Said) -> Said:
    return {"toolSpec": {**said, "inputSchema": {"json": parameters}, **more}}


def _choice(name: str) -> Said:
    return {"tool": {"name": name}}


def _output(name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    said = {"name": name, "schema": json.dumps(schema, ensure_ascii=False)}
    return {"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": said}}}}


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


_MESSAGES = MessageForm(
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

BEDROCK = Provider(
    name="bedrock",
    aliases=("bedrock-converse", "converse"),
    api="bedrock-converse",
    keys=(),
    module="boto3",
    install=how_to_install("bedrock"),
    url="https://bedrock-runtime.us-east-1.amazonaws.com",
    url_from="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    client=_client,
    ask=_ask,
    form=_form,
    names=NAMES_OF_64,
    not_strict="whether Bedrock has a strict mode depends on the model; leave strict= out",
    words={"auto": {"auto": {}}, "required": {"any": {}}},
    choice=_choice,
    instead={"none": "send no tools"},
    output=_output,
    messages=_MESSAGES,
)
