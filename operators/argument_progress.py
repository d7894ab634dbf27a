"""`argument_progress`: the pieces of each call's arguments as they arrive, with the call's name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..events.segment_event import AnySegmentEvent, Fragment
from ..events.tool_invocation import ToolCallArgumentProgress
from .calls.call_arguments import CallArguments, each_call
from .calls.field_spec import KNOWN_FILE_TOOLS, FieldSpec
from .engine.lane import TextLane
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Operator


@public_operator
def argument_progress(
    *,
    keep_segments: bool = False,
    fields: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[Any, Any]:
    """Emit each piece of each call's arguments as a `ToolCallArgumentProgress`, as soon as it is certain.

        chunks               --a--------b--------c--|
        to_segments()        --(S,x)----y--------E--(A,|)
        argument_progress()  --(O,o,t)--(u,d,D)-----(A,|)
        where a = ChunkResponse(tool_calls=(ToolCallDelta(0, "c1", "read", '{"path": "a'),))
              b = ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='.py"}'),))
              c = ChunkResponse(finish_reason="tool_calls")
              S = SegmentStart(segment_type="tool_call")
              x = SegmentContent(delta='{"path": "a')
              y = SegmentContent(delta='.py"}')
              E = SegmentEnd(status="complete")
              A = AnswerEnd()
              O = ToolCallArgumentProgress("c1", "read", Fragment((), "OPEN"))
              o = ToolCallArgumentProgress("c1", "read", Fragment(("path",), "OPEN"))
              t = ToolCallArgumentProgress("c1", "read", Fragment(("path",), "TEXT", "a"))
              u = ToolCallArgumentProgress("c1", "read", Fragment(("path",), "TEXT", ".py"))
              d = ToolCallArgumentProgress("c1", "read", Fragment(("path",), "DONE"))
              D = ToolCallArgumentProgress("c1", "read", Fragment((), "DONE"))

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import drive, to_segments
    >>> call = ToolCallDelta(0, "call_1", "read", '{"path": "a')
    >>> *pieces, answer_end = drive([ChunkResponse(tool_calls=(call,))], to_segments(), argument_progress())
    >>> for piece in pieces:
    ...     print(piece.tool_name, piece.fragment.path, piece.fragment.kind, piece.fragment.value)
    read () OPEN {
    read ('path',) OPEN "
    read ('path',) TEXT a

    Before `stream_fields`, each piece is emitted with its delta; after it, with the next event of the field's segment,
    and pieces after the content with the END. Arguments that arrived whole, or were read back from JSON, are parsed
    here. After an error in a call no more pieces are emitted; the END of its segment has the reason. Calls that the
    provider runs itself are left out. `piece.fragment.nested()` is the recursive form: string, scalar, array_item,
    object_entry, done.

    - `keep_segments`: pass the segment events too; all other events always pass.
    - `fields`: the specs of `stream_fields`, needed for segments that were read back from JSON. Their source text is
      lost: `Fragment.at` counts in the arguments written as JSON again.
    """
    return each_call(_Progress, keep_segments=keep_segments, fields=fields, limits=limits)


class _Progress(CallArguments):
    __slots__ = ()

    def content(self, event: AnySegmentEvent) -> Sequence[ToolCallArgumentProgress]:
        segment_id, name = self.segment_id, self.name
        return [ToolCallArgumentProgress(segment_id, name, piece) for piece in self.fragments(event)]

    start = end = content

    def take_lane(self, lane: TextLane) -> bool:
        segment_id, name = self.segment_id, self.name

        def told(_: str, pieces: tuple[Fragment, ...]) -> Sequence[ToolCallArgumentProgress]:
            if len(pieces) == 1:
                return (ToolCallArgumentProgress(segment_id, name, pieces[0]),)
            return [ToolCallArgumentProgress(segment_id, name, each) for each in pieces]

        lane.further.insert(0, told)
        return self._parsed
