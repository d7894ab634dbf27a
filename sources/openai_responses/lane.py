"""The lane of what most events of a Response are: from their JSON text to ChunkResponses."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeAlias, get_args

from msgspec import Struct
from msgspec.json import Decoder

from ...events.chunk_response import ChunkResponse
from ...operators.engine.limits import Limits
from ..base.machine import UNFIT
from ..base.response import SingleMachine, TextStream
from ..base.sdk_fields import Fields
from ..base.shown_text import ReplayedEvents, ShownText, rest_of
from .items import OutputItem, OutputItems


class _Event(Struct, forbid_unknown_fields=True, gc=False, tag_field="type"):
    """What the events have in common; those without an item's id do not fit."""

    item_id: str
    output_index: int | None = None
    sequence_number: int | None = None
    obfuscation: str | None = None


class _Delta(_Event, kw_only=True):
    delta: str


class _Piece(_Delta):
    """Of a call's arguments."""


class _Text(_Delta, tag="response.output_text.delta", kw_only=True):
    content_index: int | None = None
    logprobs: Any = None


class _Refusal(_Delta, tag="response.refusal.delta"):
    content_index: int | None = None


class _Reasoning(_Delta, tag="response.reasoning_text.delta"):
    content_index: int | None = None


class _Summary(_Delta, tag="response.reasoning_summary_text.delta"):
    summary_index: int | None = None


class _Arguments(_Piece, tag="response.function_call_arguments.delta"):
    pass


class _Input(_Piece, tag="response.custom_tool_call_input.delta"):
    pass


class _Code(_Piece, tag="response.code_interpreter_call_code.delta"):
    pass


class _McpArguments(_Piece, tag="response.mcp_call_arguments.delta"):
    pass


class _TextEnd(_Event, tag="response.output_text.done", kw_only=True):
    text: str
    content_index: int | None = None
    logprobs: Any = None


class _SummaryEnd(_Event, tag="response.reasoning_summary_text.done", kw_only=True):
    text: str
    summary_index: int | None = None


class _ArgumentsEnd(_Event, tag="response.function_call_arguments.done", kw_only=True):
    arguments: str


class _PartBegin(_Event, tag="response.content_part.added", kw_only=True):
    part: Any = None
    content_index: int | None = None


class _SummaryPartBegin(_Event, tag="response.reasoning_summary_part.added", kw_only=True):
    part: Any = None
    summary_index: int | None = None


class _SummaryPartEnd(_Event, tag="response.reasoning_summary_part.done", kw_only=True):
    part: dict[str, Any] = {}
    summary_index: int | None = None
    status: str | None = None


class _ItemEvent(Struct, forbid_unknown_fields=True, gc=False, tag_field="type"):
    item: dict[str, Any]
    output_index: int | None = None
    sequence_number: int | None = None


class _Added(_ItemEvent, tag="response.output_item.added"):
    pass


class _Done(_ItemEvent, tag="response.output_item.done"):
    pass


class _Begin(Struct, forbid_unknown_fields=True, gc=False, tag_field="type"):
    response: dict[str, Any]
    sequence_number: int | None = None


class _Created(_Begin, tag="response.created"):
    pass


class _InProgress(_Begin, tag="response.in_progress"):
    pass


_Ending: TypeAlias = _TextEnd | _SummaryEnd | _ArgumentsEnd | _PartBegin | _SummaryPartBegin | _SummaryPartEnd
_Deltas: TypeAlias = _Text | _Refusal | _Reasoning | _Summary | _Arguments | _Input | _Code | _McpArguments
_Known: TypeAlias = _Deltas | _Ending | _Added | _Done | _Created | _InProgress
_decode = Decoder(_Known).decode
_KINDS: dict[type[Any], str] = {each: each.__struct_config__.tag for each in get_args(_Known)}
_PLAIN_ITEMS = frozenset({"custom_tool_call", "function_call", "message", "reasoning"})
"""Types of items of which nothing goes on as the wire has it."""


