"""`partial_arguments`: the arguments of each call while they grow, readable at any moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..events.segment_event import AnySegmentEvent, Fragment, Path, SegmentEnd, SegmentStart, Status
from .calls.call_arguments import CallArguments, each_call
from .calls.field_spec import KNOWN_FILE_TOOLS, FieldSpec, Specs
from .engine.lane import TextLane
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Operator
from .machines.json_values import FragmentAggregator
from .machines.live_view import LiveEvent, ObjectView, changes


@public_operator
def partial_arguments(
    *,
    keep_segments: bool = False,
    fields: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[Any, Any]:
    """Emit a `PartialArguments` whenever a call's arguments have grown, and one at the call's end.

        chunks               --a------b--c--|
        to_segments()        --(S,x)--y--E--(A,|)
        partial_arguments()  --p------q--r--(A,|)
        where a = ChunkResponse(tool_calls=(ToolCallDelta(0, "c1", "read", '{"path": "a'),))
              b = ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='.py"}'),))
              c = ChunkResponse(finish_reason="tool_calls")
              S = SegmentStart(segment_type="tool_call")
              x = SegmentContent(delta='{"path": "a')
              y = SegmentContent(delta='.py"}')
              E = SegmentEnd(status="complete")
              A = AnswerEnd()
              p = PartialArguments(arguments={"path": "a"}, is_complete=False)
              q = PartialArguments(arguments={"path": "a.py"}, is_complete=True, status=None)
              r = PartialArguments(arguments={"path": "a.py"}, is_complete=True, status="complete")

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import drive, to_segments
    >>> call = ToolCallDelta(0, "call_1", "add", '{"a": [1, 2], "b": "x')
    >>> *events, answer_end = drive([ChunkResponse(tool_calls=(call,))], to_segments(), partial_arguments())
    >>> for event in events:
    ...     print(event.snapshot(), event.is_finished(("a",)), event.is_finished(("b",)), event.status)
    {'a': [1, 2], 'b': 'x'} True False None
    {'a': [1, 2], 'b': 'x'} True False truncated

    An open string is in the view as far as it has arrived; a number, `true`, `false` or `null` once it is complete.
    Nothing is guessed. The cost of an event depends on its own pieces, not on earlier ones; reading an open string
    joins its pieces. Before `stream_fields`, each change is emitted with its delta; after it, with the next event of
    the field's segment. Calls that the provider runs itself are left out.

    - `keep_segments`: pass the segment events too; all other events always pass.
    - `fields`: the specs of `stream_fields`, needed for segments that were read back from JSON.
    """
    return each_call(_Partial, keep_segments=keep_segments, fields=fields, limits=limits)


class PartialArguments(LiveEvent, frozen=True, gc=False, eq=False):
    """The change in a call's arguments by one event, and a live view of them.

    Two events are equal if all their attributes except `arguments` are equal.

    - `changed`: paths of the values that began or grew, in the order of the text; usually one.
    - `finished`: paths of the values that became complete, the whole as `()`.
    - `is_complete`: the arguments are all there.
    - `status`: how the call ended, at its end: complete, truncated, interrupted, failed; else None.
    - `arguments`: a read-only, live view: when it is read later, it shows what has arrived by then. `snapshot()`
      returns a copy that does not change. Read the view in the thread that gets the events; pass snapshots to other
      threads.
    """

    tool_call_id: str
    tool_name: str
    turn_id: str | None
    changed: tuple[Path, ...]
    finished: tuple[Path, ...]
    is_complete: bool
    status: Status | None
    arguments: ObjectView

    def snapshot(self) -> dict[str, Any]:
        """Return a plain copy of the current arguments."""
        return self.arguments.snapshot()

    def is_finished(self, path: Path) -> bool:
        """Return whether the value at a path is complete: `event.is_finished(("patterns", 0, "old"))`."""
        return self.arguments.is_finished(path)


class _Partial(CallArguments):
    STATE = (*CallArguments.STATE, "_values")
    __slots__ = ("_values", "_view")

    def __init__(self, start: SegmentStart, name: str, specs: Specs, limits: Limits) -> None:
        super().__init__(start, name, specs, limits)
        self._values = FragmentAggregator()
        self._view = ObjectView(self._values)

    def content(self, event: AnySegmentEvent) -> Sequence[PartialArguments]:
        pieces = self.fragments(event)
        return (self._event(pieces),) if pieces else ()

    start = content

    def take_lane(self, lane: TextLane) -> bool:
        lane.further.insert(0, lambda _, pieces: (self._event(pieces),) if pieces else ())
        return self._parsed

    def end(self, event: SegmentEnd) -> Sequence[PartialArguments]:
        pieces = self.fragments(event)
        return (self._event(pieces, event.status or "complete"),)

    def _event(self, pieces: Sequence[Fragment], status: Status | None = None) -> PartialArguments:
        values = self._values
        values.feed_all(pieces)
        changed, finished = changes(pieces)
        is_complete = values.done or status == "complete"
        return PartialArguments(
            self.segment_id, self.name, self.turn_id, changed, finished, is_complete, status, self._view
        )
