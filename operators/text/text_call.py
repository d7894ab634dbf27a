"""One call found in text: its events, with every character of its source in exactly one event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ...events.fragment import Fragment, JsonError
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart, Status
from ..calls.answer_segments import Segment
from ..calls.segment_end import error_detail
from ..schemas.value_typing import Typed, value_fragments


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
    undeclared: str | None = None
    """The first of them that the tool's schema does not have."""
    has_markers: bool = False
    """Whether markers of the format are in values."""
    closed: bool = False
    """Whether the arguments have ended by themselves, as JSON does at its closing bracket."""
    mistyped: list[str] = []
    """The names of arguments that stayed text because it does not fit their type."""
    raws: list[str] = []
    texts: list[str] = []
    fragments: list[Fragment] = []

    def begin(self, raw: str, events: list[Segment], fragments: tuple[Fragment, ...] | None, choice: int = 0) -> None:
        """Emit the START."""
        metadata: dict[str, Any] = {"tool_name": self.name}
        if choice:
            metadata["choice"] = choice
        events.append(
            SegmentStart(self.segment_id, "tool_call", metadata, turn_id=self.turn_id, raw=raw, fragments=fragments)
        )

    def say(self, raw: str, text: str, fragments: Sequence[Fragment]) -> None:
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

    def flush(self, events: list[Segment]) -> None:
        """Emit the collected content as one CONTENT."""
        if self.raws or self.texts or self.fragments:
            text, raw, pieces = "".join(self.texts), "".join(self.raws), tuple(self.fragments)
            events.append(
                SegmentContent(self.segment_id, "tool_call", text, turn_id=self.turn_id, raw=raw, fragments=pieces)
            )
            self.raws, self.texts, self.fragments = [], [], []

    def end(self, raw: str, events: list[Segment], status: Status, reason: str | None, at: int) -> None:
        """Emit the END at this offset; an error in the text takes precedence over the end of the stream."""
        metadata: dict[str, Any] = {"tool_name": self.name}
        if self.mistyped:
            metadata["mistyped"] = list(self.mistyped)
        if self.has_markers and self.undeclared is not None:
            self.doom = self.doom or JsonError("malformed", 0, "an argument of the tool", self.undeclared)
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
