"""Gemini's Interactions API as the replay server serves it."""

from __future__ import annotations

import re
from typing import Any

from ..gemini.gemini_served import GEMINI_SERVED
from ..wire.served import Served


def _event(message: str) -> tuple[str, Any]:
    return "error", {"event_type": "error", "error": {"code": "unavailable", "message": message}}


INTERACTIONS_SERVED = Served(
    re.compile(r"/interactions/?\Z"),
    "/v1/interactions",
    GEMINI_SERVED.client,
    GEMINI_SERVED.error_body,
    _event,
    sse_type="text/event-stream",
)
