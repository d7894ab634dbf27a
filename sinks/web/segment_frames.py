"""Our own protocols: `segments`, which sends every event, and `tool_call_updates`, which sends calls as updates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import ToolCallUpdate
from ...operators.calls.open_segments import OpenSegments, end_status
from ...operators.engine.stage import Failed, How, stage
from ...operators.tool_call_updates import tool_call_updates

STREAM_END: Final = {"type": "STREAM_END"}


class Segments:
    """Sends every event unchanged."""

    def __init__(self) -> None:
        self._open = OpenSegments()

    def feed(self, event: Any) -> Iterator[Any]:
        yield event
        # Only now, since a START that could not be written is not ended either.
        if isinstance(event, SegmentStart | SegmentEnd):
            self._open.note(event)

    def close(self, how: How, error: Mapping[str, Any]) -> list[Any]:
        return [*self._open.ends(how), terminal(how, error)]


class ToolCallUpdates:
    """Sends updates of calls in place of their segments; other events pass.

    If the stream has updates of its own, each call is sent from the source that mentions it first.
    """

    def __init__(self, *, message_id: str | None = None) -> None:
        self._message_id = message_id
        self._open = OpenSegments()
        self._updates = stage(tool_call_updates(message_id=message_id))
        self._passing: set[tuple[str | None, str]] = set()
        self._ours: set[str] = set()
        """The ids of the calls whose updates are made here."""
        self._theirs: dict[str, ToolCallUpdate] = {}
        """The last update received for each other call."""

    def feed(self, event: Any) -> list[Any]:
        if isinstance(event, ToolCallUpdate):
            return self._came(event)
        made = self._updates.feed(event)
        if not isinstance(event, SegmentStart | SegmentContent | SegmentEnd):
            return made
        identity = (event.turn_id, event.segment_id)
        if isinstance(event, SegmentStart):
            if all(update.is_complete for update in made):
                self._passing.add(identity)
            elif event.segment_id not in self._theirs:
                self._ours.add(event.segment_id)
        events = self._our_own(made)
        if identity in self._passing:
            events.append(event)
            if not isinstance(event, SegmentContent):
                self._open.note(event)
        if isinstance(event, SegmentEnd):
            self._passing.discard(identity)
        return events

    def close(self, how: How, error: Mapping[str, Any]) -> list[Any]:
        status, _ = end_status(how)
        ends = [
            replace(update, arguments="", is_complete=True, status=status)
            for update in self._theirs.values()
            if not update.is_complete
        ]
        made = self._our_own([*self._updates.last_words, *self._updates.close(how)])
        return [*made, *ends, *self._open.ends(how), terminal(how, error)]

    def _came(self, update: ToolCallUpdate) -> list[Any]:
        if update.tool_call_id in self._ours:
            return []
        if self._message_id is not None:
            update = replace(update, message_id=self._message_id)
        self._theirs[update.tool_call_id] = update
        return [update]

    def _our_own(self, updates: Iterable[ToolCallUpdate]) -> list[Any]:
        return [update for update in updates if update.tool_call_id not in self._theirs]


def terminal(how: How, error: Mapping[str, Any]) -> dict[str, Any]:
    """Return the last object of a stream."""
    return {"type": "STREAM_ERROR", "error": dict(error)} if isinstance(how, Failed) else STREAM_END
