"""`wire_of`: a recording as the body of its provider's response, with its times."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ...events.errors import UsageError
from ..fields.sdk_fields import fields_of
from ..recognition.apis import api_of
from ..recognition.recognised_api import recognised_api
from .read_recording import StreamRecording

_END_OF_CHAT = "data: [DONE]\n\n"


class RecordedBody(NamedTuple):
    """A body in pieces, and the seconds at which each arrived."""

    api: str
    pieces: tuple[bytes, ...]
    times: tuple[float, ...]


def wire_of(recording: StreamRecording, api: str | None = None) -> RecordedBody:
    """Return what a server would have sent; items of an SDK are framed anew as its API frames them.

    `UsageError` for a recording of texts or chunks, which no provider sent, and for one whose API is not known.
    """
    meta, items, end = recording
    if meta.form in ("texts", "chunks"):
        message = f"a recording of {meta.form} is not the body of a provider's response"
        raise UsageError(message)
    times = tuple(each.at for each in items)
    known = api_of(api or api_of_recording(recording))
    if meta.form == "wire":
        return RecordedBody(known.name, tuple(each.item for each in items), times)
    if not known.served.forms & {"sse", "rows"}:
        message = f"items of {known.name} cannot be framed as its wire; use from_recording, or record its bytes"
        raise UsageError(message)
    pieces = tuple(_framed(each.item, is_rows="rows" in known.served.forms) for each in items)
    if known.name == "openai-chat" and pieces and end is not None and end.end == "complete":
        pieces = (*pieces[:-1], pieces[-1] + _END_OF_CHAT.encode())
    return RecordedBody(known.name, pieces, times)


def api_of_recording(recording: StreamRecording) -> str:
    """Return the API that a recording names, else the one detected from what was sent; `UsageError` if that fails."""
    items = (each.item for each in recording.items)
    is_wire = recording.meta.form == "wire"
    return recording.meta.api or recognised_api(
        b"".join(items if is_wire else (_framed(each, is_rows=False) for each in items))
    )


def _framed(item: Any, *, is_rows: bool) -> bytes:
    data = json.dumps(item, separators=(",", ":"))
    if is_rows:
        return f"{data}\n".encode()
    kind = (fields_of(item) or {}).get("type")
    event = f"event: {kind}\n" if isinstance(kind, str) and kind.isprintable() else ""
    return f"{event}data: {data}\n\n".encode()
