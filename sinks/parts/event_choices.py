"""`EventChoices`: which of n answers an event belongs to."""

from __future__ import annotations

from typing import Any

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import ProviderEvent
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import InvocationFailed, ToolCallStatus, ToolInvocation, ToolResult


class EventChoices:
    """Says of each event of a stream which of n answers it belongs to; pass every event, in order.

    Of a segment only its START says it; what says nothing belongs to the first answer.
    """

    def __init__(self) -> None:
        self._others: dict[tuple[str | None, str], int] = {}
        """The segments of every answer but the first."""

    def choice_of(self, event: Any) -> int:
        match event:
            case AnswerEnd(choice=choice) | ProviderEvent(choice=choice):
                return choice
            case SegmentStart(metadata={"choice": int(choice)}):
                self._others[event.turn_id, event.segment_id] = choice
                return choice
            case SegmentContent() | SegmentEnd():
                return self._others.get((event.turn_id, event.segment_id), 0)
            case ToolInvocation() | InvocationFailed() | ToolCallStatus() | ToolResult():
                return self._others.get((event.turn_id, event.id), 0)
            case _:
                return 0
