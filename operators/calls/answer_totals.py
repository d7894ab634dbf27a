"""What is known of a whole response, and the `AnswerEnd` of each of its answers."""

from __future__ import annotations

from ...events.answer_end import AnswerEnd, AnswerStatus
from ...events.chunk_response import ChunkResponse, TokenUsage
from ...events.errors import error_fields
from ..engine.stage import Completed, Failed, How
from ..engine.state import Stateful
from ..engine.turn_ids import TurnIds
from .answer_segments import AnswerSegments


class AnswerTotals(Stateful):
    """The usage and the model of a response, in total so far; all its answers share them."""

    STATE = ("model", "usage")
    __slots__ = STATE

    def __init__(self) -> None:
        self.usage: TokenUsage | None = None
        self.model: str | None = None

    def take(self, chunk: ChunkResponse) -> None:
        """Record the usage and the model of a chunk, if it has them."""
        if chunk.usage is not None:
            self.usage = chunk.usage
        if chunk.model:
            self.model = chunk.model

    def end_of(self, answer: AnswerSegments, how: How, finish: str | None, ids: TurnIds) -> AnswerEnd:
        """Return the end of an answer; `finish` is its finish reason, or `stop` for plain text."""
        status: AnswerStatus = answer.end_of(how, finish)[0]
        if finish == "pause" and isinstance(how, Completed):
            status = "paused"
        return AnswerEnd(
            ids.fixed(),
            answer.number,
            status,
            answer.finish,
            answer.finish_words,
            self.usage,
            self.model,
            ids.response_id,
            answer.error or (error_fields(how.error) if isinstance(how, Failed) else None),
            answer.api,
            answer.message,
        )
