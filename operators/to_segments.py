"""`to_segments`: text, reasoning and native calls as segments, each with a start, a content and an end."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias
from uuid import uuid4

from ..events.chunk_response import ChunkResponse, ToolCallDelta
from ..events.fragment import JsonError
from ..events.segment_event import SegmentEvent
from ..events.tool_invocation import Notice
from .limits import DEFAULT_LIMITS, Limits
from .native_call import NativeCall
from .segment_end import end_status, error_detail
from .stage import Completed, How, Operator, lift
from .whole_json import decode_json

Segment: TypeAlias = SegmentEvent | Notice


def to_segments(
    *,
    turn_id: str | None = None,
    eager: bool = False,
    end_arguments: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[ChunkResponse, Segment]:
    """Turn a provider's chunks into segment events: text, reasoning, refusal, media and tool calls.

        chunks        --"Hel"----"lo"-----call f {"a"------: 1}--finish--|
        to_segments   --S text C--C-------E text S call C--C-----E call--|

    >>> from penstock.operators import drive
    >>> for event in drive([ChunkResponse(content="Hi", finish_reason="stop")], to_segments(turn_id="t")):
    ...     print(event.type, event.segment_id, event.payload)
    SEGMENT_START t:text_0 {}
    SEGMENT_CONTENT t:text_0 {'delta': 'Hi'}
    SEGMENT_END t:text_0 {'status': 'complete'}

    A text or reasoning segment ends when another segment starts; parallel calls are open at the same time. A call
    ends, and is *sealed*, when its JSON root has closed and either the provider said `done`, or another call of the
    same answer began, or the answer was finished, or the stream completed. What did not close ends as `truncated`,
    what is not JSON as `failed` with reason `malformed`; nothing is ever completed by guessing.

    - `turn_id`: given to every event; else the wire's response id, else a random one per subscription.
    - `eager`: seal a call as soon as its JSON root closes.
    - `end_arguments`: put the decoded `arguments` into the END metadata of each complete JSON call.
    """
    return lift(partial(_ToSegments, turn_id, limits, eager=eager, end_arguments=end_arguments))


class _Choice:
    """One of n answers: at most one open segment of text or the like, and the open calls."""

    __slots__ = ("calls", "counts", "ended", "finish", "number", "open_id", "open_type", "waiting")

    def __init__(self, number: int) -> None:
        self.number = number
        self.open_type = ""
        self.open_id = ""
        self.counts: dict[str, int] = {}
        self.calls: dict[int, NativeCall] = {}
        self.waiting: dict[int, list[str]] = {}  # argument text of calls whose name has not come
        self.ended: dict[int, bool] = {}  # index of an ended call -> whether a Notice about late text was given
        self.finish: str | None = None

    def dump(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in ("number", "open_type", "open_id", "counts", "finish")}
        state["calls"] = [call.dump() for call in self.calls.values()]
        state["waiting"] = list(self.waiting.items())
        state["ended"] = list(self.ended.items())
        return state

    @classmethod
    def loaded(cls, state: dict[str, Any], limits: Limits) -> _Choice:
        choice = cls(state["number"])
        choice.open_type = state["open_type"]
        choice.open_id = state["open_id"]
        choice.counts = state["counts"]
        choice.finish = state["finish"]
        calls = [NativeCall.loaded(each, limits) for each in state["calls"]]
        choice.calls = {call.index: call for call in calls}
        choice.waiting = dict(state["waiting"])
        choice.ended = dict(state["ended"])
        return choice


class _ToSegments:
    def __init__(self, turn_id: str | None, limits: Limits, *, eager: bool, end_arguments: bool) -> None:
        self._eager = eager
        self._end_arguments = end_arguments
        self._limits = limits
        self._turn_id = turn_id
        self._response_id: str | None = None
        self._ids: dict[str, int] = {}
        self._choice = _Choice(0)
        self._choices = {0: self._choice}

    def feed(self, chunk: ChunkResponse) -> list[Segment]:
        events: list[Segment] = []
        choice = self._choice
        if chunk.choice != choice.number:
            choice = self._choice = self._choices.setdefault(chunk.choice, _Choice(chunk.choice))
        if self._turn_id is None and chunk.response_id:
            self._response_id = chunk.response_id
        if chunk.reasoning or chunk.native:
            self._text(choice, "reasoning", chunk.reasoning, events, chunk.native)
        if chunk.content:
            self._text(choice, "text", chunk.content, events)
        if chunk.refusal:
            self._text(choice, "refusal", chunk.refusal, events)
        if chunk.image_urls or chunk.audio_urls or chunk.video_urls:
            self._media(choice, chunk, events)
        for delta in chunk.tool_calls:
            call = choice.calls.get(delta.index)
            if call is None or (delta.call_id and delta.name and delta.call_id != call.given_id):
                call = self._begin(choice, delta, events)
                if call is None:
                    continue
            text = delta.arguments_delta
            if text:
                fragments = call.feed(text)
                payload = {"delta": text}
                events.append(
                    SegmentEvent(
                        "SEGMENT_CONTENT", call.segment_id, "tool_call", payload, self._turn_id, text, fragments
                    )
                )
                if self._end_arguments:
                    call.texts.append(text)
            if delta.native:
                call.native = {**(call.native or {}), **delta.native}
            if delta.done or (self._eager and call.closed) or (call.error is not None and call.over_limit):
                self._end_call(choice, call, events, "complete")
        if chunk.finish_reason is not None or chunk.is_complete:
            self._finish(choice, chunk, events)
        return events

    def close(self, how: How) -> list[Segment]:
        events: list[Segment] = []
        for choice in self._choices.values():
            status, reason = end_status(how, choice.finish)
            if choice.open_type:
                self._end_text(choice, events, status, reason)
            for index in list(choice.waiting):
                self._begin(choice, ToolCallDelta(index, name="", call_id=""), events, nameless=True)
            for call in list(choice.calls.values()):
                if isinstance(how, Completed) and choice.finish != "error":
                    sealed = call.kind == "json" and call.has_text
                    self._end_call(choice, call, events, "complete" if sealed else "truncated")
                else:
                    self._end_call(choice, call, events, status, reason)
        return events

    def _text(
        self,
        choice: _Choice,
        kind: str,
        text: str,
        events: list[Segment],
        native: dict[str, Any] | None = None,
    ) -> None:
        if choice.open_type != kind:
            self._open(choice, kind, events)
        if text:
            events.append(SegmentEvent("SEGMENT_CONTENT", choice.open_id, kind, {"delta": text}, self._turn_id, text))
        if native:
            # A signature belongs to the reasoning before it and completes it: it travels in the END.
            self._end_text(choice, events, "complete", None, {"native": native})

    def _open(self, choice: _Choice, kind: str, events: list[Segment], metadata: dict[str, Any] | None = None) -> None:
        if choice.open_type:
            self._end_text(choice, events, "complete")
        number = choice.counts.get(kind, 0)
        choice.counts[kind] = number + 1
        choice.open_type = kind
        choice.open_id = self._unique(f"{self._prefix(choice)}{kind}_{number}")
        payload = {"metadata": metadata} if metadata else {}
        events.append(SegmentEvent("SEGMENT_START", choice.open_id, kind, payload, self._turn_id))

    def _end_text(
        self,
        choice: _Choice,
        events: list[Segment],
        status: str,
        reason: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        payload: dict[str, Any] = {"status": status}
        if reason:
            payload["reason"] = reason
        if metadata:
            payload["metadata"] = metadata
        events.append(SegmentEvent("SEGMENT_END", choice.open_id, choice.open_type, payload, self._turn_id))
        choice.open_type = ""

    def _media(self, choice: _Choice, chunk: ChunkResponse, events: list[Segment]) -> None:
        kinds = (("image", chunk.image_urls), ("audio", chunk.audio_urls), ("video", chunk.video_urls))
        for media_type, urls in kinds:
            for url in urls:
                self._open(choice, "media", events, {"media_type": media_type})
                events.append(
                    SegmentEvent("SEGMENT_CONTENT", choice.open_id, "media", {"delta": url}, self._turn_id, url)
                )
                self._end_text(choice, events, "complete")

    def _begin(
        self,
        choice: _Choice,
        delta: ToolCallDelta,
        events: list[Segment],
        *,
        nameless: bool = False,
    ) -> NativeCall | None:
        """Start the call of a delta at an index that has no open call, or another one."""
        index, text = delta.index, delta.arguments_delta
        if not (delta.name or nameless):
            if index in choice.ended:
                if text.strip(" \t\n\r") and not choice.ended[index]:
                    choice.ended[index] = True
                    events.append(Notice("late_arguments", f"call {index} had ended; more text came: {text[:80]!r}"))
            else:
                choice.waiting.setdefault(index, []).append(text)
            return None
        former = choice.calls.get(index)
        if former is not None:
            self._end_call(choice, former, events, "complete" if former.closed else "truncated")
        for other in list(choice.calls.values()):
            if other.closed:
                self._end_call(choice, other, events, "complete")
        if choice.open_type:
            self._end_text(choice, events, "complete")
        given_id = delta.call_id or ""
        segment_id = self._unique(given_id or f"{self._prefix(choice)}call_{index}")
        call = NativeCall(index, given_id, segment_id, delta.name or "", delta.kind, delta.executed_by, self._limits)
        choice.calls[index] = call
        choice.ended.pop(index, None)
        metadata = call.metadata(delta.native)
        events.append(SegmentEvent("SEGMENT_START", segment_id, "tool_call", {"metadata": metadata}, self._turn_id))
        waited = "".join(choice.waiting.pop(index, ()))
        if nameless:
            call.error = JsonError("malformed", 0, "a tool's name before the end of the answer")
        if waited:
            fragments = call.feed(waited)
            payload = {"delta": waited}
            events.append(
                SegmentEvent("SEGMENT_CONTENT", segment_id, "tool_call", payload, self._turn_id, waited, fragments)
            )
            call.texts.append(waited)
        if len(choice.calls) > self._limits.open_calls:
            call.error = JsonError("limit", 0, f"at most {self._limits.open_calls} open calls")
        return call

    def _end_call(
        self,
        choice: _Choice,
        call: NativeCall,
        events: list[Segment],
        status: str,
        reason: str | None = None,
    ) -> None:
        """End a call; what is wrong with its text counts more than what happened to the stream."""
        del choice.calls[call.index]
        choice.ended[call.index] = False
        fragments = call.end()
        if call.error is not None:
            if call.error.reason != "truncated":
                status, reason = "failed", call.error.reason
            elif status == "complete":
                status, reason = "truncated", "length" if choice.finish == "length" else None
        metadata = call.metadata()
        if call.error is not None:
            metadata["error"] = error_detail(call.error)
        if status == "complete" and self._end_arguments and call.kind == "json":
            metadata["arguments"] = decode_json("".join(call.texts), self._limits)[0] if call.has_text else {}
        payload: dict[str, Any] = {"status": status}
        if reason:
            payload["reason"] = reason
        payload["metadata"] = metadata
        events.append(SegmentEvent("SEGMENT_END", call.segment_id, "tool_call", payload, self._turn_id, "", fragments))

    def _finish(self, choice: _Choice, chunk: ChunkResponse, events: list[Segment]) -> None:
        reason = chunk.finish_reason or "stop"
        choice.finish = reason
        if reason == "error":
            return
        by_itself = reason in ("stop", "tool_calls")
        for call in list(choice.calls.values()):
            if call.closed or (by_itself and (call.kind == "text" or not call.has_text)):
                self._end_call(choice, call, events, "complete")

    def _prefix(self, choice: _Choice) -> str:
        if self._turn_id is None:
            self._turn_id = self._response_id or f"turn_{uuid4().hex}"
        return f"{self._turn_id}:" if choice.number == 0 else f"{self._turn_id}:choice_{choice.number}:"

    def _unique(self, wanted: str) -> str:
        self._prefix(self._choice)
        count = self._ids.get(wanted, 0) + 1
        self._ids[wanted] = count
        return wanted if count == 1 else self._unique(f"{wanted}#{count}")

    def dump(self) -> Any:
        return {
            "turn_id": self._turn_id,
            "response_id": self._response_id,
            "ids": self._ids,
            "current": self._choice.number,
            "choices": [choice.dump() for choice in self._choices.values()],
        }

    def load(self, state: Any) -> None:
        self._turn_id = state["turn_id"]
        self._response_id = state["response_id"]
        self._ids = state["ids"]
        choices = [_Choice.loaded(each, self._limits) for each in state["choices"]]
        self._choices = {choice.number: choice for choice in choices}
        self._choice = self._choices[state["current"]]
