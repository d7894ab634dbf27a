"""One call found in text: its events, with every character of its source in exactly one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...events.fragment import Fragment, JsonError
from ...events.segment_event import SegmentEvent, Status
from ..calls.answer_segments import Segment
from ..calls.segment_end import end_payload, error_detail
from ..engine.state import Stateful
from ..schemas.value_typing import Typed, value_fragments


class TextCall(Stateful):
    """What is known of an open call, and what of it the next CONTENT says."""

    STATE = ("closed", "error", "from_json", "mistyped", "name", "opened", "segment_id", "start", "turn_id")
    __slots__ = (*STATE, "fragments", "raws", "texts")

    def __init__(self, name: str, segment_id: str, turn_id: str | None, start: int) -> None:
        self.name = name
        self.segment_id = segment_id
        self.turn_id = turn_id
        self.start = start
        """Offset in the text of the call's first character."""
        self.error: JsonError | None = None
        self.opened = False
        """Whether the arguments have begun."""
        self.closed = False
        """Whether they have ended by themselves."""
        self.from_json = False
        """Whether they are JSON, which says itself where it opens and closes."""
        self.mistyped: list[str] = []
        """Arguments whose text is no value of their type, and was kept."""
        self.raws: list[str] = []
        self.texts: list[str] = []
        self.fragments: list[Fragment] = []

    def begin(self, raw: str, events: list[Segment], fragments: tuple[Fragment, ...] | None) -> None:
        """Return the START."""
        metadata: dict[str, Any] = {"tool_name": self.name}
        payload = {"metadata": metadata}
        events.append(
            SegmentEvent("SEGMENT_START", self.segment_id, "tool_call", payload, self.turn_id, raw, fragments)
        )

    def say(self, raw: str, text: str, fragments: Sequence[Fragment]) -> None:
        """Put something into the next CONTENT."""
        if raw:
            self.raws.append(raw)
        if text:
            self.texts.append(text)
        self.fragments += fragments

    def typed(self, key: str, typed: Typed, at: int) -> list[Fragment]:
        """Return a whole argument as its fragments, noting whether it has its type."""
        if typed.flagged and key not in self.mistyped:
            self.mistyped.append(key)
        return value_fragments(typed.value, (key,), at)

    def flush(self, events: list[Segment]) -> None:
        """Return what has been said as one CONTENT."""
        if self.raws or self.texts or self.fragments:
            payload = {"delta": "".join(self.texts)}
            raw, fragments = "".join(self.raws), tuple(self.fragments)
            events.append(
                SegmentEvent("SEGMENT_CONTENT", self.segment_id, "tool_call", payload, self.turn_id, raw, fragments)
            )
            self.raws.clear()
            self.texts.clear()
            self.fragments.clear()

    def end(self, raw: str, events: list[Segment], status: Status, reason: str | None, at: int) -> None:
        """Return the END at this offset; what is wrong with the text outweighs what happened to the stream."""
        metadata: dict[str, Any] = {"tool_name": self.name}
        if self.mistyped:
            metadata["mistyped"] = list(self.mistyped)
        if self.error is not None:
            metadata["error"] = error_detail(self.error)
            status, reason = "failed", self.error.reason
        fragments: tuple[Fragment, ...] | None = None
        if not self.from_json and status == "complete":
            fragments = (Fragment((), "DONE", None, at),)
        self.flush(events)
        payload = end_payload(status, None if status == "complete" else reason, metadata)
        events.append(SegmentEvent("SEGMENT_END", self.segment_id, "tool_call", payload, self.turn_id, raw, fragments))
