"""`UnexplainedText`: the text that a stage withholds, found from outside, for stages that do not say it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...events.segment_event import SegmentContent, SegmentEnd
from ..engine.withheld import Withheld, tail_of

REASON = "this operator does not say why"


class UnexplainedText:
    """What came in as text and has not come out, of each segment.

    It is known only while what comes out is the text that came in. Of a stage that changes the text nothing is told.
    """

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: dict[str | None, str | None] = {}
        """The text by its open segment; the text of a bare str by None. The value None: the stage changed it."""

    def passed(self, items: Iterable[Any], outputs: Iterable[Any]) -> tuple[Withheld, ...]:
        """Note what a stage was given and what it returned; return what it withholds."""
        pending = self._pending
        for item in items:
            segment_id, text = _text_of(item)
            if text and (before := pending.get(segment_id, "")) is not None:
                pending[segment_id] = before + text
        for output in outputs:
            segment_id, text = _text_of(output)
            if text:
                before = pending.get(segment_id)
                pending[segment_id] = before[len(text) :] if before and before.startswith(text) else None
            elif isinstance(output, SegmentEnd):
                pending.pop(output.segment_id, None)
        return tuple(Withheld(tail_of((text,)), REASON, (), segment_id) for segment_id, text in pending.items() if text)


def _text_of(item: Any) -> tuple[str | None, str]:
    if isinstance(item, str):
        return None, item
    return (item.segment_id, item.raw or item.delta) if isinstance(item, SegmentContent) else (None, "")
