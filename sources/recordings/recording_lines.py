"""The lines of a recording as bytes, and the recording of a whole body."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec

from ..fields.sdk_fields import fields_of
from .recording_format import RecordedItem, RecordingEnd, RecordingMeta
from .wire_events import WireEvents


def line_of(line: RecordingMeta | RecordedItem | RecordingEnd) -> bytes:
    r"""Return a line of a recording.

    >>> line_of(RecordedItem(7, "data: 1"))
    b'{"t_ns":7,"raw":"data: 1"}\n'
    """
    plain = msgspec.to_builtins(line, builtin_types=(bytes,))
    # `json` writes a half of a surrogate pair as an escape, which msgspec refuses to.
    return json.dumps(plain, separators=(",", ":")).encode() + b"\n"


def recording_of_body(body: bytes, api: str) -> bytes:
    """Return the recording of a body whose times nobody knows: its start is null, and the time of each event is 0."""
    machine = WireEvents()
    raws = [wire_text(event) for event in (*machine.feed(body), *machine.close())]
    meta = RecordingMeta(form="wire", api=api, model=model_in(raws[0]) if raws else None)
    items = (line_of(RecordedItem(0, raw)) for raw in raws)
    return b"".join((line_of(meta), *items, line_of(RecordingEnd(0, "complete"))))


def wire_text(event: bytes) -> str | dict[str, str]:
    """Return what a recording keeps of an event of the wire."""
    try:
        return event.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(event).decode()}


def model_in(raw: Any) -> str | None:
    """Return the model that the first item names, at its top or one level below."""
    if isinstance(raw, str):
        try:
            raw = json.loads(raw[raw.index("{") : raw.rindex("}") + 1])
        except ValueError:
            return None
    fields = fields_of(raw) or {}
    for each in (fields, fields_of(fields.get("message")) or {}, fields_of(fields.get("response")) or {}):
        for key in ("model", "modelVersion", "model_version"):
            if isinstance(model := each.get(key), str) and model:
                return model
    return None
