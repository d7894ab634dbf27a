"""One open call of a stream of segments: its name, the source text of its arguments, and their fragments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...events.fragment import Fragment
from ...events.segment_event import SegmentEvent
from ..engine.limits import DEFAULT_LIMITS, Limits
from ..engine.state import Stateful
from ..machines.json_machine import JsonMachine
from .field_spec import FieldSpec
from .segment_end import RESERVED

_replace_infinities: Final = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*+")|Infinity').sub

Specs = Mapping[str, FieldSpec]
"""By segment type."""


class CallArguments(Stateful):
    """Ask it about each event of the call's segment once: for its `text`, or for its `fragments`.

    Whoever parsed the arguments left fragments in the events; the others are parsed here, once: a call that came in
    one piece, or events read back from JSON. Of a field segment read back (`write_file` and the like) the source text
    is gone: its metadata and its content are written as JSON anew, and that is its text.
    """

    STATE = (
        "_content_open",
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

    def __init__(self, event: SegmentEvent, name: str, specs: Specs, limits: Limits = DEFAULT_LIMITS) -> None:
        metadata = event.payload.get("metadata", {})
        self.segment_id = event.segment_id
        self.turn_id = event.turn_id
        self.segment_type = event.segment_type
        self.name = name
        self._specs = specs
        self._limits = limits
        self._free_form = metadata.get("kind") == "text"
        self._theirs = "tool_name" not in metadata
        """Somebody else's segment, where an argument may have another name."""
        self._given = False
        """Whether text or fragments have come."""
        self._parsed = False
        """Whether fragments have come: then somebody else parses, and nothing is parsed here."""
        self._length = 0
        """Of a free-form text parsed here, in characters."""
        self._machine: JsonMachine | None = None
        self._written: dict[str, str] = {}
        """The arguments written anew, each as JSON; the streamed one is not among them."""
        self._content_open = False
        """The streamed one's string."""

    @classmethod
    def opened(cls, start: SegmentEvent, specs: Specs, limits: Limits = DEFAULT_LIMITS) -> CallArguments | None:
        """Return the call that a START opens; None for other segments, and for calls that the provider runs itself."""
        metadata = start.payload.get("metadata", {})
        spec = specs.get(start.segment_type or "")
        name = metadata.get("tool_name")
        if (name is None and spec is None and start.segment_type != "tool_call") or (
            metadata.get("executed_by") == "provider"
        ):
            return None
        if name is None:
            name = "" if spec is None else spec.tool
        return cls(start, name, specs, limits)

    @property
    def _spec(self) -> FieldSpec | None:
        return self._specs.get(self.segment_type or "")

    def text(self, event: SegmentEvent) -> str:
        """Return the source text of arguments in an event, without the markup that may be around a call in text."""
        if self.segment_type == "tool_call":
            if event.type == "SEGMENT_CONTENT":
                self._given = True
                return str(event.payload["delta"])
            return self._told(event)
        if event.fragments is not None or (event.raw and event.type != "SEGMENT_CONTENT"):
            self._given = self._given or bool(event.raw or event.fragments)
            return event.raw
        return event.raw if self._given else self._written_anew(event)

    def fragments(self, event: SegmentEvent) -> Sequence[Fragment]:
        """Return the fragments of arguments in an event; what is wrong with the text is for the END to say."""
        fragments = event.fragments
        ending = event.type == "SEGMENT_END"
        complete = ending and event.payload.get("status", "complete") == "complete"
        if ending:
            self.name = self.name or event.payload.get("metadata", {}).get("tool_name", "")
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

    def new_part(self, _name: str, _state: Any, /) -> JsonMachine:
        return JsonMachine(self._limits)

    def _unparsed(self, event: SegmentEvent) -> str:
        """Return the source text in an event without fragments, as far as nobody has parsed it."""
        if event.type == "SEGMENT_CONTENT" and self.segment_type == "tool_call":
            self._given = True
            return _source(event)
        text = self.text(event)
        # With text in a START or an END of its own, `stream_fields` found no pieces in it.
        return "" if self._given and self.segment_type != "tool_call" else text

    def _told(self, event: SegmentEvent) -> str:
        """Return arguments that stand in the metadata only, as others write them."""
        arguments = event.payload.get("metadata", {}).get("arguments")
        if self._given or self._free_form or not arguments:
            return ""
        self._given = True
        return _as_json(arguments)

    def _free_form_pieces(self, event: SegmentEvent, *, complete: bool) -> Sequence[Fragment]:
        """Return a free-form text as the one argument `input`, as everywhere."""
        pieces: list[Fragment] = []
        text = _source(event) if event.type == "SEGMENT_CONTENT" else ""
        if (text or complete) and not self._given:
            self._given = True
            pieces += (Fragment((), "OPEN", "{"), Fragment(("input",), "OPEN", '"'))
        if text:
            pieces.append(Fragment(("input",), "TEXT", text, self._length))
            self._length += len(text)
        if complete:
            pieces += (Fragment(("input",), "DONE", None, self._length), Fragment((), "DONE", None, self._length))
        return pieces

    def _written_anew(self, event: SegmentEvent) -> str:
        """Write what a field segment says of its arguments as the next piece of their JSON."""
        if self._spec is None:
            return ""
        pieces: list[str] = []
        if event.type == "SEGMENT_CONTENT":
            if not self._content_open:
                pieces.append(f'{self._before_entry()}{_as_json(self._spec.field)}: "')
                self._content_open = True
            pieces.append(_as_json(_source(event))[1:-1])
            return "".join(pieces)
        complete = event.type == "SEGMENT_END" and event.payload.get("status", "complete") == "complete"
        if self._content_open and not complete:
            return ""  # who knows whether the content was whole
        begun = self._content_open or bool(self._written)
        if self._content_open:
            pieces.append('"')
        for name, value in self._arguments(event.payload.get("metadata", {})).items():
            written = _as_json(value)
            if self._written.get(name) != written and not (self._content_open and name == self._spec.field):
                pieces.append(f"{self._before_entry()}{_as_json(name)}: {written}")
                self._written[name] = written
                begun = True
        return "".join((*pieces, "}" if complete and begun else ""))

    def _before_entry(self) -> str:
        return ", " if self._written or self._content_open else "{"

    def _arguments(self, metadata: dict[str, Any]) -> dict[str, Any]:
        aliases: dict[str, str] = {}
        if self._spec is not None and self._theirs and "tool_name" not in metadata:
            aliases = dict(self._spec.aliases)
        arguments = {aliases.get(key, key): value for key, value in metadata.items() if key not in RESERVED}
        more = metadata.get("arguments")
        return arguments | more if isinstance(more, dict) else arguments


def _source(event: SegmentEvent) -> str:
    """Return the source text of a CONTENT without fragments: its delta, unless that was changed for showing."""
    return event.raw or str(event.payload["delta"])


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # A number beyond all floats came as digits; Python writes a word that is not JSON.
    return _replace_infinities(lambda match: match["string"] or "1e999", text) if "Infinity" in text else text
