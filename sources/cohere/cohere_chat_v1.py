"""The first version of Cohere's chat to ChunkResponses."""

from __future__ import annotations

from typing import Any

from ...events.chunk_response import ChunkResponse, ProviderEventKind
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ..fields.left_out import is_event_left_out
from ..fields.sdk_fields import Fields, entries_of, fields_of
from ..fields.surrogates import plain_json, says_something
from ..machine.finish_reasons import COHERE_FINISHES, finish_of
from ..machine.one_answer import OneAnswer, TextStream
from ..machine.provider_error import error_in_body
from ..repeats.shown_text import ShownText, add_shown, rest_of
from .cohere_usage import cohere_usage

_API = "cohere-v1"
_KINDS: dict[str, tuple[str, ProviderEventKind]] = {
    "citation-generation": ("citations", "citation"),
    "search-queries-generation": ("search_queries", "other"),
    "search-results": ("documents", "grounding"),
}
"""The events that are the provider's own, with their key and their kind."""
_EVENTS = frozenset(("stream-start", "text-generation", "tool-calls-chunk", "tool-calls-generation", "stream-end")) | {
    *_KINDS
}


class CohereChatV1(OneAnswer):
    """The machine: the wire's plain dicts or the SDK's objects in, ChunkResponses out.

        text-generation  "Hi"              [ChunkResponse(content="Hi")]
        tool-calls-chunk  f {"a": 1        [ChunkResponse(tool_calls=(f {"a": 1,))]
        stream-end  COMPLETE               [ChunkResponse(finish_reason="tool_calls")]

    Calls have no ids, so they are made. They come in pieces, then whole (`tool-calls-generation`): what came in pieces
    is compared with it. The finish is `tool_calls` where calls were made.
    """

    API = _API
    NAMES_IN_PIECES = True
    STATE = (*OneAnswer.STATE, "_begun", "_shown")

    def __init__(self, *, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS, logprobs: bool = False) -> None:
        super().__init__(turn_id, limits, compares_arguments=True, logprobs=logprobs)
        self._begun: list[int] = []
        """The keys of the calls, in order."""
        self._shown = {"content": ShownText(), "reasoning": ShownText()}
        """What was shown, by the stream."""

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks for one event; none for an event without content."""
        if self.stopped or item is None:
            return []
        event = fields_of(item)
        if event is None:
            return self.raw(item)
        kind = event.get("event_type")
        chunks = self._event(item, event, kind)
        return self.with_strangers(chunks, kind, event, key="event_type") if isinstance(kind, str) else chunks

    def _event(self, item: Any, event: Fields, kind: object) -> list[ChunkResponse]:
        if kind == "text-generation":
            return self._text("content", event.get("text"))
        if kind == "tool-calls-chunk":
            return self._piece(event)
        if kind == "tool-calls-generation":
            return self._whole_calls(event)
        if kind == "stream-end":
            return self._end(event, fields_of(event.get("response")) or {})
        if isinstance(kind, str) and kind in _KINDS:
            return self._own(event, *_KINDS[kind])
        if kind is None and "type" not in event and isinstance(event.get("message"), str):
            return self.fail(error_in_body(plain_json(event)))
        return [] if isinstance(kind, str) and is_event_left_out(_API, kind) else self.unread(item, event)

    def new_part(self, _name: str, _state: Any, /) -> ShownText:
        """Return what was shown of an empty text, into which its state will be loaded."""
        return ShownText()

    def _text(self, stream: Any, text: object) -> list[ChunkResponse]:
        if not isinstance(text, str) or not text:
            return []
        chunks = self.followed() + self.text(stream, text)
        add_shown(self._shown, chunks)
        return chunks

    def _whole(self, stream: TextStream, text: object) -> list[ChunkResponse]:
        """Return what was not shown of a whole text, which may be the plan's, too."""
        if not isinstance(text, str) or not text:
            return []
        said = {name: shown for name, shown in self._shown.items() if not shown.is_empty}
        for name, shown in said.items():
            if rest_of([shown], text) is not None:
                return self.unsaid("content" if name == "content" else "reasoning", shown, text)
        return [] if said else self._text(stream, text)

    def _piece(self, event: Fields) -> list[ChunkResponse]:
        call = fields_of(event.get("tool_call_delta")) or {}
        chunks = self._text("reasoning", call.get("text") or event.get("text"))
        name, parameters, index = call.get("name"), call.get("parameters"), call.get("index")
        if name is None and parameters is None:
            return chunks
        key = int(index) if isinstance(index, int | float) and 0 <= index < 1e6 else len(self._begun)
        if name and key not in self._begun:
            chunks += self._ended()
            self._begun.append(key)
        return chunks + self.call(self.calls.delta(key, name=name, arguments=parameters))

    def _ended(self) -> list[ChunkResponse]:
        return [chunk for key in self._begun for chunk in self.call(self.calls.done(key))]

    def _whole_calls(self, event: Fields) -> list[ChunkResponse]:
        chunks = self._whole("reasoning", event.get("text"))
        for place, call in enumerate(map(fields_of, entries_of(event.get("tool_calls")))):
            given = call or {}
            parameters = given.get("parameters")
            if place < len(self._begun):
                key = self._begun[place]
                chunks += self.call(self.calls.whole(key, parameters, "tool-calls-generation"))
            else:
                key = max(self._begun, default=-1) + 1
                self._begun.append(key)
                arguments: Any = {} if parameters is None else parameters
                chunks += self.call(self.calls.delta(key, name=given.get("name"), arguments=arguments))
            chunks += self.call(self.calls.done(key))
        return chunks

    def _own(self, event: Fields, key: str, kind: ProviderEventKind) -> list[ChunkResponse]:
        own = {name: plain_json(value) for name, value in event.items() if name not in ("event_type", "is_finished")}
        return self.event(kind, own) if says_something(own) or event.get(key) else []

    def _end(self, event: Fields, response: Fields) -> list[ChunkResponse]:
        self.identify(response.get("response_id"), None)
        chunks = self._whole("content", response.get("text"))  # a server may stream nothing before its end
        chunks += self._whole_calls({"tool_calls": response.get("tool_calls")}) + self._ended()
        meta = fields_of(response.get("meta")) or {}
        usage = self.new_usage(cohere_usage(meta))
        reason = event.get("finish_reason")
        if not isinstance(reason, str) or not reason:
            reason = response.get("finish_reason")
        said = {} if usage is None else {"usage": usage}
        if isinstance(reason, str) and reason:
            return chunks + self.finish(finish_of(COHERE_FINISHES, reason), reason, has_calls=bool(self._begun), **said)
        return chunks + (self.other(**said) if said else [])


def is_cohere_v1_event(event: Fields) -> bool:
    """Return whether an item belongs to this API."""
    kind = event.get("event_type")
    return isinstance(kind, str) and kind in _EVENTS
