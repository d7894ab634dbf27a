"""`AgUi`: the events of AG-UI 1.0, in the order and with the parents that clients need.

`OneAtATime` sees to it that nothing begins before what began first has ended. `AdjacentParents` attaches calls as
clients need it that look for the parent in the last message only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, get_args
from uuid import uuid4

from msgspec import Struct, field
from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import ProviderEvent
from ...events.json_form import Event, for_browsers
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from ...events.tool_invocation import ToolCallStatus, ToolResult
from ...operators.calls.call_arguments import as_json
from ...operators.engine.stage import Failed, How, Interrupted
from ..parts.answer_parts import CallDelta, CallEnd, CallStart, Media, TextDelta, TextEnd, TextStart, TurnStart
from ..parts.frame_lanes import FrameLane, both, frame_lane
from ..parts.part_reader import PartReader, delta_of
from .ag_ui_values import (
    Frame,
    custom,
    custom_event,
    interrupt,
    pieces_of,
    result_text,
    shortened,
    usage_of,
)

BEGINS: Final = frozenset(("TEXT_MESSAGE_START", "REASONING_START", "TOOL_CALL_START"))
ENDS: Final = frozenset(("TEXT_MESSAGE_END", "REASONING_END", "TOOL_CALL_END"))


class _Waiting(Struct):
    """Frames that wait: those of one message or call, or a single one of neither."""

    of: str | None
    frames: list[Frame] = field(default_factory=list[Frame])


class OneAtATime:
    """Holds back what comes while a message or a call is open, but for its own frames.

        begun   A1 B1 A2 B2 A3 (A ends)  B3
        sent    A1    A2    A3 B1 B2     B3

    `of` names the message or call to which a frame belongs; a frame of none waits in its place. Each frame is looked
    at once; what waits is bounded only by the answer.
    """

    def __init__(self, begins: Container[str] = BEGINS, ends: Container[str] = ENDS) -> None:
        self._begins, self._ends = begins, ends
        self._open: str | None = None
        self._waiting: deque[_Waiting] = deque()
        self._by_id: dict[str, _Waiting] = {}

    def is_open(self, of: str) -> bool:
        """Return whether frames of a message or call are sent at once, until one ends it."""
        return self._open == of

    def feed(self, frame: Frame, of: str | None) -> Iterator[Frame]:
        """Yield the frames that may be sent now."""
        if self._open is None or (of is not None and of == self._open):
            yield from self._sent(frame, of)
            while self._open is None and self._waiting:
                yield from self._next()
            return
        waiting = self._by_id.get(of) if of is not None else None
        if waiting is None:
            waiting = _Waiting(of)
            self._waiting.append(waiting)
            if of is not None:
                self._by_id[of] = waiting
        waiting.frames.append(frame)

    def _next(self) -> Iterator[Frame]:
        waiting = self._waiting.popleft()
        if waiting.of is not None:
            del self._by_id[waiting.of]
        for frame in waiting.frames:
            yield from self._sent(frame, waiting.of)

    def _sent(self, frame: Frame, of: str | None) -> Iterator[Frame]:
        if frame["type"] in self._begins:
            self._open = of
        elif frame["type"] in self._ends:
            self._open = None
        yield frame


class AdjacentParents:
    """Gives a call a parent of its own if another message came since its parent.

    Clients up to 0.0.35 would make a second message with the parent's id.

    - `new_parent`: makes the id of a message.
    """

    def __init__(self, new_parent: Callable[[], str]) -> None:
        self._new_parent = new_parent
        self._messages: set[str] = set()
        self._last: str | None = None
        self._instead: dict[str, str] = {}

    def attached(self, frame: Frame) -> Frame:
        """Return a frame with the parent that its call may have, in the order of sending."""
        if frame["type"] == "TOOL_CALL_START":
            named: str = frame["parentMessageId"]
            parent = self._instead.get(named, named)
            if parent != self._last and parent in self._messages:
                parent = self._instead[named] = self._new_parent()
            self._note(parent)
            return {**frame, "parentMessageId": parent}
        if frame["type"] in ("TEXT_MESSAGE_START", "TOOL_CALL_RESULT"):
            self._note(frame["messageId"])
        return frame

    def _note(self, message_id: str) -> None:
        self._messages.add(message_id)
        self._last = message_id


AgUiProfile: TypeAlias = Literal["1.0", "0.0.35"]
Placed: TypeAlias = tuple[Frame, str | None]
"""A frame, and the id of the message or call to which it belongs, if any."""

_EVENTS = get_args(Event)


class AgUi:
    """Writes a stream as one run.

    The calls of a turn have its first text message as their parent, or one made for them. A call that must not be run
    gets its error as its result, because clients run calls without a result; but what a loop answers it comes first.
    """

    def __init__(
        self,
        *,
        thread_id: str | None = None,
        run_id: str | None = None,
        interleave: bool = True,
        reasoning: bool = True,
        profile: AgUiProfile = "1.0",
    ) -> None:
        self._run = {"threadId": thread_id or str(uuid4()), "runId": run_id or str(uuid4())}
        self._is_1 = profile == "1.0"
        self._with_reasoning = reasoning and self._is_1
        self._queue = None if interleave and self._is_1 else OneAtATime()
        self._attached = _as_it_is if self._is_1 else AdjacentParents(lambda: self._new_id("message")).attached
        self._reader = PartReader()
        self._is_begun = False
        self._made_ids = 0
        self._turn: str | None = None
        self._parents: dict[str | None, str] = {}
        self._texts: set[str] = set()
        """The open texts of which something has been sent."""
        self._open_calls: set[str] = set()
        self._begun_calls: set[str] = set()
        """The open calls of whose arguments something has been sent."""
        self._held: dict[str, str] = {}
        self._beside: dict[str, str] = {}
        """The segments that show arguments of a call -> that call."""
        self._answered: set[str] = set()
        self._early: dict[str, str] = {}
        """Results that wait for the end of their calls."""
        self._unanswered: dict[str, str] = {}
        """Calls that nobody is to run -> the result to send if none comes."""
        self._asked: dict[tuple[str | None, str], ToolCallStatus] = {}
        """The calls that wait for an approval."""
        self._end = AnswerEnd()
        self._ends: dict[str | None, AnswerEnd] = {}

    def feed(self, event: Any) -> Iterator[Frame]:
        yield from self._start()
        self._is_begun = True
        yield from self._in_order(placed for part in self._reader.feed(event) for placed in self._frames(part))

    def lane(self, event: SegmentContent) -> FrameLane | None:
        """Return the lane of a segment of which something has been sent."""
        lane = self._reader.lane(event)
        if self._queue is not None or lane is None or not (lane.id in self._texts or self._is_json(lane.part)):
            return None
        own = frame_lane(lane.take, (frame for frame, _ in self._frames(lane.part)), pieces_of)
        if lane.beside is None:
            return own
        return both(own, frame_lane(delta_of, (frame for frame, _ in self._frames(lane.beside)), pieces_of))

    def _is_json(self, part: TextDelta | CallDelta) -> bool:
        return isinstance(part, CallDelta) and part.call.form == "json" and part.call.id in self._begun_calls

    def close(self, how: How, error: Mapping[str, Any]) -> Iterator[Frame]:
        yield from self._start()
        yield from self._in_order(placed for part in self._reader.close(how) for placed in self._frames(part))
        yield from self._in_order(self._answers())
        yield self._terminal(how, error)

    def _start(self) -> list[Frame]:
        version = {"protocolVersion": "1.0"} if self._is_1 else {}
        return [] if self._is_begun else [{"type": "RUN_STARTED", **self._run, **version}]

    def _in_order(self, placed: Iterable[Placed]) -> Iterator[Frame]:
        for frame, of in placed:
            yield from map(self._attached, [frame] if self._queue is None else self._queue.feed(frame, of))

    def _frames(self, part: Any) -> Iterator[Placed]:
        match part:
            case TurnStart():
                if self._end.status != "paused":  # else the next turn may bring the results
                    yield from self._answers()
                self._turn = part.turn_id
            case TextStart():
                pass  # a text without characters is none
            case TextDelta():
                yield from self._text(part)
            case TextEnd():
                yield from self._end_of_text(part)
            case CallStart():
                call = part.call
                parent = self._parents.get(call.turn_id) or self._new_parent(call.turn_id)
                start = {"type": "TOOL_CALL_START", "toolCallId": call.id, "toolCallName": call.name}
                self._open_calls.add(call.id)
                yield {**start, "parentMessageId": parent}, call.id
            case CallDelta():
                yield from self._arguments(part)
            case CallEnd():
                yield from self._end_of_call(part)
            case Media():
                media = {"id": part.id, "media_type": part.media_type, "url": shortened(part.url)}
                yield custom("media", media), None
            case SegmentEvent():
                yield from self._segment(part)
            case ToolResult() if part.id not in self._answered:
                yield from self._result(part.id, result_text(part))
            case ProviderEvent(kind="tool_result", segment_id=str(call_id)) if call_id not in self._answered:
                yield from self._result(call_id, as_json(for_browsers(part).data))
            case ToolCallStatus():
                self._asked.pop((part.turn_id, part.id), None)
                if part.state == "requested":
                    self._asked[part.turn_id, part.id] = part
                yield custom_event(part), None
            case AnswerEnd():
                self._end = self._ends[part.turn_id] = for_browsers(part)
                yield custom_event(part), None
            case _:
                yield (custom_event(part) if isinstance(part, _EVENTS) else part), None

    def _text(self, part: TextDelta) -> Iterator[Placed]:
        is_reasoning = part.kind == "reasoning"
        if is_reasoning and not self._with_reasoning:
            return
        message = {"messageId": part.id}
        if part.id not in self._texts:
            self._texts.add(part.id)
            if is_reasoning:
                yield {"type": "REASONING_START", **message}, part.id
                yield {"type": "REASONING_MESSAGE_START", **message, "role": "reasoning"}, part.id
            else:
                self._parents.setdefault(self._turn, part.id)
                yield {"type": "TEXT_MESSAGE_START", **message, "role": "assistant"}, part.id
        kind = "REASONING_MESSAGE_CONTENT" if is_reasoning else "TEXT_MESSAGE_CONTENT"
        for piece in pieces_of(part.delta):
            yield {"type": kind, **message, "delta": piece}, part.id

    def _end_of_text(self, part: TextEnd) -> Iterator[Placed]:
        if part.id not in self._texts:
            return
        self._texts.remove(part.id)
        ends = ("REASONING_MESSAGE_END", "REASONING_END") if part.kind == "reasoning" else ("TEXT_MESSAGE_END",)
        for kind in ends:
            yield {"type": kind, "messageId": part.id}, part.id

    def _arguments(self, part: CallDelta) -> Iterator[Placed]:
        """Yield the next piece of the arguments.

        The text of a free-form tool is sent as the object `{"input": …}`. `null` waits and blanks before the value are
        left out: some models write them where there are no arguments, and a client expects an object.
        """
        call, delta = part.call, part.delta
        if call.form == "text":
            delta = as_json(delta)[1:-1]
            if call.id not in self._begun_calls:
                delta = f'{{"input": "{delta}'
        elif call.id not in self._begun_calls:
            delta = (self._held.pop(call.id, "") + delta).lstrip()
            if "null".startswith(delta) or delta.rstrip() == "null":
                self._held[call.id] = delta.rstrip()
                return
        self._begun_calls.add(call.id)
        for piece in pieces_of(delta):
            yield {"type": "TOOL_CALL_ARGS", "toolCallId": call.id, "delta": piece}, call.id

    def _end_of_call(self, part: CallEnd) -> Iterator[Placed]:
        call = part.call
        is_begun = call.id in self._begun_calls
        rest = self._held.pop(call.id, "")
        if call.form == "text" and part.status == "complete":  # a text that was cut stays open, as cut JSON does
            rest = '"}' if is_begun else '{"input": ""}'
        elif part.arguments is not None and not is_begun:
            rest = as_json(part.arguments)
        if rest:
            yield {"type": "TOOL_CALL_ARGS", "toolCallId": call.id, "delta": rest}, call.id
        yield {"type": "TOOL_CALL_END", "toolCallId": call.id}, call.id
        self._begun_calls.discard(call.id)
        self._open_calls.discard(call.id)
        if call.id in self._early:
            yield from self._result(call.id, self._early.pop(call.id))
        elif call.id not in self._answered:
            if part.error is not None:
                self._unanswered[call.id] = f"Error: the call was not run: {part.error}"
            elif call.executed_by == "provider":
                self._unanswered[call.id] = ""

    def _segment(self, event: SegmentEvent) -> Iterator[Placed]:
        of: str | None = None
        if self._is_1:  # the older client takes nothing beside an open call
            of = self._beside.get(event.segment_id)
            if isinstance(event, SegmentStart):
                call_id = event.metadata.get("call_id")
                of = self._beside[event.segment_id] = call_id if isinstance(call_id, str) else event.segment_id
            elif isinstance(event, SegmentEnd):
                self._beside.pop(event.segment_id, None)
        if isinstance(event, SegmentContent):
            for piece in pieces_of(event.delta):
                yield custom_event(replace(event, delta=piece), "segment"), of
        else:
            yield custom_event(event, "segment"), of

    def _result(self, call_id: str, content: str) -> Iterator[Placed]:
        self._answered.add(call_id)
        if call_id in self._open_calls:  # a provider's result may come before the end of its call
            self._early[call_id] = content
            return
        self._unanswered.pop(call_id, None)
        result = {"type": "TOOL_CALL_RESULT", "messageId": self._new_id("result"), "toolCallId": call_id}
        yield {**result, "content": shortened(content), "role": "tool"}, None

    def _answers(self) -> Iterator[Placed]:
        """Yield a result for each call that has none and must not be run."""
        for call_id, content in [*self._unanswered.items()]:
            yield from self._result(call_id, content)

    def _terminal(self, how: How, error: Mapping[str, Any]) -> Frame:
        tokens = usage_of(self._ends.values()) if self._is_1 else []
        usage = {"usage": tokens} if tokens else {}
        if isinstance(how, Failed) or self._end.status == "failed":
            name = error.get("class")
            code = error.get("code") or name or self._end.finish_reason_raw
            message = str(error.get("detail") or name or "the answer failed")
            return {"type": "RUN_ERROR", "message": message, **({"code": str(code)} if code else {}), **usage}
        if not self._is_1:
            return {"type": "RUN_FINISHED", **self._run}
        is_cancelled = isinstance(how, Interrupted) or self._end.status == "interrupted"
        outcome: dict[str, Any] = {"type": "cancelled" if is_cancelled else "success"}
        if self._asked and not is_cancelled:
            outcome = {"type": "interrupt", "interrupts": [*map(interrupt, self._asked.values())]}
        return {"type": "RUN_FINISHED", **self._run, "outcome": outcome, **usage}

    def _new_parent(self, turn_id: str | None) -> str:
        parent = self._parents[turn_id] = self._new_id("message")
        return parent

    def _new_id(self, kind: str) -> str:
        self._made_ids += 1
        return f"{self._run['runId']}:{kind}_{self._made_ids}"


def _as_it_is(frame: Frame) -> Frame:
    return frame
