"""`stream_fields`: calls of named tools as segments of their own type, whose content is one decoded argument."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal, TypeAlias, cast

from ..events.errors import UsageError
from ..events.fragment import Fragment, JsonError, Path
from ..events.segment_event import SegmentEvent
from ..events.tool_invocation import Notice
from .calls.field_spec import FILE_TOOLS, FieldSpec
from .calls.segment_end import RESERVED, OpenSegments, end_payload, end_status, error_detail
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import How, Operator, StageChain, lift, stage
from .engine.state import Stateful
from .machines.fragment_aggregator import FragmentAggregator
from .machines.json_machine import JsonMachine
from .strip_markers import strip_markers

Segment: TypeAlias = SegmentEvent | Notice


@public_operator
def stream_fields(
    specs: Iterable[FieldSpec] = FILE_TOOLS,
    *,
    start: Literal["deferred", "immediate"] = "deferred",
    ignore_case: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[Segment, Segment]:
    r"""Turn calls of named tools into segments of their own type that stream one decoded argument.

        tool_call segment   --S--C {"path": "a.py", "con--C tent": "x--C = 1\n"}--E--|
        stream_fields       -----S write_file a.py--------C x----------C = 1⏎-----E--|

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import drive, to_segments
    >>> call = ToolCallDelta(0, "call_1", "write_file", '{"path": "a.py", "content": "x = 1')
    >>> for event in drive([ChunkResponse(tool_calls=(call,))], to_segments(), stream_fields()):
    ...     print(event.type, event.segment_type, event.payload)
    SEGMENT_START write_file {'metadata': {'tool_name': 'write_file', 'path': 'a.py'}}
    SEGMENT_CONTENT write_file {'delta': 'x = 1'}
    SEGMENT_END write_file {'status': 'truncated', 'metadata': {...}}

    All other segments pass unchanged, and so does a call without the arguments that its spec requires, unless the spec
    is strict. Every argument, streamed or not, still reaches `to_invocations`; the END's
    metadata has those that were not streamed. A streamed key that is repeated fails its call (`duplicate_key`).

    - `specs`: the tools; `FILE_TOOLS` are write_file, edit_file, patch_file and run_bash; `()` turns it off.
    - `start`: `deferred`: START waits for the spec's required metadata, or where there are none for the field to
      open, at most until `limits.deferred_length` characters of content are waiting. `immediate`: START follows the
      call's at once, what was not known then is in the END's metadata.
    - `ignore_case`: of the tools' names, for models that write them by hand; the call keeps what was written.
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
            message = f"two specs for the tool {spec.tool!r}"
            raise UsageError(message)
        by_tool[spec.tool] = spec
    return lift(partial(_StreamFields, by_tool, limits, deferred=start == "deferred", ignore_case=ignore_case))


