"""What Anthropic has on the wire: the keys that are known or left out, its errors, and how it is served."""

from __future__ import annotations

import json
import re
from typing import Any

from ..base.endings import reported_error
from ..base.response import COUNTS, FRAME, PADDING, STATE, SUMS, TIMES, WireKeys, rows
from ..base.sdk_fields import fields_of
from ..framing.served import Served
from ..framing.sse import ServerSentEvent, SseDecoder

_ERROR_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def _served_error(status: int, message: str) -> Any:
    kind = _ERROR_KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def _served_event(message: str) -> tuple[str, Any]:
    return "error", _served_error(529, message)


ANTHROPIC_SERVED = Served(
    re.compile(r"/messages/?\Z|/models/(?P<model>[^/:]+):(?:streamRawPredict|rawPredict)\Z"),
    "/v1/messages",
    'anthropic.Anthropic(base_url="{url}", api_key="-")',
    _served_error,
    _served_event,
    garbage_event="content_block_delta",
)


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
        is_error = self._is_named and reported_error(fields_of(_json_or_text(event.data)) or {}) is not None
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


_USAGE = (
    "usage(input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens "
    "output_tokens_details(thinking_tokens))"
)
_OF_MESSAGE = "container stop_reason stop_sequence stop_details context_management diagnostics input_transformations"
_SHAPES = {
    "message_start": f"type message(id type role model content {_OF_MESSAGE} {_USAGE})",
    "content_block_start": "type index content_block",
    "content_block_delta": "type index delta",
    "text_delta": "type text",
    "input_json_delta": "type partial_json",
    "thinking_delta": "type thinking estimated_tokens",
    "signature_delta": "type signature",
    "citations_delta": "type citation",
    "message_delta": f"type delta({_OF_MESSAGE}) {_OF_MESSAGE} {_USAGE}",
    "text": "type text citations",
    "thinking": "type thinking signature",
    "redacted_thinking": "type data",
}
"""Beside the events the blocks and the deltas that are read key by key."""

KEYS = WireKeys(
    "anthropic-messages",
    left_out=(
        *rows(PADDING, "ping"),
        *rows(FRAME, "*: type", "*: index", "content_block_stop", "message_stop", "content_block_delta: delta.type"),
        *rows(FRAME, "content_block_start: content_block.type", "message_start: message.type"),
        *rows(FRAME, "message_start: message.role", "message_start: message.content.type"),
        *rows(SUMS, "*usage.input_tokens", "*usage.cache_creation_input_tokens"),
        *rows(STATE, "content_block_delta: delta.estimated_tokens"),
        *rows(TIMES, "message_stop: amazon-bedrock-invocationMetrics"),
        *rows(COUNTS, "*usage.cache_creation", "*usage.iterations", "*usage.server_tool_use", "*usage.inference_geo"),
        *rows(COUNTS, "*usage.service_tier", "*usage.speed"),
    ),
    shapes=_SHAPES,
)
