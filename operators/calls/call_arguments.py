"""`each_call`: run a machine for each call in a stream of segments; `CallArguments`: the arguments of one open call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from ...events.segment_event import AnySegmentEvent, Fragment, SegmentContent, SegmentEnd, SegmentStart
from ..engine.lane import TextLane
from ..engine.limits import DEFAULT_LIMITS, Limits
from ..engine.stage import Operator, lift
from ..engine.state import Stateful
from ..engine.withheld import Withheld, held_by
from ..machines.json_machine import JsonMachine
from .field_spec import FieldSpec, Specs, called_name, spec_by_type, told_arguments
from .open_segments import CallFollower, FollowedCall


class CallMachine(FollowedCall, Protocol):
    """The machine of one call: `start`, any number of `content`, then `end`, each with the segment's event."""

    def start(self, event: SegmentStart, /) -> Sequence[Any]: ...
    def content(self, event: SegmentContent, /) -> Sequence[Any]: ...
    def end(self, event: SegmentEnd, /) -> Sequence[Any]: ...
    def withheld(self, *, in_raw: bool) -> Sequence[Withheld]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...
    def take_lane(self, lane: TextLane, /) -> bool:
        """Add to a lane what makes the events of further text; return False while that is not all."""
        ...


NewCallMachine: TypeAlias = Callable[[SegmentStart, str, Specs, Limits], CallMachine]


def each_call(
    new_machine: NewCallMachine, *, keep_segments: bool, fields: Iterable[FieldSpec], limits: Limits
) -> Operator[Any, Any]:
    """Make an operator that runs a machine for each call.

    Calls that the provider runs itself are left out, as everywhere where calls are acted on. What is no segment event
    passes. With `keep_segments` the segment events pass too: what is made of one follows it, what is made of an END
    precedes it, so that an invocation still follows its END directly.
    """
    return lift(partial(_EachCall, new_machine, tuple(fields), limits, keep_segments=keep_segments))


class _EachCall(CallFollower[CallMachine]):
    def __init__(
        self, new_machine: NewCallMachine, fields: tuple[FieldSpec, ...], limits: Limits, *, keep_segments: bool
    ) -> None:
        super().__init__(keep_segments=keep_segments)
        self._new_machine = new_machine
        self._specs = spec_by_type(fields)
        self._limits = limits

    def feed(self, event: Any) -> Sequence[Any]:
        if type(event) is SegmentContent:
            machine = self._calls.get((event.turn_id, event.segment_id))
            made = () if machine is None else machine.content(event)
            return (event, *made) if self._keep else made
        if type(event) is SegmentStart or type(event) is SegmentEnd:
            return self._border(event)
        return (event,)

    def withheld(self) -> Sequence[Withheld]:
        found: list[Withheld] = []
        for call in self._calls.values():
            found += call.withheld(in_raw=self._keep)
        return found

    def take_lane(self, lane: TextLane) -> bool:
        """Let the event of the text pass if segments are kept, and add that of its call."""
        call = self._calls.get((lane.turn_id, lane.segment_id))
        if call is not None and not call.take_lane(lane):
            return False
        lane.is_heard = self._keep
        return True

    def new_part(self, _name: str, _state: Any, /) -> CallMachine:
        return self._new_machine(SegmentStart("", "tool_call"), "", self._specs, self._limits)

    def _opened(self, start: SegmentStart) -> CallMachine | None:
        name = called_name(start, self._specs)
        return None if name is None else self._new_machine(start, name, self._specs, self._limits)

    def _started(self, call: CallMachine, start: SegmentStart) -> Sequence[Any]:
        made = call.start(start)
        return (start, *made) if self._keep else made

    def _ended(self, call: CallMachine, end: SegmentEnd) -> Sequence[Any]:
        made = call.end(end)
        return (*made, end) if self._keep else made


_replace_infinities: Final = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*+")|Infinity').sub


