"""The format of a recording: its lines, their bytes, an SDK's item as JSON, and bytes cut into events."""

from __future__ import annotations

import base64
import json
import re
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ...events.chunk_response import ChunkResponse
from ...events.errors import ProviderError, error_fields, without_credentials
from ...events.json_form import to_dict
from ..base.sdk_fields import fields_of

_NOT_OF_THE_BODY = frozenset({"sdk_http_response"})
"""Google's items hold the headers of the response, which no recording keeps."""


def raw_form(item: object) -> Any:
    """Return what a recording keeps of an item: of an SDK's object the fields that were set, under the wire's names.

    >>> raw_form({"a": [1, b"x"]})
    {'a': [1, 'eA==']}

    `plain_json` repairs halves of surrogate pairs, which the next item may complete; here they stay.
    """
    match item:
        case Enum():
            return item.value
        case None | str() | bool() | int() | float():
            return item
        case bytes() | bytearray():
            return base64.b64encode(item).decode()
        case ChunkResponse():
            return to_dict(item)
        case list() | tuple():
            return [raw_form(each) for each in cast("list[object]", item)]
        case dict():
            return {str(key): raw_form(each) for key, each in cast("dict[object, object]", item).items()}
        case datetime():
            return item.isoformat().replace("+00:00", "Z")
        case _:
            return _fields(item)


def _fields(item: object) -> Any:
    fields: dict[str, Any] = getattr(item, "__dict__", {})
    known: set[str] = getattr(item, "__pydantic_fields_set__", set(fields))
    extras: dict[str, Any] = getattr(item, "__pydantic_extra__", None) or {}
    names = _wire_names(cast("Any", type(item)))
    if isinstance(fields.get("type"), str):
        known = known | {"type"}  # LangChain's objects say by their class what they are
    kept = {names.get(key, key): each for key, each in fields.items() if key in known and key not in _NOT_OF_THE_BODY}
    if not (kept or extras or hasattr(item, "__pydantic_fields_set__")):
        return str(item)
    return raw_form({**kept, **extras})


@lru_cache(maxsize=1024)
def _wire_names(kind: Any) -> dict[str, str]:
    """Return the wire's name of each field of an SDK's class that has another."""
    fields: dict[str, Any] = getattr(kind, "model_fields", {})
    return {name: field.alias for name, field in fields.items() if field.alias}


FORMAT: Final = 1
ItemForm: TypeAlias = Literal["wire", "items", "texts", "chunks"]
"""What the items are: events of the wire, objects of an SDK or of the wire's JSON, texts, or ChunkResponses."""


LONGEST_TIME: Final = 10**9
"""The seconds of the longest recording, some thirty years; no system can wait for any time."""
Nanoseconds: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LONGEST_TIME * 10**9)]
"""A time since the start."""


class RecordingMeta(Struct, frozen=True, kw_only=True):
    """The first line: which stream it was. What is not known is null."""

    penstock_recording: Literal[1] = 1
    form: ItemForm
    api: str | None = None
    model: str | None = None
    sdk: str | None = None
    """The distribution that made the items, as on PyPI."""
    sdk_version: str | None = None
    start: str | None = None
    """When the stream was opened: ISO 8601, UTC, microseconds; null if no times are known, and each `t_ns` is 0."""
    request: Any | UnsetType = UNSET
    """What was asked, where whoever recorded the stream knew it: `path` and `body`. Headers are never here."""


class RecordedItem(Struct, frozen=True):
    """One item, or one event of the wire; `t_ns`: nanoseconds since `start`, by a clock that is never set back."""

    t_ns: Nanoseconds
    raw: Any
    """The JSON of an item; a text, as for an event of the wire; `{"base64": ...}` for bytes that are not UTF-8."""


class RecordingEnd(Struct, frozen=True):
    """The last line: how the stream ended. A recording that was killed has none."""

    t_ns: Nanoseconds
    end: Literal["complete", "error", "closed"]
    """It came to its end, it raised, or its reader closed it."""
    error: dict[str, Any] | UnsetType = UNSET
    """The fields of a `ProviderError`."""

    @classmethod
    def of(cls, t_ns: int, error: Exception | None) -> RecordingEnd:
        """Return the end of a stream that raised, or that did not."""
        if error is None:
            return cls(t_ns, "complete")
        fields = error_fields(error)
        return cls(t_ns, "error", {**fields, "detail": without_credentials(str(fields.get("detail", "")))})

    def without_detail(self) -> RecordingEnd:
        """Return the end without the words of its error, which may cite what was redacted."""
        if self.error is UNSET:
            return self
        return RecordingEnd(self.t_ns, self.end, {**self.error, "detail": "the words of the error are redacted"})

    def exception(self) -> ProviderError | None:
        """Return what the stream raised; None if it raised nothing."""
        if self.error is UNSET:
            return None
        known = {key: self.error.get(key) for key in ("code", "type", "status")}
        return ProviderError(str(self.error.get("detail", "")), transport=bool(self.error.get("transport")), **known)


def recording_schema() -> dict[str, Any]:
    """Return the JSON Schema of a recording's lines.

    >>> sorted(recording_schema()["$defs"])
    ['RecordedItem', 'RecordingEnd', 'RecordingMeta']
    """
    kinds = (RecordingMeta, RecordedItem, RecordingEnd)
    schemas, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a penstock recording",
        "anyOf": list(schemas),
        "$defs": definitions,
    }


_BLANK_LINE = re.compile(rb"\n\n|\r\n\r\n|\r\r")
_LINE = re.compile(rb"\n")
_LONGEST_END = 4
_BEFORE = b" \t\r\n\xef\xbb\xbf"


class WireEvents:
    r"""Returns the events that a piece completes; joined, they are the body again, byte for byte.

    >>> events = WireEvents()
    >>> events.feed(b"data: 1\n"), events.feed(b"\ndata: 2"), events.close()
    ([], [b'data: 1\n\n'], [b'data: 2'])

    An event of server-sent events ends with its blank line; of rows of JSON and of an array with its line.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._end: re.Pattern[bytes] | None = None

    def feed(self, piece: bytes) -> list[bytes]:
        seen = max(0, len(self._held) - _LONGEST_END + 1)
        self._held += piece
        if self._end is None:
            begin = self._held.lstrip(_BEFORE)[:1]
            if not begin:
                return []
            self._end = _LINE if bytes(begin) in (b"{", b"[") else _BLANK_LINE
            seen = 0
        ends = [found.end() for found in self._end.finditer(self._held, seen)]
        events = [bytes(self._held[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        if ends:
            del self._held[: ends[-1]]
        return events

    def close(self) -> list[bytes]:
        """Return what no event's end followed."""
        held, self._held = bytes(self._held), bytearray()
        return [held] if held else []


def events_of_body(body: bytes) -> list[bytes]:
    """Return the events of a whole body."""
    events = WireEvents()
    return [*events.feed(body), *events.close()]


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
    raws = [wire_text(event) for event in events_of_body(body)]
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
