"""`finish_of`: our finish reason for the last event of an answer."""

from __future__ import annotations

from ....events.answer_end import AnswerEnd
from ....events.chunk_response import FinishReason


def finish_of(end: AnswerEnd | None) -> FinishReason | None:
    """Return why an answer ended; None for one that was broken off without a word of its provider.

    >>> finish_of(AnswerEnd(finish_reason="length", status="truncated")), finish_of(AnswerEnd(status="interrupted"))
    ('length', None)

    Plain text has no word for its end: if it is complete, it stopped.
    """
    if end is None or (end.finish_reason in (None, "other") and end.status not in ("complete", "paused")):
        return None
    return end.finish_reason or "stop"
