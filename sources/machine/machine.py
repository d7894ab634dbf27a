"""What every provider's machine is, so that bridges, wire decoding and operators need to know no provider."""

from __future__ import annotations

from typing import Any, Protocol

from ...events.chunk_response import ChunkResponse
from ...events.errors import PenstockError
from ...operators.engine.stage import How


class Machine(Protocol):
    """A stage from a provider's items (SDK objects or decoded wire JSON) to ChunkResponses, with two words more.

    `stopped`: nothing more is wanted; what is fed now gives nothing.
    `failure`: how the stream has to end: with this as its error, at once if `stopped`, else at its end. The chunk
    that says so has been given. `close(Failed(error))` gives such a chunk for an error from outside. A failure that is
    no `ProviderError` is the caller's to fix, and has no chunk.
    """

    @property
    def stopped(self) -> bool: ...
    @property
    def failure(self) -> PenstockError | None: ...
    def feed(self, item: Any, /) -> list[ChunkResponse]: ...
    def close(self, how: How, /) -> list[ChunkResponse]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...
