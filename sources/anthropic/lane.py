"""`AnthropicLane`: the lane for deltas of text and arguments, and for what begins and ends a block."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder

from ...events.chunk_response import ChunkResponse
from ...operators.engine.limits import Limits
from ..base.ended_calls import Key
from ..base.machine import UNFIT
from ..base.response import SingleMachine


class _Text(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="text_delta"):
    text: str


class _Json(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="input_json_delta"):
    partial_json: str


class _Thinking(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="thinking_delta"):
    thinking: str
    estimated_tokens: int | None = None


class _Delta(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="content_block_delta"):
    index: int
    delta: _Text | _Json | _Thinking


class _Begin(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="content_block_start"):
    index: int
    content_block: dict[str, Any]


class _End(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="content_block_stop"):
    index: int


_decode = Decoder(_Delta | _Begin | _End).decode


class AnthropicLane(SingleMachine):
    """The machine of Anthropic's events without `feed`; `lane` returns what `feed` would, or None.

    What fits are the deltas of text, thinking and arguments, and the bounds of blocks, in the first message.
    """

    STATE = (*SingleMachine.STATE, "_messages")

    def __init__(self, turn_id: str | None, limits: Limits, *, logprobs: bool) -> None:
        super().__init__(turn_id, limits, logprobs=logprobs)
        self._messages = 0

    def lane(self, data: str, /) -> list[ChunkResponse] | None:  # noqa: PLR0911 - one line for each way
        """Return the chunks of an event, from its JSON text; None, and no change, for one that does not fit."""
        if self.stopped or self._messages != 1:
            return None
        try:
            event = _decode(data)
        except UNFIT:
            return None
        if isinstance(event, _Begin):
            return self._block(event.index, event.content_block)
        if isinstance(event, _End):
            return self._block_end(event.index)
        delta = event.delta
        if isinstance(delta, _Json):
            call = None if self._held else self.calls.more(event.index, delta.partial_json)
            if call is None:
                return self.call(self.calls.delta(event.index, arguments=delta.partial_json))
            return [ChunkResponse(tool_calls=(call,), response_id=self.response_id, model=self.model)]
        if isinstance(delta, _Thinking):
            return self.text("reasoning", delta.thinking)
        if self._held or not delta.text:
            return self.text("content", delta.text)
        return [ChunkResponse(delta.text, response_id=self.response_id, model=self.model)]

    @abstractmethod
    def _block(self, key: Key, content: Any) -> list[ChunkResponse]: ...
    @abstractmethod
    def _block_end(self, key: Key) -> list[ChunkResponse]: ...
