"""What Cohere's chat has on the wire: the keys that are known or left out, its errors, and how it is served."""

from __future__ import annotations

import re
from json import JSONDecodeError
from typing import Any

from ...events.errors import ProviderError
from ...operators.engine.state import Stateful
from ..base.provider_error import error_in_body, invalid_data
from ..base.sdk_fields import plain_json
from ..base.wire_keys import (
    COUNTS,
    ECHO,
    FRAME,
    LOGPROBS,
    REPEATED,
    SERVER,
    WireKeys,
    rows,
)
from ..framing.ndjson import NdjsonDecoder
from ..framing.served import Served
from ..framing.sse import ServerSentEvent, SseDecoder


def _served_error(_: int, message: str) -> Any:
    return {"message": message}


def _served_event(message: str) -> tuple[str, Any]:
    return "message-end", {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": message}}


def _served_event_v1(message: str) -> tuple[str, Any]:
    return "", {
        "event_type": "stream-end",
        "finish_reason": "ERROR",
        "is_finished": True,
        "response": {"text": message},
    }


COHERE_SERVED = Served(
    re.compile(r"/v2/chat/?\Z"),
    "/v2/chat",
    'cohere.ClientV2("-", base_url="{url}")',
    _served_error,
    _served_event,
    garbage_event="content-delta",
)
COHERE_V1_SERVED = Served(
    re.compile(r"/v1/chat\Z"),
    "/v1/chat",
    'cohere.Client("-", base_url="{url}")',
    _served_error,
    _served_event_v1,
    forms=frozenset({"sse", "rows"}),
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


_BEFORE = b" \t\r\n\xef\xbb\xbf"


class CohereV1Decoder(Stateful):
    r"""Decode JSON values, one per line, or the server-sent events of a request that accepts them.

        b'{"event_type": "stream-start"}\n'           [ServerSentEvent('', '{"event_type": "stream-start"}')]
        b'data: {"event_type": "stream-start"}\n\n'   [ServerSentEvent('', '{"event_type": "stream-start"}')]

    The first byte that says something tells which it is.
    """

    STATE = __slots__ = ("_decoder",)

    def __init__(self) -> None:
        self._decoder: NdjsonDecoder | SseDecoder | None = None

    @property
    def is_rows(self) -> bool:
        """Whether the values come one per line."""
        return isinstance(self._decoder, NdjsonDecoder)

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that this piece completes."""
        if self._decoder is None:
            piece = piece.lstrip(_BEFORE)
            if not piece:
                return []
            self._decoder = NdjsonDecoder() if piece[:1] == b"{" else SseDecoder()
        return self._decoder.feed(piece)

    def close(self) -> list[ServerSentEvent]:
        """Return the last line or event, which the end of the stream completes."""
        return self._decoder.close() if self._decoder else []

    def new_part(self, _name: str, state: Any, /) -> NdjsonDecoder | SseDecoder:
        return SseDecoder() if "_data" in state else NdjsonDecoder()


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
_SHAPES_V1 = {
    "text-generation": "event_type is_finished text",
    "tool-calls-chunk": "event_type is_finished text tool_call_delta(index name parameters text)",
    "tool-calls-generation": "event_type is_finished text tool_calls(name parameters)",
    "stream-end": "event_type is_finished finish_reason response",
}

KEYS_V1 = WireKeys(
    "cohere-v1",
    left_out=(
        *rows(FRAME, "*: event_type", "*: is_finished", "tool-calls-chunk: tool_call_delta.index"),
        *rows(SERVER, "stream-start", "stream-end: response.generation_id", "stream-end: response.meta"),
        *rows(ECHO, "debug", "stream-end: response.chat_history"),
        *rows(REPEATED, "stream-end: response", "tool-calls-generation: text"),
    ),
    shapes=_SHAPES_V1,
)
