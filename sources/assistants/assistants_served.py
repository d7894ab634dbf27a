"""OpenAI's Assistants API as the replay server serves it."""

from __future__ import annotations

import re
from typing import Any

from ..openai.openai_served import RESPONSES_SERVED
from ..wire.served import Served


def _event(message: str) -> tuple[str, Any]:
    return "error", {"message": message, "type": "server_error", "param": None, "code": None}


ASSISTANTS_SERVED = Served(
    re.compile(r"/threads(?:/[^/]+)?/runs(?:/[^/]+/submit_tool_outputs)?/?\Z"),
    "/v1/threads/{thread_id}/runs",
    RESPONSES_SERVED.client,
    RESPONSES_SERVED.error_body,
    _event,
    garbage_event="thread.message.delta",
)
