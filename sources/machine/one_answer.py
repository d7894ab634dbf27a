"""The common base of machines for responses with one answer: the state of its texts, its calls and its end."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from ...events.chunk_response import ChunkResponse, ProviderEvent, ProviderEventKind, ToolCallDelta
from ...operators.engine.limits import Limits
from ..fields.sdk_fields import Fields
from ..fields.surrogates import (
    Held,
    plain_json,
    plain_object,
    rest_of_text,
    says_something,
    whole_text,
    without_halves,
)
from ..repeats.shown_text import ShownText, rest_of
from .call_tracker import CallTracker
from .finish_reasons import Finish
from .provider_error import error_in_body
from .response import Response
from .told_error import told_error

TextStream: TypeAlias = Literal["reasoning", "content", "refusal"]


class OneAnswer(Response):
    """A machine without `feed`: builds the chunks of one answer whose parts are streamed one after another.

        text("content", "Hi")       ChunkResponse(content="Hi")
        call(ToolCallDelta(...))    ChunkResponse(tool_calls=(...,))
        finish(STOP, "end_turn")    ChunkResponse(is_complete=True, ...)

    Each method returns its chunks: none, one, or two if half a surrogate pair was held in a text that ends. The first
    finish counts; a failure stops the stream at once.
    """

    STATE: ClassVar[tuple[str, ...]] = (*Response.STATE, "_held", "calls", "finished")
    NAMES_IN_PIECES: ClassVar[bool] = False
    """Whether the names of calls may come in pieces."""

    def __init__(
        self, turn_id: str | None, limits: Limits, *, compares_arguments: bool = False, logprobs: bool = False
    ) -> None:
        super().__init__(turn_id, logprobs=logprobs)
        self.calls = CallTracker(
            self.turn_id_maker(), limits=limits, compares=compares_arguments, names_in_pieces=self.NAMES_IN_PIECES
        )
        self.finished = False
        self._held: Held = {}

    def text(self, stream: TextStream, text: object) -> list[ChunkResponse]:
        if not isinstance(text, str) or not text:
            return []
        chunks = self.leave(stream) if self._held else []
        if text := whole_text(self._held, stream, text):
            chunks.append(self.chunk(**{stream: text}))
        return chunks

    def unsaid(self, stream: TextStream, shown: ShownText, whole: str) -> list[ChunkResponse]:
        """Return what was not shown of a whole text, if what was shown is its beginning."""
        rest = rest_of([shown], whole)
        if not rest:
            return []
        self._held.pop(stream, None)  # half of a character, which the whole text has
        shown.add(rest)
        return self.text(stream, rest)

    def call(self, *deltas: ToolCallDelta | None) -> list[ChunkResponse]:
        given = tuple(delta for delta in deltas if delta is not None)
        chunks = self.leave() if self._held else []
        if calls := (*self.calls.owed(), *given):
            chunks.append(self.chunk(tool_calls=calls))
        return chunks

    def followed(self) -> list[ChunkResponse]:
        """Return `done` for the waiting calls, because the model begins another part of the answer."""
        return self.call(*self.calls.ended.followed()) if self.calls.ended.is_waiting else []

    def other(self, **said: Any) -> list[ChunkResponse]:
        """Return a chunk of other fields, after held text."""
        return [*self.leave(), self.chunk(**said)]

    def raw(self, event: Any) -> list[ChunkResponse]:
        """Return an unknown event as `raw`."""
        return self.other(raw=(plain_object(event),))

    def unread(self, item: Any, fields: Fields) -> list[ChunkResponse]:
        """Return an item that is no event of the API: as the error that it is, as `raw`, or nothing if it is empty."""
        told = told_error(fields)
        if told is None:
            return self.raw(item) if fields else []
        rest = {name: plain_json(value) for name, value in fields.items() if name not in told.keys}
        chunks = self.raw(rest) if says_something(rest) else []
        return chunks + self.fail(error_in_body(plain_json(told.body)))

    def event(self, kind: ProviderEventKind, data: Any, segment_id: object = None) -> list[ChunkResponse]:
        """Return what only the provider has; `segment_id`: the id of the call whose result it is."""
        call_id = without_halves(segment_id) if isinstance(segment_id, str) and segment_id else None
        return self.other(provider_events=(ProviderEvent(kind, plain_object(data), segment_id=call_id),))

    def leave(self, stream: TextStream | None = None) -> list[ChunkResponse]:
        """Return U+FFFD for each surrogate held for a text other than `stream`, which can no longer be completed."""
        left = [name for name in self._held if name != stream]
        return [self.chunk(**{name: rest_of_text(self._held, name)}) for name in left]

    def finish(self, finish: Finish, words: str, *, has_calls: bool = False, **said: Any) -> list[ChunkResponse]:
        """Return the finish after held text; of a second finish only the other fields.

        With `has_calls`, for calls that the client has to run, a finish reason of `stop` becomes `tool_calls`.
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

    def rest(self) -> list[ChunkResponse]:
        """Return all held text and deltas at the end."""
        chunks = self.leave()
        if deltas := self.calls.rest(is_cut=not self.finished):
            chunks.append(self.chunk(tool_calls=tuple(deltas)))
        return chunks
