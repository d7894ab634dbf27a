"""How a segment ends when it does not end by itself."""

from __future__ import annotations

from typing import Any

from ...events.errors import ProviderError
from ...events.fragment import JsonError
from ...events.segment_event import SegmentEvent, Status
from ..engine.stage import Completed, Failed, How, Interrupted
from ..engine.state import Stateful

RESERVED = frozenset(("tool_name", "kind", "native", "executed_by", "error", "arguments", "mistyped")) | {
    "repeats",
    "duplicate_of",
}
"""Metadata keys that the library gives itself; an argument of such a name never stands beside them."""


_CANCELLED = frozenset(("cancelled", "canceled", "abort", "aborted"))
"""How providers say that somebody stopped the answer; in our words its finish reason is `other`."""


def end_status(how: How, finish: str | None = None, words: str | None = None) -> tuple[Status, str | None]:
    """Return the status and reason with which the end of a stream ends what is open.

    `finish` is the answer's finish reason, None where none came: then a completed stream was cut. `words` are the
    provider's for it.

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


def end_payload(status: Status, reason: str | None, metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Return the payload of an END: keys are absent when they have nothing to say."""
    payload: dict[str, Any] = {"status": status}
    if reason:
        payload["reason"] = reason
    if metadata:
        payload["metadata"] = metadata
    return payload


def error_detail(error: JsonError) -> dict[str, Any]:
    """Return what is wrong with a JSON text as END metadata, and later as `InvocationFailed.errors`."""
    return {"at": error.at, "expected": error.expected, "found": error.found, "path": list(error.path)}


class OpenSegments(Stateful):
    """The segments that passed and have not ended: for operators that pass segments of others on."""

    STATE = __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[tuple[str | None, str], str | None] = {}

    def note(self, event: SegmentEvent) -> None:
        """Note a START or an END that passes."""
        if event.type == "SEGMENT_START":
            self._open[event.turn_id, event.segment_id] = event.segment_type
        else:
            self._open.pop((event.turn_id, event.segment_id), None)

    def ends(self, how: How) -> list[SegmentEvent]:
        """Return the ENDs that did not come."""
        payload = end_payload(*end_status(how), None)
        ends = [
            SegmentEvent("SEGMENT_END", segment_id, segment_type, payload, turn_id)
            for (turn_id, segment_id), segment_type in self._open.items()
        ]
        self._open.clear()
        return ends
