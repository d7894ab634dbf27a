"""`AnthropicFrames`: events as the stream of a message of Anthropic's API, with the words for how a message ends.

These are the words for a finish, the counts of tokens, and the errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import FinishReason, ProviderEvent, TokenUsage
from ...events.segment_event import SegmentContent
from ...operators.engine.stage import Failed, How
from ..parts.answer_parts import CallDelta, CallEnd, CallStart, PartCall, TextDelta, TextEnd, TextKind, TurnStart
from ..parts.frame_lanes import FrameLane, frame_lane
from ..parts.json_text import CallInput
from ..parts.part_reader import EventChoices, PartReader
from .ag_ui_frames import OneAtATime
from .openai_chat_frames import broken_off, finish_of

STOP_REASONS: Final[Mapping[FinishReason, str]] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "pause": "pause_turn",
    "refusal": "refusal",
    "content_filter": "refusal",
}
"""The API's word for each finish reason; for `other` it has none, and `error` is an error of the stream."""
_FINER: Final[Mapping[str, FinishReason]] = {
    "stop_sequence": "stop",
    "model_context_window_exceeded": "length",
    "compaction": "pause",
}
"""The API's own finer words, which stay if the provider used them."""
_ENDED_BY_MODEL: Final = ("end_turn", "stop_sequence", "tool_use", "pause_turn")
_ERROR_TYPES: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def stop_reason(answer: AnswerEnd | None, *, has_refused: bool, has_calls: bool, has_cut_call: bool) -> str | None:
    """Return the reason for an answer's end; None if the API has no word for it.

    A call that was cut makes it `max_tokens`: only there a reader expects that the last call is not whole.

    >>> stop_reason(AnswerEnd(finish_reason="stop"), has_refused=False, has_calls=True, has_cut_call=False)
    'tool_use'
    """
    if answer is None or answer.finish_reason is None:
        return None
    finish, words = answer.finish_reason, answer.finish_reason_raw or ""
    word = words if _FINER.get(words) == finish else STOP_REASONS.get(finish)
    if word in _ENDED_BY_MODEL:
        if has_cut_call:
            return "max_tokens"
        if answer.status not in ("complete", "paused"):
            return None
        if has_refused:
            return "refusal"
        if has_calls and finish == "stop":
            return "tool_use"
    return word


def usage(counts: Iterable[TokenUsage | None]) -> dict[str, Any]:
    """Return the tokens of the turns together.

    >>> usage([TokenUsage(prompt=9, completion=4, cached=2)])
    {'input_tokens': 7, 'output_tokens': 4, 'cache_read_input_tokens': 2}
    """
    known = [each for each in counts if each is not None]
    prompt, completion, cached, reasoning = (
        sum(getattr(each, name) for each in known) for name in ("prompt", "completion", "cached", "reasoning")
    )
    return {
        "input_tokens": prompt - cached,
        "output_tokens": completion,
        **({"cache_read_input_tokens": cached} if cached else {}),
        **({"output_tokens_details": {"thinking_tokens": reasoning}} if reasoning else {}),
    }


