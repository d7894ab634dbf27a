"""Machines for streams without a provider: text, and ready-made chunks."""

from __future__ import annotations

from typing import Any

from ...events.chunk_response import ChunkResponse
from ...events.errors import ProviderError, UsageError, error_fields
from ...operators.engine.stage import Completed, Failed, How
from ...operators.engine.state import Stateful
from ..fields.surrogates import Held, rest_of_text, whole_text


class Chunks(Stateful):
    """The machine for chunks, which pass unchanged.

    An error from outside becomes a chunk with `error`, as in every machine, unless a chunk has reported it already.
    """

    failure: ProviderError | None = None

    STATE = ("_told", "stopped")

    def __init__(self) -> None:
        self.stopped = False
        self._told: dict[str, Any] | None = None

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if not isinstance(item, ChunkResponse):
            message = f"a stream of ChunkResponses must not contain other items, got {type(item).__name__}"
            raise UsageError(message)
        if item.error:
            self._told = item.error
        return [item]

    def close(self, how: How, /) -> list[ChunkResponse]:
        if self.stopped:
            return []
        self.stopped = True
        if not isinstance(how, Failed) or not isinstance(how.error, ProviderError):
            return []
        error = error_fields(how.error)
        return [] if error == self._told else [ChunkResponse(error=error)]


class Texts(Stateful):
    """The machine for text in pieces: they become the content of chunks, with split surrogate pairs joined.

    The end of the text is the only sign that it is complete, so it becomes the finish reason `stop`.
    """

    failure: ProviderError | None = None

    STATE = ("_held", "stopped")

    def __init__(self) -> None:
        self.stopped = False
        self._held: Held = {}

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if not isinstance(item, str):
            message = f"a stream of text must yield str, got {type(item).__name__}"
            raise UsageError(message)
        content = whole_text(self._held, "content", item)
        return [ChunkResponse(content=content)] if content else []

    def close(self, how: How, /) -> list[ChunkResponse]:
        if self.stopped:
            return []
        self.stopped = True
        rest = rest_of_text(self._held, "content")
        chunks = [ChunkResponse(content=rest)] if rest else []
        if isinstance(how, Completed):
            chunks.append(ChunkResponse(is_complete=True, finish_reason="stop", finish_reason_raw="stop"))
        elif isinstance(how, Failed) and isinstance(how.error, ProviderError):
            chunks.append(ChunkResponse(error=error_fields(how.error)))
        return chunks
