"""`from_text`: text that arrives in pieces, as ChunkResponses."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from typing import Any

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import ProviderError, UsageError
from ..operators.stage import How
from .stream_bridge import bridge
from .surrogates import Held, held_dump, held_load, rest_of_text, whole_text


def from_text(chunks: object) -> Observable[ChunkResponse]:
    """Give text, whole or in pieces, as the content of ChunkResponses.

        pieces      --"Hel"---""---"lo"--|
        from_text   --"Hel"--------"lo"--|

    >>> from_text(["Hel", "lo"]).subscribe(lambda chunk: print(chunk.content)) and None
    Hel
    lo

    `chunks`: a text, an iterable or async iterable of texts, or a zero-argument callable that gives one; an iterator
    has one subscriber. Halves of characters are put together, a lone one becomes U+FFFD. What is no text is a
    `UsageError`.
    """
    source = [chunks] if isinstance(chunks, str) else chunks
    _check_text(source)
    return bridge(source, _Text, _check_text)


class _Text:
    """The machine of plain text."""

    failure: ProviderError | None = None
    stopped = False

    def __init__(self) -> None:
        self._held: Held = {}

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if not isinstance(item, str):
            message = f"from_text takes text, got {type(item).__name__}"
            raise UsageError(message)
        content = whole_text(self._held, "content", item)
        return [ChunkResponse(content=content)] if content else []

    def close(self, _how: How, /) -> list[ChunkResponse]:
        rest = rest_of_text(self._held, "content")
        return [ChunkResponse(content=rest)] if rest else []

    def dump(self) -> Any:
        return held_dump(self._held)

    def load(self, state: Any, /) -> None:
        self._held = held_load(state)


def _check_text(chunks: object) -> None:
    if isinstance(chunks, bytes | bytearray) or not (callable(chunks) or isinstance(chunks, Iterable | AsyncIterable)):
        message = f"from_text takes a text or an iterable of texts, got {type(chunks).__name__}"
        raise UsageError(message)
