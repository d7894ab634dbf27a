"""`checked_stream`: detect the API of a recorded body, or explain why the body is not a stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ...events.chunk_response import ChunkResponse
from ...events.errors import ProviderError, UsageError
from ...operators.engine.drive import drive
from ...sources.fields.sdk_fields import entries_of, fields_of
from ...sources.from_wire import decode_wire
from ...sources.machine.provider_error import error_in_body, told_error
from ...sources.recognition.apis import APIS, api_of
from ...sources.recognition.checked_machine import has_content
from ...sources.recognition.recognised_api import recognised_api

_UNREADABLE = frozenset({"invalid_json", "invalid_utf8"})
_GZIP = b"\x1f\x8b"
_RECORD = "record the body of a streamed answer"


def checked_stream(body: bytes, api: str | None = None) -> str:
    """Return the name of a body's API: the one given, else the one detected from the body.

    Raises `UsageError` for a body that is empty, is not a stream, or has no event of the API. A provider's error in
    mid-stream is part of the stream; an error response is not a stream.
    """
    given = None if api is None else api_of(api).name
    _refuse_what_is_no_stream(body)
    try:
        recognised = recognised_api(body)
    except UsageError as error:
        if given is None:
            known = ", ".join(each.name for each in APIS)
            begin = "" if _whole_json(body) is None else "a whole JSON document, not a stream of a known API; "
            message = f"{begin}cannot tell which API this is; name it with api=, one of: {known}"
            raise UsageError(message) from error
        recognised = ""
    if given in (None, recognised):
        return recognised
    if _has_events(given, body, _is_answer if recognised else _is_understood):
        return given
    if recognised:
        message = f"it has no event of {given}; its events are those of {recognised}, so leave api= out"
    elif _whole_json(body) is not None:
        message = f"a whole JSON document, not a stream of {given}; {_RECORD} (stream=True)"
    else:
        message = f"it has no event of {given} in {len(body):,} bytes; {_RECORD}, or name another api="
    raise UsageError(message)


def _refuse_what_is_no_stream(body: bytes) -> None:
    begin = body.lstrip(b" \t\r\n\xef\xbb\xbf")
    if not begin:
        message = f"it is empty; {_RECORD}"
    elif begin.startswith(_GZIP):
        message = f"it is packed with gzip; unpack it with gunzip, let curl do so with --compressed, and {_RECORD}"
    elif begin.startswith(b"<"):
        message = f"it is HTML or XML, not a stream; check the URL that was requested, and {_RECORD}"
    elif (error := _error_alone(body)) is not None:
        message = f"it is an error response, not a stream: {error}; repeat the request, and {_RECORD}"
    else:
        return
    raise UsageError(message)


def _error_alone(body: bytes) -> ProviderError | None:
    """Return the error of a JSON document that is an error response."""
    first = next(iter(entries_of(_whole_json(body))), None)
    told = told_error(fields_of(first) or {})
    return None if told is None else error_in_body(told.body)


def _whole_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _has_events(api: str, body: bytes, is_understood: Callable[[ChunkResponse], bool]) -> bool:
    pieces = (body[start : start + 4096] for start in range(0, len(body), 4096))
    try:
        return any(map(is_understood, drive(pieces, decode_wire(api, choices="all"))))
    except (ProviderError, UsageError):
        return False


def _is_understood(chunk: ChunkResponse) -> bool:
    if chunk.error is not None:
        return chunk.error.get("type") not in _UNREADABLE
    return has_content(chunk)


def _is_answer(chunk: ChunkResponse) -> bool:
    # Errors and token counts look alike in several APIs.
    return bool(chunk.content or chunk.reasoning or chunk.refusal or chunk.tool_calls or chunk.finish_reason)
