"""The frames for a remote reader: each event as one line of JSON, and a last object that ends the stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, cast, get_args

import msgspec
from msgspec.structs import replace

from ...events.errors import ProviderError, UsageError, error_fields
from ...events.json_form import Event, to_json
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import ToolCallUpdate
from ...operators.calls.segment_end import OpenSegments, end_status
from ...operators.engine.stage import Failed, How, stage
from ...operators.tool_call_updates import tool_call_updates
from .final_events import LIVE
from .for_browsers import for_browsers

UiProtocol: TypeAlias = Literal["segments", "tool_call_updates"]
Select: TypeAlias = Callable[[Any], bool]
DescribeError: TypeAlias = Callable[[Exception], Mapping[str, Any]]

STREAM_END = b'{"type":"STREAM_END"}'
_EVENTS = get_args(Event)


def describe_error(error: Exception) -> dict[str, Any]:
    """Return the `error` object for an exception: its class, and for a `ProviderError` its attributes.

    >>> describe_error(ProviderError("try later", status=529)), describe_error(KeyError("secret"))
    ({'class': 'ProviderError', 'detail': 'try later', 'status': 529}, {'class': 'KeyError'})
    """
    said = error_fields(error) if isinstance(error, ProviderError) else {}  # another's text is not for the browser
    return {"class": type(error).__name__, **said}


class UiFrames:
    """Turns the events of one stream into the frames of a protocol: `feed` each event, `close` once.

    Every START that was sent gets its END, even if the events break off without it, and a last object ends the stream.

    - `error`: the exception of `describe_error`, or of writing its result as JSON, if any; the last object then has
      only the class of the stream's error.
    """

    __slots__ = ("_describe_error", "_open", "_protocol", "_select", "error")

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
        self.error: Exception | None = None

    def feed(self, event: Any) -> list[bytes]:
        if isinstance(event, LIVE) or (self._select is not None and not self._select(event)):
            return []
        return [self._encoded(each) for each in self._protocol.feed(event)]

    def close(self, how: How) -> list[bytes]:
        frames = [self._encoded(each) for each in self._protocol.close(how)]
        frames += [self._encoded(each) for each in self._open.ends(how)]
        return [*frames, self._terminal(how)]

    def _encoded(self, event: Any) -> bytes:
        frame = _json_form(event)
        if isinstance(event, SegmentStart | SegmentEnd):
            self._open.note(event)
        return frame

    def _terminal(self, how: How) -> bytes:
        if not isinstance(how, Failed):
            return STREAM_END
        try:
            return _stream_error(self._describe_error(how.error))
        except Exception as error:  # noqa: BLE001 - kept for who sends the frames, to be raised after them
            error.__context__ = error.__context__ or how.error
            self.error = error
            return _stream_error({"class": type(how.error).__name__})


def _stream_error(described: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"type": "STREAM_ERROR", "error": dict(described)})


def _events_of(protocol: str, message_id: str | None) -> _Segments | _ToolCallUpdates:
    match protocol:
        case "segments":
            return _Segments()
        case "tool_call_updates":
            return _ToolCallUpdates(message_id)
        case _:
            message = f"protocol= must be {' or '.join(map(repr, get_args(UiProtocol)))}, got {protocol!r}"
            raise UsageError(message)


def _json_form(event: Any) -> bytes:
    if isinstance(event, _EVENTS):
        return to_json(cast("Event", for_browsers(event)))
    if isinstance(event, dict):
        return msgspec.json.encode(event)
    message = f"cannot write a {type(event).__name__} as JSON, only events and dicts; filter it out with select="
    raise UsageError(message)


class _Segments:
    """Sends every event unchanged."""

    def feed(self, event: Any) -> tuple[Any]:
        return (event,)

    def close(self, how: How) -> tuple[()]:  # noqa: ARG002 - nothing is held back
        return ()


class _ToolCallUpdates:
    """Sends updates of calls in place of their segments; other events pass.

    If the stream has updates of its own, each call is sent from the source that mentions it first.
    """

    def __init__(self, message_id: str | None) -> None:
        self._message_id = message_id
        self._updates = stage(tool_call_updates(message_id=message_id))
        self._passing: set[tuple[str | None, str]] = set()
        self._ours: set[str] = set()
        """The ids of the calls whose updates are made here."""
        self._theirs: dict[str, ToolCallUpdate] = {}
        """The last update received for each other call."""

    def feed(self, event: Any) -> list[Any]:
        if isinstance(event, ToolCallUpdate):
            return self._came(event)
        made = self._updates.feed(event)
        if not isinstance(event, SegmentStart | SegmentContent | SegmentEnd):
            return made
        identity = (event.turn_id, event.segment_id)
        if isinstance(event, SegmentStart):
            if all(update.is_complete for update in made):
                self._passing.add(identity)
            elif event.segment_id not in self._theirs:
                self._ours.add(event.segment_id)
        events = self._our_own(made)
        if identity in self._passing:
            events.append(event)
        if isinstance(event, SegmentEnd):
            self._passing.discard(identity)
        return events

    def close(self, how: How) -> list[Any]:
        status, _ = end_status(how)
        ends = [
            replace(update, arguments="", is_complete=True, status=status)
            for update in self._theirs.values()
            if not update.is_complete
        ]
        return [*self._our_own([*self._updates.last_words, *self._updates.close(how)]), *ends]

    def _came(self, update: ToolCallUpdate) -> list[Any]:
        if update.tool_call_id in self._ours:
            return []
        if self._message_id is not None:
            update = replace(update, message_id=self._message_id)
        self._theirs[update.tool_call_id] = update
        return [update]

    def _our_own(self, updates: Iterable[ToolCallUpdate]) -> list[Any]:
        return [update for update in updates if update.tool_call_id not in self._theirs]
