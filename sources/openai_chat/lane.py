"""A chat chunk that is what most are, `PlainChunk`, and what it says; `machine.py` reads any other one key by key.

The record is built of a chunk's JSON text, without a dict, or of the object of an SDK; what it means stands here once.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.json import Decoder

from ...events.chunk_response import ChunkResponse, ToolCallDelta
from ..base.answers import Choice, MultiChoiceMachine
from ..base.call_tracker import CallTracker
from ..base.endings import CHAT_FINISHES, finish_of
from ..base.machine import UNFIT
from ..base.sdk_fields import HALF, Fields, fields_of
from ..base.shown_text import MOST_PIECES, ShownText, rest_of
from .parts import KEYS, chat_usage, is_of_tool

_Nothing: TypeAlias = Annotated[dict[str, Any], Meta(max_length=0)] | None


class _Thought(Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["text"]
    text: str


class _TextPart(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="text"):
    text: str


class _ThinkingPart(Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="thinking"):
    thinking: list[_Thought] | str
    closed: bool | None = None


class _Detail(Struct, forbid_unknown_fields=True, gc=False):
    """A reasoning detail that nobody has to send back: one with a signature or encrypted data does not fit."""

    type: str | None = None
    text: str | None = None
    summary: str | None = None
    id: str | None = None
    index: int | None = None
    format: str | None = None
    signature: None = None
    data: None = None


class _Function(Struct, forbid_unknown_fields=True, gc=False):
    name: str | None = None
    arguments: str | None = None


# The fields stand in the order of the wire, in which msgspec finds them soonest.


class _Call(Struct, forbid_unknown_fields=True, gc=False, kw_only=True):
    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: _Function


class _Delta(Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["assistant", ""] | None = None
    content: str | list[_TextPart | _ThinkingPart] | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_text: str | None = None
    reasoning_details: list[_Detail] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    function_call: None = None
    channel: str | None = None
    index: int | None = None
    token_id: int | None = None
    token_ids: list[int] | None = None
    annotations: Annotated[list[Any], Meta(max_length=0)] | None = None
    graph_data: _Nothing = None
    llm_data: _Nothing = None
    image_data: _Nothing = None
    translation_data: _Nothing = None
    web_search_data: _Nothing = None


class _Choice(Struct, forbid_unknown_fields=True, gc=False, kw_only=True):
    index: int | None = None
    delta: _Delta
    logprobs: Any = None
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    stop_reason: str | int | None = None
    matched_stop: str | int | None = None
    content_filter_results: dict[str, Any] | None = None
    text: str | None = None
    message: Any = None
    seed: int | None = None
    token_ids: list[int] | None = None
    trace_details: Any = None


class PlainChunk(Struct, forbid_unknown_fields=True, gc=False, kw_only=True):
    id: str | None = None
    provider: str | None = None
    object: Literal["chat.completion.chunk", ""] | None = None
    created: int | float | None = None
    model: str | None = None
    service_tier: str | None = None
    system_fingerprint: str | None = None
    choices: list[_Choice]
    usage: dict[str, Any] | None = None
    obfuscation: str | None = None
    p: str | None = None
    timings: Any = None
    error: None = None


_decode = Decoder(PlainChunk).decode

# The keys of an object that may have a value; all others are null.
_OF_CHUNK = KEYS.left_out() | {"id", "model", "choices"}
_OF_CHOICE = frozenset({"index", "delta"})
_OF_DELTA = frozenset({"role", "content", "tool_calls"})
_OF_CALL = frozenset({"index", "type", "function"})
_OF_FUNCTION = frozenset({"arguments"})


def plain_chunk(chunk: Fields) -> PlainChunk | None:
    """Return the record of a decoded chunk that has one piece of text or of arguments; None for any other.

    >>> plain_chunk({"choices": [{"delta": {"content": "Hi"}}]}).choices[0].delta.content
    'Hi'
    >>> plain_chunk({"choices": [{"delta": {"content": "Hi", "new": 1}}]})
    """
    choices: list[Any] | None = chunk.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or chunk.get("object") == "error":
        return None
    choice = _with(_OF_CHOICE, choices[0])
    delta = None if choice is None else _with(_OF_DELTA, choice.get("delta"))
    if choice is None or delta is None or is_of_tool(delta) or not _has_only(_OF_CHUNK, chunk):
        return None
    content, given = delta.get("content") or None, delta.get("tool_calls")
    calls: list[_Call] | None = None
    if given:
        call = None if content else _plain_call(given)
        if call is None:
            return None
        calls = [call]
    elif not isinstance(content, str) or HALF.search(content):
        return None
    index = choice.get("index")
    if not (index is None or type(index) is int):
        return None
    plain = _Choice(index=index, delta=_Delta(content=content, tool_calls=calls))
    return PlainChunk(id=chunk.get("id"), model=chunk.get("model"), choices=[plain])


def _plain_call(given: list[Any] | None) -> _Call | None:
    """Return the only call of a delta if it has a piece of arguments and nothing else."""
    call = _with(_OF_CALL, given[0]) if isinstance(given, list) and len(given) == 1 else None
    function = None if call is None else _with(_OF_FUNCTION, call.get("function"))
    if call is None or function is None:
        return None
    text, index = function.get("arguments"), call.get("index")
    if not isinstance(text, str) or not text or HALF.search(text) or not (index is None or type(index) is int):
        return None
    return _Call(index=index, function=_Function(arguments=text))


def _with(keys: frozenset[str], value: Any) -> Fields | None:
    fields = fields_of(value)
    return fields if fields is not None and _has_only(keys, fields) else None


def _has_only(keys: frozenset[str], fields: Fields) -> bool:
    """Return whether all other keys of an object are null."""
    return keys.issuperset(fields) or all(key in keys or fields[key] is None for key in fields)


_TEXTS = ("reasoning", "content", "refusal")


class ChatChoice(Choice):
    """One choice, and what was shown of its texts, which a message beside the end may have as a whole."""

    STATE = (*Choice.STATE, "shown")

    def __init__(self, number: int, calls: CallTracker) -> None:
        super().__init__(number, calls)
        self.shown: dict[str, ShownText] = {}
        """By stream what was shown of its text."""

    def new_part(self, _name: str, _state: Any, /) -> ShownText:
        """Return what was shown of an empty text, into which its state will be loaded."""
        return ShownText()

    def shown_of(self, stream: str) -> ShownText:
        """Return what was shown of a text."""
        return self.shown.get(stream) or self.shown.setdefault(stream, ShownText())

    def unsaid(self, **whole: object) -> None:
        """Add what was not shown of whole texts whose beginning was."""
        self._flush()
        for stream, text in whole.items():
            if isinstance(text, str) and (rest := rest_of([self.shown_of(stream)], text)):
                self.held.pop(stream, None)  # half of a character, which the whole text has
                self.add(**{stream: rest})

    def _flush(self) -> None:
        for stream in _TEXTS:
            if text := self.said.get(stream):
                self.shown_of(stream).add(text)
        super()._flush()


class ChatLane(MultiChoiceMachine[ChatChoice]):
    """The machine of chat chunks without `feed`; `lane` returns what `feed` would, or None, and has done nothing.

    What fits is one choice with texts, calls, a finish and usage, and the keys that are left out or that are empty.
    """

    STATE = (*MultiChoiceMachine.STATE, "_extras")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._extras: dict[str, Any] = {}
        """The last value of each key that servers repeat."""

    def lane(self, data: str, chunk: PlainChunk | None = None, /) -> list[ChunkResponse] | None:
        """Return what a plain chunk says, which is built of its JSON text if it is not given.

        None, and no change, for one that does not fit.
        """
        if self.stopped:
            return None
        if chunk is None:
            try:
                chunk = _decode(data)
            except UNFIT:
                return None
        if len(chunk.choices) != 1 or (chunk.usage is not None and self.KEYS.strangers("", {"usage": chunk.usage})):
            return None
        (given,) = chunk.choices
        delta, index = given.delta, given.index
        choice = self._choices.get(index or 0) or self._choice(index)
        if choice is None or choice.held or self._reader.waiting or (self.logprobs and given.logprobs):
            return None
        filtered = given.content_filter_results
        is_new = filtered and self._extras.get(f"{choice.number}:content_filter_results") != filtered
        if is_new or given.message is not None:  # it may have what no delta had
            return None
        if self.response_id is None or chunk.model != self.model:
            self.identify(chunk.id, chunk.model)
        content, calls = delta.content, delta.tool_calls
        if isinstance(content, list) or given.finish_reason or chunk.usage is not None:
            return self._put_together(chunk, given, choice)
        reasoning = delta.reasoning_content or delta.reasoning or delta.reasoning_text or ""
        if not reasoning and delta.reasoning_details:
            reasoning = _reasoning(delta)
        new_calls = _calls(choice.calls, calls) if calls else ()
        if not (content or new_calls or reasoning or delta.refusal):
            return []
        choice.spoke = True
        if content:
            shown = choice.shown.get("content") or choice.shown_of("content")
            shown.pieces.append(content)
            if len(shown.pieces) > MOST_PIECES:
                shown.put_away()
        if reasoning:
            choice.shown_of("reasoning").add(reasoning)
        if delta.refusal:
            choice.shown_of("refusal").add(delta.refusal)
        return [
            ChunkResponse(
                content or "",
                reasoning,
                new_calls,
                refusal=delta.refusal or "",
                response_id=self.response_id,
                model=self.model,
                choice=choice.number,
            )
        ]

    def _put_together(self, chunk: PlainChunk, given: _Choice, choice: ChatChoice) -> list[ChunkResponse]:
        """Return the chunks of one with parts, with an end, or with usage."""
        delta, content = given.delta, given.delta.content
        if isinstance(content, list):
            for part in content:
                if isinstance(part, _TextPart):
                    choice.add(content=part.text)
                else:
                    thinking = part.thinking
                    text = thinking if isinstance(thinking, str) else "".join(each.text for each in thinking)
                    choice.add(reasoning=text)
            content = None
        choice.add(
            reasoning=delta.reasoning_content or delta.reasoning or _reasoning(delta),
            content=content or "",
            refusal=delta.refusal or "",
            tool_calls=_calls(choice.calls, delta.tool_calls) if delta.tool_calls else (),
        )
        if reason := given.finish_reason:
            choice.finish(finish_of(CHAT_FINISHES, reason.lower()), reason)
        responses = self._chunks(choice)
        self._add_usage(responses, chat_usage(chunk.usage))
        return responses


def _reasoning(delta: _Delta) -> str:
    """Return the reasoning under one of its rarer names."""
    return delta.reasoning_text or "".join(each.text or each.summary or "" for each in delta.reasoning_details or ())


def _calls(tracker: CallTracker, given: list[_Call]) -> tuple[ToolCallDelta, ...]:
    call = given[0]
    function = call.function
    if not (function.name or call.id or len(given) > 1) and (more := tracker.more(call.index, function.arguments)):
        return (more,)
    return _all_calls(tracker, given)


def _all_calls(tracker: CallTracker, given: list[_Call]) -> tuple[ToolCallDelta, ...]:
    deltas = [
        tracker.delta(each.index, call_id=each.id, name=each.function.name, arguments=each.function.arguments)
        for each in given
    ]
    return (*tracker.pending_deltas(), *(delta for delta in deltas if delta is not None))
