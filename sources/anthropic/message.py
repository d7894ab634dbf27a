"""The message of an Anthropic stream: its role and its blocks."""

from __future__ import annotations

from typing import Any

from ...operators.engine.state import Stateful
from ..base.answers import Choices
from ..base.kept_message import Blocks, Joined, json_as_far_as_it_came, set_json, wire_fields
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
