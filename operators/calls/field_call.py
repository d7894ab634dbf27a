"""`FieldCall`: one call of a tool with one streamed argument; `StreamedArguments`: one call with several.

The one argument is the content of the call's own segment; each of several becomes a segment beside that of the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...events.segment_event import (
    AnySegmentEvent,
    Fragment,
    JsonError,
    Path,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    Status,
)
from ..engine.limits import Limits
from ..engine.stage import StageChain
from ..engine.state import EMPTY, Stateful
from ..engine.withheld import Withheld, held_by, tail_of
from ..machines.json_machine import JsonMachine
from ..machines.json_values import FragmentAggregator, PathNode, following
from .field_spec import RESERVED, FieldSpec
from .open_segments import error_detail


class StreamedArguments(Stateful):
    """The arguments of one call that stream; its own events pass unchanged and account for its text.

        call         --S--C {"edits": [{"new": "a----C b"}]}--------------E--
        arguments    --------S c/edits/0/new, C a----C b, E c/edits/0/new----

    - `spec`: its paths, and the other top-level arguments to show; `root`: its paths as a tree.
    - `duplicate`: whether a key on the way to a streamed argument was repeated, or one that was shown, after which
      nothing more streams.
    """

    STATE = (
        "_choice",
        "_error",
        "_id",
        "_known",
        "_machine",
        "_open",
        "_seen",
        "_shown",
        "_skipped",
        "_steps",
        "_value",
        "duplicate",
        "is_free_form",
        "name",
        "segment_id",
        "turn_id",
    )
    __slots__ = (*STATE, "_limits", "_nodes", "_root", "spec")
    segment_type = "tool_call"
    live_path: Path | None = None
    """Never set: in `stream_fields` the text of such a call has no lane."""

    def __init__(self, spec: FieldSpec, root: PathNode, limits: Limits, start: SegmentStart, name: str) -> None:
        self.spec = spec
        self.segment_id = start.segment_id
        self.turn_id = start.turn_id
        self.name = name
        self.is_free_form = start.metadata.get("kind") == "text"
        self._choice: int = start.metadata.get("choice", 0)
        self.duplicate = False
        self._root = root
        self._limits = limits
        self._open: Path | None = None
        """The path of the argument that is being streamed."""
        self._id = ""
        """The id of its segment."""
        self._steps: list[str | int | None] = []
        """The steps to the open containers that lead to streamed arguments; None is the root."""
        self._nodes: list[tuple[PathNode, ...]] = []
        """The part of the tree that each of these containers stands for."""
        self._seen: list[set[str]] = []
        """The keys in each of them that lead on."""
        self._skipped = -1
        """The depth of the open value that does not stream; -1 if there is none."""
        self._known: dict[str, Any] = {}
        """The arguments to be shown, as far as they have closed."""
        self._shown: set[str] = set()
        """Those that an event had."""
        self._value: FragmentAggregator | None = None
        """The one of them that is open."""
        self._machine: JsonMachine | None = None
        """The machine for events that are not parsed yet."""
        self._error: JsonError | None = None

    def take(self, event: AnySegmentEvent) -> list[AnySegmentEvent]:
        """Return the events of the arguments that an event of the call makes certain."""
        fragments: Iterable[Fragment] = event.fragments or ()
        if event.fragments is None and type(event) is SegmentContent and not self.is_free_form:
            fragments = self._parsed(event.raw or event.delta)
        events: list[AnySegmentEvent] = []
        for piece in fragments:
            if self.duplicate:
                break
            if self._open is not None:
                if piece.kind == "TEXT":
                    events.append(self._content(piece.value))
                else:
                    events.append(self._end(self._open, "complete", None))
            elif self._skipped >= 0:
                self._skip(piece)
            elif piece.kind == "DONE":
                self._steps.pop()
                self._nodes.pop()
                self._seen.pop()
            else:
                self._begin(piece, events)
        return events

    def cut(self, status: Status | None, reason: str | None) -> list[AnySegmentEvent]:
        """Return the END of an argument that is still open when its call ends."""
        if self._open is None:
            return []
        if status in ("complete", None):  # of a text that nobody had parsed
            status, reason = "truncated", None
            if self._error is not None and self._error.reason != "truncated":
                status, reason = "failed", self._error.reason
        return [self._end(self._open, status, reason)]

    def withheld(self) -> Sequence[Withheld]:
        return held_by(self._machine, self.segment_id, in_raw=True)

    def load(self, state: Any, /) -> None:
        super().load(state)
        self._nodes = []
        for step in self._steps:
            self._nodes.append((self._root,) if step is None else following(self._nodes[-1], step))

    def new_part(self, name: str, _state: Any, /) -> FragmentAggregator | JsonMachine:
        return FragmentAggregator() if name == "_value" else JsonMachine(self._limits)

    def _begin(self, piece: Fragment, events: list[AnySegmentEvent]) -> None:
        path = piece.path
        step = path[-1] if path else None
        nodes = (self._root,) if step is None else following(self._nodes[-1], step)
        if nodes and isinstance(step, str):
            if step in self._seen[-1]:
                self.duplicate = True
                return
            self._seen[-1].add(step)
        elif len(path) == 1 and step in self._shown:  # what was shown is what runs
            self.duplicate = True
            return
        if piece.kind == "OPEN" and piece.value == '"' and any(node.chosen for node in nodes):
            events.append(self._start(path))
        elif piece.kind == "OPEN" and piece.value != '"' and any(node.following for node in nodes):
            self._steps.append(step)
            self._nodes.append(nodes)
            self._seen.append(set())
        else:
            self._skipped = len(path)
            if len(path) == 1 and step in self.spec.metadata:
                self._value = FragmentAggregator()
                self._value.feed(piece)

    def _skip(self, piece: Fragment) -> None:
        if self._value is not None:
            self._value.feed(piece)
        if piece.kind == "DONE" and len(piece.path) == self._skipped:
            self._skipped = -1
            if self._value is not None:
                self._known[str(piece.path[0])] = self._value.value
                self._value = None

    def _start(self, path: Path) -> SegmentStart:
        self._open = path
        self._id = _argument_id(self.segment_id, path)
        metadata = self._metadata(path)
        if self._known:
            metadata["arguments"] = dict(self._known)
            self._shown.update(self._known)
        return SegmentStart(self._id, self.spec.segment_type, metadata, turn_id=self.turn_id, fragments=())

    def _content(self, text: str) -> SegmentContent:
        return SegmentContent(self._id, self.spec.segment_type, text, turn_id=self.turn_id, fragments=())

    def _end(self, path: Path, status: Status | None, reason: str | None) -> SegmentEnd:
        self._open = None
        kind, metadata = self.spec.segment_type, self._metadata(path)
        return SegmentEnd(self._id, kind, status, reason, metadata, turn_id=self.turn_id, fragments=())

    def _metadata(self, path: Path) -> dict[str, Any]:
        of_choice = {"choice": self._choice} if self._choice else {}
        return {**of_choice, "call_id": self.segment_id, "tool_name": self.name, "path": list(path)}

    def _parsed(self, text: str) -> list[Fragment]:
        if self._machine is None:
            self._machine = JsonMachine(self._limits)
        items = self._machine.feed(text)
        self._error = self._machine.error
        return [item for item in items if isinstance(item, Fragment)]


def _argument_id(call_id: str, path: Path) -> str:
    """Return the id of an argument's segment; in keys, `~` and `/` are escaped as in a JSON Pointer."""
    return "/".join((call_id, *(str(step).replace("~", "~0").replace("/", "~1") for step in path)))


