"""`PartReader`: turn events into the parts of answers.

`EventChoices` says which of n answers an event belongs to, and `OpenCall` is one call on its way to a foreign
protocol, with its arguments as JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias, cast, get_args

from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import ChunkResponse, ProviderEvent
from ...events.errors import UsageError
from ...events.json_form import STAND_IN
from ...events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from ...events.tool_invocation import InvocationFailed, Notice, ToolCallStatus, ToolInvocation, ToolResult
from ...operators.calls.call_arguments import CallArguments, as_json
from ...operators.calls.field_spec import KNOWN_FILE_TOOLS, is_argument, spec_by_type
from ...operators.calls.open_segments import OpenSegments
from ...operators.engine.stage import How
from .answer_parts import (
    CallDelta,
    CallEnd,
    CallStart,
    Media,
    PartCall,
    TextDelta,
    TextEnd,
    TextKind,
    TextStart,
    TurnStart,
)
from .event_words import Verdict, ending, failure_reason
from .json_text import JsonText


class EventChoices:
    """Says of each event of a stream which of n answers it belongs to; pass every event, in order.

    Of a segment only its START says it; what says nothing belongs to the first answer.
    """

    def __init__(self) -> None:
        self._others: dict[tuple[str | None, str], int] = {}
        """The segments of every answer but the first."""

    def choice_of(self, event: Any) -> int:
        match event:
            case AnswerEnd(choice=choice) | ProviderEvent(choice=choice):
                return choice
            case SegmentStart(metadata={"choice": int(choice)}):
                self._others[event.turn_id, event.segment_id] = choice
                return choice
            case SegmentContent() | SegmentEnd():
                return self._others.get((event.turn_id, event.segment_id), 0)
            case ToolInvocation() | InvocationFailed() | ToolCallStatus() | ToolResult():
                return self._others.get((event.turn_id, event.id), 0)
            case _:
                return 0


_SPECS: Final = spec_by_type(KNOWN_FILE_TOOLS)


class OpenCall:
    """Follows the segment of one call.

    Arguments that the model wrote as JSON pass as they are. Those of a call in text that are not JSON, or that stand in
    markup, are written as JSON from their fragments.

    - `verdict`: the call's invocation or failure, once it is there.
    """

    def __init__(self, start: SegmentStart, wire_id: str) -> None:
        metadata = start.metadata
        name = tool_of(start) or ""
        self.call = PartCall(
            wire_id,
            name,
            "text" if metadata.get("kind") == "text" else "json",
            metadata.get("executed_by", "client"),
            start.turn_id,
            metadata.get("native"),
        )
        self.verdict: Verdict | None = None
        self._arguments = CallArguments(start, name, _SPECS)
        self._written = None if _is_bare(start, name) else JsonText()
        self._pieces: list[str] = []

    def delta(self, event: AnySegmentEvent) -> str:
        """Return the next piece of the arguments, as an event of the segment has it."""
        if self._written is None:
            piece = self._arguments.text(event)
        else:
            piece = self._written.feed(self._arguments.fragments(event))
        self._pieces.append(piece)
        return piece

    def end(self, event: SegmentEnd) -> CallEnd:
        """Return the end of the call, when its verdict is there, or when it is sure that there is none."""
        status = event.status or "complete"
        text = "".join(self._pieces)
        if isinstance(self.verdict, ToolInvocation):
            return CallEnd(self.call, status, text, self.verdict.arguments, None)
        if isinstance(self.verdict, InvocationFailed):
            return CallEnd(self.call, status, text, None, failure_reason(self.verdict), self.verdict.reason)
        if status != "complete":
            reason = "guarded" if "guard" in event.metadata else event.reason
            return CallEnd(self.call, status, text, None, ending(status, event.reason), reason)
        if (first := event.metadata.get("duplicate_of")) is not None:
            return CallEnd(self.call, "failed", text, None, f"a repetition of {first}", "duplicate")
        arguments = {"input": text} if self.call.form == "text" else _object(text)
        if arguments is None:
            return CallEnd(self.call, status, text, None, "malformed", "malformed")
        return CallEnd(self.call, status, text, arguments, None)


def whole_call(verdict: Verdict, wire_id: str) -> list[CallStart | CallDelta | CallEnd]:
    """Return the parts of a call that has an invocation or a failure, but no segment."""
    native = verdict.native if isinstance(verdict, ToolInvocation) else None
    call = PartCall(wire_id, verdict.name, "json", "client", verdict.turn_id, native)
    if isinstance(verdict, ToolInvocation):
        text = as_json(verdict.arguments)
        end = CallEnd(call, "complete", text, verdict.arguments, None)
    else:
        text = verdict.raw
        end = CallEnd(call, "failed", text, None, failure_reason(verdict), verdict.reason)
    return [CallStart(call), *([CallDelta(call, text)] if text else []), end]


def tool_of(start: SegmentStart) -> str | None:
    """Return the name of the tool that a segment calls, None for a segment that is no call of its own."""
    if is_argument(start):
        return None
    spec = _SPECS.get(start.segment_type or "")
    name = start.metadata.get("tool_name", None if spec is None else spec.tool)
    return name or "" if start.segment_type == "tool_call" else name


def _is_bare(start: SegmentStart, name: str) -> bool:
    """Return whether a call's source is its arguments and nothing else, as in a provider's own calls.

    The source of a call in text begins with markup, and has the tool's name before the arguments open.
    """
    opened = next((each.at for each in start.fragments or () if not each.path), None)
    if opened is None and name and name not in start.raw:
        return True
    return not start.raw[:opened].strip() or start.metadata.get("kind") == "text"


def _object(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call that nobody has validated; None if they are no JSON object."""
    try:
        value: object = json.loads(text if text.strip() else "{}")
    except ValueError:
        return None
    if value is None:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


