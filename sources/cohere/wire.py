"""What Cohere's chat has on the wire: the keys that are known or left out, its errors, and how it is served."""

from __future__ import annotations

import re
from json import JSONDecodeError
from typing import Any

from ...events.errors import ProviderError
from ..base.provider_error import error_in_body, invalid_data
from ..base.sdk_fields import Fields, plain_json
from ..base.wire_keys import (
    COUNTS,
    ECHO,
    FRAME,
    LOGPROBS,
    WireKeys,
    rows,
)
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
