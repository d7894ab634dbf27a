"""Cohere's chat, of its second version: the served API and the machine; a stream of the first is told by its events."""

from __future__ import annotations

import re
from json import JSONDecodeError
from typing import Any

from ...events.chunk_response import ChunkResponse, TokenUsage
from ...events.errors import ProviderError
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ..base.endings import COHERE_FINISHES, error_in_body, finish_of, invalid_data
from ..base.response import COUNTS, ECHO, FRAME, LOGPROBS, SingleMachine, WireKeys, rows, token_count
from ..base.sdk_fields import Fields, entries_of, fields_of, plain_json, says_something
from ..framing.served import Served


def _served_error(_: int, message: str) -> Any:
    return {"message": message}


def _served_event(message: str) -> tuple[str, Any]:
    return "message-end", {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": message}}


COHERE_SERVED = Served(
    re.compile(r"/v2/chat/?\Z"),
    "/v2/chat",
    'cohere.ClientV2("-", base_url="{url}")',
    _served_error,
    _served_event,
    garbage_event="content-delta",
)


def cohere_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of Cohere's SDK; None for any other."""
    if type(error).__module__.partition(".")[0] != "cohere":
        return None
    if isinstance(error.__cause__, JSONDecodeError):
        return invalid_data(error.__cause__)
    body: Any = getattr(error, "body", None)
    found = error_in_body(plain_json(body) or str(error) or type(error).__name__)
    status = getattr(error, "status_code", None)
    is_status = isinstance(status, int) and 400 <= status < 600
    return ProviderError(
        found.detail, code=found.code, type=found.type or type(error).__name__, status=status if is_status else None
    )


_MESSAGE = (
    "delta(message(role tool_plan tool_calls(* function(name arguments)) citations content(*)) finish_reason error "
    "usage(tokens(input_tokens output_tokens reasoning_tokens) cached_tokens billed_units))"
)
_SHAPES = dict.fromkeys(
    (
        *("message-start", "content-start", "content-delta", "tool-plan-delta", "tool-call-start", "tool-call-delta"),
        "citation-start",
    ),
    f"type index id model logprobs {_MESSAGE}",
) | {"message-end": f"type id {_MESSAGE.replace('delta(', 'delta(* ')}"}

KEYS = WireKeys(
    "cohere",
    left_out=(
        *rows(FRAME, "*: type", "*: index", "content-end", "tool-call-end", "citation-end"),
        *rows(FRAME, "message-start: delta.message.role", "*: delta.message.content.type"),
        *rows(FRAME, "tool-call-start: delta.message.tool_calls.type"),
        *rows(ECHO, "debug"),
        *rows(COUNTS, "message-end: delta.usage.billed_units"),
        *rows(LOGPROBS, "content-delta: logprobs"),
    ),
    shapes=_SHAPES,
)
COHERE_V1_NAMES = ("cohere-v1", "cohere-chat-v1")
COHERE_V1 = (
    "this is the first version of Cohere's chat, which is not read; request the second: chat_stream(...) of "
    "cohere.ClientV2, or /v2/chat by wire, with api='cohere'"
)
"""What a `UsageError` says of such a stream."""
_EVENTS_OF_V1 = (
    *("stream-start", "text-generation", "tool-calls-chunk", "tool-calls-generation", "citation-generation"),
    *("search-queries-generation", "search-results", "stream-end"),
)
_BODY_OF_V1 = re.compile(rb'"event_type"\s*:\s*"(?:%s)"' % "|".join(_EVENTS_OF_V1).encode())


def is_cohere_v1_event(event: Fields) -> bool:
    """Return whether an item belongs to the first version."""
    return event.get("event_type") in _EVENTS_OF_V1


def is_cohere_v1_body(body: bytes) -> bool:
    """Return whether a body is a stream of the first version.

    >>> is_cohere_v1_body(b'{"is_finished": false, "event_type": "stream-start"}')
    True
    """
    return _BODY_OF_V1.search(body) is not None


def cohere_usage(usage: Fields) -> TokenUsage:
    """Return the counts of `tokens`; where they are missing, the billed ones.

    >>> cohere_usage({"tokens": {"input_tokens": 5.0, "output_tokens": 2.0}, "cached_tokens": 3})
    TokenUsage(prompt=5, completion=2, total=7, cached=3, reasoning=0)
    """
    tokens = fields_of(usage.get("tokens")) or fields_of(usage.get("billed_units")) or {}
    prompt, completion = token_count(tokens, "input_tokens"), token_count(tokens, "output_tokens")
    reasoning = token_count(tokens, "reasoning_tokens")
    return TokenUsage(prompt, completion, prompt + completion, token_count(usage, "cached_tokens"), reasoning)


_LEAST = 5
"""How many keys the objects of a text's delta have at least; without more there are no unknown ones."""
_OF_CALL = frozenset(("id", "type", "function"))
_OF_END = frozenset(("finish_reason", "usage", "error"))


class CohereChat(SingleMachine):
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
            return self._text("reasoning", message.get("tool_plan"))
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
        chunks += self._text("reasoning", message.get("tool_plan"))
        for content in map(fields_of, entries_of(message.get("content"))):
            chunks += self._texts(content or {})
        return chunks + self._citations(message)

    def _text(self, stream: Any, text: object) -> list[ChunkResponse]:
        return self.followed() + self.text(stream, text) if isinstance(text, str) and text else []

    def _texts(self, content: Fields) -> list[ChunkResponse]:
        return self._text("reasoning", content.get("thinking")) + self._text("content", content.get("text"))

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