_TEXTS: Final = frozenset(get_args(TextKind))

PartKey: TypeAlias = tuple[str | None, str]
delta_of: Final = cast("Callable[[SegmentContent], str]", attrgetter("delta"))


class PartLane(NamedTuple):
    """What is made of each further CONTENT of a segment.

    - `id`: of its text or its call. `part`: what is made of it, with `STAND_IN` for the text.
    - `take`: takes the text. `beside`: the event that passes beside the part, with `STAND_IN` for its delta.
    """

    id: str
    part: TextDelta | CallDelta
    take: Callable[[SegmentContent], str]
    beside: AnySegmentEvent | None = None


class PartReader:
    """Turns the events of a stream into the parts of its answers: `feed` each event, `close` once.

    The END of a call waits for the next event of its turn, because its invocation or failure, which says whether it may
    be run, follows directly, unless another stream was merged into this one. Ids are unique in the stream: one that was
    there before gets its turn in front, and a number behind if that was there, too. The events of segments that show a
    file or a command pass, beside the parts of their call; so does every other event. What passes names segments by the
    same ids as the parts.
    """

    def __init__(self) -> None:
        self._turn: tuple[str | None] | None = None
        self._ids: dict[PartKey, str] = {}
        self._types: dict[PartKey, str] = {}
        """The type of each open segment: events from foreign JSON may have it at START only."""
        self._last: dict[str, str] = {}
        """Segment id -> its last id here, for results that do not say their turn."""
        self._repeats: dict[PartKey, int] = {}
        """How often an id was there in its turn, of those that were there twice."""
        self._media: dict[PartKey, tuple[str, list[str]]] = {}
        self._calls: dict[PartKey, OpenCall] = {}
        self._ended: dict[str | None, tuple[OpenCall, SegmentEnd]] = {}
        """By turn the call that waits for what follows its END."""
        self._unjudged = set[PartKey]()
        """The calls that ended without a verdict, which may come behind events of another stream."""
        self._open = OpenSegments()

    def feed(self, event: Any) -> list[Any]:
        """Return the parts that an event makes."""
        if isinstance(event, ToolInvocation | InvocationFailed):
            return self._verdict(event)
        if isinstance(event, Notice):
            return [event]  # it may stand before the invocation that it is about
        turn_id = getattr(event, "turn_id", None)
        parts = self._end_of_call(turn_id) if turn_id is not None else self._ends_of_calls()
        if isinstance(event, SegmentEvent):
            return [*parts, *self._begun(event), *self._segment(cast("AnySegmentEvent", event))]
        if isinstance(event, AnswerEnd):
            return [*parts, *self._begun(event), event]
        if isinstance(event, ToolResult | ToolCallStatus):
            return [*parts, replace(event, id=self._wire_id(event.turn_id, event.id))]
        if isinstance(event, ProviderEvent) and event.segment_id is not None:
            return [*parts, replace(event, segment_id=self._wire_id(event.turn_id, event.segment_id))]
        if isinstance(event, ChunkResponse):
            message = "got a ChunkResponse, not an event; put to_segments() after the source"
            raise UsageError(message)
        return [*parts, event]

    def lane(self, event: SegmentContent) -> PartLane | None:
        """Return what the further CONTENTs of an event's segment are, as long as no other event comes."""
        identity = (event.turn_id, event.segment_id)
        kind = self._types.get(identity)
        if kind is None or self._ended or self._turn != (event.turn_id,):
            return None
        wire_id = self._ids[identity]
        if (call := self._calls.get(identity)) is not None:
            beside = None if kind == "tool_call" else self._beside(replace(event, delta=STAND_IN), kind)
            return PartLane(wire_id, CallDelta(call.call, STAND_IN), call.delta, beside)
        if kind in _TEXTS:
            return PartLane(wire_id, TextDelta(wire_id, cast("TextKind", kind), STAND_IN), delta_of)
        return None

    def close(self, how: How) -> list[Any]:
        """Return what ends everything that is open."""
        parts = [part for end in self._open.ends(how) for part in self.feed(end)]
        return [*parts, *self._ends_of_calls()]

    def _begun(self, event: SegmentEvent | AnswerEnd | Verdict) -> list[TurnStart]:
        if self._turn == (event.turn_id,):
            return []
        self._turn = (event.turn_id,)
        return [TurnStart(event.turn_id)]

    def _segment(self, event: AnySegmentEvent) -> list[Any]:
        if isinstance(event, SegmentStart):
            return self._start(event)
        identity = (event.turn_id, event.segment_id)
        if (kind := self._types.get(identity)) is None:
            return []  # of a segment whose START was filtered out
        if isinstance(event, SegmentEnd):
            del self._types[identity]
            self._open.note(event)
        if (call := self._calls.get(identity)) is not None:
            return self._of_call(call, event, kind)
        if kind in _TEXTS:
            return self._of_text(event, cast("TextKind", kind))
        if (media := self._media.get(identity)) is None:
            return [self._beside(event, kind)]
        media_type, pieces = media
        if isinstance(event, SegmentContent):
            pieces.append(event.delta)
            return []
        del self._media[identity]
        return [Media(self._ids[identity], media_type, "".join(pieces))] if pieces else []

    def _start(self, event: SegmentStart) -> list[Any]:
        identity = (event.turn_id, event.segment_id)
        if identity in self._types:  # it begins again, and its END is missing
            end = SegmentEnd(event.segment_id, None, "truncated", turn_id=event.turn_id)
            return [*self._segment(end), *self._end_of_call(event.turn_id), *self._start(event)]
        self._open.note(event)
        kind = self._types[identity] = event.segment_type or ""
        wire_id = self._new_id(identity)
        if kind in _TEXTS:
            return [TextStart(wire_id, cast("TextKind", kind))]
        if kind == "media":
            self._media[identity] = (str(event.metadata.get("media_type", "")), [])
            return []
        if tool_of(event) is None:
            return [self._beside(event, kind)]
        call = self._calls[identity] = OpenCall(event, wire_id)
        return [CallStart(call.call), *self._of_call(call, event, kind)]

    def _of_text(self, event: SegmentContent | SegmentEnd, kind: TextKind) -> list[Any]:
        wire_id = self._ids[event.turn_id, event.segment_id]
        if isinstance(event, SegmentContent):
            return [TextDelta(wire_id, kind, event.delta)] if event.delta else []
        return [TextEnd(wire_id, kind, event.status or "complete", event.metadata)]

    def _of_call(self, call: OpenCall, event: AnySegmentEvent, kind: str) -> list[Any]:
        delta = call.delta(event)
        parts: list[Any] = [CallDelta(call.call, delta)] if delta else []
        if isinstance(event, SegmentEnd):
            self._ended[event.turn_id] = call, event
        return parts if kind == "tool_call" else [*parts, self._beside(event, kind)]

    def _verdict(self, verdict: Verdict) -> list[Any]:
        """Give a call its verdict; a verdict without a segment is a whole call."""
        identity = (verdict.turn_id, verdict.id)
        if (call := self._calls.get(identity)) is not None:
            call.verdict = verdict
            return self._end_of_call(verdict.turn_id)
        if identity in self._unjudged:
            self._unjudged.remove(identity)
            return self._end_of_call(verdict.turn_id)
        return [
            *self._end_of_call(verdict.turn_id),
            *self._begun(verdict),
            *whole_call(verdict, self._new_id(identity)),
        ]

    def _ends_of_calls(self) -> list[CallEnd]:
        return [end for turn_id in [*self._ended] for end in self._end_of_call(turn_id)]

    def _end_of_call(self, turn_id: str | None) -> list[CallEnd]:
        if turn_id not in self._ended:
            return []
        call, end = self._ended.pop(turn_id)
        del self._calls[end.turn_id, end.segment_id]
        if call.verdict is None:
            self._unjudged.add((end.turn_id, end.segment_id))
        return [call.end(end)]

    def _beside(self, event: AnySegmentEvent, kind: str) -> AnySegmentEvent:
        """Return an event of a segment that is no part, with its type, and the ids that it and its call have here."""
        event = replace(event, segment_id=self._ids[event.turn_id, event.segment_id], segment_type=kind)
        if isinstance(event, SegmentContent) or not isinstance(call_id := event.metadata.get("call_id"), str):
            return event
        return replace(event, metadata={**event.metadata, "call_id": self._wire_id(event.turn_id, call_id)})

    def _wire_id(self, turn_id: str | None, given: str) -> str:
        return self._ids.get((turn_id, given)) or self._last.get(given, given)

    def _new_id(self, identity: PartKey) -> str:
        turn_id, given = identity
        taken = self._last
        new = given if given not in taken else f"{turn_id}:{given}"
        while new in taken:
            number = self._repeats[identity] = self._repeats.get(identity, 1) + 1
            new = f"{turn_id}:{given}:{number}"
        self._ids[identity] = taken[given] = new
        taken.setdefault(new, new)
        return new
