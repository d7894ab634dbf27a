"""Conversion of events to JSON and back, what of them a browser gets, and their JSON Schema."""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias, cast, overload

import msgspec
from msgspec.structs import replace
from pydantic_core import PydanticSerializationError, to_jsonable_python

from .answer_end import AnswerEnd, Output, OutputFailed
from .chunk_response import ChunkResponse, ProviderEvent, TokenUsage, ToolCallDelta
from .errors import UsageError
from .segment_event import AnySegmentEvent, Fragment, JsonError, SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from .tool_invocation import (
    FileResult,
    InvocationFailed,
    Notice,
    ToolCallArgumentProgress,
    ToolCallStatus,
    ToolCallUpdate,
    ToolInvocation,
    ToolResult,
)

Event: TypeAlias = (
    ChunkResponse
    | ToolCallDelta
    | TokenUsage
    | AnySegmentEvent
    | Fragment
    | JsonError
    | ToolCallArgumentProgress
    | ToolCallUpdate
    | ToolInvocation
    | InvocationFailed
    | Notice
    | AnswerEnd
    | ProviderEvent
    | ToolCallStatus
    | ToolResult
    | FileResult
    | Output
    | OutputFailed
)

_TAGGED = (
    ChunkResponse,
    ToolCallDelta,
    TokenUsage,
    SegmentStart,
    SegmentContent,
    SegmentEnd,
    Fragment,
    JsonError,
    ToolCallArgumentProgress,
    ToolCallUpdate,
    ToolInvocation,
    InvocationFailed,
    Notice,
    AnswerEnd,
    ProviderEvent,
    ToolCallStatus,
    ToolResult,
    FileResult,
    Output,
    OutputFailed,
)
_TYPES: dict[str, type[Event]] = {str(kind.__struct_config__.tag): kind for kind in _TAGGED}

_IN_PROCESS: dict[type, str] = {ToolInvocation: "model", Output: "data"}
"""Fields that the JSON form does not have; an output's `data` is its `value` there."""
_SEGMENT_KEYS = ("type", "segment_id", "segment_type", "turn_id", "raw", "fragments")
_PROSE = ("text", "reasoning", "refusal", "media")
"""Segments whose source says nothing more than their deltas to anybody who shows them."""
_PAYLOAD_KEYS = ("metadata", "delta", "status", "reason")


class _Metadata(msgspec.Struct, frozen=True):
    """The types of the metadata that operators rely on, checked when a segment is read from JSON."""

    tool_name: str | None = None
    native: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class _Payload(msgspec.Struct):
    metadata: _Metadata = _Metadata()
    status: str = ""
    reason: str = ""


def to_dict(event: Event | SegmentEvent) -> dict[str, Any]:
    """Return an event as plain JSON data, without `raw` and `fragments` of segments and without instances of models.

    >>> to_dict(Notice("late_text", "something came after the end"))
    {'type': 'NOTICE', 'code': 'late_text', 'detail': 'something came after the end'}
    """
    if isinstance(event, SegmentEvent):
        return _segment(event)
    if isinstance(event, ToolInvocation):
        event = msgspec.structs.replace(event, model=None)
    elif isinstance(event, Output):
        event = msgspec.structs.replace(event, value=event.data, data=None)
    plain: dict[str, Any] = _with_lists(msgspec.to_builtins(event, enc_hook=to_jsonable_python))
    if (in_process := _IN_PROCESS.get(type(event))) is not None:
        del plain[in_process]
    if isinstance(event, ToolInvocation) and event.claimed_by is None:
        del plain["claimed_by"]
    return plain


def _segment(event: SegmentEvent) -> dict[str, Any]:
    plain: dict[str, Any] = {"type": event.type, "segment_id": event.segment_id}
    if event.segment_type is not None:
        plain["segment_type"] = event.segment_type
    plain["payload"] = _payload(event)
    if event.turn_id is not None:
        plain["turn_id"] = event.turn_id
    return plain


def _source(event: SegmentEvent) -> dict[str, Any]:
    source: dict[str, Any] = {} if event.segment_type in _PROSE or not event.raw else {"raw": event.raw}
    if event.fragments is not None:
        source["fragments"] = _with_lists(msgspec.to_builtins(event.fragments))
    return source


def _payload(event: SegmentEvent) -> dict[str, Any]:
    if isinstance(event, SegmentContent):
        return {"delta": event.delta}
    said: dict[str, Any] = {}
    if isinstance(event, SegmentEnd):
        said = {"status": event.status, "reason": event.reason}
    if isinstance(event, SegmentStart | SegmentEnd):
        said["metadata"] = event.metadata
    return {key: value for key, value in said.items() if value}


def _with_lists(value: Any) -> Any:
    """Return a value with lists in place of tuples, as the schema requires."""
    if isinstance(value, dict):
        return {key: _with_lists(each) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_with_lists(each) for each in cast("list[Any]", value)]
    return value


@overload
def whole_characters(value: str) -> str: ...
@overload
def whole_characters(value: Any) -> Any: ...
def whole_characters(value: Any) -> Any:
    r"""Return a text, or JSON data, with surrogate pairs joined, and lone surrogates replaced by U+FFFD.

    >>> whole_characters("\ud83d\ude00") == "\U0001f600", whole_characters({"a\ud83d": ["b", 1]})
    (True, {'a\ufffd': ['b', 1]})
    """
    if isinstance(value, str):
        is_whole = value.isascii()
        return value if is_whole else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {whole_characters(key): whole_characters(each) for key, each in fields.items()}
    if isinstance(value, list):
        return [whole_characters(each) for each in cast("list[object]", value)]
    return value