def error_event(error: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event for a described error, with a type that the API has.

    >>> error_event({"class": "ProviderError", "detail": "try later", "status": 529})
    {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'try later'}}
    """
    kind, status = error.get("type"), error.get("status")
    if kind not in _ERROR_TYPES.values():
        kind = _ERROR_TYPES.get(status if isinstance(status, int) else 500, "api_error")
    message = error.get("detail") or error.get("message") or error.get("class") or "the stream failed"
    return {"type": "error", "error": {"type": kind, "message": message}}


_PROVIDERS: Final = ("server_tool_use", "mcp_tool_use")
_RESULT: Final = "_tool_result"
_OF_DELTA: Final = ("container", "stop_sequence")
"""What Anthropic says of a message at its end, which the next request may need."""
_THOUGHTS: Final = ("thinking", "redacted_thinking")
"""Blocks that clients do not show: an answer with these alone, or without any, they take for one that got lost."""
_EMPTY: Final[Mapping[TextKind, dict[str, Any]]] = {
    "text": {"type": "text", "text": ""},
    "refusal": {"type": "text", "text": ""},
    "reasoning": {"type": "thinking", "thinking": "", "signature": ""},
}


class AnthropicFrames:
    """Sends one message, whose blocks are texts, thoughts and calls; a stream of several turns is one message too.

    Blocks have indexes in the order in which they begin. Calls that a model writes at the same time have blocks that
    are open at the same time: the SDKs join deltas by their index. The block of a call begins with its arguments, since
    one that was cut before them would look like a call without arguments.

    - `interleave`: with False a block begins when the one before it has ended, as Anthropic itself writes them.
    - `for_agents`: for clients that read inputs strictly, and tell the model what is wrong with them: an input that is
      no JSON is sent as the model wrote it, as a call to be made; and an answer that shows nothing has an empty text.
    """

    def __init__(
        self,
        *,
        model: str | None = None,
        message_id: str | None = None,
        interleave: bool = True,
        for_agents: bool = False,
    ) -> None:
        self._for_agents = for_agents
        self._queue = None if interleave else OneAtATime(("content_block_start",), ("content_block_stop",))
        self._model = "unknown" if model is None else model
        self._message_id = message_id
        self._of_event = EventChoices()
        self._parts = PartReader()
        self._has_begun = self._has_shown = self._has_refused = self._has_calls = self._has_cut_call = False
        self._count = 0
        self._open: dict[str, int] = {}
        """The index of each open block by the id of its part."""
        self._calls: dict[str, tuple[CallInput, dict[str, Any]]] = {}
        """The input and the block of each call that has not ended."""
        self._answers: dict[str | None, AnswerEnd] = {}
        """The end of the first choice of each turn."""
        self._citations: list[dict[str, Any]] = []
        """Citations that came before their text."""
        self._of_delta: dict[str, Any] = {}

    def feed(self, event: Any) -> Iterator[dict[str, Any]]:
        if self._of_event.choice_of(event) == 0:
            for part in self._parts.feed(event):
                yield from self._in_order(self._frames(part))

    def lane(self, event: SegmentContent) -> FrameLane | None:
        """Return the lane of a segment whose block is open."""
        lane = self._parts.lane(event) if self._of_event.choice_of(event) == 0 else None
        if lane is None or (index := self._open.get(lane.id)) is None or self._citations:
            return None
        if self._queue is not None and not self._queue.is_open(str(index)):
            return None
        if isinstance(part := lane.part, TextDelta):
            return frame_lane(lane.take, self._text(part.id, part.kind, part.delta))
        take, given = lane.take, self._calls[lane.id][0]
        return frame_lane(lambda event: given.feed(take(event)), self._input(lane.id, part.delta))

    def close(self, how: How, error: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        answer = next(reversed(self._answers.values()), None)
        is_broken = isinstance(how, Failed) or finish_of(answer) in (None, "error")
        for part in self._parts.close(how):
            if not (is_broken and isinstance(part, CallEnd)):  # a call that nobody ended is none to be made
                yield from self._in_order(self._frames(part))
        if isinstance(how, Failed):
            yield error_event(error)
            return
        if answer is not None and answer.finish_reason == "error":
            words = answer.finish_reason_raw or "error"
            yield error_event({"message": f"the provider ended the answer with {words!r}"})
            return
        if finish_of(answer) is None:
            yield error_event({"message": broken_off(how, answer)})
            return
        yield from self._message_start(None)
        if self._for_agents and not self._has_shown:
            yield from self._start("", dict(_EMPTY["text"]))
            yield self._stop("")
        reason = stop_reason(
            answer,
            has_refused=self._has_refused,
            has_calls=self._has_calls,
            has_cut_call=self._has_cut_call,
        )
        delta = {**({"stop_reason": reason} if reason else {}), **self._of_delta}
        yield {"type": "message_delta", "delta": delta, "usage": self._usage()}
        yield {"type": "message_stop"}

    def _in_order(self, frames: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        if self._queue is None:
            yield from frames
            return
        for frame in frames:
            yield from self._queue.feed(frame, str(frame["index"]) if "index" in frame else None)

    def _frames(self, part: Any) -> Iterator[dict[str, Any]]:
        match part:
            case TurnStart(turn_id):
                yield from self._message_start(turn_id)
            case TextDelta(part_id, kind, text):
                yield from self._text(part_id, kind, text)
            case TextEnd():
                yield from self._text_end(part)
            case CallStart(call):
                self._call(call)
            case CallDelta(call, delta):
                if call.id in self._calls:
                    yield from self._input(call.id, self._calls[call.id][0].feed(delta))
            case CallEnd(call):
                yield from self._call_end(part)
            case ProviderEvent(api="anthropic-messages"):
                yield from self._provider_event(part)
            case AnswerEnd(turn_id):
                if part.choice == 0 or turn_id not in self._answers:
                    self._answers[turn_id] = part
            case dict():
                yield cast("dict[str, Any]", part)
            case _:  # a file beside its call, a result that the client has not made, a picture, a notice
                pass

    def _message_start(self, turn_id: str | None) -> Iterator[dict[str, Any]]:
        if self._has_begun:
            return
        self._has_begun = True
        message_id = self._message_id or turn_id or "msg_0"
        about: dict[str, Any] = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
        }
        yield {"type": "message_start", "message": {**about, "usage": self._usage()}}

    def _usage(self) -> dict[str, Any]:
        return usage(each.usage for each in self._answers.values())

    def _start(self, part_id: str, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield from self._message_start(None)
        self._open[part_id] = self._count
        self._has_shown = self._has_shown or block["type"] not in _THOUGHTS
        yield {"type": "content_block_start", "index": self._count, "content_block": block}
        self._count += 1

    def _delta(self, part_id: str, kind: str, **said: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": self._open[part_id], "delta": {"type": kind, **said}}

    def _stop(self, part_id: str) -> dict[str, Any]:
        return {"type": "content_block_stop", "index": self._open.pop(part_id)}

    def _text(self, part_id: str, kind: TextKind, text: str) -> Iterator[dict[str, Any]]:
        if part_id not in self._open:
            yield from self._start(part_id, dict(_EMPTY[kind]))
        if kind == "reasoning":
            yield self._delta(part_id, "thinking_delta", thinking=text)
            return
        self._has_refused = self._has_refused or kind == "refusal"
        citations, self._citations = self._citations, []
        for citation in citations:
            yield self._delta(part_id, "citations_delta", citation=citation)
        yield self._delta(part_id, "text_delta", text=text)

    def _text_end(self, end: TextEnd) -> Iterator[dict[str, Any]]:
        native: dict[str, Any] = end.metadata.get("native") or {}
        signature = native.get("signature") if native.get("type") == "thinking" else None
        if end.kind != "reasoning" and end.id in self._open:
            yield self._stop(end.id)  # what was signed beside a text is a block behind it
        if signature:
            if end.id not in self._open:
                yield from self._start(end.id, dict(_EMPTY["reasoning"]))
            yield self._delta(end.id, "signature_delta", signature=signature)
        if end.id in self._open:
            yield self._stop(end.id)
        if native.get("type") == "redacted_thinking":
            yield from self._start(end.id, native)
            yield self._stop(end.id)

    def _call(self, call: PartCall) -> None:
        native = call.native or {}
        kind = native.get("type") if call.executed_by == "provider" else "tool_use"
        if kind == "tool_use" or kind in _PROVIDERS:
            of_block = native if native.get("type") == kind else {}
            block: dict[str, Any] = {"type": kind, "id": call.id, "name": call.name, "input": {}, **of_block}
            self._calls[call.id] = CallInput(call.form, as_written=self._for_agents), block

    def _input(self, call_id: str, text: str) -> Iterator[dict[str, Any]]:
        if not text:
            return
        if call_id not in self._open:
            yield from self._start(call_id, self._calls[call_id][1])
        yield self._delta(call_id, "input_json_delta", partial_json=text)

    def _call_end(self, end: CallEnd) -> Iterator[dict[str, Any]]:
        call_id = end.call.id
        if call_id not in self._calls:
            return
        given, block = self._calls[call_id]
        is_complete = end.status == "complete" or (self._for_agents and end.reason == "malformed")
        yield from self._input(call_id, given.close(end.arguments, is_complete=is_complete))
        if not given.is_cut and call_id not in self._open:
            yield from self._start(call_id, block)
        is_cut = given.is_cut and not (self._for_agents and call_id in self._open)
        if call_id in self._open:
            yield self._stop(call_id)
        del self._calls[call_id]
        if block["type"] == "tool_use":
            self._has_calls = True
            self._has_cut_call = self._has_cut_call or is_cut

    def _provider_event(self, event: ProviderEvent) -> Iterator[dict[str, Any]]:
        """Send what belongs to the blocks of Anthropic's own tools: their results, citations, what the end says."""
        data = event.data
        if event.kind == "citation":
            if event.segment_id in self._open:
                yield self._delta(event.segment_id, "citations_delta", citation=data)
            else:
                self._citations.append(data)
        elif str(data.get("type")).endswith(_RESULT):
            yield from self._start("", data)
            yield self._stop("")
        else:
            self._of_delta.update((key, data[key]) for key in _OF_DELTA if data.get(key) is not None)
