"""Status and reason of segments that are open at the end of the stream."""

from __future__ import annotations

from typing import Any

from ...events.errors import ProviderError
from ...events.fragment import JsonError
from ...events.segment_event import SegmentEnd, SegmentStart, Status
from ..engine.stage import Completed, Failed, How, Interrupted
from ..engine.state import Stateful

_REGULAR = frozenset(("stop", "tool_calls"))
_CANCELLED = frozenset(("cancelled", "canceled", "abort", "aborted"))
"""The providers' words for a cancelled answer; our finish reason is `other`."""


def end_status(how: How, finish: str | None = None, words: str | None = None) -> tuple[Status, str | None]:
    """Return the status and reason for segments that are open at the end of a stream.

    `finish` is the answer's finish reason; None if there was none, so that even a completed stream counts as cut.
    `words` is the finish reason as the provider wrote it.

    >>> end_status(Completed(), "stop"), end_status(Completed()), end_status(Interrupted("Ctrl-C"))
    (('complete', None), ('truncated', None), ('interrupted', 'Ctrl-C'))
    """
    match how:
        case Failed(error):
            if isinstance(error, ProviderError) and not error.transport:
                return "failed", "provider_error"
            return "interrupted", None
        case Interrupted(reason):
            return "interrupted", reason or None
        case Completed():
            if finish is None:
                return "truncated", None
            if finish == "error":
                return "failed", "provider_error"
            if finish == "other" and words is not None and words.lower() in _CANCELLED:
                return "interrupted", words
            return ("truncated", finish) if finish in ("length", "content_filter") else ("complete", None)


def ended_regularly(how: How, finish: str | None) -> bool:
    """Return whether the model ended its answer itself, so that nothing of it is missing."""
    return isinstance(how, Completed) and finish in _REGULAR


def error_detail(error: JsonError) -> dict[str, Any]:
    """Return what is wrong with a JSON text as END metadata, and later as `InvocationFailed.errors`."""
    return {"at": error.at, "expected": error.expected, "found": error.found, "path": list(error.path)}


class OpenSegments(Stateful):
    """The segments that passed and have not ended, for operators that pass on segments made by others."""

    STATE = __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[tuple[str | None, str], str | None] = {}

    def note(self, event: SegmentStart | SegmentEnd) -> None:
        """Record a START or an END that passes."""
        if type(event) is SegmentStart:
            self._open[event.turn_id, event.segment_id] = event.segment_type
        else:
            self._open.pop((event.turn_id, event.segment_id), None)

    def ends(self, how: How) -> list[SegmentEnd]:
        """Return an END for each segment that has none."""
        status, reason = end_status(how)
        ends = [
            SegmentEnd(segment_id, segment_type, status, reason, turn_id=turn_id)
            for (turn_id, segment_id), segment_type in self._open.items()
        ]
        self._open.clear()
        return ends
