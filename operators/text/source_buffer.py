"""The buffer of one text, and the call that is open in it: every character goes into the `raw` of exactly one event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ...events.segment_event import Fragment, JsonError, SegmentContent, SegmentEnd, SegmentStart, Status
from ..calls.answer_segments import SegmentOutput
from ..calls.open_segments import error_detail
from ..engine.state import Stateful
from ..schemas.value_typing import Typed, value_fragments


class SourceBuffer(Stateful):
    """The text being read, and earlier text not emitted yet; every character goes into the `raw` of exactly one event.

    - `buffer`: the text being read; `position`: of the next character in it; `offset`: of the buffer in the whole text.
    - `since`: the position in the buffer of the first character that is in no event's `raw`; `loose`: pieces of such
      text from before the buffer.
    - `before`: such text that goes into the next event's `raw`, whatever the current block turns out to be.
    - `wait`: text at the end that is held until the next text decides what it is.
    - `events`: the list to which events are appended.
    """

    STATE = ("before", "offset", "wait")
    PIECES = ("loose",)
    __slots__ = (*STATE, *PIECES, "buffer", "events", "position", "since")

    def __init__(self) -> None:
        self.buffer = ""
        self.position = 0
        self.offset = 0
        self.since = 0
        self.loose: list[str] = []
        self.before = ""
        self.wait = ""
        self.events: list[SegmentOutput] = []

    @property
    def here(self) -> int:
        """The offset of the next character in the whole text."""
        return self.offset + self.position

    @property
    def rest(self) -> str:
        """The text that has not been read."""
        return self.buffer[self.position :]

    def open(self, text: str, events: list[SegmentOutput]) -> None:
        """Begin to read a text, with the held text before it."""
        self.buffer = self.wait + text
        self.wait = ""
        self.position = self.since = 0
        self.events = events

    def put_away(self) -> None:
        """Keep the part of the buffer that is in no event's `raw`, and empty the buffer."""
        end = len(self.buffer) - len(self.wait)
        if self.since < end:
            self.loose.append(self.buffer[self.since : end])
        self.offset += end
        self.buffer = ""
        self.position = self.since = 0

    def take(self, upto: int) -> str:
        """Return the text up to a position in the buffer, as the next event's `raw`."""
        if not self.loose and upto >= self.since:
            raw = self.buffer[self.since : upto]
            self.since = upto
        else:
            raw = self._taken(upto)
        if self.before:
            raw = self.before + raw
            self.before = ""
        return raw

    def wait_from(self, position: int) -> None:
        """Hold the buffer from a position on until the next text arrives."""
        self.position = position
        self.wait = self.buffer[position:]

    def unread(self, length: int) -> None:
        """Go back by some characters, which are in no event's `raw`."""
        index = self.position - length
        if index < self.since:
            raw = self._taken(self.position)
            self.offset += self.position - len(raw)
            self.buffer = raw + self.buffer[self.position :]
            self.since = 0
            index = len(raw) - length
        self.position = index

    def _taken(self, upto: int) -> str:
        if upto < self.since:
            # It ends in what came before this buffer.
            loose = "".join(self.loose)
            length = len(loose) - (self.since - upto)
            self.loose[:] = [loose[length:]]
            return loose[:length]
        raw = self.buffer[self.since : upto]
        self.since = upto
        if self.loose:
            raw = "".join(self.loose) + raw
            self.loose.clear()
        return raw


class TextCall(Struct):
    """The state of an open call, and the text collected for its next CONTENT."""

    name: str = ""
    segment_id: str = ""
    turn_id: str | None = None
    start: int = 0
    """The offset of the call's first character in the text."""
    from_json: bool = False
    """Whether the arguments are JSON or code, which contains its own opening and closing."""
    error: JsonError | None = None
    doom: JsonError | None = None
    """An error that is told at the end, because what follows it still belongs to the call."""
    keys: list[str] = []
    """The names of the arguments so far."""
    inside: list[str] = []
    """Those of the tool's arguments that calls in its values have."""
    undeclared: str | None = None
    """The first of them that the tool's schema does not have."""
    has_markers: bool = False
    """Whether markers of the format are in values."""
    closed: bool = False
    """Whether the arguments have ended by themselves, as JSON does at its closing bracket."""
    repaired: bool = False
    """Whether a sign of the arguments was missing or wrong, and what it means is certain."""
    mistyped: list[str] = []
    """The names of arguments that stayed text because it does not fit their type."""
    raws: list[str] = []
    texts: list[str] = []
    fragments: list[Fragment] = []

    def begin(
        self, raw: str, events: list[SegmentOutput], fragments: tuple[Fragment, ...] | None, choice: int = 0
    ) -> None:
        """Emit the START."""
        metadata: dict[str, Any] = {"tool_name": self.name}
        if choice:
            metadata["choice"] = choice
        events.append(
            SegmentStart(self.segment_id, "tool_call", metadata, turn_id=self.turn_id, raw=raw, fragments=fragments)
        )

    def emit(self, raw: str, text: str, fragments: Sequence[Fragment]) -> None:
        """Add source text, content and fragments to the next CONTENT."""
        if raw:
            self.raws.append(raw)
        if text:
            self.texts.append(text)
        self.fragments += fragments

    def typed(self, key: str, typed: Typed, at: int) -> list[Fragment]:
        """Return the fragments of a whole argument; record its name if its text did not fit the type."""
        if typed.flagged and key not in self.mistyped:
            self.mistyped.append(key)
        return value_fragments(typed.value, (key,), at)

    def flush(self, events: list[SegmentOutput]) -> None:
        """Emit the collected content as one CONTENT."""
        if self.raws or self.texts or self.fragments:
            text, raw, pieces = "".join(self.texts), "".join(self.raws), tuple(self.fragments)
            events.append(
                SegmentContent(self.segment_id, "tool_call", text, turn_id=self.turn_id, raw=raw, fragments=pieces)
            )
            self.raws, self.texts, self.fragments = [], [], []

    def end(
        self, raw: str, events: list[SegmentOutput], status: Status, reason: str | None, at: int, dialect: str = ""
    ) -> None:
        """Emit the END at this offset; an error in the text takes precedence over the end of the stream."""
        metadata: dict[str, Any] = {"tool_name": self.name}
        if dialect:
            metadata["dialect"] = dialect
        if self.mistyped:
            metadata["mistyped"] = list(self.mistyped)
        if self.repaired:
            metadata["repaired"] = True
        if self.has_markers and self.undeclared is not None:
            self.doom = self.doom or JsonError("malformed", 0, "an argument of the tool", self.undeclared)
        if self.inside and (lacking := next((key for key in self.inside if key not in self.keys), None)):
            self.doom = self.doom or JsonError("malformed", 0, "the argument that a call in a value has", lacking)
        self.error = self.error or self.doom
        if self.error is not None:
            metadata["error"] = error_detail(self.error)
            status, reason = "failed", self.error.reason
        fragments: tuple[Fragment, ...] | None = None
        if not self.from_json and status == "complete":
            fragments = (Fragment((), "DONE", None, at),)
        self.flush(events)
        end = SegmentEnd(
            self.segment_id,
            "tool_call",
            status,
            None if status == "complete" else reason,
            metadata,
            turn_id=self.turn_id,
            raw=raw,
            fragments=fragments,
        )
        events.append(end)
