"""The forms of streamed bodies."""

from __future__ import annotations

from ..bedrock.event_stream import frame
from ..recognition.apis import api_of
from ..wire.served import Form


def form_of(body: bytes) -> Form:
    """Return the form of a body, judged by its first character."""
    match body.lstrip(b" \t\r\n\xef\xbb\xbf")[:1]:
        case b"[":
            return "array"
        case b"{":
            return "rows"
        case b"\0":
            return "frames"
        case _:
            return "sse"


def is_stream(api: str, form: Form) -> bool:
    """Return whether a body of this form is a stream of this API, rather than a whole answer."""
    return form in api_of(api).served.forms


def content_type(api: str, form: Form) -> str:
    """Return the `content-type` with which the provider sends such a body."""
    match form:
        case "sse":
            return api_of(api).served.sse_type
        case "rows":
            return "application/x-ndjson"
        case "frames":
            return "application/vnd.amazon.eventstream"
        case "array":
            return "application/json; charset=UTF-8"


def framed(form: Form, data: str, event: str = "") -> bytes:
    r"""Return one event encoded in this form.

    >>> framed("sse", "{}", "ping"), framed("rows", "{}")
    (b'event: ping\ndata: {}\n\n', b'{}\n')
    """
    if form == "frames":
        return frame(event, data.encode())
    if form == "sse":
        name = f"event: {event}\n" if event else ""
        return f"{name}data: {data}\n\n".encode()
    return f"{data},\n".encode() if form == "array" else f"{data}\n".encode()
