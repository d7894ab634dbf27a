"""The interface of provider machines; bridges, wire decoding and operators depend on it, not on a provider."""

from __future__ import annotations

from typing import Any, Protocol

from ...events.chunk_response import ChunkResponse
from ...events.errors import PenstockError
from ...operators.engine.stage import How


class Machine(Protocol):
    """A stage from a provider's items (SDK objects or decoded wire JSON) to ChunkResponses, with two more attributes.

    `stopped`: the machine ignores further items. `failure`: the error with which the stream must end, at once if
    `stopped`, else at its end; its chunk has been emitted. `close(Failed(error))` returns such a chunk for an error
    from outside. A failure that is not a `ProviderError` is the caller's mistake and has no chunk.
    """

    @property
    def stopped(self) -> bool: ...
    @property
    def failure(self) -> PenstockError | None: ...
    def feed(self, item: Any, /) -> list[ChunkResponse]: ...
    def close(self, how: How, /) -> list[ChunkResponse]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...
