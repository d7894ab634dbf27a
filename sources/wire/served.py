"""What a provider's server looks like from outside: its paths, how it is asked, and the shapes of its errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

Form: TypeAlias = Literal["sse", "rows", "array"]
"""How a body is written: server-sent events, JSON values in a row, or a JSON array."""


class Served(NamedTuple):
    """One API as it is served."""

    path: re.Pattern[str]
    """Where it is found, after any prefix; its group `model` is the model where the path names it."""
    shown_path: str
    client: str
    """How its own SDK is pointed at a server at `{url}`."""
    error_body: Callable[[int, str], Any]
    """Of an HTTP status and a message."""
    error_event: Callable[[str], tuple[str, Any]]
    """An error in the middle of a stream: the event's name, and its data."""
    wants_stream: Callable[[str, dict[str, Any]], bool] = lambda _, body: body.get("stream") is True
    """Whether a request, by path and body, asks for a stream."""
    garbage_event: str = ""
    """The name of an event whose data is looked at."""
    forms: frozenset[Form] = frozenset({"sse"})
    """The forms in which it streams."""
    sse_type: str = "text/event-stream; charset=utf-8"
    """The `content-type` of server-sent events."""
