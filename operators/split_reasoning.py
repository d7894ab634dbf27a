"""`split_reasoning`: the reasoning in a model's text as segments of its own, and nothing else."""

from __future__ import annotations

from typing import Literal

from ..events.chunk_response import ChunkResponse
from .calls.answer_segments import Segment
from .engine.public_operator import public_operator
from .engine.stage import Operator
from .grammar.dialect import Dialect
from .parse_text import parse_text


@public_operator
def split_reasoning(
    *markers: tuple[str, str],
    starts_in_reasoning: bool = False,
    blanks: Literal["lone", "keep", "drop"] = "lone",
    turn_id: str | None = None,
) -> Operator[str | ChunkResponse, Segment]:
    """Tell reasoning from text by the markers around it; calls in the text stay text.

        text              --<thi--nk>Why--?</think>So--|
        split_reasoning   -------S C Why--C E---S C So-E--|

    >>> from penstock.operators import drive
    >>> for event in drive(["<think>Why?</think>So."], split_reasoning(turn_id="t")):
    ...     print(event.type, event.segment_id, event.payload)
    SEGMENT_START t:reasoning_0 {}
    SEGMENT_CONTENT t:reasoning_0 {'delta': 'Why?'}
    SEGMENT_END t:reasoning_0 {'status': 'complete'}
    SEGMENT_START t:text_0 {}
    SEGMENT_CONTENT t:text_0 {'delta': 'So.'}
    SEGMENT_END t:text_0 {'status': 'complete'}

    - `markers`: pairs of opener and closer; `<think>` and `</think>` where none are given.
    - `starts_in_reasoning`, `blanks`: as with `parse_text`.
    """
    pairs = markers or (("<think>", "</think>"),)
    return parse_text(
        Dialect("reasoning", reasoning=pairs),
        calls=False,
        starts_in_reasoning=starts_in_reasoning,
        blanks=blanks,
        turn_id=turn_id,
    )
