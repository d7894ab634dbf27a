"""What is in the body of a streamed answer of the gateway."""

from __future__ import annotations

import json
from typing import Any

PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")


def data_in(text: str) -> list[Any]:
    """Return the objects in the body of a streamed answer."""
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def is_error(path: str, last: Any) -> bool:
    """Return whether the last object of a streamed answer is an error of the API with that path."""
    return last["type"] == "response.failed" if path == "/v1/responses" else "error" in last
