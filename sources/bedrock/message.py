"""The message of a ConverseStream: its role and its blocks."""

from __future__ import annotations

from typing import Any

from ...operators.engine.state import Stateful
from ..base.answers import Choices
from ..base.kept_message import Blocks, Joined, json_as_far_as_it_came, set_json
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