class FieldCall(Stateful, Struct, gc=False, eq=False):
    """One call of a tool with a spec: its arguments so far, and the text that is not emitted yet."""

    STATE = (
        "arguments",
        "chosen",
        "content",
        "content_length",
        "due",
        "duplicate",
        "error",
        "fragments",
        "free_form_length",
        "held",
        "is_late",
        "is_text",
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
    specs: tuple[FieldSpec, ...]
    limits: Limits
    segment_id: str
    turn_id: str | None
    metadata: dict[str, Any]
    name: str
    stripping: StageChain[str, str] | None
    chosen: int = -1
    """The place of the spec that the call takes; -1 while several may fit."""
    spec: FieldSpec = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType] - `choose` sets it
    segment_type: str = ""
    field_path: Path = ()
    arguments: dict[str, Any] = {}  # those that are not streamed, as they close; msgspec gives each instance its own
    open_value: FragmentAggregator | None = None  # the one of them that is open
    content: str = ""  # decoded content that waits for START
    content_length: int = 0
    raw: list[str] = EMPTY  # source text that no event has accounted for yet, and its fragments
    fragments: list[Fragment] = EMPTY
    live_path: Path | None = None  # the path object of the open field, while its text can have a lane
    due: dict[str, Any] | None = None  # the metadata of START, known since START is due
    opened: bool = False  # the field
    is_text: bool = False  # the field is a string
    duplicate: bool = False
    no_object: bool = False  # the root is something else
    error: JsonError | None = None  # from text that was not parsed before
    started: bool = False
    machine: JsonMachine | None = None  # for events that are not parsed yet
    free_form_length: int = 0  # of text without fragments
    is_late: bool = False  # no field has come within the limit
    held: list[AnySegmentEvent] = EMPTY
    """The events before START, to be emitted unchanged if the call does not fit a spec that is not strict.

    It stays empty if markers are removed from the content, because these events would contain them.
    """

    def __post_init__(self) -> None:
        self.choose(0 if len(self.specs) == 1 else -1)

    @property
    def needs_field(self) -> bool:
        """Whether the call is only taken for one of this spec when its field has opened."""
        return not self.spec.strict and self.spec.field in self.spec.required

    def choose(self, place: int) -> None:
        """Take one of the specs; with -1 none yet."""
        self.chosen = place
        self.spec = self.specs[max(place, 0)]
        self.segment_type = self.spec.segment_type
        self.field_path: Path = (self.spec.field,) if place >= 0 else (-1,)

    def withheld(self) -> Sequence[Withheld]:
        """Return the source text that no event has yet; else what is withheld of text that has gone on."""
        if self.raw:
            text = tail_of(self.raw)
            return (Withheld(text, self._reason(), (), self.segment_id),) if text else ()
        if self.stripping is None and self.machine is None:
            return ()
        stripping = () if self.stripping is None else self.stripping.withheld()
        of_markers = [replace(each, segment_id=self.segment_id, in_raw=True) for each in stripping]
        return [*of_markers, *held_by(self.machine, self.segment_id, in_raw=True)]

    def _reason(self) -> str:
        if self.started:
            return "arguments that are not streamed go on with the next event"
        field = self.spec.field
        missing = [name for name in self.spec.required if name not in self.arguments and name != field]
        return f"the START waits for {' and '.join(missing) or field}"

    def load(self, state: Any, /) -> None:
        super().load(state)
        self.choose(self.chosen)

    def new_part(self, name: str, _state: Any, /) -> FragmentAggregator | JsonMachine:
        return FragmentAggregator() if name == "open_value" else JsonMachine(self.limits)


