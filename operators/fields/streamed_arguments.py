"""Follow one call with several streamed arguments: each becomes a segment beside that of the call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...events.fragment import Fragment, JsonError, Path
from ...events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentStart, Status
from ..calls.field_spec import FieldSpec
from ..engine.limits import Limits
from ..engine.state import Stateful
from ..engine.withheld import Withheld, held_by
from ..machines.fragment_aggregator import FragmentAggregator
from ..machines.json_machine import JsonMachine
from ..machines.path_tree import PathNode, following


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
    """Never set: in `stream_fields` the text of such a call does not go straight through."""

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
