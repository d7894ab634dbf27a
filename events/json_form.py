"""Conversion of events to JSON and back, and their JSON Schema."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import msgspec

from .chunk_response import ChunkResponse, TokenUsage, ToolCallDelta
from .errors import UsageError
from .fragment import Fragment, JsonError
from .segment_event import SegmentEvent
from .tool_invocation import InvocationFailed, Notice, ToolCallArgumentProgress, ToolCallUpdate, ToolInvocation

Event: TypeAlias = (
    ChunkResponse
    | ToolCallDelta
    | TokenUsage
    | SegmentEvent
    | Fragment
    | JsonError
    | ToolCallArgumentProgress
    | ToolCallUpdate
    | ToolInvocation
    | InvocationFailed
    | Notice
)

_TAGGED = (
    ChunkResponse,
    ToolCallDelta,
    TokenUsage,
    Fragment,
    JsonError,
    ToolCallArgumentProgress,
    ToolCallUpdate,
    ToolInvocation,
    InvocationFailed,
    Notice,
)
_TYPES: dict[str, type[Event]] = {
    **{str(kind.__struct_config__.tag): kind for kind in _TAGGED},
    **dict.fromkeys(("SEGMENT_START", "SEGMENT_CONTENT", "SEGMENT_END"), SegmentEvent),
}


class _Metadata(msgspec.Struct, frozen=True):
    """Metadata that operators rely on when a segment was read from JSON."""

    tool_name: str | None = None
    native: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class _Payload(msgspec.Struct):
    metadata: _Metadata = _Metadata()
    status: str = ""
    reason: str = ""


class _ContentPayload(_Payload, kw_only=True):
    delta: str


_PAYLOADS = {"SEGMENT_START": _Payload, "SEGMENT_CONTENT": _ContentPayload, "SEGMENT_END": _Payload}


def to_dict(event: Event) -> dict[str, Any]:
    """Return an event as plain JSON data, without `raw` and `fragments` of segments and without `model`.

    >>> to_dict(Notice("late_text", "something came after the end"))
    {'type': 'NOTICE', 'code': 'late_text', 'detail': 'something came after the end'}
    """
    if isinstance(event, SegmentEvent):
        plain: dict[str, Any] = {"type": event.type, "segment_id": event.segment_id}
        if event.segment_type is not None:
            plain["segment_type"] = event.segment_type
        plain["payload"] = event.payload
        if event.turn_id is not None:
            plain["turn_id"] = event.turn_id
        return plain
    if isinstance(event, ToolInvocation):
        event = msgspec.structs.replace(event, model=None)
    plain = _with_lists(msgspec.to_builtins(event))
    if isinstance(event, ToolInvocation):
        del plain["model"]
    return plain


def _with_lists(value: Any) -> Any:
    """Return a value with lists in place of tuples, as the schema requires."""
    if isinstance(value, dict):
        return {key: _with_lists(each) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_with_lists(each) for each in cast("list[Any]", value)]
    return value


def to_json(event: Event) -> bytes:
    """Return an event as one line of JSON, UTF-8; raises `UsageError` for text with a lone surrogate.

    >>> to_json(Notice("late_text", "x"))
    b'{"type":"NOTICE","code":"late_text","detail":"x"}'
    """
    try:
        return msgspec.json.encode(to_dict(event))
    except UnicodeEncodeError as error:
        message = f"a lone surrogate cannot be written as JSON: {error.object[error.start :][:20]!r}"
        raise UsageError(message) from error


def from_json(data: bytes | str) -> Event:
    """Read an event from its JSON form; raises `UsageError` for anything else.

    >>> from_json(b'{"type":"NOTICE","code":"c","detail":"d"}')
    Notice(code='c', detail='d')
    """
    try:
        plain = msgspec.json.decode(data)
        kind = _TYPES[plain["type"]]
        if kind is SegmentEvent:
            msgspec.convert(plain["payload"], _PAYLOADS[plain["type"]])
        return msgspec.convert(plain, kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, KeyError, TypeError) as error:
        known = ", ".join(sorted(_TYPES))
        message = f"not the JSON form of an event ({error}); its 'type' must be one of: {known}"
        raise UsageError(message) from error


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of all events; `$defs` has the definition of each event by its name."""
    schemas, definitions = msgspec.json.schema_components(
        (*_TAGGED, SegmentEvent),
        ref_template="#/$defs/{name}",
    )
    segment = definitions["SegmentEvent"]["properties"]
    del segment["raw"], segment["fragments"]
    del definitions["ToolInvocation"]["properties"]["model"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Penstock events",
        "oneOf": list(schemas),
        "$defs": definitions,
    }