class ResponsesLane(SingleMachine):
    """The machine of a Response's events without `feed`; `lane` returns what `feed` would, or None.

    What fits are the deltas and ends of texts and arguments of an item whose id is known, the bounds of items that
    clients handle, and the beginning of the Response.
    """

    STATE = (*SingleMachine.STATE, "_items", "_replayed", "_spoke")

    def __init__(self, turn_id: str | None, limits: Limits, *, logprobs: bool) -> None:
        super().__init__(turn_id, limits, compares_arguments=True, logprobs=logprobs)
        self._items = OutputItems()
        self._replayed = ReplayedEvents()
        self._spoke: dict[str, int] = {}
        """The number of the item of which a part began last, by the stream."""

    def lane(self, data: str, /) -> list[ChunkResponse] | None:  # noqa: PLR0911 - one line for each way
        """Return the chunks of an event, from its JSON text; None, and no change, for one that does not fit."""
        if self.stopped:
            return None
        try:
            event = _decode(data)
        except UNFIT:
            return None
        number, replayed = event.sequence_number, self._replayed
        if number is not None and number <= replayed.greatest:
            return None
        if not isinstance(event, _Delta):
            chunks = self._bound(event) if isinstance(event, _ItemEvent | _Begin) else self._end_of(event)
            if chunks is not None and number is not None:
                replayed.note(number, _KINDS[event.__class__])
            return chunks
        item = self._items.with_id(event.item_id)
        if item is None or (self.logprobs and isinstance(event, _Text) and event.logprobs):
            return None
        if number is not None:
            if replayed.kind == (kind := _KINDS[event.__class__]):
                replayed.greatest = number
            else:
                replayed.note(number, kind)
        if isinstance(event, _Text):
            delta, part = event.delta, f"content_index:{event.content_index}"
            if not delta or self._held or part != item.last_part:
                return self._say(item, part, "content", delta)
            item.parts[part].add(delta)
            return [ChunkResponse(delta, response_id=self.response_id, model=self.model)]
        if isinstance(event, _Piece):
            call = None if self._held else self.calls.more(item.number, event.delta)
            if call is None:
                return self.call(self.calls.delta(item.number, arguments=event.delta))
            return [ChunkResponse(tool_calls=(call,), response_id=self.response_id, model=self.model)]
        number_of = "summary_index" if isinstance(event, _Summary) else "content_index"
        index = getattr(event, number_of)
        if isinstance(event, _Refusal):
            return self._say(item, f"refusal:{index}", "refusal", event.delta)
        return self._say(item, f"{number_of}:{index}", "reasoning", event.delta)

    def _end_of(self, event: _Ending) -> list[ChunkResponse] | None:
        item = self._items.with_id(event.item_id)
        if item is None:
            return None
        if isinstance(event, _ArgumentsEnd):
            return self.call(self.calls.whole(item.number, event.arguments, "done"))
        text: Any
        if isinstance(event, _TextEnd):
            part, text = f"content_index:{event.content_index}", event.text
        elif isinstance(event, _SummaryEnd):
            part, text = f"summary_index:{event.summary_index}", event.text
        elif isinstance(event, _SummaryPartEnd):
            part, text = f"summary_index:{event.summary_index}", event.part.get("text")
        else:
            return []
        if part not in item.parts:
            return None
        return self._whole_text(item, part, "content" if isinstance(event, _TextEnd) else "reasoning", text)

    def _bound(self, event: _ItemEvent | _Begin) -> list[ChunkResponse] | None:
        if isinstance(event, _Begin):
            if self.KEYS.strangers("response.created", {"response": event.response}):
                return None
            self.identify(event.response.get("id"), event.response.get("model"))
            return []
        fields = event.item
        kind = fields.get("type")
        if not isinstance(kind, str) or kind not in _PLAIN_ITEMS:
            return None
        place = {"output_index": event.output_index}
        if isinstance(event, _Added):
            return self._begin(None, place, fields)
        return self._end(None, self._items.ended(place, fields), fields)

    def _say(self, item: OutputItem, part: str, stream: TextStream, given: object) -> list[ChunkResponse]:
        """Return a text of a part; parts of one item's reasoning are paragraphs."""
        if not isinstance(given, str) or not given:
            return []
        between = ""
        if part != item.last_part:
            self._spoke[stream] = item.number
            between = "\n\n" if is_new_part(item, part) and stream == "reasoning" else ""
        chunks = self.text(stream, between + given)
        if chunks and (said := getattr(chunks[-1], stream)):
            item.parts[part].add(said.removeprefix(between))
        return chunks

    def _whole_text(self, item: OutputItem, part: str, stream: TextStream, given: object) -> list[ChunkResponse]:
        """Return what was not shown of a part's whole text; servers may end a part under another index than its own."""
        if not isinstance(given, str) or not given:
            return []
        kind, _, index = part.partition(":")
        if part not in item.parts and item.last_part.startswith(f"{kind}:"):
            last = item.parts[item.last_part]
            if last.ended_as in ("", part) and rest_of([last], given) is not None:
                last.ended_as, part = part, item.last_part
            elif not index.isdecimal():
                return []
        if part not in item.parts:
            chunks = self._say(item, part, stream, given)
            item.parts[part].ended_as = part
            return chunks
        shown = item.parts[part]
        shown.ended_as = shown.ended_as or part
        rest = rest_of([shown], given)
        return self._rest(item, part, stream, rest) if rest and part == item.last_part else []

    def _rest(self, item: OutputItem, part: str, stream: TextStream, text: str) -> list[ChunkResponse]:
        """Return the rest of a text; nothing if others followed what was shown, because it would stand elsewhere."""
        if item.parts and self._spoke.get(stream, item.number) != item.number:
            return []
        self._held.pop(stream, None)  # half of a character, which the whole text has
        return self._say(item, part, stream, text)

    @abstractmethod
    def _begin(self, raw: Any, event: Fields, fields: Fields) -> list[ChunkResponse]: ...
    @abstractmethod
    def _end(self, raw: Any, item: OutputItem, fields: Fields) -> list[ChunkResponse]: ...


def is_new_part(item: OutputItem, part: str) -> bool:
    """Record that a part has text; return whether another part of its item came before."""
    if part == item.last_part:
        return False
    is_first = not item.parts
    item.last_part = part
    item.parts.setdefault(part, ShownText())
    return not is_first
