"""Anthropic's server-sent events, where the name of an event matters as much as its data."""

from __future__ import annotations

import json
from typing import Any

from ..fields.sdk_fields import fields_of
from ..machine.told_error import told_error
from ..wire.sse import ServerSentEvent, SseDecoder


class AnthropicDecoder(SseDecoder):
    r"""Decode server-sent events, with an error in Anthropic's form.

        b'event: ping\ndata: {}\n\n'      []
        b'event: error\ndata: gone\n\n'   [ServerSentEvent('error', '{"type": "error", "error": "gone"}')]

    Gateways leave all the names out; then an event counts by the `type` in its data. Behind an event with a name, one
    without counts only if it is an error; the SDK skips it.
    """

    SPECIAL = SseDecoder.SPECIAL | {""}
    __slots__ = ()

    def _special(self, event: ServerSentEvent) -> list[ServerSentEvent]:
        if event.event == "error":
            return [_error(event.data)]
        if event.event:
            return []
        is_error = self._is_named and told_error(fields_of(_json_or_text(event.data)) or {}) is not None
        return [event] if is_error or not self._is_named else []


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
