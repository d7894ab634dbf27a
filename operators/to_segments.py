"""`to_segments`: text, reasoning and native calls as segments, each with a start, a content and an end."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias

from ..events.chunk_response import ChunkResponse
from ..events.segment_event import SegmentEvent, Status
from ..events.tool_invocation import Notice
from .limits import DEFAULT_LIMITS, Limits
from .native_calls import NativeCalls
from .segment_end import end_payload, end_status
from .stage import Completed, How, Operator, lift
from .turn_ids import TurnIds

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

    >>> from penstock.events import ChunkResponse
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
    """One of n answers: at most one open segment of text or the like, and the calls."""

    __slots__ = ("_counts", "_ids", "calls", "finish", "number", "open_id", "open_type")

    def __init__(self, number: int, ids: TurnIds, limits: Limits, *, eager: bool, with_arguments: bool) -> None:
        self.number = number
        self.open_type = ""
        self.open_id = ""
        self.finish: str | None = None
        self.calls = NativeCalls(number, ids, limits, self.end_text, eager=eager, with_arguments=with_arguments)
        self._counts: dict[str, int] = {}
        self._ids = ids

    def text(self, kind: str, text: str, events: list[Segment], native: dict[str, Any] | None = None) -> None:
        if self.open_type != kind:
            self.start_text(kind, events)
        if text:
            payload = {"delta": text}
            events.append(SegmentEvent("SEGMENT_CONTENT", self.open_id, kind, payload, self._ids.turn_id, text))
        if native:
            # A signature belongs to the reasoning before it and completes it: it travels in the END.
            self.end_text(events, metadata={"native": native})

    def media(self, chunk: ChunkResponse, events: list[Segment]) -> None:
        kinds = (("image", chunk.image_urls), ("audio", chunk.audio_urls), ("video", chunk.video_urls))
        for media_type, urls in kinds:
            for url in urls:
                self.start_text("media", events, {"media_type": media_type})
                payload = {"delta": url}
                events.append(SegmentEvent("SEGMENT_CONTENT", self.open_id, "media", payload, self._ids.turn_id, url))
                self.end_text(events)

    def start_text(self, kind: str, events: list[Segment], metadata: dict[str, Any] | None = None) -> None:
        self.end_text(events)
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        self.open_type = kind
        self.open_id = self._ids.made(self.number, f"{kind}_{number}")
        payload = {"metadata": metadata} if metadata else {}
        events.append(SegmentEvent("SEGMENT_START", self.open_id, kind, payload, self._ids.turn_id))

    def end_text(
        self,
        events: list[Segment],
        status: Status = "complete",
        reason: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        if self.open_type:
            payload = end_payload(status, reason, metadata)
            events.append(SegmentEvent("SEGMENT_END", self.open_id, self.open_type, payload, self._ids.turn_id))
            self.open_type = ""

    def dump(self) -> Any:
        return [self.number, self.open_type, self.open_id, self.finish, self._counts, self.calls.dump()]

    def load(self, state: Any) -> None:
        _, self.open_type, self.open_id, self.finish, self._counts, calls = state
        self.calls.load(calls)


class _ToSegments:
    def __init__(self, turn_id: str | None, limits: Limits, *, eager: bool, end_arguments: bool) -> None:
        self._ids = TurnIds(turn_id)
        self._new_choice = partial(_Choice, ids=self._ids, limits=limits, eager=eager, with_arguments=end_arguments)
        self._straight = not (eager or end_arguments)
        self._choice = self._new_choice(0)
        self._choices = {0: self._choice}

    def feed(self, chunk: ChunkResponse) -> list[Segment]:  # noqa: PLR0912 - one loop, where a call would cost more
        events: list[Segment] = []
        choice = self._choice
        if chunk.choice != choice.number:
            choice = self._choice_of(chunk.choice)
        ids = self._ids
        if chunk.response_id is not ids.response_id and chunk.response_id:
            ids.response_id = chunk.response_id
        if chunk.reasoning or chunk.native:
            choice.text("reasoning", chunk.reasoning, events, chunk.native)
        if chunk.content:
            choice.text("text", chunk.content, events)
        if chunk.refusal:
            choice.text("refusal", chunk.refusal, events)
        if chunk.image_urls or chunk.audio_urls or chunk.video_urls:
            choice.media(chunk, events)
        open_calls = choice.calls.open
        for delta in chunk.tool_calls:
            call = open_calls.get(delta.index)
            if call is None or (delta.call_id and delta.name and delta.call_id != call.given_id):
                call = choice.calls.begin(delta, events)
                if call is None:
                    continue
            if delta.native:
                call.native = {**(call.native or {}), **delta.native}
            text = delta.arguments_delta
            if text:
                machine = call.machine
                if machine is None or not self._straight:
                    choice.calls.content(call, text, events)
                else:
                    items = machine.feed(text)
                    # The machine gives a tuple for plain text inside a string, where nothing can have gone wrong.
                    if isinstance(items, tuple):
                        events.append(
                            SegmentEvent(
                                "SEGMENT_CONTENT",
                                call.segment_id,
                                "tool_call",
                                {"delta": text},
                                ids.turn_id,
                                text,
                                items,  # pyright: ignore[reportArgumentType]
                            )
                        )
                    else:
                        choice.calls.parsed_content(call, text, call.checked(items), events)
            if (delta.done or (call.error is not None and call.over_limit)) and call.index in open_calls:
                choice.calls.end(call, events, "complete")
        if chunk.finish_reason is not None or chunk.is_complete:
            choice.finish = chunk.finish_reason or "stop"
            choice.calls.finish(choice.finish, events)
        return events

    def close(self, how: How) -> list[Segment]:
        events: list[Segment] = []
        for choice in self._choices.values():
            status, reason = end_status(how, choice.finish)
            choice.end_text(events, status, reason)
            completed = isinstance(how, Completed) and choice.finish != "error"
            choice.calls.close(status, reason, events, completed=completed)
        return events

    def dump(self) -> Any:
        return [self._ids.dump(), self._choice.number, [choice.dump() for choice in self._choices.values()]]

    def load(self, state: Any) -> None:
        ids, current, choices = state
        self._ids.load(ids)
        for each in choices:
            self._choice_of(each[0]).load(each)
        self._choice_of(current)

    def _choice_of(self, number: int) -> _Choice:
        if number not in self._choices:
            self._choices[number] = self._new_choice(number)
        self._choice = self._choices[number]
        return self._choice
