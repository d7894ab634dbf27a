"""The providers' HTTP interfaces: paths, request forms, and error forms; and whose answer a body is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias


class WireBody(NamedTuple):
    """The SDK that got a response, and the path that its request went to; the pieces of the body follow it."""

    sdk: str
    path: str


BodyForm: TypeAlias = Literal["sse", "rows", "array", "frames"]
"""The form of a body: server-sent events, a row of JSON values, a JSON array, or AWS's binary event stream."""


def _as_it_is(body: bytes) -> bytes:
    return body


class Served(NamedTuple):
    """One API as the replay server serves it."""

    path: re.Pattern[str]
    """The request path, after any prefix; its group `model` is the model, if the path contains it."""
    shown_path: str
    client: str
    """The code that makes a client of the provider's SDK for a server at `{url}`."""
    error_body: Callable[[int, str], Any]
    """Return the body of an error response for an HTTP status and a message."""
    error_event: Callable[[str], tuple[str, Any]]
    """Return the name and data of the event that reports an error in the middle of a stream."""
    wants_stream: Callable[[str, dict[str, Any]], bool] = lambda _, body: body.get("stream") is True
    """Return whether a request is for a stream, judging by its path and body."""
    garbage_event: str = ""
    """The event name for garbage, chosen so that the SDK reads the event's data."""
    forms: frozenset[BodyForm] = frozenset({"sse"})
    """The forms in which the API streams."""
    sse_type: str = "text/event-stream; charset=utf-8"
    """The `content-type` of server-sent events."""
    as_sent: Callable[[bytes], bytes] = _as_it_is
    """Return a recorded body in the form that the SDK reads, where recordings may have another one."""
