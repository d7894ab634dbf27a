"""Cohere's chat, of the second version and of the first: the served APIs, the wire, and the machines."""

from __future__ import annotations

from typing import Any

from ...events.chunk_response import ChunkResponse, ProviderEventKind, TokenUsage
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ..base.finish_reasons import COHERE_FINISHES, finish_of
from ..base.provider_error import error_in_body
from ..base.response import OneAnswer, TextStream, token_count
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json, says_something
from ..base.shown_text import ShownText, add_shown, rest_of
from .wire import KEYS, KEYS_V1


def cohere_usage(usage: Fields) -> TokenUsage:
    """Return the counts of `tokens`; where they are missing, the billed ones.

    >>> cohere_usage({"tokens": {"input_tokens": 5.0, "output_tokens": 2.0}, "cached_tokens": 3})
    TokenUsage(prompt=5, completion=2, total=7, cached=3, reasoning=0)
    """
    tokens = fields_of(usage.get("tokens")) or fields_of(usage.get("billed_units")) or {}
    prompt, completion = token_count(tokens, "input_tokens"), token_count(tokens, "output_tokens")
    reasoning = token_count(tokens, "reasoning_tokens")
    return TokenUsage(prompt, completion, prompt + completion, token_count(usage, "cached_tokens"), reasoning)


_API_V1 = "cohere-v1"
_KINDS_V1: dict[str, tuple[str, ProviderEventKind]] = {
    "citation-generation": ("citations", "citation"),
    "search-queries-generation": ("search_queries", "other"),
    "search-results": ("documents", "grounding"),
}
"""The events that are the provider's own, with their key and their kind."""
_EVENTS_V1 = frozenset(
    ("stream-start", "text-generation", "tool-calls-chunk", "tool-calls-generation", "stream-end")
) | {*_KINDS_V1}


class CohereChatV1(OneAnswer):
    """The machine: the wire's plain dicts or the SDK's objects in, ChunkResponses out.

        text-generation  "Hi"              [ChunkResponse(content="Hi")]
        tool-calls-chunk  f {"a": 1        [ChunkResponse(tool_calls=(f {"a": 1,))]
        stream-end  COMPLETE               [ChunkResponse(finish_reason="tool_calls")]

    Calls have no ids, so they are made. They come in pieces, then whole (`tool-calls-generation`): what came in pieces
    is compared with it. The finish is `tool_calls` where calls were made.
    """

    KEYS = KEYS_V1
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
        if isinstance(kind, str) and kind in _KINDS_V1:
            return self._own(event, *_KINDS_V1[kind])
        if kind is None and "type" not in event and isinstance(event.get("message"), str):
            return self.fail(error_in_body(plain_json(event)))
        return [] if isinstance(kind, str) and KEYS_V1.has_left_out(kind) else self.unread(item, event)

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
    return isinstance(kind, str) and kind in _EVENTS_V1


_EVENTS = frozenset(
    ("message-start", "tool-plan-delta", "content-start", "content-delta", "tool-call-start", "tool-call-delta")
) | {"tool-call-end", "citation-start", "message-end"}
_LEAST = 5
"""How many keys the objects of a text's delta have at least; without more there are no unknown ones."""
_OF_CALL = frozenset(("id", "type", "function"))
_OF_END = frozenset(("finish_reason", "usage", "error"))


