"""Anthropic's Messages API as the replay server serves it."""

from __future__ import annotations

import re
from typing import Any

from ..wire.served import Served

_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def _error(status: int, message: str) -> Any:
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def _event(message: str) -> tuple[str, Any]:
    return "error", _error(529, message)


ANTHROPIC_SERVED = Served(
    re.compile(r"/messages/?\Z|/models/(?P<model>[^/:]+):(?:streamRawPredict|rawPredict)\Z"),
    "/v1/messages",
    'anthropic.Anthropic(base_url="{url}", api_key="-")',
    _error,
    _event,
    garbage_event="content_block_delta",
)
