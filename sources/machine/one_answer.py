"""What the machine of one answer remembers whatever the provider: its identity, its texts, its calls, its end."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias
from uuid import uuid4

from ...events.chunk_response import ChunkResponse, TokenUsage, ToolCallDelta
from ...events.errors import ProviderError
from ...operators.engine.limits import Limits
from ...operators.engine.stage import Failed, How
from ...operators.engine.state import Stateful
from .call_tracker import CallTracker
from .finish_reasons import Finish
from .provider_error import error_fields
from .surrogates import Held, plain_json, rest_of_text, whole_text, without_halves

TextStream: TypeAlias = Literal["reasoning", "content", "refusal"]


class OneAnswer(Stateful):
    """One answer of a provider that streams its parts one after another.

        text("content", "Hi")       ChunkResponse(content="Hi")
        call(ToolCallDelta(...))    ChunkResponse(tool_calls=(...,))
        finish(STOP, "end_turn")    ChunkResponse(is_complete=True, ...)

    Every method gives the chunks that its word makes: none, one, or two where half a character had waited in a text
    that is left now. The first finish counts; a failure stops the stream at once.
    """

    STATE = ("_held", "_made_turn_id", "_usage", "calls", "failure", "finished", "model", "response_id", "stopped")

    def __init__(self, turn_id: str | None, limits: Limits, *, compares_arguments: bool = False) -> None:
        self.response_id: str | None = None
        self.model: str | None = None
        self.calls = CallTracker(self._turn_id, limits=limits, compares=compares_arguments)
        self.finished = False
        self.stopped = False
        self.failure: ProviderError | None = None
        self._given_turn_id = turn_id
        self._made_turn_id: str | None = None
        self._usage: TokenUsage | None = None
        self._held: Held = {}

    def identify(self, response_id: object, model: object) -> None:
        """Take an id and a model from the wire; later ones replace earlier ones, but not the turn's id."""
        if isinstance(response_id, str) and response_id:
            self.response_id = without_halves(response_id)
        if isinstance(model, str) and model:
            self.model = without_halves(model)

    def chunk(self, **said: Any) -> ChunkResponse:
        return ChunkResponse(response_id=self.response_id, model=self.model, **said)

    def text(self, stream: TextStream, text: object) -> list[ChunkResponse]:
        if not isinstance(text, str) or not text:
            return []
        chunks = self.leave(stream) if self._held else []
        if text := whole_text(self._held, stream, text):
            chunks.append(self.chunk(**{stream: text}))
        return chunks

    def call(self, *deltas: ToolCallDelta | None) -> list[ChunkResponse]:
        given = tuple(delta for delta in deltas if delta is not None)
        chunks = self.leave() if self._held else []
        if calls := (*self.calls.owed(), *given):
            chunks.append(self.chunk(tool_calls=calls))
        return chunks

    def followed(self) -> list[ChunkResponse]:
        """Say of the calls that wait for it that the model had finished them: it begins another part of the answer."""
        return self.call(*self.calls.ended.followed()) if self.calls.ended.is_waiting else []

    def other(self, **said: Any) -> list[ChunkResponse]:
        """Return a chunk of anything else; what waits in a text comes out before it."""
        return [*self.leave(), self.chunk(**said)]

    def raw(self, event: Any) -> list[ChunkResponse]:
        """Pass an event on that nothing else stands for."""
        plain = plain_json(event)
        return self.other(raw=(plain if isinstance(plain, dict) else {"value": plain},))

    def leave(self, stream: TextStream | None = None) -> list[ChunkResponse]:
        """Return what waits in the texts other than `stream`, whose second half can come no more."""
        left = [name for name in self._held if name != stream]
        return [self.chunk(**{name: rest_of_text(self._held, name)}) for name in left]

    def finish(self, finish: Finish, words: str, *, has_calls: bool = False, **said: Any) -> list[ChunkResponse]:
        """Return the finish, and with it what waited; of a second finish only what else is said.

        With `has_calls`, calls that the client has to run, an answer that just stopped did so for them.
        """
        if not self.finished:
            self.finished = True
            said |= finish.told(words, "tool_calls" if has_calls and finish.reason == "stop" else None)
            chunks = self.rest()
        else:
            chunks = [*self.call(*self.calls.concluded(is_regular=finish.is_regular)), *self.rest()]
        if said:
            chunks.append(self.chunk(**said))
        return chunks

    def new_usage(self, usage: TokenUsage) -> TokenUsage | None:
        """Return a usage that differs from the one given last; None for one that says nothing new."""
        if usage in (self._usage, TokenUsage()):
            return None
        self._usage = usage
        return usage

    def fail(self, failure: ProviderError) -> list[ChunkResponse]:
        """End with an error of the provider: nothing more is wanted."""
        self.stopped = True
        self.failure = failure
        return [*self.rest(), self.chunk(error=error_fields(failure))]

    def close(self, how: How) -> list[ChunkResponse]:
        """Return what waits, and for an error from outside the chunk that says it; nothing a second time."""
        if self.stopped:
            return []
        self.stopped = True
        chunks = self.rest()
        if isinstance(how, Failed) and isinstance(how.error, ProviderError) and how.error is not self.failure:
            chunks.append(self.chunk(error=error_fields(how.error)))
        return chunks

    def rest(self) -> list[ChunkResponse]:
        """Return everything that waits, because nothing can come for it any more."""
        chunks = self.leave()
        if deltas := self.calls.rest():
            chunks.append(self.chunk(tool_calls=tuple(deltas)))
        return chunks

    def _turn_id(self) -> str:
        if self._made_turn_id is None:
            self._made_turn_id = self._given_turn_id or self.response_id or f"turn_{uuid4().hex}"
        return self._made_turn_id
