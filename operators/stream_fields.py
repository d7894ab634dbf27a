"""`stream_fields`: turn calls of named tools into segments whose content is one decoded argument."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal, cast

from ..events.errors import UsageError
from ..events.fragment import Fragment, JsonError, Path
from ..events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentStart, Status
from .calls.answer_segments import Segment, SegmentInput
from .calls.call_follower import CallFollower
from .calls.field_spec import FILE_TOOLS, FieldSpec
from .calls.segment_end import error_detail
from .calls.segment_metadata import RESERVED
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Operator, StageChain, lift, stage
from .engine.state import Stateful
from .machines.fragment_aggregator import FragmentAggregator
from .machines.json_machine import JsonMachine
from .strip_markers import strip_markers


@public_operator
def stream_fields(
    specs: Iterable[FieldSpec] = FILE_TOOLS,
    *,
    start: Literal["deferred", "immediate"] = "deferred",
    ignore_case: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[SegmentInput, Segment]:
    r"""Turn calls of named tools into segments of their own type that stream one decoded argument.

        tool_call segment   --S--C {"path": "a.py", "con--C tent": "x--C = 1\n"}--E--|
        stream_fields       -----S write_file a.py--------C x----------C = 1⏎-----E--|

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import drive, to_segments
    >>> call = ToolCallDelta(0, "call_1", "write_file", '{"path": "a.py", "content": "x = 1')
    >>> for event in drive([ChunkResponse(tool_calls=(call,))], to_segments(), stream_fields()):
    ...     print(event)
    SegmentStart(segment_id='call_1', segment_type='write_file', metadata={'tool_name': ..., 'path': 'a.py'}, ...)
    SegmentContent(segment_id='call_1', segment_type='write_file', delta='x = 1', ...)
    SegmentEnd(segment_id='call_1', segment_type='write_file', status='truncated', ...)

    All other segments pass unchanged, and so does a call without the arguments that its spec requires, unless the spec
    is strict. Every argument, streamed or not, still reaches `to_invocations`; the END's
    metadata has those that were not streamed. A streamed key that is repeated fails its call (`duplicate_key`).

    - `specs`: the tools and their fields; `FILE_TOOLS` are those of write_file, edit_file, patch_file and run_bash;
      with `()` everything passes unchanged.
    - `start`: with `deferred`, START waits for the metadata that the spec requires, or, if it requires none, for the
      beginning of the field; at most until `limits.deferred_length` characters of content are held. With `immediate`,
      START directly follows that of the call, and metadata that arrives later is in the END.
    - `ignore_case`: whether the case of tool names is ignored, for models that write calls as text; the call keeps the
      name as it was written.
    """
    if start not in ("deferred", "immediate"):
        message = f"start must be 'deferred' or 'immediate', got {start!r}"
        raise UsageError(message)
    by_tool: dict[str, FieldSpec] = {}
    given: object = specs
    if isinstance(given, str | FieldSpec) or not hasattr(given, "__iter__"):
        message = f"stream_fields takes an iterable of FieldSpecs, such as FILE_TOOLS; got {given!r}"
        raise UsageError(message)
    for spec in specs:
        if not isinstance(cast("object", spec), FieldSpec):
            message = f"stream_fields takes FieldSpec(tool, field, ...), got {spec!r}"
            raise UsageError(message)
        if spec.tool in by_tool:
            message = f"two specs are for the tool {spec.tool!r}; keep one"
            raise UsageError(message)
        by_tool[spec.tool] = spec
    return lift(partial(_StreamFields, by_tool, limits, deferred=start == "deferred", ignore_case=ignore_case))


class _FieldCall(Stateful):
    """One call of a tool with a spec: its arguments so far, and the text that is not emitted yet."""

    STATE = (
        "arguments",
        "content",
        "content_length",
        "due",
        "duplicate",
        "error",
        "fragments",
        "held",
        "machine",
        "metadata",
        "name",
        "no_object",
        "open_value",
        "opened",
        "raw",
        "segment_id",
        "started",
        "stripping",
        "turn_id",
    )
    __slots__ = (*STATE, "limits", "field_path", "live_path", "segment_type", "spec")

    def __init__(self, spec: FieldSpec, limits: Limits, start: SegmentStart, name: str) -> None:
        self.spec = spec
        self.limits = limits
        self.segment_type = spec.segment_type
        self.segment_id = start.segment_id
        self.turn_id = start.turn_id
        self.metadata = start.metadata
        self.name = name
        self.arguments: dict[str, Any] = {}  # those that are not streamed, as they close
        self.open_value: FragmentAggregator | None = None  # the one of them that is open
        self.content: list[str] = []  # decoded content that waits for START
        self.content_length = 0
        self.raw: list[str] = []  # source text that no event has accounted for yet, and its fragments
        self.fragments: list[Fragment] = []
        self.field_path: Path = (spec.field,)
        self.live_path: Path | None = None  # the path object of the open field, while text can go straight through
        self.due: dict[str, Any] | None = None  # the metadata of START, known since START is due
        self.opened = False
        self.duplicate = False
        self.no_object = False  # the root is something else
        self.error: JsonError | None = None  # from text that was not parsed before
        self.started = False
        self.machine: JsonMachine | None = None  # for events that are not parsed yet
        self.stripping = None if spec.markers is None else stage(strip_markers(*spec.markers))
        self.held: list[AnySegmentEvent] = []
        """The events before START, to be emitted unchanged if the call does not fit a spec that is not strict.

        It stays empty if markers are removed from the content, because these events would contain them.
        """

    def new_part(self, name: str, _state: Any, /) -> FragmentAggregator | JsonMachine:
        return FragmentAggregator() if name == "open_value" else JsonMachine(self.limits)


class _StreamFields(CallFollower[_FieldCall]):
    def __init__(self, specs: dict[str, FieldSpec], limits: Limits, *, deferred: bool, ignore_case: bool) -> None:
        super().__init__(keep_segments=True)
        self._specs = {tool.casefold(): spec for tool, spec in specs.items()} if ignore_case else specs
        self._ignore_case = ignore_case
        self._deferred = deferred
        self._limits = limits

    def feed(self, event: SegmentInput) -> Sequence[Segment]:
        if type(event) is SegmentContent:
            call = self._calls.get((event.turn_id, event.segment_id))
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
        other: Any = event
        return (other,)

    def new_part(self, _name: str, state: Any, /) -> _FieldCall:
        spec = self._specs[self._tool(state["name"])]
        return _FieldCall(spec, self._limits, SegmentStart("", None), "")

    def _opened(self, start: SegmentStart) -> _FieldCall | None:
        metadata = start.metadata
        if start.segment_type != "tool_call" or metadata.get("executed_by") == "provider":
            return None
        name = metadata.get("tool_name", "")
        spec = self._specs.get(self._tool(name))
        return None if spec is None else _FieldCall(spec, self._limits, start, name)

    def _tool(self, name: str) -> str:
        return name.casefold() if self._ignore_case else name

    def _started(self, call: _FieldCall, start: SegmentStart) -> list[Segment]:
        events: list[Segment] = []
        self._take(call, start)
        if not self._deferred:
            self._give_start(call, {}, events)
        elif call.spec.required and not call.spec.strict and call.spec.markers is None:
            call.held.append(start)
        return events

    def _content(self, call: _FieldCall, event: SegmentContent) -> list[Segment]:
        text = self._take(call, event)
        events: list[Segment] = []
        if call.started:
            if text:
                self._give_content(call, text, events)
        else:
            if text:
                call.content.append(text)
            if call.held:
                call.held.append(event)
            if call.due is not None:
                self._give_start(call, call.due, events)
        straight = call.started and call.content_length > 0 and not (call.raw or call.duplicate or call.stripping)
        call.live_path = call.field_path if straight else None
        return events

    def _ended(self, call: _FieldCall, end: SegmentEnd) -> list[Segment]:
        text = self._take(call, end, ending=True)
        events: list[Segment] = []
        if call.held and call.due is None and end.status in ("complete", None):
            return [*call.held, end]
        if not call.started:
            if text:
                call.content.append(text)
            self._give_start(call, _known(call) if call.due is None else call.due, events)
        elif text:
            self._give_content(call, text, events)
        status, reason = end.status, end.reason
        metadata = {**call.metadata, **end.metadata}
        metadata.pop("arguments", None)  # the content, once more
        metadata |= _shown(call)
        if status in ("complete", None):
            status, reason, error = _verdict(call, reason)
            if error is not None:
                metadata["error"] = error
        raw, fragments = _taken(call)
        kind, pieces = call.segment_type, fragments or None
        events.append(
            SegmentEnd(call.segment_id, kind, status, reason, metadata, turn_id=end.turn_id, raw=raw, fragments=pieces)
        )
        return events

    def _give_start(self, call: _FieldCall, known: dict[str, Any], events: list[Segment]) -> None:
        call.started = True
        call.held.clear()
        metadata = {**call.metadata, **known}
        raw, fragments = _taken(call)
        kind, pieces = call.segment_type, fragments or None
        events.append(SegmentStart(call.segment_id, kind, metadata, turn_id=call.turn_id, raw=raw, fragments=pieces))
        if call.content:
            self._give_content(call, "".join(call.content), events)
            call.content.clear()

    def _give_content(self, call: _FieldCall, text: str, events: list[Segment]) -> None:
        raw, fragments = _taken(call)
        kind = call.segment_type
        events.append(SegmentContent(call.segment_id, kind, text, turn_id=call.turn_id, raw=raw, fragments=fragments))

    def _take(self, call: _FieldCall, event: AnySegmentEvent, *, ending: bool = False) -> str:
        """Process an event's source text and fragments; return the new text of the streamed field."""
        fragments: Iterable[Fragment] = event.fragments or ()
        raw = event.raw
        if event.fragments is None and type(event) is SegmentContent:
            raw = raw or event.delta
            fragments = self._parsed(call, raw)
        if raw:
            call.raw.append(raw)
        if call.stripping is not None:
            fragments = _stripped(call, call.stripping, fragments, ending=ending)
        pieces: list[str] = []
        for piece in fragments:
            call.fragments.append(piece)
            path = piece.path
            if not path:
                call.no_object = call.no_object or piece.value not in ("{", None)
            if not path or call.duplicate:
                continue
            if not (path == call.field_path and self._field(call, piece, pieces)):
                self._argument(call, piece)
            # At the very piece, and not at the end of its chunk: what START says must not depend on the cutting.
            if call.due is None and not call.started and self._is_due(call):
                call.due = _known(call)
        return "".join(pieces)

    def _is_due(self, call: _FieldCall) -> bool:
        required = call.spec.required
        known = all(name in call.arguments for name in required) if required else call.opened
        return known or call.content_length > self._limits.deferred_length

    def _field(self, call: _FieldCall, piece: Fragment, pieces: list[str]) -> bool:
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
        call.opened = True
        call.field_path = piece.path
        return bool(piece.value == '"')

    def _argument(self, call: _FieldCall, piece: Fragment) -> None:
        if call.open_value is None:
            call.open_value = FragmentAggregator()
        call.open_value.feed(piece)
        if piece.kind == "DONE" and len(piece.path) == 1:
            call.arguments[str(piece.path[0])] = call.open_value.value
            call.open_value = None

    def _parsed(self, call: _FieldCall, text: str) -> list[Fragment]:
        if call.machine is None:
            call.machine = JsonMachine(self._limits)
        items = call.machine.feed(text)
        call.error = call.machine.error
        return [item for item in items if isinstance(item, Fragment)]


