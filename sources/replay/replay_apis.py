"""The providers' HTTP interfaces: paths, request forms, and error forms."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..machine.surrogates import without_halves
from .replay_forms import Form, framed

_OPENAI = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_ANTHROPIC = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_GOOGLE = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class ReplayApi(NamedTuple):
    """One served API; `name` as in the table of APIs."""

    name: str
    path: re.Pattern[str]
    """Its path, after any prefix; the group `model` is the model if the path names it."""
    shown_path: str
    wants_stream: Callable[[str, dict[str, Any]], bool]
    """Return whether a request asks for a stream, by its path and body."""
    error_body: Callable[[int, str], Any]
    error_event: Callable[[str], tuple[str, Any]]
    """An error in the middle of a stream: the event's name, and its data."""
    garbage_event: str = ""
    """The name of an event whose data is looked at."""


def _stream_is_true(_: str, body: dict[str, Any]) -> bool:
    return body.get("stream") is True


def _stream_is_not_false(_: str, body: dict[str, Any]) -> bool:
    return body.get("stream") is not False


def _path_streams(path: str, _: dict[str, Any]) -> bool:
    return path.endswith(":streamGenerateContent")


def _openai_error(status: int, message: str) -> Any:
    kind = _OPENAI.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _anthropic_error(status: int, message: str) -> Any:
    kind = _ANTHROPIC.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def _google_error(status: int, message: str) -> Any:
    kind = _GOOGLE.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    return {"error": {"code": status, "message": message, "status": kind}}


def _ollama_error(_: int, message: str) -> Any:
    return {"error": message}


def _chat_event(message: str) -> tuple[str, Any]:
    return "", _openai_error(500, message)


def _anthropic_event(message: str) -> tuple[str, Any]:
    return "error", _anthropic_error(529, message)


def _google_event(message: str) -> tuple[str, Any]:
    return "", _google_error(503, message)


def _ollama_event(message: str) -> tuple[str, Any]:
    return "", _ollama_error(500, message)


def _responses_event(message: str) -> tuple[str, Any]:
    return "error", {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 0}


REPLAY_APIS = (
    ReplayApi(
        "openai-chat",
        re.compile(r"/chat/completions/?\Z"),
        "/v1/chat/completions",
        _stream_is_true,
        _openai_error,
        _chat_event,
    ),
    ReplayApi(
        "openai-responses",
        re.compile(r"/responses/?\Z"),
        "/v1/responses",
        _stream_is_true,
        _openai_error,
        _responses_event,
        "response.output_text.delta",
    ),
    ReplayApi(
        "anthropic-messages",
        re.compile(r"/messages/?\Z|/models/(?P<model>[^/:]+):(?:streamRawPredict|rawPredict)\Z"),
        "/v1/messages",
        _stream_is_true,
        _anthropic_error,
        _anthropic_event,
        "content_block_delta",
    ),
    ReplayApi(
        "gemini",
        re.compile(r"/(?:models|tunedModels|endpoints)/(?P<model>[^:]+):(?:streamGenerateContent|generateContent)\Z"),
        "/v1beta/models/{model}:streamGenerateContent",
        _path_streams,
        _google_error,
        _google_event,
    ),
    ReplayApi(
        "ollama",
        re.compile(r"/api/(?:chat|generate)\Z"),
        "/api/chat",
        _stream_is_not_false,
        _ollama_error,
        _ollama_event,
    ),
)


def replay_api_at(path: str) -> ReplayApi | None:
    """Return the API that a path belongs to, with any prefix.

    >>> replay_api_at("/openai/deployments/d/chat/completions").name
    'openai-chat'
    """
    return next((api for api in REPLAY_APIS if api.path.search(path)), None)


def model_in(api: ReplayApi, path: str, body: dict[str, Any]) -> str:
    """Return the model that a request asks for, by its path or its body; empty if it names none."""
    found = api.path.search(path)
    model = found.groupdict().get("model") if found else None
    if not model:
        model = body.get("model")
    return without_halves(model[:200]) if isinstance(model, str) else ""


def error_in_band(api: ReplayApi, form: Form, message: str) -> bytes:
    """Return the event by which this provider reports an error in the middle of a stream."""
    event, data = api.error_event(message)
    return framed(form, json.dumps(data), event)
