"""What Ollama's chat has on the wire: the keys that are known or left out, its errors, and how it is served."""

from __future__ import annotations

import re
from json import JSONDecodeError
from typing import Any

from ...events.errors import ProviderError
from ..base.provider_error import error_in_body, invalid_data
from ..base.wire_keys import FRAME, LOGPROBS, SERVER, TIMES, TOKENS, WireKeys, rows
from ..framing.served import Served


def _served_error(_: int, message: str) -> Any:
    return {"error": message}


def _served_event(message: str) -> tuple[str, Any]:
    return "", _served_error(500, message)


def _wants_stream(_: str, body: dict[str, Any]) -> bool:
    return body.get("stream") is not False


OLLAMA_SERVED = Served(
    re.compile(r"/api/(?:chat|generate)\Z"),
    "/api/chat",
    'ollama.Client(host="{url}")',
    _served_error,
    _served_event,
    _wants_stream,
    forms=frozenset({"sse", "rows"}),
)


def ollama_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of Ollama's SDK; None for any other."""
    root = type(error).__module__.partition(".")[0]
    if root == "ollama":
        found = error_in_body(getattr(error, "error", None) or str(error))
        status = getattr(error, "status_code", None)
        if isinstance(status, int) and 400 <= status < 600:
            return ProviderError(found.detail, code=found.code, type=found.type, status=status)
        return found
    if isinstance(error, JSONDecodeError | UnicodeDecodeError | RecursionError):  # out of the SDK's json.loads
        return invalid_data(error)
    if root == "pydantic_core":  # the SDK validates the wire's data
        return ProviderError(str(error), type="invalid_response")
    return None


_SHAPES = {"": "* message(* tool_calls(id index type function(name arguments index)))"}

KEYS = WireKeys(
    "ollama",
    left_out=(
        *rows(FRAME, "done", "message.role", "message.tool_name", "message.tool_calls.function.index"),
        *rows(TIMES, "created_at", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration"),
        *rows(SERVER, "remote_host", "remote_model"),
        *rows(TOKENS, "context"),
        *rows(LOGPROBS, "logprobs"),
    ),
    shapes=_SHAPES,
)
