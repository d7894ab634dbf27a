"""`split_reasoning`: separate reasoning from text, and find nothing else."""

from __future__ import annotations

from typing import Literal

from ..events.chunk_response import ChunkResponse
from .calls.answer_segments import SegmentOutput
from .engine.public_operator import public_operator
from .engine.stage import Operator
from .grammar.dialect import Dialect
from .parse_text import parse_text


@public_operator
def split_reasoning(
    *markers: tuple[str, str],
    starts_in_reasoning: bool | Literal["auto"] = "auto",
    blanks: Literal["lone", "keep", "drop"] = "lone",
    turn_id: str | None = None,
) -> Operator[str | ChunkResponse, SegmentOutput]:
    """Separate reasoning from text by the markers around it; calls in the text stay text.

        text               --<thi--nk>Why--?</think>So--|
        split_reasoning()  --------(S,x)---(y,E,T,z)----(F,A,|)
        where S = SegmentStart(segment_type="reasoning")
              x = SegmentContent(delta="Why")
              y = SegmentContent(delta="?")
              E = SegmentEnd(segment_type="reasoning", status="complete")
              T = SegmentStart(segment_type="text")
              z = SegmentContent(delta="So")
              F = SegmentEnd(segment_type="text", status="complete")
              A = AnswerEnd()

    >>> from penstock.operators import drive
    >>> for event in drive(["<think>Why?</think>So."], split_reasoning(turn_id="t")):
    ...     print(event)
    SegmentStart(segment_id='t:reasoning_0', segment_type='reasoning', turn_id='t', raw='<think>')
    SegmentContent(segment_id='t:reasoning_0', segment_type='reasoning', delta='Why?', turn_id='t', raw='Why?')
    SegmentEnd(segment_id='t:reasoning_0', segment_type='reasoning', status='complete', turn_id='t', raw='</think>')
    SegmentStart(segment_id='t:text_0', segment_type='text', turn_id='t')
    SegmentContent(segment_id='t:text_0', segment_type='text', delta='So.', turn_id='t', raw='So.')
    SegmentEnd(segment_id='t:text_0', segment_type='text', status='complete', turn_id='t')
    AnswerEnd(turn_id='t')

    - `markers`: pairs of opener and closer; by default `<think>` and `</think>`.
    - `starts_in_reasoning`, `blanks`: as in `parse_text`.
    """
    pairs = markers or (("<think>", "</think>"),)
    return parse_text(
        Dialect("reasoning", reasoning=pairs),
        calls=False,
        starts_in_reasoning=starts_in_reasoning,
        blanks=blanks,
        turn_id=turn_id,
    )
