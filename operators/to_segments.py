"""`to_segments`: turn chunks into segments of text, reasoning and native calls."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..events.chunk_response import ChunkResponse
from .calls.answer_segments import AnswerSegments, Segment
from .calls.answer_totals import AnswerTotals
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import How, Operator, lift
from .engine.state import Stateful
from .engine.turn_ids import TurnIds


@public_operator
def to_segments(
    *,
    turn_id: str | None = None,
    eager: bool = False,
    end_arguments: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[ChunkResponse, Segment]:
    """Turn a provider's chunks into segment events: text, reasoning, refusal, media and tool calls.

        chunks        --"Hel"----"lo"-----call f {"a"------: 1}--finish--|
        to_segments   --S text C--C-------E text S call C--C-----E call--AnswerEnd|

    >>> from penstock.events import ChunkResponse
    >>> from penstock.operators import drive
    >>> for event in drive([ChunkResponse(content="Hi", finish_reason="stop")], to_segments(turn_id="t")):
    ...     print(event)
    SegmentStart(segment_id='t:text_0', segment_type='text', turn_id='t')
    SegmentContent(segment_id='t:text_0', segment_type='text', delta='Hi', turn_id='t', raw='Hi')
    SegmentEnd(segment_id='t:text_0', segment_type='text', status='complete', turn_id='t')
    AnswerEnd(turn_id='t', finish_reason='stop')

    A text or reasoning segment ends when another segment starts; parallel calls are open at the same time. A call ends,
    and is *sealed*, when its JSON root has closed and either the provider said `done`, or another call of the same
    answer began, or the answer was finished, or the stream completed. A call without a closing bracket of its own
    (free-form text, the object of a built-in tool, no arguments) is sealed only if there is evidence that the model
    finished it: the provider's status `completed`, a later part of the answer, or a regular finish. A call that did not
    close ends as `truncated`; arguments that are not JSON as `failed` with the reason `malformed`; arguments that the
    provider sent twice and differently as `failed` with the reason `contradiction`. Nothing is ever completed by
    guessing.

    Each answer ends with an `AnswerEnd`, also if the stream breaks; what only a provider has comes as `ProviderEvent`s.

    - `turn_id`: the turn id of every event; by default the wire's response id, else a random one per subscription. A
      retry, such as `ops.retry(2)` of reactivex, has a turn id of its own: `t#2`.
    - `eager`: seal a call as soon as its JSON root closes; only JSON that the model wrote.
    - `end_arguments`: put the decoded `arguments` into the END metadata of each complete JSON call.
    """
    return lift(partial(_ToSegments, turn_id, limits, eager=eager, end_arguments=end_arguments))


class _ToSegments(Stateful):
    STATE = ("_choices", "_totals", "ids")

    def __init__(self, turn_id: str | None, limits: Limits, *, eager: bool, end_arguments: bool) -> None:
        self.ids = TurnIds(turn_id)
        self._totals = AnswerTotals()
        self._new_choice = partial(
            AnswerSegments, ids=self.ids, limits=limits, eager=eager, with_arguments=end_arguments
        )
        self._choice = self._new_choice(0)
        self._choices = {0: self._choice}

    def feed(self, chunk: ChunkResponse) -> list[Segment]:
        events: list[Segment] = []
        choice = self._choice
        if chunk.choice != choice.number:
            choice = self._choice_of(chunk.choice)
        ids = self.ids
        if chunk.response_id is not ids.response_id and chunk.response_id:
            ids.response_id = chunk.response_id
        if chunk.usage is not None or chunk.model is not self._totals.model:
            self._totals.take(chunk)
        if chunk.reasoning or chunk.native:
            choice.text("reasoning", chunk.reasoning, events, chunk.native)
        if chunk.content:
            choice.text("text", chunk.content, events)
        if chunk.refusal:
            choice.text("refusal", chunk.refusal, events)
        if chunk.image_urls or chunk.audio_urls or chunk.video_urls:
            choice.media(chunk, events)
        if chunk.tool_calls:
            choice.take_calls(chunk.tool_calls, events)
        if chunk.provider_events or chunk.raw or chunk.error is not None or chunk.message is not None:
            choice.other(chunk, events)
        if chunk.finish_reason is not None or chunk.is_complete:
            choice.take_finish(chunk, events)
        return events

    def close(self, how: How) -> list[Segment]:
        events: list[Segment] = []
        for choice in self._choices.values():
            choice.end_text(events, *choice.end_of(how, choice.finish))
            choice.close_calls(how, choice.finish, events)
            if choice.has_begun:
                events.append(self._totals.end_of(choice, how, choice.finish, self.ids))
        if not events:  # an empty answer ends, too
            events.append(self._totals.end_of(self._choices[0], how, None, self.ids))
        return events

    def dump(self) -> Any:
        return {**super().dump(), "choice": self._choice.number}

    def load(self, state: Any, /) -> None:
        super().load(state)
        self._choice = self._choices[state["choice"]]

    def new_part(self, _name: str, state: Any, /) -> AnswerSegments:
        return self._new_choice(state["number"])

    def _choice_of(self, number: int) -> AnswerSegments:
        if number not in self._choices:
            self._choices[number] = self._new_choice(number)
        self._choice = self._choices[number]
        return self._choice
