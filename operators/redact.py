"""`redact`: replace keys, addresses, numbers and whatever else matches a pattern, in all that a stream shows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, overload

from msgspec.structs import replace

from ..events.answer_end import AnswerEnd
from ..events.chunk_response import ProviderEvent
from ..events.errors import UsageError
from ..events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ..events.tool_invocation import InvocationFailed, Notice, RedactedArguments, ToolInvocation
from .calls.answer_segments import SegmentInput, SegmentOutput
from .calls.open_segments import end_status
from .engine.lane import TextLane
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import How, Operator, lift
from .engine.state import Stateful
from .engine.withheld import Withheld
from .redaction.detectors import Detector, Wanted, detectors_of
from .redaction.plain_data import redacted_data, redacted_source, redacted_text
from .redaction.redacted_segment import RedactedSegment
from .redaction.rules import Rules, rules_of
from .to_invocations import InvocationOutput, Result


@overload
def redact(
    *patterns: Wanted | Sequence[Wanted], true_arguments: Literal[False] = False, limits: Limits = DEFAULT_LIMITS
) -> Operator[SegmentInput, SegmentOutput]: ...
@overload
def redact(
    *patterns: Wanted | Sequence[Wanted], true_arguments: Literal[True], limits: Limits = DEFAULT_LIMITS
) -> Operator[SegmentInput | InvocationOutput, Result]: ...


@public_operator
def redact(
    *patterns: Wanted | Sequence[Wanted], true_arguments: bool = False, limits: Limits = DEFAULT_LIMITS
) -> Operator[Any, Any]:
    r"""Replace what matches a pattern by `[redacted:its name]`, in all that the events show, however they are cut.

        chunks         --a-----b-----c-----d--|
        to_segments()  --(S,x)-y-----z--------(E,A,|)
        redact(KEYS)   --(S,v)-------w--------(E,A,|)
        where a = ChunkResponse(content="Use AK")
              b = ChunkResponse(content="IA0123456789")
              c = ChunkResponse(content="ABCDEF, it is")
              d = ChunkResponse(finish_reason="stop")
              S = SegmentStart(segment_type="text")
              x = SegmentContent(delta="Use AK")
              y = SegmentContent(delta="IA0123456789")
              z = SegmentContent(delta="ABCDEF, it is")
              E = SegmentEnd(status="complete")
              A = AnswerEnd(finish_reason="stop")
              v = SegmentContent(delta="Use ")
              w = SegmentContent(delta="[redacted:aws key], it is")

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import KEYS, drive, redact, to_invocations, to_segments
    >>> call = ToolCallDelta(0, "c", "deploy", '{"key": "\u0041KIA0123456789ABCDEF"}')
    >>> chunks = [ChunkResponse(tool_calls=(call,)), ChunkResponse(finish_reason="tool_calls")]
    >>> invocation, _ = drive(chunks, to_segments(), redact(KEYS), to_invocations())
    >>> invocation.arguments, invocation.raw
    ({'key': '[redacted:aws key]'}, '{"key": "[redacted:aws key]"}')

    What may still become a match waits, at most as long as the longest pattern; nothing of a match is ever shown. A
    match with a tail is replaced once it is certain, and the rest of it is dropped as it comes. The text of each
    segment, and in a call each string and each key, as it is decoded, is a text of its own: a match may begin and end
    in it. In a number, the digits from a match on become a 0, so that it stays a number. Text that is not
    JSON where JSON is due, and the markup around calls in text, is matched as it stands, and with its escapes decoded.

    Everything is redacted that has the text once more: `raw`, `fragments`, `metadata` with `native`, the data of
    provider events, and the message that a source keeps. What operators behind it make of the events, such as
    invocations, has the redacted text. So it stands right behind what makes the segments; `partial_arguments`,
    `tool_call_updates` and the like stand behind it.

    - `patterns`: texts, `re` patterns, `Detector`s, and sets of them, such as the ready ones: `KEYS`, `EMAIL`, `CARD`
      and `PHONE`. Of several that match at one place, the first counts. A text or a pattern of its own is shown as
      `[redacted:secret]`.
    - `true_arguments`: for `redact` behind `to_invocations(keep_segments=True)`, whose arguments are redacted, too, and
      validated instances left out. With True, `arguments.true` of an invocation has those that the model wrote, in
      this process only, and a tool's function runs with them.

    Raises `UsageError` without patterns, and for a pattern that has neither a bounded width nor one class of characters
    as its tail, because all that follows would have to wait.
    """
    detectors = detectors_of(patterns)
    if not detectors:
        message = "redact(...) needs something to redact; pass strings, patterns, Detectors, or ready sets such as KEYS"
        raise UsageError(message)
    rules_of(detectors)  # raises now, not at the subscription
    return lift(partial(_Redact, detectors, limits, true_arguments=true_arguments))


class _Redact(Stateful):
    STATE = ("_open",)

    def __init__(self, detectors: tuple[Detector, ...], limits: Limits, *, true_arguments: bool) -> None:
        self._rules = rules_of(detectors)
        self._suspect = self._rules.suspect
        self._limits = limits
        self._true_arguments = true_arguments
        self._open: dict[tuple[str | None, str], RedactedSegment] = {}

    def feed(self, event: Any) -> Sequence[Any]:
        kind: Any = event.__class__
        if kind is SegmentContent:
            segment = self._open.get((event.turn_id, event.segment_id))
            if segment is None:
                return self._stray(event)
            prose, delta = segment.plain_prose, event.delta
            # Most text passes here.
            if prose is not None and event.raw == delta and not event.fragments:
                suspect = self._suspect
                if prose.is_idle and suspect is not None and suspect(delta) is None:
                    prose.reading.note(delta)
                    return (event,)
                if (certain := prose.take(delta)) is not None:
                    return _shown(event, certain)
            return segment.content(event)
        if kind is SegmentStart:
            return self._start(event)
        if kind is SegmentEnd:
            segment = self._open.pop((event.turn_id, event.segment_id), None)
            return self._stray(event) if segment is None else segment.end(event)
        return (_redacted_event(self._rules, event, true_arguments=self._true_arguments),)

    def close(self, how: How) -> Sequence[Any]:
        events: list[Any] = []
        for segment in self._open.values():
            events += segment.end(_made_end(segment, *end_status(how)))
        self._open.clear()
        return events

    def withheld(self) -> Sequence[Withheld]:
        return [each for segment in self._open.values() for each in segment.withheld()]

    def take_lane(self, lane: TextLane) -> bool:
        """Let the text of a call's open string pass while nothing in it may be redacted."""
        segment = self._open.get((lane.turn_id, lane.segment_id))
        return segment is not None and segment.take_lane(lane)

    def new_part(self, _name: str, _state: Any, /) -> RedactedSegment:
        return RedactedSegment(self._rules, self._limits, SegmentStart("", None))

    def _start(self, start: SegmentStart) -> Sequence[Any]:
        identity = start.turn_id, start.segment_id
        former = self._open.pop(identity, None)
        ended = () if former is None else former.end(_made_end(former, "truncated"))
        segment = self._open[identity] = RedactedSegment(self._rules, self._limits, start)
        return (*ended, segment.start(start))

    def _stray(self, event: SegmentContent | SegmentEnd) -> Sequence[Any]:
        """Return an event whose segment has not begun."""
        segment = RedactedSegment(self._rules, self._limits, SegmentStart(event.segment_id, event.segment_type))
        if isinstance(event, SegmentEnd):
            return segment.end(event)
        *_, end = events = (*segment.content(event), *segment.end(_made_end(segment, "complete")))
        return tuple(each for each in events if each is not end)


