"""`from_text`: text in pieces, as ChunkResponses."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from .base.machine import Texts
from .streams.stream_bridge import bridge


def from_text(chunks: object) -> Observable[ChunkResponse]:
    """Return text, whole or in pieces, as the content of ChunkResponses.

        pieces      --"Hel"---""---"lo"----|
        from_text   --"Hel"--------"lo"--stop|

    >>> from_text(["Hel", "lo"]).subscribe(lambda chunk: print(chunk.content or chunk.finish_reason)) and None
    Hel
    lo
    stop

    `chunks`: a text, an iterable or async iterable of texts, or a zero-argument callable that returns one; an iterator
    has one subscriber. At its end the text counts as complete, with the finish reason `stop`. Split surrogate pairs
    are joined, a lone surrogate becomes U+FFFD. Anything but text raises a `UsageError`.
    """
    source = [chunks] if isinstance(chunks, str) else chunks
    _check_text(source)
    return bridge(source, Texts, _check_text)


def _check_text(chunks: object) -> None:
    if isinstance(chunks, bytes | bytearray) or not (callable(chunks) or isinstance(chunks, Iterable | AsyncIterable)):
        message = f"from_text takes a str or an iterable of str, got {type(chunks).__name__}"
        raise UsageError(message)
