"""The native calls of one answer: when each begins, when it is sealed, how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..events.chunk_response import ToolCallDelta
from ..events.fragment import Fragment, JsonError
from ..events.segment_event import SegmentEvent, Status
from ..events.tool_invocation import Notice
from .limits import Limits
from .native_call import BLANKS, NativeCall
from .segment_end import end_payload, error_detail
from .turn_ids import TurnIds
from .whole_json import decode_json

Events: TypeAlias = list[SegmentEvent | Notice]

_BY_ITSELF = frozenset(("stop", "tool_calls"))
"""Finish reasons with which the model itself ended the answer."""


class NativeCalls:
    """Sealed is what has closed and is `done`, or is followed by another call, or stands in a finished answer."""

    __slots__ = ("_before_start", "_eager", "_ended", "_ids", "_limits", "_with_arguments", "choice", "open", "waiting")

    def __init__(
        self,
        choice: int,
        ids: TurnIds,
        limits: Limits,
        before_start: Callable[[Events], None],
        *,
        eager: bool,
        with_arguments: bool,
    ) -> None:
        self.choice = choice
        self.open: dict[int, NativeCall] = {}
        self.waiting: dict[int, NativeCall] = {}  # calls whose name has not come, with their text
        self._ended: dict[int, tuple[str, bool]] = {}  # index -> given id, whether a Notice about late text was given
        self._ids = ids
        self._limits = limits
        self._before_start = before_start
        self._eager = eager
        self._with_arguments = with_arguments

    def begin(self, delta: ToolCallDelta, events: Events) -> NativeCall | None:
        """Take the delta of a call that is not open; give the call that it begins, if it does."""
        ended = self._ended.get(delta.index)
        if ended is not None and (not (delta.call_id and delta.name) or delta.call_id == ended[0]):
            self.late(delta.index, delta.arguments_delta, events)
            return None
        if not delta.name:
            self._wait(delta, events)
            return None
        former = self.open.get(delta.index)
        if former is not None:
            self.end(former, events, "complete" if former.closed else "truncated")
        for other in list(self.open.values()):
            if other.closed:
                self.end(other, events, "complete")
        waited = self.waiting.pop(delta.index, None)
        given_id = (waited.given_id if waited else "") or delta.call_id or ""
        call = NativeCall(delta.index, given_id, "", delta.name, delta.kind, delta.executed_by, self._limits)
        call.native = {**((waited and waited.native) or {}), **(delta.native or {})} or None
        self._start(call, events)
        if waited and (text := "".join(waited.texts)):
            self.content(call, text, events)
            if call.index not in self.open:
                self.late(call.index, delta.arguments_delta, events)
                return None
        if len(self.open) > self._limits.open_calls:
            call.error, call.over_limit = JsonError("limit", 0, f"at most {self._limits.open_calls} open calls"), True
        return call

    def content(self, call: NativeCall, text: str, events: Events) -> None:
        """Give the next argument text of a call; an eager one ends where its root closes, and what follows is late."""
        if not self._eager:
            self.parsed_content(call, text, call.feed(text), events)
            return
        text, fragments, rest = call.feed_to_root(text)
        self.parsed_content(call, text, fragments, events)
        if call.closed:
            self.end(call, events, "complete")
            self.late(call.index, rest, events)

    def parsed_content(
        self,
        call: NativeCall,
        text: str,
        fragments: tuple[Fragment, ...] | None,
        events: Events,
    ) -> None:
        """Give argument text with its fragments, as far as the limit of all arguments allows."""
        text = text[: len(text) - call.excess]
        if not text:
            call.unsaid = fragments or ()
            return
        payload = {"delta": text}
        turn_id = self._ids.turn_id
        events.append(SegmentEvent("SEGMENT_CONTENT", call.segment_id, "tool_call", payload, turn_id, text, fragments))
        if self._with_arguments:
            call.texts.append(text)

    def late(self, index: int, text: str, events: Events) -> None:
        """Take text for a call that has ended: blanks mean nothing, for the rest there is one Notice."""
        given_id, noticed = self._ended[index]
        if text.strip(BLANKS) and not noticed:
            self._ended[index] = (given_id, True)
            events.append(Notice("late_arguments", f"call {index} had ended; more text came: {text[:80]!r}"))

    def end(self, call: NativeCall, events: Events, status: Status, reason: str | None = None) -> None:
        """End a call; what is wrong with its text counts more than what happened to the stream."""
        del self.open[call.index]
        self._ended[call.index] = (call.given_id, False)
        fragments = (*call.unsaid, *(call.end() or ())) or None
        metadata = call.metadata()
        if call.error is not None:
            metadata["error"] = error_detail(call.error)
            if call.error.reason != "truncated":
                status, reason = "failed", call.error.reason
            elif status == "complete":
                status = "truncated"
        if status == "complete" and self._with_arguments and call.kind == "json":
            metadata["arguments"] = decode_json("".join(call.texts), self._limits)[0] if call.has_text else {}
        payload = end_payload(status, None if status == "complete" else reason, metadata)
        turn_id = self._ids.turn_id
        events.append(SegmentEvent("SEGMENT_END", call.segment_id, "tool_call", payload, turn_id, "", fragments))

    def finish(self, finish: str, events: Events) -> None:
        """Seal what a finish reason seals; what has not closed stays open, in case that more comes."""
        if finish == "error":
            return
        by_itself = finish in _BY_ITSELF
        for call in list(self.open.values()):
            if call.closed or (by_itself and (call.kind == "text" or not call.has_text)):
                self.end(call, events, "complete")

    def close(self, status: Status, reason: str | None, events: Events, *, completed: bool) -> None:
        """End everything; `completed`: the stream ended without an error, which seals what has closed."""
        for call in list(self.open.values()):
            if completed:
                # An argument text that is not closed ends as truncated whatever is said here.
                sealed = call.kind == "json" and call.has_text
                why = reason if status == "truncated" else None
                self.end(call, events, "complete" if sealed else "truncated", why)
            else:
                self.end(call, events, status, reason)
        for call in list(self.waiting.values()):
            self._end_nameless(call, JsonError("malformed", 0, "a tool's name before the end of the answer"), events)

    def _wait(self, delta: ToolCallDelta, events: Events) -> None:
        text = delta.arguments_delta
        if not (text or delta.call_id or delta.native):
            return
        call = self.waiting.get(delta.index)
        if call is None:
            call = self.waiting[delta.index] = NativeCall(delta.index, "", "", "", "text", "client", self._limits)
        call.given_id = call.given_id or delta.call_id or ""
        if delta.native:
            call.native = {**(call.native or {}), **delta.native}
        call.feed(text)
        call.texts.append(text[: len(text) - call.excess])
        if call.error is not None:
            self._end_nameless(call, call.error, events)

    def _end_nameless(self, call: NativeCall, error: JsonError, events: Events) -> None:
        del self.waiting[call.index]
        text = "".join(call.texts)
        call.kind, call.error, call.excess = "json", error, 0
        self._start(call, events)
        if text:
            self.parsed_content(call, text, (), events)
        self.end(call, events, "failed", error.reason)

    def _start(self, call: NativeCall, events: Events) -> None:
        self._before_start(events)
        made = call.given_id == ""
        call.segment_id = self._ids.made(self.choice, f"call_{call.index}") if made else self._ids.unique(call.given_id)
        self.open[call.index] = call
        self._ended.pop(call.index, None)
        payload = {"metadata": call.metadata()}
        turn_id = self._ids.turn_id
        events.append(SegmentEvent("SEGMENT_START", call.segment_id, "tool_call", payload, turn_id))

    def dump(self) -> Any:
        return {
            "open": [call.dump() for call in self.open.values()],
            "waiting": [call.dump() for call in self.waiting.values()],
            "ended": [[index, *rest] for index, rest in self._ended.items()],
        }

    def load(self, state: Any) -> None:
        opened = [NativeCall.loaded(each, self._limits) for each in state["open"]]
        waiting = [NativeCall.loaded(each, self._limits) for each in state["waiting"]]
        self.open = {call.index: call for call in opened}
        self.waiting = {call.index: call for call in waiting}
        self._ended = {index: (given_id, noticed) for index, given_id, noticed in state["ended"]}