class _FieldCall(Stateful):
    """One call of a tool with a spec: what is known of its arguments and what has not been given out yet."""

    STATE = (
        "tool",
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

    def __init__(
        self, spec: FieldSpec, limits: Limits, segment_id: str, turn_id: str | None, metadata: dict[str, Any]
    ) -> None:
        self.spec = spec
        self.tool = spec.tool
        self.limits = limits
        self.segment_type = spec.segment_type
        self.segment_id = segment_id
        self.turn_id = turn_id
        self.metadata = metadata
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
        self.error: JsonError | None = None  # of text that nobody had parsed before
        self.started = False
        self.machine: JsonMachine | None = None  # for events that nobody has parsed yet
        self.stripping = None if spec.markers is None else stage(strip_markers(*spec.markers))
        self.held: list[SegmentEvent] = []
        """What came before START, in case that the call does not fit a spec that is not strict.

        Nothing where sentinels are taken out of the content: as it is, it would have them.
        """

    def new_part(self, name: str, _state: Any, /) -> FragmentAggregator | JsonMachine:
        return FragmentAggregator() if name == "open_value" else JsonMachine(self.limits)


class _StreamFields(Stateful):
    STATE = ("_calls", "_others")

    def __init__(self, specs: dict[str, FieldSpec], limits: Limits, *, deferred: bool, ignore_case: bool) -> None:
        self._specs = {tool.casefold(): spec for tool, spec in specs.items()} if ignore_case else specs
        self._ignore_case = ignore_case
        self._deferred = deferred
        self._limits = limits
        self._calls: dict[tuple[str | None, str], _FieldCall] = {}
        self._others = OpenSegments()

    def feed(self, event: Segment) -> Iterable[Segment]:
        if type(event) is not SegmentEvent:
            return (event,)
        if event.type == "SEGMENT_CONTENT":
            call = self._calls.get((event.turn_id, event.segment_id))
            if call is None:
                return (event,)
            fragments = event.fragments
            if fragments is not None and len(fragments) == 1:
                piece = fragments[0]
                if piece.path is call.live_path and piece.kind == "TEXT":
                    return (
                        SegmentEvent(
                            "SEGMENT_CONTENT",
                            event.segment_id,
                            call.segment_type,
                            {"delta": piece.value},
                            event.turn_id,
                            event.raw,
                            fragments,
                        ),
                    )
            return self._content(call, event)
        if event.type == "SEGMENT_START":
            metadata = event.payload.get("metadata", {})
            name = metadata.get("tool_name", "")
            spec = self._specs.get(self._tool(name))
            if spec is not None and event.segment_type == "tool_call" and metadata.get("executed_by") != "provider":
                return self._start(spec, event)
        elif (event.turn_id, event.segment_id) in self._calls:
            return self._end(self._calls.pop((event.turn_id, event.segment_id)), event)
        self._others.note(event)
        return (event,)

    def close(self, how: How) -> Iterable[Segment]:
        events: list[Segment] = list(self._others.ends(how))
        for call in self._calls.values():
            payload = end_payload(*end_status(how), call.metadata)
            end = SegmentEvent("SEGMENT_END", call.segment_id, "tool_call", payload, call.turn_id)
            events += self._end(call, end)
        self._calls.clear()
        return events

    def _tool(self, name: str) -> str:
        return name.casefold() if self._ignore_case else name

    def _start(self, spec: FieldSpec, event: SegmentEvent) -> list[Segment]:
        call = _FieldCall(spec, self._limits, event.segment_id, event.turn_id, event.payload["metadata"])
        self._calls[event.turn_id, event.segment_id] = call
        events: list[Segment] = []
        self._take(call, event)
        if not self._deferred:
            self._give_start(call, {}, events)
        elif spec.required and not spec.strict and spec.markers is None:
            call.held.append(event)
        return events

    def _content(self, call: _FieldCall, event: SegmentEvent) -> list[Segment]:
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

    def _end(self, call: _FieldCall, event: SegmentEvent) -> list[Segment]:
        text = self._take(call, event, ending=True)
        events: list[Segment] = []
        if call.held and call.due is None and event.payload.get("status", "complete") == "complete":
            return [*call.held, event]
        if not call.started:
            if text:
                call.content.append(text)
            self._give_start(call, _known(call) if call.due is None else call.due, events)
        elif text:
            self._give_content(call, text, events)
        payload = event.payload
        status, reason = payload.get("status", "complete"), payload.get("reason")
        metadata = {**call.metadata, **payload.get("metadata", {})}
        metadata.pop("arguments", None)  # the content, once more
        metadata |= _shown(call)
        if status == "complete" and call.machine is not None:
            for item in () if call.error else call.machine.close():
                if isinstance(item, JsonError):
                    call.error = item
        if call.error is not None and status == "complete":
            status, reason = ("truncated", None) if call.error.reason == "truncated" else ("failed", call.error.reason)
            metadata["error"] = error_detail(call.error)
        if call.duplicate and status == "complete":
            status, reason = "failed", "duplicate_key"
        if call.no_object and status == "complete":
            status, reason = "failed", "invalid"
            metadata["error"] = {"loc": [], "msg": "arguments must be an object", "type": "dict_type"}
        required = call.spec.required if call.spec.strict else ()
        missing = next((name for name in required if name not in call.arguments), None)
        if missing is not None and status == "complete":
            status, reason = "failed", "missing_path"
            metadata["error"] = {"loc": [missing], "msg": "missing", "type": "missing"}
        raw, fragments = _taken(call)
        kind, payload = call.segment_type, end_payload(status, reason, metadata)
        events.append(
            SegmentEvent("SEGMENT_END", call.segment_id, kind, payload, event.turn_id, raw, fragments or None)
        )
        return events

    def _give_start(self, call: _FieldCall, known: dict[str, Any], events: list[Segment]) -> None:
        call.started = True
        call.held.clear()
        payload = {"metadata": {**call.metadata, **known}}
        raw, fragments = _taken(call)
        kind = call.segment_type
        events.append(
            SegmentEvent("SEGMENT_START", call.segment_id, kind, payload, call.turn_id, raw, fragments or None)
        )
        if call.content:
            self._give_content(call, "".join(call.content), events)
            call.content.clear()

    def _give_content(self, call: _FieldCall, text: str, events: list[Segment]) -> None:
        raw, fragments = _taken(call)
        kind = call.segment_type
        events.append(
            SegmentEvent("SEGMENT_CONTENT", call.segment_id, kind, {"delta": text}, call.turn_id, raw, fragments)
        )

    def _take(self, call: _FieldCall, event: SegmentEvent, *, ending: bool = False) -> str:
        """Take in an event's source text and fragments; give the new text of the streamed field."""
        fragments: Iterable[Fragment] = event.fragments or ()
        raw = event.raw
        if event.fragments is None and event.type == "SEGMENT_CONTENT":
            raw = raw or event.payload["delta"]
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
        """Take in a piece of the field itself; False where the field is no string and so an argument as any other."""
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

    def new_part(self, _name: str, state: Any, /) -> _FieldCall:
        return _FieldCall(self._specs[self._tool(state["tool"])], self._limits, "", None, {})


def _known(call: _FieldCall) -> dict[str, Any]:
    """Return the spec's metadata as far as it is known."""
    names = call.spec.metadata
    return {name: call.arguments[name] for name in names if name in call.arguments and name not in RESERVED}


def _shown(call: _FieldCall) -> dict[str, Any]:
    """Return the arguments that were not streamed, as END metadata; those with names of ours one level down."""
    shown = {name: value for name, value in call.arguments.items() if name not in RESERVED}
    hidden = {name: value for name, value in call.arguments.items() if name in RESERVED}
    if call.opened and not call.content_length and call.spec.field not in call.arguments:
        hidden[call.spec.field] = ""  # an empty content has no CONTENT that would tell it from none
    return {**shown, "arguments": hidden} if hidden else shown


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
    """Take the sentinels out of the field's fragments, so that the invocation does not have them either."""
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