class CohereChat(OneAnswer):
    """The machine: SDK events or the wire's plain dicts in, equal ChunkResponses out for both.

        tool-call-start  f {}       [ChunkResponse(tool_calls=(f,))]
        tool-call-delta  {"a": 1    [ChunkResponse(tool_calls=({"a": 1,))]
        tool-call-end               [ChunkResponse(tool_calls=(done,))]

    Follows the reference of the chat API with `stream=true`. The plan before calls is reasoning, as thinking is. The
    counts are those of `tokens`, which the model read and wrote, and not the billed ones.
    """

    KEYS = KEYS
    NAMES_IN_PIECES = True

    def __init__(self, *, turn_id: str | None = None, limits: Limits = DEFAULT_LIMITS, logprobs: bool = False) -> None:
        super().__init__(turn_id, limits, logprobs=logprobs)

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        """Return the chunks for one event; none for an event without content."""
        if self.stopped or item is None:
            return []
        event = fields_of(item)
        if event is None:
            return self.raw(item)
        kind = event.get("type")
        delta = fields_of(event.get("delta")) or {}
        message = fields_of(delta.get("message")) or {}
        chunks = self._event(item, event, delta, message)
        if not isinstance(kind, str) or (kind == "content-delta" and len(event) + len(delta) + len(message) == _LEAST):
            return chunks
        return self.with_strangers(chunks, kind, event)

    def _event(  # noqa: PLR0911 - one line for each kind of event
        self, item: Any, event: Fields, delta: Fields, message: Fields
    ) -> list[ChunkResponse]:
        kind = event.get("type")
        if kind in ("content-delta", "content-start"):
            return self._content(event, message)
        if kind in ("tool-call-delta", "tool-call-start"):
            return self._call(event, message)
        if kind == "tool-call-end":
            return self.call(self.calls.done(_key(event)))
        if kind == "tool-plan-delta":
            return self._said("reasoning", message.get("tool_plan"))
        if kind == "citation-start":
            return self._citations(message)
        if kind == "message-start":
            return self._begin(event, message)
        if kind == "message-end":
            return self._end(event, delta)
        if kind is None and isinstance(event.get("message"), str):
            return self.fail(error_in_body(plain_json(event)))
        return [] if isinstance(kind, str) and KEYS.has_left_out(kind) else self.unread(item, event)

    def _begin(self, event: Fields, message: Fields) -> list[ChunkResponse]:
        chunks = self.leave()
        self.identify(event.get("id"), event.get("model"))
        chunks += self._said("reasoning", message.get("tool_plan"))
        for content in map(fields_of, entries_of(message.get("content"))):
            chunks += self._texts(content or {})
        return chunks + self._citations(message)

    def _said(self, stream: Any, text: object) -> list[ChunkResponse]:
        return self.followed() + self.text(stream, text) if isinstance(text, str) and text else []

    def _texts(self, content: Fields) -> list[ChunkResponse]:
        return self._said("reasoning", content.get("thinking")) + self._said("content", content.get("text"))

    def _content(self, event: Fields, message: Fields) -> list[ChunkResponse]:
        content = fields_of(message.get("content")) or {}
        chunks = self._texts(content)
        if self.logprobs and says_something(found := plain_json(event.get("logprobs"))):
            chunks += self.event("logprobs", {"logprobs": found})
        known = KEYS.left_out("content-delta: delta.message.content") | {"thinking", "text", "type"}
        more = {name: plain_json(value) for name, value in content.items() if name not in known}
        return chunks + self.raw({"content": more}) if says_something(more) else chunks

    def _call(self, event: Fields, message: Fields) -> list[ChunkResponse]:
        chunks: list[ChunkResponse] = self.followed() if event.get("type") == "tool-call-start" else []
        for place, call in enumerate(map(fields_of, entries_of(message.get("tool_calls")))):
            given = call or {}
            function = fields_of(given.get("function")) or {}
            key = _key(event)
            chunks += self.call(
                self.calls.delta(
                    key if not place else f"{key}:{place}",
                    call_id=given.get("id"),
                    name=function.get("name"),
                    arguments=function.get("arguments"),
                    native={name: plain_json(value) for name, value in given.items() if value and name not in _OF_CALL},
                )
            )
        return chunks

    def _citations(self, message: Fields) -> list[ChunkResponse]:
        return [
            chunk for each in entries_of(message.get("citations")) if each for chunk in self.event("citation", each)
        ]

    def _end(self, event: Fields, delta: Fields) -> list[ChunkResponse]:
        self.identify(event.get("id"), None)
        said: dict[str, Any] = {}
        if (usage := self.new_usage(cohere_usage(fields_of(delta.get("usage")) or {}))) is not None:
            said["usage"] = usage
        more = {name: plain_json(value) for name, value in delta.items() if name not in _OF_END}
        chunks = self.event("other", more) if says_something(more) else []
        reason = delta.get("finish_reason")
        if isinstance(reason, str) and reason:
            chunks += self.finish(finish_of(COHERE_FINISHES, reason), reason, **said)
        elif said:
            chunks += self.other(**said)
        if error := delta.get("error"):
            chunks += self.fail(error_in_body(plain_json(error)))
        return chunks


def _key(event: Fields) -> int | str | None:
    index = event.get("index")
    return index if isinstance(index, int | str) else None


def is_cohere_event(event: Fields) -> bool:
    """Return whether an item belongs to this API."""
    kind = event.get("type")
    return isinstance(kind, str) and kind in _EVENTS
