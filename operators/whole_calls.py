"""`whole_calls`: calls in text only when they are whole; what does not become one is text after all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from ..events.segment_event import SegmentEvent, Status
from .calls.segment_end import OpenSegments, end_payload, end_status
from .engine.public_operator import public_operator
from .engine.stage import How, Operator, lift
from .engine.state import Stateful

Identity: TypeAlias = tuple[str | None, str]
End: TypeAlias = tuple[Status, str | None]


# Any, and not what flows here: it may stand between any two operators, invocations among the events or not.
@public_operator
def whole_calls() -> Operator[Any, Any]:
    """Hold a call in text back until it is complete; one that breaks off or is malformed is text again.

        segments      --S call--C {"a":--C 1}--E complete--S call--C {"a"--E truncated--|
        whole_calls   --------------------------S C C E----------------------S C E text--|

    >>> from penstock.operators import drive, parse_text
    >>> text = '<tool_call>{"name": "f", "arguments": {oops}}</tool_call>'
    >>> for event in drive([text], parse_text("hermes", turn_id="t"), whole_calls()):
    ...     print(event.type, event.segment_id, event.payload)
    SEGMENT_START t:call_0:text {}
    SEGMENT_CONTENT t:call_0:text {'delta': '<tool_call>{"name": "f", "arguments": {oops}}</tool_call>'}
    SEGMENT_END t:call_0:text {'status': 'complete'}

    For those who show an answer when it is there, and rather show a broken call than fail it: nothing of a call comes
    while it arrives. It stands behind `parse_text`. What comes after a call that is held waits with it, so that the
    order stays; native calls and events that are no segments do not wait for their own sake. The text of a call that
    broke off is all its raw text, markers included, with the status of its end; nothing in it is read again.
    """
    return lift(_WholeCalls)


class _WholeCalls(Stateful):
    STATE = ("_broken", "_open", "_queue", "_undecided")

    def __init__(self) -> None:
        self._queue: list[SegmentEvent] = []
        """From the START of the first call on that is not decided."""
        self._undecided: set[Identity] = set()
        self._broken: dict[Identity, End] = {}
        """Calls in the queue that are text, and how they ended."""
        self._open = OpenSegments()

    def feed(self, event: Any) -> Iterable[Any]:
        if type(event) is not SegmentEvent:
            return (event,)
        identity = event.turn_id, event.segment_id
        if event.type == "SEGMENT_START" and event.segment_type == "tool_call" and event.raw:
            self._undecided.add(identity)
        elif not self._queue:
            return (self._passed(event),)
        self._queue.append(event)
        if event.type == "SEGMENT_END" and identity in self._undecided:
            self._undecided.discard(identity)
            status = event.payload["status"]
            if status != "complete":
                whole = status == "failed"
                self._broken[identity] = ("complete", None) if whole else (status, event.payload.get("reason"))
            return self._decided()
        return ()

    def close(self, how: How) -> Iterable[Any]:
        self._broken |= dict.fromkeys(self._undecided, end_status(how))
        self._undecided.clear()
        return [*self._decided(), *self._open.ends(how)]

    def _decided(self) -> list[SegmentEvent]:
        """Take from the queue what comes before the next call that is not decided."""
        queue, events, count = self._queue, list[SegmentEvent](), 0
        for count, event in enumerate(queue):  # noqa: B007 - where it stopped
            identity = event.turn_id, event.segment_id
            if identity in self._undecided:
                break
            if identity not in self._broken:
                events.append(self._passed(event))
            elif event.type == "SEGMENT_START":
                raw = "".join(each.raw for each in queue if (each.turn_id, each.segment_id) == identity)
                events += _text(event, raw, *self._broken[identity])
            elif event.type == "SEGMENT_END":
                del self._broken[identity]
        else:
            count = len(queue)
        del queue[:count]
        return events

    def _passed(self, event: SegmentEvent) -> SegmentEvent:
        if event.type != "SEGMENT_CONTENT":
            self._open.note(event)
        return event


def _text(start: SegmentEvent, raw: str, status: Status, reason: str | None) -> list[SegmentEvent]:
    """Return the events of a text for a call that is none."""
    segment_id, turn_id = f"{start.segment_id}:text", start.turn_id
    return [
        SegmentEvent("SEGMENT_START", segment_id, "text", {}, turn_id),
        SegmentEvent("SEGMENT_CONTENT", segment_id, "text", {"delta": raw}, turn_id, raw),
        SegmentEvent("SEGMENT_END", segment_id, "text", end_payload(status, reason, None), turn_id),
    ]
