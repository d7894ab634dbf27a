"""`tool_call_updates`: the raw text of each call's arguments as it arrives, and how the call ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from ..events.segment_event import AnySegmentEvent, SegmentEnd, SegmentStart
from ..events.tool_invocation import ToolCallUpdate
from .calls.call_arguments import CallArguments, each_call
from .calls.field_spec import KNOWN_FILE_TOOLS, FieldSpec, Specs
from .engine.lane import TextLane
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Operator


@public_operator
def tool_call_updates(
    *,
    message_id: str | None = None,
    keep_segments: bool = False,
    fields: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
) -> Operator[Any, Any]:
    """Emit `ToolCallUpdate`s for each call: its start, the deltas of its arguments, its completion.

        chunks               --a------b--c--|
        to_segments()        --(S,x)--y--E--(A,|)
        tool_call_updates()  --(s,t)--u--v--(A,|)
        where a = ChunkResponse(tool_calls=(ToolCallDelta(0, "c1", "read", '{"path": "a'),))
              b = ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='.py"}'),))
              c = ChunkResponse(finish_reason="tool_calls")
              S = SegmentStart(segment_type="tool_call")
              x = SegmentContent(delta='{"path": "a')
              y = SegmentContent(delta='.py"}')
              E = SegmentEnd(status="complete")
              A = AnswerEnd()
              s = ToolCallUpdate("c1", "read", "", is_complete=False)
              t = ToolCallUpdate("c1", "read", '{"path": "a')
              u = ToolCallUpdate("c1", "read", '.py"}')
              v = ToolCallUpdate("c1", "read", "", is_complete=True, status="complete")

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import drive, to_segments
    >>> call = ToolCallDelta(0, "call_1", "add", '{"a": 1}', done=True)
    >>> *updates, answer_end = drive([ChunkResponse(tool_calls=(call,))], to_segments(), tool_call_updates())
    >>> for update in updates:
    ...     print(update.tool_name, repr(update.arguments), update.is_complete, update.status)
    add '' False None
    add '{"a": 1}' False None
    add '' True complete

    The joined deltas of a call are its raw argument text, never repaired. However a call ends, it gets one completion,
    with an empty delta and the status of its segment: complete, truncated, interrupted or failed. Before
    `stream_fields` each delta is emitted as it arrived; after it, with the next event of its field's segment. Calls
    that the provider runs itself have no updates. The JSON form is the event `assistant_streaming_tool_call`, which is
    for display and not for storage: to store a call, use its invocation.

    - `message_id`: the id of the message that the calls belong to; by default the turn's id.
    - `keep_segments`: pass the segment events too; all other events always pass.
    - `fields`: the specs of `stream_fields`, needed for segments that were read back from JSON. Their source text is
      lost: the deltas are the arguments written as JSON again.
    """
    return each_call(partial(_Updates, message_id), keep_segments=keep_segments, fields=fields, limits=DEFAULT_LIMITS)


class _Updates(CallArguments):
    STATE = (*CallArguments.STATE, "_message_id")
    __slots__ = ("_message_id",)

    def __init__(self, message_id: str | None, start: SegmentStart, name: str, specs: Specs, limits: Limits) -> None:
        super().__init__(start, name, specs, limits)
        self._message_id = self.turn_id if message_id is None else message_id

    def start(self, event: SegmentStart) -> Sequence[ToolCallUpdate]:
        return self.content(event) or (self._update("", is_complete=False),)

    def content(self, event: AnySegmentEvent) -> Sequence[ToolCallUpdate]:
        text = self.text(event)
        return (self._update(text, is_complete=False),) if text else ()

    def take_lane(self, lane: TextLane) -> bool:
        lane.further.insert(0, lambda text, _: (self._update(text, is_complete=False),))
        return self._given

    def end(self, event: SegmentEnd) -> Sequence[ToolCallUpdate]:
        rest = self.content(event)
        self.name = self.name or event.metadata.get("tool_name", "")
        return (*rest, self._update("", is_complete=True, status=event.status or "complete"))

    def _update(self, text: str, *, is_complete: bool, status: str | None = None) -> ToolCallUpdate:
        return ToolCallUpdate(self.segment_id, self.name, text, is_complete, self._message_id, status)
