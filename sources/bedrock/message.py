"""The message of a ConverseStream: its role and its blocks."""

from __future__ import annotations

from typing import Any

from ...operators.engine.state import Stateful
from ..base.answers import Choices
from ..base.kept_message import CallPlaces, Joined, json_as_far_as_it_came, set_json
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

    STATE = ("_blocks", "_by_index", "_calls", "_has_begun", "_places")

    def __init__(self, _choices: Choices = 0) -> None:
        self._blocks: list[Joined] = []
        self._by_index: dict[str, int] = {}
        self._has_begun = False
        self._places = CallPlaces()
        self._calls: dict[int, int] = {}
        """The blocks of the calls, by their numbers."""

    def feed(self, item: Any, /) -> None:
        event = fields_of(item) or {}
        self._has_begun = self._has_begun or "messageStart" in event
        if (start := fields_of(event.get("contentBlockStart"))) is not None:
            self._by_index.pop(str(start.get("contentBlockIndex")), None)
            given = fields_of(start.get("start")) or {}
            for kind in _BLOCKS:
                if (block := fields_of(given.get(kind))) is not None:
                    self._block(start, kind).fields |= set_json(block)
            if (call := fields_of(given.get("toolUse"))) is not None:
                number, _ = self._places.of(_key(start), call_id=call.get("toolUseId"), name=call.get("name"))
                self._calls[number] = len(self._blocks) - 1
        if (stop := fields_of(event.get("contentBlockStop"))) is not None:
            self._places.end(_key(stop))
        if (delta := fields_of(event.get("contentBlockDelta"))) is not None:
            self._delta(delta, fields_of(delta.get("delta")) or {})

    def messages(self) -> dict[int, Any]:
        if not (self._has_begun or self._blocks):
            return {}
        return {0: {"role": "assistant", "content": [_whole(block) for block in self._blocks]}}

    def new_part(self, _name: str, _state: Any, /) -> Joined:
        return Joined()

    def _block(self, event: Fields, kind: str) -> Joined:
        index = str(event.get("contentBlockIndex"))
        if index not in self._by_index:
            self._by_index[index] = len(self._blocks)
            self._blocks.append(Joined({_KIND: kind}))
        return self._blocks[self._by_index[index]]

    def _delta(self, event: Fields, delta: Fields) -> None:
        if "text" in delta:
            self._block(event, "text").text("text", delta["text"])
        if (citation := delta.get("citation")) is not None:
            self._block(event, "text").fields.setdefault("citations", []).append(set_json(citation))
        if (call := fields_of(delta.get("toolUse"))) is not None:
            number, _ = self._places.of(_key(event), text=call.get("input"))
            known = self._calls.get(number)
            block = self._block(event, "toolUse") if known is None else self._blocks[known]
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
