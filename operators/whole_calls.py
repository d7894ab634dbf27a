"""`whole_calls`: hold calls in text back until they are complete; broken ones become text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from ..events.answer_end import AnswerEnd
from ..events.chunk_response import ProviderEvent
from ..events.segment_event import (
    AnySegmentEvent,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
    Status,
)
from .calls.open_segments import OpenSegments, end_status
from .engine.public_operator import public_operator
from .engine.stage import How, Operator, lift
from .engine.state import Stateful
from .engine.withheld import Withheld, tail_of

SegmentKey: TypeAlias = tuple[str | None, str]
End: TypeAlias = tuple[Status, str | None]
HeldEvent: TypeAlias = AnySegmentEvent | ProviderEvent | AnswerEnd


# Any event: it may be placed between any two operators, with or without invocations among the events.
@public_operator
def whole_calls() -> Operator[Any, Any]:
    """Hold each call in text back until it is complete; emit a cut or malformed one as text.

        text                  --a------b----------c------|
        parse_text("hermes")  --(S,x)--(y,E)------(T,z)--(F,A,|)
        whole_calls()         ---------(S,x,y,E)---------(U,w,G,A,|)
        where a = '<tool_call>{"name": "f", "arguments": {"a": '
              b = '1}}</tool_call>'
              c = '<tool_call>{"name": "g", "arguments": {"b"'
              S = SegmentStart(segment_type="tool_call", metadata={"tool_name": "f"})
              T = SegmentStart(segment_type="tool_call", metadata={"tool_name": "g"})
              x = SegmentContent(delta='{"a": ')
              y = SegmentContent(delta="1}")
              z = SegmentContent(segment_type="tool_call", delta='{"b"')
              E = SegmentEnd(segment_type="tool_call", status="complete")
              F = SegmentEnd(segment_type="tool_call", status="truncated")
              U = SegmentStart(segment_type="text")
              w = SegmentContent(segment_type="text", delta='<tool_call>{"name": "g", "arguments": {"b"')
              G = SegmentEnd(segment_type="text", status="truncated")
              A = AnswerEnd()

    >>> from penstock.operators import drive, parse_text
    >>> text = '<tool_call>{"name": "f", "arguments": {oops}}</tool_call>'
    >>> for event in drive([text], parse_text("hermes", turn_id="t"), whole_calls()):
    ...     print(event)
    SegmentStart(segment_id='t:call_0:text', segment_type='text', turn_id='t')
    SegmentContent(segment_id='t:call_0:text', segment_type='text', delta='<tool_call>{"name": "f", ...)
    SegmentEnd(segment_id='t:call_0:text', segment_type='text', status='complete', turn_id='t')
    AnswerEnd(turn_id='t')

    Use it after `parse_text`, if you show calls only when they are complete and prefer a broken call as text to a
    failure. Events after a held call are held too, to keep the order; native calls and other events are held for no
    other reason. A broken call becomes a text segment with all its raw text, markers included, and the status of its
    end; the text is not parsed again.
    """
    return lift(_WholeCalls)


class _WholeCalls(Stateful):
    STATE = ("_broken", "_open", "_queue", "_undecided")

    def __init__(self) -> None:
        self._queue: list[HeldEvent] = []
        """The held events, from the START of the first undecided call on."""
        self._undecided: set[SegmentKey] = set()
        self._broken: dict[SegmentKey, End] = {}
        """The calls in the queue that become text, with the way each ended."""
        self._open = OpenSegments()
        self._told, self._tail = 0, ""
        """How many events of the queue `withheld` has looked at, and the end of their text."""

    def feed(self, event: Any) -> Iterable[Any]:
        if self._queue and isinstance(event, ProviderEvent | AnswerEnd):
            self._queue.append(event)
            return ()
        if not isinstance(event, SegmentStart | SegmentContent | SegmentEnd):
            return (event,)
        identity = event.turn_id, event.segment_id
        if isinstance(event, SegmentStart) and event.segment_type == "tool_call" and event.raw:
            self._undecided.add(identity)
        elif not self._queue:
            return (self._passed(event),)
        self._queue.append(event)
        if isinstance(event, SegmentEnd) and identity in self._undecided:
            self._undecided.discard(identity)
            if event.status not in ("complete", None):
                whole = event.status == "failed"
                self._broken[identity] = ("complete", None) if whole else (event.status, event.reason)
            return self._decided()
        return ()

    def withheld(self) -> Iterable[Withheld]:
        new = self._queue[self._told :]
        text = self._tail = tail_of((self._tail, *(each.raw for each in new if isinstance(each, SegmentEvent))))
        self._told += len(new)
        reason = "the call has not ended, and becomes text if it breaks; what comes behind it waits, too"
        return (Withheld(text, reason, (), self._undecided_first()),) if text else ()

    def _undecided_first(self) -> str | None:
        first = self._queue[0]
        return first.segment_id if isinstance(first, SegmentEvent) else None

    def load(self, state: Any, /) -> None:
        super().load(state)
        self._forget_told()

    def close(self, how: How) -> Iterable[Any]:
        self._broken |= dict.fromkeys(self._undecided, end_status(how))
        self._undecided.clear()
        return [*self._decided(), *self._open.ends(how)]

    def _decided(self) -> list[HeldEvent]:
        """Return the events before the next undecided call, removed from the queue."""
        queue, events, count = self._queue, list[HeldEvent](), 0
        for count, event in enumerate(queue):  # noqa: B007 - where it stopped
            if isinstance(event, ProviderEvent | AnswerEnd):
                events.append(event)
                continue
            identity = event.turn_id, event.segment_id
            if identity in self._undecided:
                break
            if identity not in self._broken:
                events.append(self._passed(event))
            elif isinstance(event, SegmentStart):
                events += _text(event, self._raw_of(identity), *self._broken[identity])
            elif isinstance(event, SegmentEnd):
                del self._broken[identity]
        else:
            count = len(queue)
        del queue[:count]
        self._forget_told()
        return events

    def _forget_told(self) -> None:
        self._told, self._tail = 0, ""

    def _raw_of(self, identity: SegmentKey) -> str:
        segments = (each for each in self._queue if isinstance(each, SegmentStart | SegmentContent | SegmentEnd))
        return "".join(each.raw for each in segments if (each.turn_id, each.segment_id) == identity)

    def _passed(self, event: AnySegmentEvent) -> AnySegmentEvent:
        if not isinstance(event, SegmentContent):
            self._open.note(event)
        return event


def _text(start: SegmentStart, raw: str, status: Status, reason: str | None) -> list[AnySegmentEvent]:
    """Return the events of a text segment in place of those of a broken call."""
    segment_id, turn_id = f"{start.segment_id}:text", start.turn_id
    metadata = {name: value for name, value in start.metadata.items() if name == "choice"}
    return [
        SegmentStart(segment_id, "text", metadata, turn_id=turn_id),
        SegmentContent(segment_id, "text", raw, turn_id=turn_id, raw=raw),
        SegmentEnd(segment_id, "text", status, reason, turn_id=turn_id),
    ]