def _known(call: _FieldCall) -> dict[str, Any]:
    """Return those arguments known so far that the spec lists as metadata."""
    names = call.spec.metadata
    return {name: call.arguments[name] for name in names if name in call.arguments and name not in RESERVED}


def _shown(call: _FieldCall) -> dict[str, Any]:
    """Return the arguments that were not streamed, as END metadata; those with reserved names one level down."""
    shown = {name: value for name, value in call.arguments.items() if name not in RESERVED}
    hidden = {name: value for name, value in call.arguments.items() if name in RESERVED}
    if call.opened and not call.content_length and call.spec.field not in call.arguments:
        hidden[call.spec.field] = ""  # an empty content has no CONTENT that would tell it from none
    return {**shown, "arguments": hidden} if hidden else shown


def _verdict(call: _FieldCall, reason: str | None) -> tuple[Status, str | None, dict[str, Any] | None]:
    """Return status, reason and error for a call whose segment ended as complete."""
    if call.machine is not None and call.error is None:
        call.error = next((item for item in call.machine.close() if isinstance(item, JsonError)), None)
    if call.error is not None:
        if call.error.reason == "truncated":
            return "truncated", None, error_detail(call.error)
        return "failed", call.error.reason, error_detail(call.error)
    if call.duplicate:
        return "failed", "duplicate_key", None
    if call.no_object:
        return "failed", "invalid", {"loc": [], "msg": "arguments must be an object", "type": "dict_type"}
    required = call.spec.required if call.spec.strict else ()
    for name in required:
        if name not in call.arguments:
            return "failed", "missing_path", {"loc": [name], "msg": "missing", "type": "missing"}
    return "complete", reason, None


def _taken(call: _FieldCall) -> tuple[str, tuple[Fragment, ...]]:
    taken = "".join(call.raw), tuple(call.fragments)
    call.raw.clear()
    call.fragments.clear()
    return taken


def _stripped(
    call: _FieldCall,
    stripping: StageChain[str, str],
    fragments: Iterable[Fragment],
    *,
    ending: bool,
) -> list[Fragment]:
    """Remove the markers from the field's fragments, so that they are not in the invocation either."""
    given: list[Fragment] = []
    for piece in fragments:
        if call.stripping is not None and piece.path == call.field_path and piece.kind in ("TEXT", "DONE"):
            texts = stripping.feed(piece.value) if piece.kind == "TEXT" else stripping.close()
            if piece.kind == "DONE":
                call.stripping = None
            if texts:
                given.append(Fragment(piece.path, "TEXT", "".join(texts), piece.at))
            if piece.kind == "TEXT":
                continue
        given.append(piece)
    if ending and call.stripping is not None and (rest := stripping.close()):
        given.append(Fragment(call.field_path, "TEXT", "".join(rest), 0))
    return given
