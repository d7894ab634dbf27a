"""The common base of all machines: the ids, model, usage and end of a provider's response."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar
from uuid import uuid4
from weakref import proxy

from msgspec.structs import replace

from ...events.chunk_response import ChunkResponse, TokenUsage
from ...events.errors import ProviderError, error_fields
from ...operators.engine.stage import Failed, How
from ...operators.engine.state import Stateful
from ..fields.sdk_fields import Fields, fields_of
from ..fields.strangers import Read, strangers
from ..fields.surrogates import encodable, plain_json, without_halves
from .token_count import added_up

_NOTHING = TokenUsage()
_PLAIN_JSON = frozenset(("audio_urls", "error", "image_urls", "native", "raw", "video_urls"))
"""Fields of a chunk that have what the provider sent, keys and all."""


class Response(Stateful, ABC):
    """A machine without `feed` and `rest`."""

    API: ClassVar[str]
    """The name of the API, for data in its form."""
    STATE: ClassVar[tuple[str, ...]] = ("_last_usage", "_made_turn_id", "failure", "model", "response_id", "stopped")

    def __init__(self, turn_id: str | None, *, choice: int = 0, logprobs: bool = False) -> None:
        self.stopped = False
        self.failure: ProviderError | None = None
        self.response_id: str | None = None
        self.model: str | None = None
        self.logprobs = logprobs
        self._first_choice = choice
        """The choice of chunks that belong to the whole response."""
        self._given_turn_id = turn_id
        self._made_turn_id: str | None = None
        self._last_usage: TokenUsage | None = None

    def chunk(self, **said: Any) -> ChunkResponse:
        for name in _PLAIN_JSON.intersection(said):
            said[name] = encodable(said[name])
        if "raw" in said:
            said["api"] = self.API
        if "provider_events" in said:
            said["provider_events"] = tuple(
                replace(event, api=self.API, data=encodable(event.data)) for event in said["provider_events"]
            )
        if self._first_choice:
            said.setdefault("choice", self._first_choice)
        return ChunkResponse(response_id=self.response_id, model=self.model, **said)

    def with_strangers(
        self,
        chunks: list[ChunkResponse],
        kind: str,
        event: Fields,
        read: Read = fields_of,
        spelt: Callable[[str], str] = str,
        key: str = "type",
    ) -> list[ChunkResponse]:
        """Add what an event of a known kind has under unknown keys, as `raw`; `key`: that of its type."""
        if not (found := strangers(self.API, kind, event, read, spelt)):
            return chunks
        raw = self.chunk(raw=({key: plain_json(event.get(key)), **found} if kind else found,))
        return [*chunks[:-1], raw, *chunks[-1:]] if self.stopped else [*chunks, raw]

    def identify(self, response_id: object, model: object) -> None:
        """Take an id and a model from the wire: the first id counts, and the last model."""
        if self.response_id is None and isinstance(response_id, str) and response_id:
            self.response_id = without_halves(response_id)
        if isinstance(model, str) and model and model != self.model:
            self.model = without_halves(model)

    def new_usage(self, usage: TokenUsage | None) -> TokenUsage | None:
        """Return the usage so far if it differs from the last one, else None; a later 0 is no count."""
        last = self._last_usage
        if usage is None or usage in (last, _NOTHING):
            return None
        self._last_usage = usage if last is None else added_up(last, usage)
        return None if self._last_usage == last else self._last_usage

    @abstractmethod
    def rest(self) -> list[ChunkResponse]:
        """Return all held text and deltas at the end."""

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

    def turn_id_maker(self) -> Callable[[], str]:
        """Return what returns the turn's id; it holds this object weakly: no stream leaves a reference cycle."""
        return partial(Response._turn_id, proxy(self))

    def _turn_id(self) -> str:
        if self._made_turn_id is None:
            self._made_turn_id = self._given_turn_id or self.response_id or f"turn_{uuid4().hex}"
        return self._made_turn_id
