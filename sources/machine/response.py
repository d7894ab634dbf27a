"""What every machine knows of a provider's response: ids, model, usage, and how it ended."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import uuid4

from ...events.chunk_response import ChunkResponse, TokenUsage
from ...events.errors import ProviderError
from ...operators.engine.stage import Failed, How
from ...operators.engine.state import Stateful
from .provider_error import error_fields


class Response(Stateful):
    """A machine but for `feed` and `rest`."""

    STATE: ClassVar[tuple[str, ...]] = ("_last_usage", "_made_turn_id", "failure", "model", "response_id", "stopped")

    def __init__(self, turn_id: str | None) -> None:
        self.stopped = False
        self.failure: ProviderError | None = None
        self.response_id: str | None = None
        self.model: str | None = None
        self._given_turn_id = turn_id
        self._made_turn_id: str | None = None
        self._last_usage: TokenUsage | None = None

    def chunk(self, **said: Any) -> ChunkResponse:
        return ChunkResponse(response_id=self.response_id, model=self.model, **said)

    def rest(self) -> list[ChunkResponse]:
        """Return all held text and deltas at the end."""
        raise NotImplementedError

    def fail(self, failure: ProviderError) -> list[ChunkResponse]:
        """Stop with an error of the provider."""
        self.stopped = True
        self.failure = failure
        return [*self.rest(), self.chunk(error=error_fields(failure))]

    def close(self, how: How, /) -> list[ChunkResponse]:
        """Return what is still held and, for an error from outside, its chunk; nothing the second time."""
        if self.stopped:
            return []
        self.stopped = True
        chunks = self.rest()
        if isinstance(how, Failed) and isinstance(how.error, ProviderError) and how.error is not self.failure:
            chunks.append(self.chunk(error=error_fields(how.error)))
        return chunks

    def _turn_id(self) -> str:
        if self._made_turn_id is None:
            self._made_turn_id = self._given_turn_id or self.response_id or f"turn_{uuid4().hex}"
        return self._made_turn_id
