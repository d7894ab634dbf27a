"""`stream_fields`: turn the streamed arguments of calls into segments whose content is decoded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal

from msgspec.structs import replace

from ..events.errors import UsageError
from ..events.segment_event import AnySegmentEvent, Fragment, SegmentContent, SegmentEnd, SegmentStart
from .calls.answer_segments import SegmentInput, SegmentOutput
from .calls.field_call import (
    FieldCall,
    StreamedArguments,
    free_form_pieces,
    is_due,
    known_metadata,
    shown_arguments,
    stripped,
    taken,
    verdict,
)
from .calls.field_spec import KNOWN_FILE_TOOLS, FieldSpec, checked_specs, spec_by_type, specs_by_tool
from .calls.open_segments import CallFollower
from .engine.lane import TextLane
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Operator, lift, stage
from .engine.state import EMPTY
from .engine.withheld import Withheld
from .machines.json_machine import JsonMachine
from .machines.json_values import FragmentAggregator, PathNode, path_tree, read_path
from .strip_markers import strip_markers
from .to_invocations import Tools


@public_operator
def stream_fields(
    specs: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
    *,
    tools: Tools | None = None,
    start: Literal["deferred", "immediate"] = "deferred",
    ignore_case: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[SegmentInput, SegmentOutput]:
    r"""Turn calls of named tools into segments of their own type that stream one decoded argument.

        chunks           --a------b--c--d--|
        to_segments()    --(S,x)--y--z--E--(A,|)
        stream_fields()  --T------v--w--F--(A,|)
        where a = ChunkResponse(tool_calls=(ToolCallDelta(0, "c1", "write_file", '{"path": "a.py", "con'),))
              b = ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='tent": "x'),))
              c = ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=' = 1"}'),))
              d = ChunkResponse(finish_reason="tool_calls")
              S = SegmentStart(segment_type="tool_call")
              x = SegmentContent(delta='{"path": "a.py", "con')
              y = SegmentContent(delta='tent": "x')
              z = SegmentContent(delta=' = 1"}')
              E = SegmentEnd(segment_type="tool_call", status="complete")
              T = SegmentStart(segment_type="write_file", metadata={"path": "a.py"})
              v = SegmentContent(segment_type="write_file", delta="x")
              w = SegmentContent(segment_type="write_file", delta=" = 1")
              F = SegmentEnd(segment_type="write_file", status="complete")
              A = AnswerEnd()

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import drive, to_segments
    >>> call = ToolCallDelta(0, "call_1", "write_file", '{"path": "a.py", "content": "x = 1')
    >>> for event in drive([ChunkResponse(tool_calls=(call,))], to_segments(), stream_fields()):
    ...     print(event)
    SegmentStart(segment_id='call_1', segment_type='write_file', metadata={'tool_name': ..., 'path': 'a.py'}, ...)
    SegmentContent(segment_id='call_1', segment_type='write_file', delta='x = 1', ...)
    SegmentEnd(segment_id='call_1', segment_type='write_file', status='truncated', ...)

    All other segments pass unchanged, and so does a call without the arguments that its spec requires, unless the spec
    is strict. Every argument, streamed or not, still reaches `to_invocations`; the END's metadata has those that were
    not streamed. A key that is repeated after it was shown, as content or in the metadata of START, fails its call
    (`duplicate_key`).

    Of a tool with several streamed arguments, or nested ones, the call stays a `tool_call` segment. Each of these
    arguments is a segment beside it, with the id `{call id}/edits/0/new_text`, the spec's type, and `call_id`,
    `tool_name`, `path` and the shown `arguments` in its metadata; it ends before its call.

    - `specs`: the tools and their fields; `FILE_TOOLS` are those of write_file, edit_file, patch_file and run_bash,
      `KNOWN_FILE_TOOLS` also those of known agents; with `()` only the tools' own count. Of several specs for one tool
      that are not strict, a call takes the first that fits.
    - `tools`: the tools, as for `to_invocations`; a `Pipeline` passes its own. What they stream themselves
      (`Tool.streamed`) is added, and specs that are not strict and whose arguments they lack are left out.
    - `start`: with `deferred`, START waits for the metadata that the spec requires, or, if it requires none, for the
      beginning of the field; at most until `limits.deferred_length` characters of content are held. With `immediate`,
      START directly follows that of the call, metadata that arrives later is in the END, and only the first spec of a
      tool counts.
    - `ignore_case`: whether the case of tool names is ignored, for models that write calls as text; the call keeps the
      name as it was written.
    """
    if start not in ("deferred", "immediate"):
        message = f"start must be 'deferred' or 'immediate', got {start!r}"
        raise UsageError(message)
    checked = checked_specs(specs, "stream_fields")
    by_tool = specs_by_tool(checked, tools, ignore_case=ignore_case)
    fields = {kind: spec.field for kind, spec in spec_by_type(checked).items()}
    deferred = start == "deferred"
    of_one_kind = {tool: _of_one_kind(several, deferred=deferred) for tool, several in by_tool.items()}
    roots = {tool: path_tree(map(read_path, specs[0].paths)) for tool, specs in of_one_kind.items()}
    return lift(partial(_StreamFields, of_one_kind, roots, fields, limits, deferred=deferred, ignore_case=ignore_case))


class _StreamFields(CallFollower[FieldCall | StreamedArguments]):
    def __init__(
        self,
        specs: dict[str, tuple[FieldSpec, ...]],
        roots: dict[str, PathNode],
        fields: dict[str, str],
        limits: Limits,
        *,
        deferred: bool,
        ignore_case: bool,
    ) -> None:
        super().__init__(keep_segments=True)
        self._specs = specs
        self._roots = roots
        """By tool the paths of its first spec, as a tree."""
        self._fields = fields
        """The fields that segments have by their type; others are named in the metadata."""
        self._ignore_case = ignore_case
        self._deferred = deferred
        self._limits = limits

    def feed(self, event: Any) -> Sequence[SegmentOutput]:
        if type(event) is SegmentContent:
            call = self._calls.get((event.turn_id, event.segment_id)) if self._calls else None
            if call is None:
                return (event,)
            fragments = event.fragments
            if fragments is not None and len(fragments) == 1:
                piece = fragments[0]
                if piece.path is call.live_path and piece.kind == "TEXT":
                    return (
                        SegmentContent(
                            event.segment_id,
                            call.segment_type,
                            piece.value,
                            turn_id=event.turn_id,
                            raw=event.raw,
                            fragments=fragments,
                        ),
                    )
            return self._content(call, event)
        if type(event) is SegmentStart or type(event) is SegmentEnd:
            return self._border(event)
        return (event,)

    def take_lane(self, lane: TextLane) -> bool:
        """Let the text of a field through as the content of its segment, and all text of calls that nobody streams."""
        call = self._calls.get((lane.turn_id, lane.segment_id))
        if call is None:
            return True
        if lane.path is None or call.live_path is not lane.path:
            return False
        lane.segment_type, lane.is_decoded = call.segment_type, True
        return True

    def withheld(self) -> Sequence[Withheld]:
        found: list[Withheld] = []
        for identity in self._calls:
            call = self._calls[identity]
            if type(call) is FieldCall and not (call.raw or call.stripping or call.machine):
                continue  # most withhold nothing, and a trace asks for each open call after each item
            found += call.withheld()
        return found

    def new_part(self, _name: str, state: Any, /) -> FieldCall | StreamedArguments:
        return self._followed(self._tool(state["name"]), SegmentStart("", None), "")

    def _opened(self, start: SegmentStart) -> FieldCall | StreamedArguments | None:
        metadata = start.metadata
        if start.segment_type != "tool_call" or metadata.get("executed_by") == "provider":
            return None
        name = metadata.get("tool_name", "")
        tool = self._tool(name)
        return self._followed(tool, start, name) if tool in self._specs else None

    def _followed(self, tool: str, start: SegmentStart, name: str) -> FieldCall | StreamedArguments:
        specs = self._specs[tool]
        if specs[0].paths:
            return StreamedArguments(specs[0], self._roots[tool], self._limits, start, name)
        markers = specs[0].markers
        stripping = None if markers is None else stage(strip_markers(*markers))
        return FieldCall(specs, self._limits, start.segment_id, start.turn_id, start.metadata, name, stripping)

    def _tool(self, name: str) -> str:
        return name.casefold() if self._ignore_case else name

    def _started(self, call: FieldCall | StreamedArguments, start: SegmentStart) -> list[SegmentOutput]:
        if isinstance(call, StreamedArguments):
            return [start, *call.take(start)]
        events: list[SegmentOutput] = []
        self._take(call, start)
        if not self._deferred:
            self._give_start(call, {}, events)
        elif (call.spec.required or call.chosen < 0) and not call.spec.strict and call.spec.markers is None:
            call.held = [start]
        return events

    def _content(self, call: FieldCall | StreamedArguments, event: SegmentContent) -> list[SegmentOutput]:
        if isinstance(call, StreamedArguments):
            return [event, *call.take(event)]
        text = self._take(call, event)
        events: list[SegmentOutput] = []
        if call.started:
            if text:
                self._give_content(call, text, events)
        else:
            if text:
                call.content += text
            if call.held:
                call.held.append(event)
            if call.due is not None:
                self._give_start(call, call.due, events)
            elif call.is_late and call.held and isinstance(start := call.held[0], SegmentStart):
                del self._calls[call.turn_id, call.segment_id]
                self._others.note(start)
                return [*call.held]
        goes_on = call.started and call.content_length > 0 and not (call.raw or call.duplicate or call.stripping)
        call.live_path = call.field_path if goes_on else None
        return events

    def _ended(self, call: FieldCall | StreamedArguments, end: SegmentEnd) -> list[SegmentOutput]:
        if isinstance(call, StreamedArguments):
            return _ended_with(call, end)
        text = self._take(call, end, ending=True)
        events: list[SegmentOutput] = []
        if call.held and call.due is None and (end.status in ("complete", None) or call.needs_field):
            end = replace(end, segment_type=call.held[0].segment_type)
            return [*call.held, end]
        if not call.started:
            if text:
                call.content += text
            self._give_start(call, known_metadata(call) if call.due is None else call.due, events)
        elif text:
            self._give_content(call, text, events)
        status, reason = end.status, end.reason
        metadata = {**call.metadata, **self._streamed(call), **end.metadata}
        metadata.pop("arguments", None)  # the content, once more
        metadata |= shown_arguments(call)
        if status in ("complete", None):
            status, reason, error = verdict(call, reason)
            if error is not None:
                metadata["error"] = error
        raw, fragments = taken(call)
        kind, pieces = call.segment_type, fragments or None
        events.append(
            SegmentEnd(call.segment_id, kind, status, reason, metadata, turn_id=end.turn_id, raw=raw, fragments=pieces)
        )
        return events

    def _give_start(self, call: FieldCall, known: dict[str, Any], events: list[SegmentOutput]) -> None:
        call.started = True
        call.held = EMPTY
        metadata = {**call.metadata, **self._streamed(call), **known}
        raw, fragments = taken(call)
        kind, pieces = call.segment_type, fragments or None
        events.append(SegmentStart(call.segment_id, kind, metadata, turn_id=call.turn_id, raw=raw, fragments=pieces))
        if call.content:
            self._give_content(call, call.content, events)
            call.content = ""

    def _give_content(self, call: FieldCall, text: str, events: list[SegmentOutput]) -> None:
        raw, fragments = taken(call)
        kind = call.segment_type
        events.append(SegmentContent(call.segment_id, kind, text, turn_id=call.turn_id, raw=raw, fragments=fragments))

    def _take(self, call: FieldCall, event: AnySegmentEvent, *, ending: bool = False) -> str:
        """Process an event's source text and fragments; return the new text of the streamed field."""
        fragments: Iterable[Fragment] = event.fragments or ()
        raw = event.raw
        if event.fragments is None:
            if call.metadata.get("kind") == "text":
                raw, fragments = free_form_pieces(call, event)
            elif type(event) is SegmentContent:
                raw = raw or event.delta
                fragments = self._parsed(call, raw)
        if raw:
            if not call.raw:
                call.raw = []
            call.raw.append(raw)
        if call.stripping is not None:
            fragments = stripped(call, call.stripping, fragments, ending=ending)
        pieces: list[str] = []
        if not call.fragments:
            call.fragments = []
        for piece in fragments:
            call.fragments.append(piece)
            path = piece.path
            if not path:
                call.no_object = call.no_object or piece.value not in ("{", None)
            if not path or call.duplicate:
                continue
            if call.chosen < 0 and piece.value == '"' and len(path) == 1 and piece.kind == "OPEN":
                call.choose(next((place for place, spec in enumerate(call.specs) if spec.field == path[0]), -1))
            may_settle = path == call.field_path
            if not (may_settle and self._field(call, piece, pieces)):
                self._argument(call, piece)
                may_settle = may_settle or call.open_value is None or piece.at > self._limits.deferred_length
            # At the very piece, and not at the end of its chunk: what START says must not depend on the cutting.
            if may_settle and call.due is None and not call.started:
                self._settle(call, piece)
        return "".join(pieces)

    def _settle(self, call: FieldCall, piece: Fragment) -> None:
        """Take the first spec whose START is due with this piece."""
        too_much = call.content_length > self._limits.deferred_length
        for place, spec in enumerate(call.specs):
            if (call.chosen < 0 or spec.field == call.spec.field) and (too_much or is_due(call, spec)):
                if place != call.chosen:
                    call.choose(place)
                call.due = known_metadata(call)
                return
        call.is_late = call.needs_field and not call.is_text and piece.at > self._limits.deferred_length

    def _field(self, call: FieldCall, piece: Fragment, pieces: list[str]) -> bool:
        """Process a fragment of the field; return False if it is not a string, and thus an ordinary argument."""
        if piece.kind == "TEXT":
            call.field_path = piece.path
            call.content_length += len(piece.value)
            pieces.append(piece.value)
            return True
        if piece.kind == "DONE":
            return call.open_value is None
        if call.opened:
            call.duplicate = True
            return True
        if call.needs_field and piece.at > self._limits.deferred_length:  # the call passes as it is
            call.field_path = (-1,)
            return False
        call.opened = True
        call.field_path = piece.path
        call.is_text = bool(piece.value == '"')
        return call.is_text

    def _argument(self, call: FieldCall, piece: Fragment) -> None:
        if call.open_value is None:
            call.duplicate = call.due is not None and piece.path[0] in call.due  # what was shown is what runs
            if call.duplicate:
                return
            call.open_value = FragmentAggregator()
        call.open_value.feed_all((piece,))
        if piece.kind == "DONE" and len(piece.path) == 1:
            call.arguments[str(piece.path[0])] = call.open_value.value
            call.open_value = None

    def _streamed(self, call: FieldCall) -> dict[str, Any]:
        """Return the metadata with the field's name, where the segment's type does not tell it."""
        field = call.spec.field
        return {} if self._fields.get(call.segment_type, field) == field else {"streamed": field}

    def _parsed(self, call: FieldCall, text: str) -> list[Fragment]:
        if call.machine is None:
            call.machine = JsonMachine(self._limits)
        items = call.machine.feed(text)
        call.error = call.machine.error
        return [item for item in items if isinstance(item, Fragment)]


def _of_one_kind(specs: tuple[FieldSpec, ...], *, deferred: bool) -> tuple[FieldSpec, ...]:
    """Return the specs that may be for one call: the first if it has several paths, else those with a field."""
    if specs[0].paths or not deferred:
        return specs[:1]
    return tuple(spec for spec in specs if not spec.paths)


def _ended_with(call: StreamedArguments, end: SegmentEnd) -> list[SegmentOutput]:
    """Return the ENDs of a call and of its open argument."""
    events = [*call.take(end), *call.cut(end.status, end.reason)]
    if call.duplicate and end.status in ("complete", None):
        end = replace(end, status="failed", reason="duplicate_key")
    return [*events, end]