class CallArguments(Stateful):
    """The arguments of one call; pass each event of its segment once, to `text` or to `fragments`.

    Events usually have the fragments that an earlier operator parsed. Events without them are parsed here, once: those
    of a call that arrived in one piece, and those read back from JSON. A field segment (`write_file` and the like) that
    was read back has lost its source text; its metadata and content are written as JSON again, which becomes its text.
    """

    STATE: ClassVar[tuple[str, ...]] = (
        "_content_open",
        "_field",
        "_free_form",
        "_given",
        "_length",
        "_machine",
        "_parsed",
        "_theirs",
        "_written",
        "name",
        "segment_id",
        "segment_type",
        "turn_id",
    )
    __slots__ = (*STATE, "_limits", "_specs")

    def __init__(self, start: SegmentStart, name: str, specs: Specs, limits: Limits = DEFAULT_LIMITS) -> None:
        metadata = start.metadata
        self.segment_id = start.segment_id
        self.turn_id = start.turn_id
        self.segment_type = start.segment_type
        self.name = name
        self._specs = specs
        self._limits = limits
        self._free_form = metadata.get("kind") == "text"
        spec = specs.get(start.segment_type or "")
        self._field: str = metadata.get("streamed", "" if spec is None else spec.field)
        """The argument that is the content of a field segment."""
        self._theirs = "tool_name" not in metadata
        """Whether the segment was read from JSON, where an argument may have another name."""
        self._given = False
        """Whether text or fragments have arrived."""
        self._parsed = False
        """Whether fragments have arrived, so that an earlier operator parses."""
        self._length = 0
        """Characters of the free-form text parsed here so far."""
        self._machine: JsonMachine | None = None
        self._written: dict[str, str] = {}
        """The arguments in the metadata as JSON texts, by name; the streamed argument is not among them."""
        self._content_open = False
        """Whether the string of the streamed argument is open in the JSON written here."""

    @property
    def _spec(self) -> FieldSpec | None:
        return self._specs.get(self.segment_type or "")

    def text(self, event: AnySegmentEvent) -> str:
        """Return the source text of arguments in an event, without the markup that may be around a call in text."""
        if self.segment_type == "tool_call":
            if type(event) is SegmentContent:
                self._given = True
                return event.delta
            return self._told(event)
        if event.fragments is not None or (event.raw and not isinstance(event, SegmentContent)):
            self._given = self._given or bool(event.raw or event.fragments)
            return event.raw
        return event.raw if self._given else self._written_anew(event)

    def fragments(self, event: AnySegmentEvent) -> Sequence[Fragment]:
        """Return the fragments of arguments in an event; the END reports errors of the text."""
        fragments = event.fragments
        ending = complete = False
        if type(event) is SegmentEnd:
            ending, complete = True, _is_complete(event)
            self.name = self.name or event.metadata.get("tool_name", "")
        if fragments is not None:
            self._given = self._given or bool(event.raw or fragments)
            self._parsed = self._parsed or bool(fragments)
            if self._free_form and ending and not complete:
                # A free-form text ends by the provider's word only; one that was cut has not ended.
                return [piece for piece in fragments if piece.kind != "DONE"]
            return fragments
        if self._free_form and self.segment_type == "tool_call":
            return self._free_form_pieces(event, complete=complete)
        text = "" if self._parsed else self._unparsed(event)
        if self._machine is None:
            if not text:
                return ()
            self._machine = JsonMachine(self._limits)
        items = [*self._machine.feed(text)]
        if ending:
            items += self._machine.close(cut=not complete)
        return [each for each in items if isinstance(each, Fragment)]

    def withheld(self, *, in_raw: bool) -> Sequence[Withheld]:
        """Return what is withheld here; `in_raw`: whether the events of the segments pass."""
        return held_by(self._machine, self.segment_id, in_raw=in_raw)

    def new_part(self, _name: str, _state: Any, /) -> JsonMachine:
        return JsonMachine(self._limits)

    def _unparsed(self, event: AnySegmentEvent) -> str:
        """Return the unparsed source text of an event without fragments."""
        if isinstance(event, SegmentContent) and self.segment_type == "tool_call":
            self._given = True
            return _source(event)
        text = self.text(event)
        # With text in a START or an END of its own, `stream_fields` found no pieces in it.
        return "" if self._given and self.segment_type != "tool_call" else text

    def _told(self, event: SegmentStart | SegmentEnd) -> str:
        """Return arguments that are only in the metadata, as JSON text."""
        arguments = event.metadata.get("arguments")
        if self._given or self._free_form or not arguments:
            return ""
        self._given = True
        return as_json(arguments)

    def _free_form_pieces(self, event: AnySegmentEvent, *, complete: bool) -> Sequence[Fragment]:
        """Return the fragments of a free-form text, as the argument `input`."""
        pieces: list[Fragment] = []
        text = _source(event) if isinstance(event, SegmentContent) else ""
        if (text or complete) and not self._given:
            self._given = True
            pieces += (Fragment((), "OPEN", "{"), Fragment(("input",), "OPEN", '"'))
        if text:
            pieces.append(Fragment(("input",), "TEXT", text, self._length))
            self._length += len(text)
        if complete:
            pieces += (Fragment(("input",), "DONE", None, self._length), Fragment((), "DONE", None, self._length))
        return pieces

    def _written_anew(self, event: AnySegmentEvent) -> str:
        """Return the arguments in a field segment's event as the next piece of their JSON."""
        if self._spec is None:
            return ""
        pieces: list[str] = []
        if isinstance(event, SegmentContent):
            if not self._content_open:
                pieces.append(f'{self._before_entry()}{as_json(self._field)}: "')
                self._content_open = True
            pieces.append(as_json(_source(event))[1:-1])
            return "".join(pieces)
        complete = _is_complete(event)
        if self._content_open and not complete:
            return ""  # the content may be incomplete
        begun = self._content_open or bool(self._written)
        if self._content_open:
            pieces.append('"')
        for name, value in self._arguments(event.metadata).items():
            written = as_json(value)
            if self._written.get(name) != written and not (self._content_open and name == self._field):
                pieces.append(f"{self._before_entry()}{as_json(name)}: {written}")
                self._written[name] = written
                begun = True
        return "".join((*pieces, "}" if complete and begun else ""))

    def _before_entry(self) -> str:
        return ", " if self._written or self._content_open else "{"

    def _arguments(self, metadata: dict[str, Any]) -> dict[str, Any]:
        has_other_names = self._theirs and "tool_name" not in metadata
        return told_arguments(metadata, self._spec if has_other_names else None)


def _is_complete(event: AnySegmentEvent) -> bool:
    return isinstance(event, SegmentEnd) and event.status in ("complete", None)


def _source(event: SegmentContent) -> str:
    """Return the source text of a CONTENT without fragments: its `raw` if it has one, else its delta."""
    return event.raw or event.delta


def as_json(value: Any) -> str:
    """Return a value as JSON text; numbers beyond all floats stay numbers."""
    text = json.dumps(value, ensure_ascii=False)
    # A number beyond all floats came as digits; Python writes a word that is not JSON.
    return _replace_infinities(lambda match: match["string"] or "1e999", text) if "Infinity" in text else text