def to_json(event: Event | SegmentEvent, *, with_source: bool = False) -> bytes:
    """Return an event as one line of JSON, UTF-8.

    A lone surrogate, as a tool's result may have, becomes U+FFFD. Raises `UsageError` for a value of yours that JSON
    cannot represent.

    - `with_source`: with `raw` and `fragments` of segments too, but for prose and media. `from_json` reads
      them; with them, a call that was stored is written in every protocol as it was when it was streamed.

    >>> to_json(Notice("late_text", "x"))
    b'{"type":"NOTICE","code":"late_text","detail":"x"}'
    """
    try:
        plain = to_dict(event)
        if with_source and isinstance(event, SegmentEvent):
            plain |= _source(event)
        try:
            return msgspec.json.encode(plain)
        except UnicodeEncodeError:
            return msgspec.json.encode(whole_characters(plain))
    except PydanticSerializationError as error:
        message = f"a value in a {type(event).__name__} cannot be written as JSON: {error}"
        raise UsageError(message) from error


STAND_IN: Final = "\0the text of a frame\0"
"""A text that no provider sends, in whose place that of each frame is written."""


def template(frame: dict[str, Any]) -> tuple[bytes, bytes]:
    """Return what is before and behind the text of a frame that has `STAND_IN` in its place.

    >>> template({"type": "delta", "delta": STAND_IN, "id": 7})
    (b'{"type":"delta","delta":', b',"id":7}')
    """
    before, _, behind = msgspec.json.encode(frame).partition(msgspec.json.encode(STAND_IN))
    return before, behind


_encode = msgspec.json.Encoder().encode


def json_text(text: str) -> bytes:
    """Return a text as JSON; one with half of a surrogate pair is escaped."""
    try:
        return _encode(text)
    except UnicodeEncodeError:
        return json.dumps(text).encode()


def from_json(data: bytes | str) -> Event:
    """Read an event from its JSON form; raises `UsageError` for anything else.

    >>> from_json(b'{"type":"NOTICE","code":"c","detail":"d"}')
    Notice(code='c', detail='d')
    """
    try:
        plain = msgspec.json.decode(data)
        kind = _TYPES[plain["type"]]
        if kind is Output:
            plain["data"] = plain.get("value")
        return msgspec.convert(_flat(plain) if issubclass(kind, SegmentEvent) else plain, kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, KeyError, TypeError) as error:
        known = ", ".join(sorted(_TYPES))
        message = f"not the JSON form of an event ({error}); its 'type' must be one of: {known}"
        raise UsageError(message) from error


def _flat(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON form of a segment's event with the members of its payload moved to the top level, checked."""
    payload = plain["payload"]
    msgspec.convert(payload, _Payload)
    said = {key: payload[key] for key in _PAYLOAD_KEYS if key in payload}
    return {"segment_type": None, "status": None} | {key: plain[key] for key in _SEGMENT_KEYS if key in plain} | said


def is_event_type(name: str) -> bool:
    """Return whether the JSON form of an event has this type.

    >>> is_event_type("NOTICE"), is_event_type("data-weather")
    (True, False)
    """
    return name in _TYPES


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of all events; `$defs` has the definition of each event by its name."""
    schemas, definitions = msgspec.json.schema_components(_TAGGED, ref_template="#/$defs/{name}")
    for kind in (SegmentStart, SegmentContent, SegmentEnd):
        _give_payload(definitions[kind.__name__])
    for each, in_process in _IN_PROCESS.items():
        del definitions[each.__name__]["properties"][in_process]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Penstock events",
        "oneOf": list(schemas),
        "$defs": definitions,
    }


def _give_payload(definition: dict[str, Any]) -> None:
    """Change the schema of a segment's event in place, so that it describes the JSON form with its payload."""
    properties = definition["properties"]
    said = {key: properties.pop(key) for key in _PAYLOAD_KEYS if key in properties}
    del properties["raw"], properties["fragments"]
    properties["payload"] = {
        "type": "object",
        "description": "What the event says; keys are absent when they have nothing to say.",
        "properties": said,
        "required": [key for key in said if key == "delta"],
    }
    definition["required"] = ["type", "segment_id", "payload"]


_SIGNATURES: Final = frozenset(("signature", "thoughtSignature"))


def for_browsers(event: Any) -> Any:
    """Return an event as a browser gets it: without the whole message, the error, and what only its provider reads.

    >>> for_browsers(AnswerEnd("t", error={"detail": "secret"}, api="openai-chat", message={"role": "assistant"}))
    AnswerEnd(turn_id='t')
    >>> for_browsers(ProviderEvent("tool_result", {"results": [{"title": "a", "encrypted_content": "x"}]}))
    ProviderEvent(kind='tool_result', data={'results': [{'title': 'a'}]})
    >>> for_browsers(SegmentEnd("s", "reasoning", "complete", metadata={"native": {"signature": "x"}}))
    SegmentEnd(segment_id='s', segment_type='reasoning', status='complete')
    """
    if isinstance(event, AnswerEnd):
        # An exception's text may have secrets: `describe_error` says what is told of the one that broke the stream.
        return replace(event, error=None, api=None, message=None)
    if isinstance(event, ProviderEvent):
        return replace(event, data=_readable(event.data))
    if isinstance(event, SegmentStart | SegmentEnd) and "native" in event.metadata:
        return replace(event, metadata={key: value for key, value in event.metadata.items() if key != "native"})
    if isinstance(event, ToolInvocation) and event.native is not None:
        return replace(event, native=None)
    return event


def _readable(value: Any) -> Any:
    """Return a JSON value without signatures and what is encrypted."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {
            key: _readable(each) for key, each in members if not key.startswith("encrypted_") and key not in _SIGNATURES
        }
    if isinstance(value, list | tuple):
        return [_readable(each) for each in cast("list[Any]", value)]
    return value
