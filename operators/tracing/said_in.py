"""`said_in`: what an output says, without what only tells how a text was cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ...events.chunk_response import ChunkResponse
from ...events.fragment import Fragment
from ...events.segment_event import SegmentContent, SegmentEvent

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


def said_in(output: Any) -> Iterable[Piece]:
    """Return what an output says, in order.

    >>> [piece.text for piece in said_in("a")]
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
