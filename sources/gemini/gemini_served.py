"""Google's generateContent API as the replay server serves it."""

from __future__ import annotations

import re
from typing import Any

from ..wire.served import Served

_KINDS = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _error(status: int, message: str) -> Any:
    kind = _KINDS.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    return {"error": {"code": status, "message": message, "status": kind}}


def _event(message: str) -> tuple[str, Any]:
    return "", _error(503, message)


def _wants_stream(path: str, _: dict[str, Any]) -> bool:
    return path.endswith(":streamGenerateContent")


GEMINI_SERVED = Served(
    re.compile(r"/(?:models|tunedModels|endpoints)/(?P<model>[^:]+):(?:streamGenerateContent|generateContent)\Z"),
    "/v1beta/models/{model}:streamGenerateContent",
    'google.genai.Client(api_key="-", http_options={{"base_url": "{url}"}})',
    _error,
    _event,
    _wants_stream,
    forms=frozenset({"sse", "rows", "array"}),
    sse_type="text/event-stream",
)
