"""Errors as each API says them: the upstream's, with the status that makes a client stop or try again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...events.errors import ProviderError
from ...sinks.web.anthropic_frames import error_event
from ...sources.base.endings import error_in_body, reported_error
from ...sources.base.sdk_fields import fields_of
from ..neutral import Api

CONTEXT: Final = "context_length_exceeded"
RATE: Final = "rate_limit_exceeded"
_KINDS: Final[Mapping[int, str]] = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
"""OpenAI's types of errors; below 500 any other is `invalid_request_error`, from there on `server_error`."""
_TOO_LONG: Final = re.compile(
    r"(?is)exceed_context_size|context_length_exceeded|maximum context length|longer than the model'?s context"
    r"|exceeds? the (?:available |model'?s )?context"
)
_COUNTS: Final = (
    re.compile(r"(?is)input \((?P<tokens>\d+) tokens\).*context length \((?P<most>\d+)"),
    re.compile(r"(?is)context (?:length|size)\D{0,20}(?P<most>\d+).*?(?P<tokens>\d+)"),
    re.compile(r"(?is)\((?P<tokens>\d+) tokens\).*?\((?P<most>\d+) tokens\)"),
)
_FINAL: Final = re.compile(
    r"(?i)image input is not supported|failed to parse tool call arguments|unsupported|jinja exception|missing required"
)
"""What llama.cpp answers with 500 though the same request can never succeed."""

_SECONDS: Final = re.compile(r"\d+(?:\.\d+)?")


class ApiError(NamedTuple):
    """An error as an HTTP response."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str]


class UpstreamError(ProviderError):
    """What the upstream answered in place of a stream; `retry_after` as it said it, in seconds or as a date."""

    retry_after: str | None = None


def upstream_error(status: int, body: bytes, retry_after: str | None = None) -> UpstreamError:
    """Return the error for a response of the upstream.

    >>> body = b'{"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 8192}}'
    >>> upstream_error(400, body).detail
    'prompt is too long: 9000 tokens > 8192 maximum'

    A prompt that is too long has the code `context_length_exceeded`, whoever says it. A status of the server's own
    fault becomes 400 where the request itself is what it cannot do, for clients repeat what failed with a 500.
    """
    text = body.decode(errors="replace")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = {}
    known = fields_of(fields)
    told = None if known is None else reported_error(known)
    body_of_error = None if told is None else told.body
    found = error_in_body(text.strip() if told is None else body_of_error)
    detail, code = found.detail, found.code
    if 400 <= status < 500 and _TOO_LONG.search(text):
        status, code, detail = 400, CONTEXT, _too_long(text, body_of_error) or detail
    elif status >= 500 and _FINAL.search(detail):
        status = 400
    elif status < 400:
        status = found.status or 502
    error = UpstreamError(detail, code=code, type=found.type, status=status)
    error.retry_after = retry_after if retry_after is not None and retry_after.isascii() else None
    return error


def _too_long(text: str, body: Any) -> str | None:
    """Return the sentence by which clients know that they must shorten the conversation."""
    fields = fields_of(body) or {}
    if isinstance(tokens := fields.get("n_prompt_tokens"), int):
        return f"prompt is too long: {tokens} tokens > {fields.get('n_ctx')} maximum"
    for pattern in _COUNTS:
        if (found := pattern.search(text)) is not None:
            return f"prompt is too long: {found['tokens']} tokens > {found['most']} maximum"
    return None


def api_error(api: Api, status: int, message: str, *, code: str | None = None) -> ApiError:
    """Return an error in the form of an API.

    >>> api_error("openai-chat", 404, "no such model").body["error"]["type"]
    'invalid_request_error'
    """
    if api == "anthropic-messages":
        return ApiError(status, error_event({"message": message, "status": status}), {})
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return ApiError(status, {"error": {"message": message, "type": kind, "param": None, "code": code}}, {})


def busy_error(api: Api, message: str) -> ApiError:
    """Return what a client is told that must try again: each API's own status for it."""
    return api_error(api, 529 if api == "anthropic-messages" else 503, message)._replace(headers={"retry-after": "1"})


def told(api: Api, error: ProviderError) -> ApiError:
    """Return what a client is told of an error of the upstream before anything else was sent.

    A connection that failed is a 503, which all clients repeat. Anthropic's clients repeat what was refused for its
    key, and the key is the gateway's: for them that is a 400.
    """
    status = error.status or (503 if error.transport else 502)
    message = error.detail
    if error.transport:
        message = f"the upstream cannot be reached: {message}"
    elif status in (401, 403):
        message = f"the upstream refused the key ({status}): {message}"
        status = 400 if api == "anthropic-messages" else status
    said = api_error(api, status, message, code=error.code)
    wait = getattr(error, "retry_after", None)
    return said._replace(headers={"retry-after": wait}) if wait else said


def in_stream(error: Exception) -> dict[str, Any]:
    """Return what is told of an error in the middle of a stream, for `describe_error=` of `to_sse`.

    There is no status then: of a connection that broke, opencode knows by these words alone that it may ask again.
    """
    if not isinstance(error, ProviderError):
        return {"class": type(error).__name__}
    code, message = error.code, f"connection lost: {error.detail}" if error.transport else error.detail
    if error.status == 429:
        wait = getattr(error, "retry_after", None) or ""
        wait = wait if _SECONDS.fullmatch(wait) else "1"
        code, message = RATE, f"{message}. Please try again in {wait}s"
    status = error.status or (503 if error.transport else 502)
    said = {"detail": message, "status": status}
    return said if code is None or code.isdecimal() else {**said, "code": code}