def is_due(call: FieldCall, spec: FieldSpec) -> bool:
    """Return whether all has come that START waits for with this spec."""
    for name in spec.required:
        if not (call.is_text if name == spec.field else name in call.arguments):
            return False
    return bool(spec.required) or call.opened


def free_form_pieces(call: FieldCall, event: AnySegmentEvent) -> tuple[str, list[Fragment]]:
    """Return the text of a free-form call that nobody has parsed, and its fragments as the argument `input`."""
    raw, pieces = event.raw, list[Fragment]()
    at, path = call.free_form_length, ("input",)
    if type(event) is SegmentContent:
        raw = raw or event.delta
        if raw:
            pieces += () if at else (Fragment((), "OPEN", "{"), Fragment(path, "OPEN", '"'))
            pieces.append(Fragment(path, "TEXT", raw, at))
            call.free_form_length += len(raw)
    elif type(event) is SegmentEnd and at and event.status in ("complete", None):
        pieces += Fragment(path, "DONE", None, at), Fragment((), "DONE", None, at)
    return raw, pieces


def known_metadata(call: FieldCall) -> dict[str, Any]:
    """Return those arguments known so far that the spec lists as metadata."""
    names = call.spec.metadata
    return {name: call.arguments[name] for name in names if name in call.arguments and name not in RESERVED}


def shown_arguments(call: FieldCall) -> dict[str, Any]:
    """Return the arguments that were not streamed, as END metadata; those with reserved names one level down."""
    shown, hidden = call.arguments, dict[str, Any]()
    if not RESERVED.isdisjoint(shown):
        hidden = {name: value for name, value in shown.items() if name in RESERVED}
        shown = {name: value for name, value in shown.items() if name not in RESERVED}
    if call.opened and not call.content_length and call.spec.field not in call.arguments:
        hidden[call.spec.field] = ""  # an empty content has no CONTENT that would tell it from none
    return {**shown, "arguments": hidden} if hidden else shown


def verdict(call: FieldCall, reason: str | None) -> tuple[Status, str | None, dict[str, Any] | None]:
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
        if name not in call.arguments and not (name == call.spec.field and call.is_text):
            return "failed", "missing_path", {"loc": [name], "msg": "missing", "type": "missing"}
    return "complete", reason, None


def taken(call: FieldCall) -> tuple[str, tuple[Fragment, ...]]:
    """Return the source text and the fragments that no event has accounted for, which the next event now does."""
    pieces = "".join(call.raw), tuple(call.fragments)
    call.raw = call.fragments = EMPTY
    return pieces


def stripped(
    call: FieldCall,
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
