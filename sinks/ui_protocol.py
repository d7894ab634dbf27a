"""What a reader at the other end of a connection gets: each event as one line of JSON, and a terminal at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, cast, get_args

import msgspec

from ..events.errors import ProviderError, UsageError
from ..events.json_form import Event, to_json
from ..events.segment_event import SegmentEvent
from ..operators.segment_end import OpenSegments
from ..operators.stage import Failed, How, stage
from ..operators.tool_call_updates import tool_call_updates

UiProtocol: TypeAlias = Literal["segments", "tool_call_updates"]
Select: TypeAlias = Callable[[Any], bool]
DescribeError: TypeAlias = Callable[[Exception], Mapping[str, Any]]

STREAM_END = b'{"type":"STREAM_END"}'
_EVENTS = get_args(Event)


def describe_error(error: Exception) -> dict[str, Any]:
    """Give what a reader is told of an exception: its class, and of a `ProviderError` what the provider said.

    >>> describe_error(ProviderError("try later", status=529)), describe_error(KeyError("secret"))
    ({'class': 'ProviderError', 'detail': 'try later', 'status': 529}, {'class': 'KeyError'})
    """
    described: dict[str, Any] = {"class": type(error).__name__}
    if isinstance(error, ProviderError):
        described["detail"] = error.detail
        fields = {"code": error.code, "type": error.type, "status": error.status, "transport": error.transport or None}
        described.update((name, value) for name, value in fields.items() if value is not None)
    return described


class UiFrames:
    """Turns the events of one stream into the frames of a protocol: `feed` each event, `close` once.

    Every START that went out gets its END, also where the events break off without it, and a terminal is last.
    """

    __slots__ = ("_describe_error", "_open", "_protocol", "_select")

    def __init__(
        self,
        protocol: UiProtocol = "segments",
        *,
        select: Select | None = None,
        message_id: str | None = None,
        describe_error: DescribeError = describe_error,
    ) -> None:
        self._protocol = _events_of(protocol, message_id)
        self._open = OpenSegments()
        self._select = select
        self._describe_error = describe_error

    def feed(self, event: Any) -> list[bytes]:
        if self._select is not None and not self._select(event):
            return []
        return [self._encoded(each) for each in self._protocol.feed(event)]

    def close(self, how: How) -> list[bytes]:
        frames = [self._encoded(each) for each in self._protocol.close(how)]
        frames += [self._encoded(each) for each in self._open.ends(how)]
        return [*frames, self._terminal(how)]

    def _encoded(self, event: Any) -> bytes:
        frame = _json_form(event)
        if isinstance(event, SegmentEvent) and event.type != "SEGMENT_CONTENT":
            self._open.note(event)
        return frame

    def _terminal(self, how: How) -> bytes:
        if not isinstance(how, Failed):
            return STREAM_END
        return msgspec.json.encode({"type": "STREAM_ERROR", "error": dict(self._describe_error(how.error))})


def _events_of(protocol: str, message_id: str | None) -> _Segments | _ToolCallUpdates:
    match protocol:
        case "segments":
            return _Segments()
        case "tool_call_updates":
            return _ToolCallUpdates(message_id)
        case _:
            message = f"protocol= is {' or '.join(map(repr, get_args(UiProtocol)))}, got {protocol!r}"
            raise UsageError(message)


def _json_form(event: Any) -> bytes:
    if isinstance(event, _EVENTS):
        return to_json(cast("Event", event))
    if isinstance(event, dict):
        return msgspec.json.encode(event)
    message = f"only events and dictionaries have a JSON form here, got {type(event).__name__}; leave it out by select="
    raise UsageError(message)


class _Segments:
    """Every event as it is."""

    def feed(self, event: Any) -> tuple[Any]:
        return (event,)

    def close(self, how: How) -> tuple[()]:  # noqa: ARG002 - nothing is held back
        return ()


class _ToolCallUpdates:
    """The updates of calls instead of their segments; what no update stands for passes."""

    def __init__(self, message_id: str | None) -> None:
        self._updates = stage(tool_call_updates(message_id=message_id))
        self._passing: set[tuple[str | None, str]] = set()

    def feed(self, event: Any) -> list[Any]:
        events = self._updates.feed(event)
        if not isinstance(event, SegmentEvent):
            return events
        identity = (event.turn_id, event.segment_id)
        if event.type == "SEGMENT_START" and all(update.is_complete for update in events):
            self._passing.add(identity)
        if identity in self._passing:
            events.append(event)
        if event.type == "SEGMENT_END":
            self._passing.discard(identity)
        return events

    def close(self, how: How) -> list[Any]:
        return [*self._updates.last_words, *self._updates.close(how)]
