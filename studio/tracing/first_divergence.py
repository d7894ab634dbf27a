"""`first_divergence`: where two traces first differ in what was said.

`text_in` tells what an output says, without what only tells how a text was cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from ...events.chunk_response import ChunkResponse
from ...events.segment_event import Fragment, SegmentContent, SegmentEvent
from .trace import Trace

_TEXTS_OF_CHUNK = ("reasoning", "content", "refusal")
_NOT_SAID = {"raw", "fragments", "message", "model"}
"""Fields that repeat what other events say, or only say how it was cut."""


class Piece(NamedTuple):
    """One thing that an output says.

    - `key`: what it is; texts with equal keys that follow each other are one text.
    - `text`: the text; empty if the piece stands alone.
    - `fields`: what a piece that stands alone says.
    """

    key: tuple[Any, ...]
    text: str
    fields: Any


def text_in(output: Any) -> Iterable[Piece]:
    """Return what an output says, in order.

    >>> [piece.text for piece in text_in("a")]
    ['a']
    """
    if isinstance(output, str):
        return (Piece(("text",), output, None),) if output else ()
    if isinstance(output, SegmentContent):
        key = ("content", output.turn_id, output.segment_id, output.segment_type)
        return (Piece(key, output.delta, None),) if output.delta else ()
    if isinstance(output, Fragment):
        if output.kind == "TEXT":
            return (Piece(("fragment", output.path), output.value, None),)
        return (Piece(("Fragment",), "", {"path": output.path, "kind": output.kind, "value": output.value}),)
    return _of_chunk(output) if isinstance(output, ChunkResponse) else (_whole(output),)


def _of_chunk(chunk: ChunkResponse) -> Iterable[Piece]:
    for name in _TEXTS_OF_CHUNK:
        if text := getattr(chunk, name):
            yield Piece((name, chunk.choice), text, None)
    for delta in chunk.tool_calls:
        header = replace(delta, arguments_delta="", done=False)
        if header != type(header)(header.index):
            yield _whole(header)
        if delta.arguments_delta:
            yield Piece(("arguments", chunk.choice, delta.index), delta.arguments_delta, None)
        if delta.done:
            yield Piece(("done", chunk.choice, delta.index), "", None)
    rest = replace(chunk, content="", reasoning="", refusal="", tool_calls=(), raw=(), message=None)
    if rest != ChunkResponse(choice=chunk.choice, response_id=chunk.response_id, model=chunk.model, api=chunk.api):
        yield _whole(rest)


def _whole(output: Any) -> Piece:
    name = output.type if isinstance(output, SegmentEvent) else type(output).__name__
    if not isinstance(output, Struct):
        return Piece((name,), "", output)
    return Piece(
        (name,), "", {each: getattr(output, each) for each in output.__struct_fields__ if each not in _NOT_SAID}
    )


IDS = frozenset(("segment_id", "turn_id", "id", "call_id", "tool_call_id", "response_id", "claimed_by"))
"""The fields whose values need not be equal, only used alike."""


class Divergence(Struct, frozen=True):
    """The first difference of two traces.

    - `stage`: the index of the stage; `label`: the stage of the first trace as code.
    - `number_a`, `number_b`: the items at which the outputs came; None if a trace has no more output.
    - `output_a`, `output_b`: the outputs that differ; None if a trace has no more. If only the ends of the two runs
      differ, these are the ends: `Completed`, `Failed` or `Interrupted`.
    """

    stage: int
    label: str
    number_a: int | None
    number_b: int | None
    output_a: Any
    output_b: Any


def first_divergence(trace_a: Trace, trace_b: Trace) -> Divergence | None:
    """Return the first difference of two traces; None if they say the same.

    >>> from penstock.operators import holdback
    >>> from penstock.studio import trace
    >>> a = trace(holdback("<a>")).run(["1 <a", "> 2"])
    >>> b = trace(holdback("<a>")).run(["1 ", "<a> 2"])
    >>> c = trace(holdback("<a>")).run(["1 <a", "> 3"])
    >>> first_divergence(a, b), first_divergence(a, c).number_b
    (None, 1)

    Stage by stage, as long as both chains have the same operator there; then the ends of both chains are compared. How
    a text is cut makes no difference, nor do ids, which only have to be used alike. Not compared are `raw`,
    `fragments`, the messages and models that repeat what was said, and what comes after the limit of a trace.
    """
    names = [[label.partition("(")[0] for label in each.stages] for each in (trace_a, trace_b)]
    shared = 0
    for a, b in zip(*names, strict=False):
        if a != b:
            break
        shared += 1
    for stage in range(shared):
        if (found := _of_stage(trace_a, trace_b, stage, stage)) is not None:
            return found
    if names[0] != names[1]:
        found = _of_stage(trace_a, trace_b, len(names[0]) - 1, len(names[1]) - 1)
        if found is not None:
            return found
    ends = trace_a.ended, trace_b.ended
    if repr(ends[0]) == repr(ends[1]):
        return None
    number_a, number_b = (each[-1].number if len(each) else None for each in (trace_a, trace_b))
    return Divergence(len(names[0]) - 1, trace_a.stages[-1], number_a, number_b, *ends)


def _of_stage(trace_a: Trace, trace_b: Trace, stage_a: int, stage_b: int) -> Divergence | None:
    all_a, all_b = _pieces_of(trace_a, stage_a), _pieces_of(trace_b, stage_b)
    alike = _AlikeIds()
    a = b = None
    at_a = at_b = 0
    while True:
        if a is None:
            a, at_a = next(all_a, None), 0
        if b is None:
            b, at_b = next(all_b, None), 0
        if a is None and b is None:
            return None
        if (a is None and trace_a.dropped) or (b is None and trace_b.dropped):
            return None
        if a is None or b is None or not alike.are_equal(a.piece, b.piece):
            break
        if a.piece.text:
            length = min(len(a.piece.text) - at_a, len(b.piece.text) - at_b)
            if a.piece.text[at_a : at_a + length] != b.piece.text[at_b : at_b + length]:
                break
            at_a += length
            at_b += length
        a = None if at_a == len(a.piece.text) else a
        b = None if at_b == len(b.piece.text) else b
    number_a, output_a = (None, None) if a is None else (a.number, a.output)
    number_b, output_b = (None, None) if b is None else (b.number, b.output)
    return Divergence(stage_a, trace_a.stages[stage_a], number_a, number_b, output_a, output_b)


class _PlacedPiece(NamedTuple):
    piece: Piece
    output: Any
    number: int


def _pieces_of(traced: Trace, stage: int) -> Iterator[_PlacedPiece]:
    """Return what a stage says, each piece with its output and the number of its item."""
    # The outputs of the end follow those that were not kept.
    for each in traced[:-1] if traced.dropped and traced.ended is not None else traced:
        for output in each.stages[stage].outputs:
            for piece in text_in(output):
                yield _PlacedPiece(piece, output, each.number)


class _AlikeIds:
    """Compares pieces, with an id of one trace for each id of the other."""

    def __init__(self) -> None:
        self._of_a: dict[Any, Any] = {}
        self._of_b: dict[Any, Any] = {}

    def are_equal(self, a: Piece, b: Piece) -> bool:
        """Return whether two pieces say the same; of texts, whether they belong to the same."""
        if bool(a.text) != bool(b.text) or len(a.key) != len(b.key):
            return False
        if a.key[0] == b.key[0] == "content":
            return a.key[-1] == b.key[-1] and all(map(self._are_alike, a.key[1:-1], b.key[1:-1]))
        if a.key != b.key:
            return False
        said_a: Any = a.fields
        said_b: Any = b.fields
        if not (isinstance(said_a, dict) and isinstance(said_b, dict)):
            return _are_same(said_a, said_b)
        fields_a, fields_b = cast("dict[str, Any]", said_a), cast("dict[str, Any]", said_b)
        return all(
            self._are_alike(value, fields_b[name]) if name in IDS else _are_same(value, fields_b[name])
            for name, value in fields_a.items()
        )

    def _are_alike(self, a: Any, b: Any) -> bool:
        return bool(self._of_a.setdefault(a, b) == b and self._of_b.setdefault(b, a) == a)


def _are_same(one: Any, other: Any) -> bool:
    """Return whether two values are equal; true is not 1, as it is in Python."""
    if one != other or isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, dict):
        fields = cast("dict[object, object]", one)
        return all(_are_same(each, other[key]) for key, each in fields.items())
    return not isinstance(one, list | tuple) or all(map(_are_same, cast("list[object]", one), other))
