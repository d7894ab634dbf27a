"""The providers' HTTP interfaces: paths, request forms, and error forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

Form: TypeAlias = Literal["sse", "rows", "array"]
"""The form of a body: server-sent events, a row of JSON values, or a JSON array."""


class Served(NamedTuple):
    """One API as it is served."""

    path: re.Pattern[str]
    """Its path, after any prefix; the group `model` is the model if the path names it."""
    shown_path: str
    client: str
    """How its own SDK is pointed at a server at `{url}`."""
    error_body: Callable[[int, str], Any]
    """Of an HTTP status and a message."""
    error_event: Callable[[str], tuple[str, Any]]
    """An error in the middle of a stream: the event's name, and its data."""
    wants_stream: Callable[[str, dict[str, Any]], bool] = lambda _, body: body.get("stream") is True
    """Return whether a request asks for a stream, by its path and body."""
    garbage_event: str = ""
    """The name of an event whose data is looked at."""
    forms: frozenset[Form] = frozenset({"sse"})
    """The forms in which it streams."""
    sse_type: str = "text/event-stream; charset=utf-8"
    """The `content-type` of server-sent events."""
