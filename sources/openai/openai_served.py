"""OpenAI's two APIs as the replay server serves them."""

from __future__ import annotations

import re
from typing import Any

from ..wire.served import Served

_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {404: "model_not_found"}
_CLIENT = 'openai.OpenAI(base_url="{url}/v1", api_key="-")'


def _error(status: int, message: str) -> Any:
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": _CODES.get(status)}}


def _chat_event(message: str) -> tuple[str, Any]:
    return "", _error(500, message)


def _responses_event(message: str) -> tuple[str, Any]:
    return "error", {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 0}


CHAT_SERVED = Served(re.compile(r"/chat/completions/?\Z"), "/v1/chat/completions", _CLIENT, _error, _chat_event)
RESPONSES_SERVED = Served(
    re.compile(r"/responses/?\Z"),
    "/v1/responses",
    _CLIENT,
    _error,
    _responses_event,
    garbage_event="response.output_text.delta",
)