def _shown(event: SegmentContent, text: str) -> Sequence[SegmentContent]:
    """Return an event of prose with the text that goes on, if any does."""
    if text == event.delta:
        return (event,)
    identity = event.segment_id, event.segment_type
    return (
        (SegmentContent(*identity, text, turn_id=event.turn_id, raw=text, fragments=event.fragments),) if text else ()
    )


def _made_end(segment: RedactedSegment, status: Any, reason: str | None = None) -> SegmentEnd:
    told = {"tool_name": segment.name} if segment.name else {}
    return SegmentEnd(segment.segment_id, segment.segment_type, status, reason, told, turn_id=segment.turn_id)


def _redacted_event(rules: Rules, event: Any, *, true_arguments: bool) -> Any:
    """Return an event that is of no segment redacted."""
    match event:
        case ProviderEvent(data=data):
            shown = redacted_data(rules, data)
            return event if shown is data else replace(event, data=shown)
        case AnswerEnd(message=message, error=error, finish_reason_raw=word):
            shown, told = redacted_data(rules, message), redacted_data(rules, error)
            said = word if word is None else redacted_text(rules, word)
            if shown is message and told is error and said == word:
                return event
            return replace(event, message=shown, error=told, finish_reason_raw=said)
        case Notice(code=code, detail=detail):
            if code == "late_arguments":  # it tells the beginning of a text, in which a match may be cut
                return replace(event, detail=detail.partition(", but ")[0] + ", but more text arrived")
            return replace(event, detail=redacted_text(rules, detail))
        case ToolInvocation():
            return _redacted_call(rules, event, true_arguments=true_arguments)
        case InvocationFailed(raw=raw, errors=errors):
            return replace(event, raw=redacted_source(rules, raw), errors=redacted_data(rules, errors))
        case _:
            return event


def _redacted_call(rules: Rules, call: ToolInvocation, *, true_arguments: bool) -> ToolInvocation:
    arguments, native = redacted_data(rules, call.arguments), redacted_data(rules, call.native)
    raw = redacted_source(rules, call.raw)
    if arguments is call.arguments:
        return replace(call, raw=raw, native=native)
    shown = RedactedArguments(arguments, true=call.arguments) if true_arguments else arguments
    return replace(call, arguments=shown, model=None, raw=raw, native=native)
