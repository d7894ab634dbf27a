"""`RedactedSegment`: one open segment, whose text, source and fragments are redacted while they arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from ...events.segment_event import AnySegmentEvent, Fragment, SegmentContent, SegmentEnd, SegmentStart
from ..engine.lane import HoldingText, TextLane
from ..engine.limits import Limits
from ..engine.state import Stateful
from ..engine.withheld import Withheld, tail_of
from .call_fragments import JsonFragments, StringFragments, Text
from .escapes import ANY_ESCAPES
from .plain_data import OPENS_JSON, redacted_data, redacted_text
from .redacted_json import RedactedJson
from .redacted_text import RedactedText
from .rules import Rules

MAY_BE_REDACTED: Final = "it may become something that is redacted"
_BLANKS: Final = " \t\r\n"


def is_call(start: SegmentStart) -> bool:
    """Return whether a segment is a call: not an argument that streams beside its call, and no text."""
    metadata = start.metadata
    if start.segment_id.startswith(f"{metadata.get('call_id')}/"):
        return False
    return start.segment_type == "tool_call" or "tool_name" in metadata


class RedactedSegment(Stateful):
    """One open segment; pass each of its events once.

    Of prose, the text is redacted, and its source, which mostly is the same. Of a call, the source is, and the decoded
    content, if it has one; its fragments follow the source.
    """

    STATE = (
        "_content",
        "_fragments",
        "_has_begun",
        "_is_plain",
        "_late_fragments",
        "_late_raw",
        "_source",
        "is_prose",
        "name",
        "segment_id",
        "segment_type",
        "shown_id",
        "turn_id",
    )
    __slots__ = (*STATE, "_limits", "_rules", "plain_prose")

    def __init__(self, rules: Rules, limits: Limits, start: SegmentStart) -> None:
        metadata = start.metadata
        self._rules = rules
        self._limits = limits
        self.segment_id = start.segment_id
        self.shown_id = redacted_text(rules, start.segment_id) if "/" in start.segment_id else start.segment_id
        self.segment_type = start.segment_type
        self.turn_id = start.turn_id
        self.name: str = metadata.get("tool_name", "")
        self.is_prose = not is_call(start)
        is_free_form = metadata.get("kind") == "text"
        self.plain_prose: RedactedText | None = None
        """The content, if it is prose that is its source, in which no escapes are decoded."""
        self._has_begun = False
        """Whether anything but blanks came as content."""
        is_text = self.is_prose or self.is_field or is_free_form
        self._content: Text = RedactedText(rules) if is_text else RedactedJson(rules)
        """What is shown: prose, the source of a call, or one decoded argument."""
        self._source: Text | None = None
        """The source, where it is not the content."""
        self._fragments: JsonFragments | StringFragments | None = None
        self._is_plain = False
        """Whether the content is the source, after its beginning."""
        self._late_raw = ""
        """The source that goes on with the next event, because of the content that came with it all waits."""
        self._late_fragments: tuple[Fragment, ...] = ()
        if self.is_field:
            self._source = RedactedText(rules) if is_free_form else RedactedJson(rules)
        if not self.is_prose:
            # Markup around the arguments of a call in text comes first.
            is_json = not is_free_form and (self.is_field or not start.raw)
            self._fragments = JsonFragments(limits) if is_json else StringFragments(rules)

    @property
    def is_field(self) -> bool:
        """Whether the content is one argument, decoded."""
        return not self.is_prose and self.segment_type != "tool_call"

    def start(self, event: SegmentStart) -> SegmentStart:
        """Return the START."""
        came, fragments = event.raw, event.fragments
        gone = came
        if came:
            gone = self._of_source(came) if self._source is not None else redacted_text(self._rules, came)
        pieces = fragments if self._fragments is None else self._pieces(fragments, came, gone)
        metadata = redacted_data(self._rules, event.metadata)
        if gone == came and metadata is event.metadata and pieces is fragments and self.shown_id == event.segment_id:
            return event
        return replace(event, segment_id=self.shown_id, metadata=metadata, raw=gone, fragments=pieces)

    def content(self, event: SegmentContent) -> Sequence[AnySegmentEvent]:
        """Return what of a CONTENT is certain."""
        delta, came, fragments = event.delta, event.raw, event.fragments
        if self._is_plain and came == delta:
            said, kept = self._content.feed(delta), self._fragments
            if self.is_prose and isinstance(self._content, RedactedText):
                self.plain_prose = self._content if self._content.is_read_plainly else None
            if said == delta and (kept is None or kept.goes_by(fragments, delta)):
                return (event,)
        else:
            if self._source is None and came != delta and came:
                self._source = self._copy(self._content)
                self._is_plain = False
                self.plain_prose = None
            said = self._said(delta)
        gone = said if self._source is None else self._of_source(came)
        pieces = fragments
        if self._fragments is not None:
            pieces = self._pieces(fragments, delta if self._source is None else came, gone)
        if not came and self._source is None:
            gone = ""
        if self.is_field:
            gone, pieces = self._with_late(gone, pieces)
            if not said:
                self._late_raw, self._late_fragments = gone, pieces or ()
                return ()
        if said == delta and gone == came and (pieces is fragments or pieces == fragments):
            return (event,) if self.shown_id == event.segment_id else (replace(event, segment_id=self.shown_id),)
        if not (said or gone or pieces):
            return ()
        kind, turn_id = event.segment_type, event.turn_id
        return (SegmentContent(self.shown_id, kind, said, turn_id=turn_id, raw=gone, fragments=pieces),)

    def end(self, event: SegmentEnd) -> Sequence[AnySegmentEvent]:
        """Return what waited, and the END."""
        came, events = event.raw, list[AnySegmentEvent]()
        if came and self._source is None and not self.is_prose:
            self._source = self._copy(self._content)
        rest = self._content.close()
        gone = "" if self._source is None else self._of_source("" if self.is_prose else came) + self._source.close()
        if self.is_prose:
            gone += redacted_text(self._rules, came)
        late, pieces = self._with_late("", None)
        if rest:
            raw = late if self._source is not None else rest
            if self._fragments is not None and not self._fragments.has_none:
                pieces = (*(pieces or ()), *(self._pieces((), "", "" if self._source is not None else raw) or ()))
            events.append(
                SegmentContent(self.shown_id, self.segment_type, rest, turn_id=self.turn_id, raw=raw, fragments=pieces)
            )
        fragments, metadata = event.fragments, redacted_data(self._rules, event.metadata)
        match self._fragments:
            case JsonFragments() as of_json:
                is_cut = event.status not in ("complete", None)
                fragments = of_json.end(fragments, came, gone, is_edited=self._is_edited, is_cut=is_cut)
                if of_json.error is not None and "error" in metadata:
                    metadata = {**metadata, "error": {**metadata["error"], "at": of_json.error.at}}
            case StringFragments() as of_strings:
                fragments = of_strings.end(fragments)
            case None:
                pass
        if not rest:
            gone = late + gone
            fragments = (*pieces, *(fragments or ())) if pieces else fragments
        events.append(replace(event, segment_id=self.shown_id, metadata=metadata, raw=gone, fragments=fragments))
        return events

    def take_lane(self, lane: TextLane) -> bool:
        """Let text pass in which nothing may be a match; any other text leaves the lane."""
        kept, content = self._fragments, self._content
        if lane.path is None or lane.check is not None or not self._is_plain:
            return False
        if not isinstance(kept, JsonFragments) or kept.is_reading or not isinstance(content, RedactedJson):
            return False
        text = content.open_string
        if text is None:
            return False
        lane.check = _LaneCheck(content, text, kept, self._rules)
        return True

    def withheld(self) -> Sequence[Withheld]:
        """Return what waits."""
        text = self._content.waiting
        return (Withheld(tail_of((text,)), MAY_BE_REDACTED, (), self.segment_id),) if text else ()

    def load(self, state: Any, /) -> None:
        """Restore a dumped state, whose parts may be of other kinds than those here."""
        self.plain_prose = None
        self._content = self._source = self._fragments = None  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
        super().load(state)

    def new_part(self, name: str, state: Any, /) -> Any:
        if name == "_fragments":
            return StringFragments(self._rules) if "shift" in state else JsonFragments(self._limits)
        return RedactedJson(self._rules) if "_has_begun" in state else RedactedText(self._rules)

    @property
    def _is_edited(self) -> bool:
        return (self._content if self._source is None else self._source).is_edited

    def _said(self, delta: str) -> str:
        """Return what is certain of the content."""
        content = self._content
        if not self._has_begun and delta.lstrip(_BLANKS):
            self._has_begun = True
            self._is_plain = self._source is None and self.shown_id == self.segment_id
            if isinstance(content, RedactedText) and OPENS_JSON(delta) is not None:
                content.decode(ANY_ESCAPES)
        return content.feed(delta)

    def _of_source(self, came: str) -> str:
        return "" if self._source is None or not came else self._source.feed(came)

    def _with_late(self, gone: str, fragments: tuple[Fragment, ...] | None) -> tuple[str, tuple[Fragment, ...] | None]:
        """Return source and fragments behind those that are late."""
        if self._late_raw or self._late_fragments:
            gone, fragments = self._late_raw + gone, (*self._late_fragments, *(fragments or ()))
            self._late_raw, self._late_fragments = "", ()
        return gone, fragments

    def _copy(self, text: Text) -> Text:
        return text.copied() if isinstance(text, RedactedJson) else text.copied(ANY_ESCAPES)

    def _pieces(self, fragments: tuple[Fragment, ...] | None, came: str, gone: str) -> tuple[Fragment, ...] | None:
        """Return the fragments of an event, with the source that came with it, and that which goes on."""
        kept = self._fragments
        if isinstance(kept, JsonFragments):
            if fragments and kept.has_none and not kept.begins(fragments[0], came):
                kept = self._fragments = StringFragments(self._rules)
            else:
                source = self._content if self._source is None else self._source
                return kept.take(fragments, came, gone, is_edited=source.is_edited, waits=source)
        return fragments if kept is None else kept.take(fragments)


class _LaneCheck:
    """Lets the text of an open string pass in a lane, as far as nothing is redacted in it."""

    __slots__ = ("_before", "_fragments", "_json", "_reading", "_source", "_suspect", "_text")

    def __init__(self, json: RedactedJson, text: RedactedText, fragments: JsonFragments, rules: Rules) -> None:
        self._json = json
        self._text = text
        self._reading = text.reading
        self._suspect = rules.suspect
        self._before = rules.before
        self._fragments = fragments
        self._source = fragments.source

    def read(self, piece: Fragment, source: str, reader: HoldingText) -> tuple[()] | tuple[Fragment, str] | None:
        """Return what of the text goes on, as fragment and source; an empty tuple if all waits; None if it leaves."""
        text, decoded = self._text, piece.value
        if text.is_idle and not reader.pending and self._suspect is not None and self._suspect(decoded) is None:
            if len(decoded) >= self._before:
                self._reading.last = decoded
            else:
                self._reading.note(decoded)
            self._source.append(source)
            return piece, source
        if text.is_edited:
            return None
        begin, held, cut = piece.at, self._reading.held, reader.pending
        if decoded is source and not self._reading.cut:
            certain = gone = text.take(source)
        else:
            certain, gone = self._json.take_escaped(decoded, source, cut) or (None, None)
        if certain is None or gone is None:
            return None
        self._fragments.take_text(piece.path, gone, self._reading.held, cut, reader.at)
        if not gone:
            return ()
        return (
            piece if certain == decoded and not held else Fragment(piece.path, "TEXT", certain, begin - len(held))
        ), gone
