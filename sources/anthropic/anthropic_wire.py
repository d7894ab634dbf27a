"""Anthropic's server-sent events, where the name of an event matters as much as its data."""

from __future__ import annotations

import json
from typing import Any

from ..machine.sdk_fields import fields_of
from ..wire.sse import ServerSentEvent, SseDecoder

_SPECIAL = frozenset(("", "ping", "error"))


class AnthropicDecoder(SseDecoder):
    r"""Decode server-sent events, skipping those that the SDK skips.

        b'event: ping\ndata: {}\n\n'      []
        b'data: {}\n\n'                   []
        b'event: error\ndata: gone\n\n'   [ServerSentEvent('error', '{"type": "error", "error": "gone"}')]

    An event without a name is skipped, as `ping` is; one named `error` is an error whatever its data is.
    """

    __slots__ = ()

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that this piece completes."""
        events = super().feed(piece)
        for event in events:
            if event[0] in _SPECIAL:
                named = [each for each in events if each.event not in ("", "ping")]
                return [_error(each.data) if each.event == "error" else each for each in named]
        return events


def _error(data: str) -> ServerSentEvent:
    body = _json_or_text(data)
    fields = fields_of(body) or {}
    is_nested = "message" not in fields and fields_of(fields.get("error")) is not None
    error = {"type": "error", "error": fields["error"] if is_nested else body}
    return ServerSentEvent("error", json.dumps(error))


def _json_or_text(data: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data
