"""The answers of one response: chunks go in, the segments of each answer come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...events.answer_end import AnswerEnd, AnswerStatus
from ...events.chunk_response import ChunkResponse, TokenUsage, ToolCallDelta
from ...events.errors import error_fields
from ...events.segment_event import SegmentContent
from ..engine.lane import Lane, TakesLanes
from ..engine.stage import Completed, Failed, How, StageChain
from ..engine.state import Stateful
from ..engine.turn_ids import TurnIds
from ..engine.withheld import Withheld
from ..machines.json_values import FragmentAggregator, GrowingText
from ..machines.native_readers import install
from .answer_segments import PIECES_AT_ONCE, AnswerSegments, SegmentOutput
from .native_call import CallLane, NativeCall, open_lane

NewAnswer: TypeAlias = Callable[[int, TurnIds], AnswerSegments]
"""Returns the segments of one of n answers, by its number."""


class ResponseAnswers(Stateful):
    """The answers of one response, and what they share: the ids, the usage and the model.

    `takes_text`: whether texts may come instead of chunks; then all answers must have a reader of text.
    """

    STATE = ("ids", "_answers", "_model", "_text_only", "_usage")
    __slots__ = (*STATE, "_answer", "_lanes", "_last_index", "_new_answer", "_reader", "_takers", "_takes_text", "lane")

    def __init__(self, turn_id: str | None, new_answer: NewAnswer, *, takes_text: bool = False) -> None:
        self.ids = TurnIds(turn_id)
        self._new_answer = new_answer
        self._answer = new_answer(0, self.ids)
        """The answer of the last chunk."""
        self._answers: dict[int, AnswerSegments] = {0: self._answer}
        self._reader = self._answer.text_reader
        self._takes_text = self._text_only = takes_text
        """Whether nothing but plain text came, whose completion is a regular end."""
        self._usage: TokenUsage | None = None
        self._model: str | None = None
        self.lane: Lane | None = None
        """The lane of the next chunk, if it may have nothing but more text for an open string of a call."""
        self._takers: Sequence[TakesLanes] | None = None
        """The stages behind; None where no chain asks for a lane."""
        self._lanes: dict[int, Lane] = {}
        """By call the lanes that were opened since a chunk had none."""
        self._last_index = -1
        """The call of the last chunk for which a lane was found."""

    def feed(self, item: str | ChunkResponse) -> Sequence[SegmentOutput]:
        reader = self._reader
        if reader is not None:
            text = item if isinstance(item, str) else self._only_content(item)
            plain = reader.plain
            if plain is not None and text:
                search, segment_id, kind, turn_id, watched = plain
                if search(text) is None and (watched is None or len(watched) < PIECES_AT_ONCE):
                    if watched is not None:
                        watched.append(text)
                    return (SegmentContent(segment_id, kind, text, turn_id=turn_id, raw=text),)
            lane = reader.lane
            if lane is not None and text and (given := lane(text)) is not None:
                return given
            if isinstance(item, str) or (text and self.lane is None and self._answer.number == 0):
                given = list[SegmentOutput]()
                reader.feed(text, given)
                return given
            self._text_only = False
        if self.lane is not None:
            self.lane = None
            self._lanes.clear()
        chunk: Any = item
        answer, ids = self._answer, self.ids
        if chunk.choice != answer.number:
            answer = self._answer_of(chunk.choice)
        if chunk.response_id is not ids.response_id and chunk.response_id:
            ids.response_id = chunk.response_id
        if chunk.usage is not None:
            self._usage = chunk.usage
        if chunk.model is not self._model and chunk.model:
            self._model = chunk.model
        events: list[SegmentOutput] = []
        answer.feed(chunk, events)
        if chunk.tool_calls and self._takers is not None:
            self.lane = ResponseAnswers.find_lane
        return events

    def offer_lanes(self, takers: Sequence[TakesLanes]) -> bool:
        """From now on have a lane for chunks with nothing but more text for an open string of a call."""
        if self._takes_text or not self._answer.has_lanes:
            return False
        self._takers = takers
        return True

    def close(self, how: How) -> Sequence[SegmentOutput]:
        events: list[SegmentOutput] = []
        for answer in self._answers.values():
            finish = "stop" if self._text_only else answer.finish
            answer.close(how, finish, events)
            if answer.has_begun:
                events.append(self._end_of(answer, how, finish))
        if not events:  # an empty answer ends, too
            events.append(self._end_of(self._answers[0], how, "stop" if self._text_only else None))
        return events

    def withheld(self) -> list[Withheld]:
        found: list[Withheld] = []
        for number in self._answers:
            answer = self._answers[number]
            for reader in (answer.reasoning_reader, answer.text_reader):
                if reader is not None:
                    found += reader.withheld()
            if answer.calls.open or answer.calls.waiting:
                answer.calls.add_withheld(found)
        return found

    def dump(self) -> Any:
        return {**super().dump(), "answer": self._answer.number}

    def load(self, state: Any, /) -> None:
        super().load(state)
        self._answer = self._answers[state["answer"]]
        self._reader = self._answers[0].text_reader
        self.lane = None
        self._lanes.clear()

    def new_part(self, _name: str, state: Any, /) -> AnswerSegments:
        return self._new_answer(state["number"], self.ids)

    def _only_content(self, chunk: ChunkResponse) -> str:
        """Return a chunk's content if it has nothing else and is from the first answer."""
        if (
            chunk.reasoning
            or chunk.tool_calls
            or chunk.finish_reason
            or chunk.is_complete
            or chunk.choice
            or chunk.native
            or chunk.refusal
            or chunk.image_urls
            or chunk.audio_urls
            or chunk.video_urls
            or chunk.usage is not None
            or chunk.model is not self._model
            or (chunk.response_id and chunk.response_id != self.ids.response_id)
            or chunk.provider_events
            or chunk.raw
            or chunk.error is not None
            or chunk.message is not None
            or chunk.interrupted is not None
            or chunk.notices
        ):
            return ""
        self._text_only = False
        return chunk.content

    def find_lane(self, chunk: ChunkResponse) -> list[Any] | None:
        """Run the lane of a chunk's call, which opens with its first chunk."""
        deltas = chunk.tool_calls
        if not deltas:
            return None
        index = deltas[0].index
        lane = self._lanes.get(index)
        if lane is None:
            call = self._answer.calls.open.get(index)
            if call is None or (call.goes_straight is not None and not call.is_offered):
                return None
            lane = self._opened_lane(call, chunk)
            if lane is None:
                return None
            self._lanes[index] = lane
        # Calls that come in turns would leave a lane of their own with each chunk.
        self.lane = lane if index == self._last_index else ResponseAnswers.find_lane
        self._last_index = index
        return lane(self, chunk)

    def _opened_lane(self, call: NativeCall, chunk: ChunkResponse) -> Lane | None:
        """Return the lane of the chunk's call, if nothing in the chunk is new for the whole response."""
        ids = self.ids
        if self._takers is None or chunk.choice != self._answer.number:
            return None
        if chunk.response_id not in (None, "", ids.response_id) or chunk.model not in (None, "", self._model):
            return None
        return open_lane(call, chunk, ids.turn_id, self._takers)

    def _answer_of(self, number: int) -> AnswerSegments:
        if number not in self._answers:
            self._answers[number] = self._new_answer(number, self.ids)
        self._answer = self._answers[number]
        return self._answer

    def _end_of(self, answer: AnswerSegments, how: How, finish: str | None) -> AnswerEnd:
        """Return the end of an answer; `finish` is its finish reason, or `stop` for plain text."""
        status: AnswerStatus = answer.end_of(how, finish)[0]
        if finish == "pause" and isinstance(how, Completed):
            status = "paused"
        return AnswerEnd(
            self.ids.fixed(),
            answer.number,
            status,
            answer.finish,
            answer.finish_words,
            self._usage,
            self._model,
            self.ids.response_id,
            answer.error or (error_fields(how.error) if isinstance(how, Failed) else None),
            answer.api,
            answer.message,
        )


install(
    *(GrowingText, ToolCallDelta, ChunkResponse, SegmentContent, ResponseAnswers),
    feed_all=FragmentAggregator,
    read=CallLane,
    feed=StageChain,
)
