"""The protocols in which remote readers may be told of a stream, one row for each; `UiFrames`: the frames for a reader.

Our own are `segments`, which sends every event, and `tool_call_updates`, which sends calls as updates. Each frame is
one JSON object in one line. `FramePump` reads a stream as frames in a task of its own; a reader of a `FrameSource` may
wait, send heartbeats or leave.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from inspect import signature
from time import time
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, cast, get_args, get_type_hints
from uuid import uuid4

import msgspec
from msgspec.structs import replace
from typing_extensions import Unpack

from ...events.errors import ProviderError, UsageError, error_fields
from ...events.json_form import STAND_IN, Event, for_browsers, json_text, template, to_dict, to_json, whole_characters
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import ToolCallUpdate
from ...operators.calls.open_segments import OpenSegments, end_status
from ...operators.engine.pump import is_async_stream
from ...operators.engine.stage import Failed, How, stage
from ...operators.machines.live_view import LiveEvent
from ...operators.tool_call_updates import tool_call_updates
from ..parts.frame_lanes import FrameLane
from ..running.event_pump import EventPump, log_unread
from .ag_ui_frames import AgUi, AgUiProfile
from .ai_sdk_frames import AiSdk, AiSdkVersion
from .anthropic_frames import AnthropicFrames
from .openai_chat_frames import ChatChunks
from .openai_responses_frames import ResponseEvents

STREAM_END: Final = {"type": "STREAM_END"}


class Segments:
    """Sends every event unchanged."""

    def __init__(self) -> None:
        self._open = OpenSegments()

    def feed(self, event: Any) -> Iterator[Any]:
        yield event
        # Only now, since a START that could not be written is not ended either.
        if isinstance(event, SegmentStart | SegmentEnd):
            self._open.note(event)

    def close(self, how: How, error: Mapping[str, Any]) -> list[Any]:
        return [*self._open.ends(how), terminal(how, error)]

    def lane(self, event: SegmentContent) -> FrameLane | None:
        """Return the lane of any segment: its events differ in their deltas."""
        kind = event.segment_type
        before, behind = template(to_dict(replace(event, delta=STAND_IN)))

        def lane(event: SegmentContent) -> Sequence[bytes]:
            if event.segment_type != kind:  # an event that a reader of JSON made may lack it
                return (to_json(event),)
            return (b"%b%b%b" % (before, json_text(whole_characters(event.delta)), behind),)

        return lane


class ToolCallUpdates:
    """Sends updates of calls in place of their segments; other events pass.

    If the stream has updates of its own, each call is sent from the source that mentions it first.
    """

    def __init__(self, *, message_id: str | None = None) -> None:
        self._message_id = message_id
        self._open = OpenSegments()
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
            if not isinstance(event, SegmentContent):
                self._open.note(event)
        if isinstance(event, SegmentEnd):
            self._passing.discard(identity)
        return events

    def close(self, how: How, error: Mapping[str, Any]) -> list[Any]:
        status, _ = end_status(how)
        ends = [
            replace(update, arguments="", is_complete=True, status=status)
            for update in self._theirs.values()
            if not update.is_complete
        ]
        made = self._our_own([*self._updates.last_words, *self._updates.close(how)])
        return [*made, *ends, *self._open.ends(how), terminal(how, error)]

    def _came(self, update: ToolCallUpdate) -> list[Any]:
        if update.tool_call_id in self._ours:
            return []
        if self._message_id is not None:
            update = replace(update, message_id=self._message_id)
        self._theirs[update.tool_call_id] = update
        return [update]

    def _our_own(self, updates: Iterable[ToolCallUpdate]) -> list[Any]:
        return [update for update in updates if update.tool_call_id not in self._theirs]


def terminal(how: How, error: Mapping[str, Any]) -> dict[str, Any]:
    """Return the last object of a stream."""
    return {"type": "STREAM_ERROR", "error": dict(error)} if isinstance(how, Failed) else STREAM_END


UiProtocol: TypeAlias = Literal[
    "segments", "tool_call_updates", "ag-ui", "ai-sdk", "openai-chat", "openai-responses", "anthropic-messages"
]


class ProtocolOptions(TypedDict, total=False):
    """The options of single protocols, as `to_sse` describes them."""

    message_id: str | None
    model: str | None
    include_usage: bool
    thread_id: str | None
    run_id: str | None
    interleave: bool
    for_agents: bool
    reasoning: bool
    profile: AgUiProfile
    version: AiSdkVersion
    created: int | None


_OPTION_TYPES: Final = get_type_hints(ProtocolOptions)


class Encoder(Protocol):
    """Turns the events of one stream into objects of its protocol; `close` ends what is open, and the stream.

    An encoder may also have a `lane`: what writes the further text of a CONTENT's segment, as long as that is all.
    """

    def feed(self, event: Any, /) -> Iterable[Any]: ...
    def close(self, how: How, error: Mapping[str, Any], /) -> Iterable[Any]: ...


class ProtocolRow(NamedTuple):
    """How a protocol is written.

    - `encoder`: makes its encoder; its parameters are the protocol's options.
    - `is_named`: whether server-sent events have the object's `type` as their name. `ending`: their last data.
    - `headers`: of the HTTP response, beside those of all server-sent events.
    - `silence`: the server-sent event that keeps the connection alive; a comment unless its clients overlook those.
    - `goes_on_after_gap`: whether readers know STREAM_GAP; else a gap ends the stream with an error.
    - `resumes_ended`: whether a reader that has nothing of a stream gets it after its end, too.
    - `nothing_to_resume`: the HTTP status of an answer without a stream.
    - `made`: makes the options that each stream has anew, unless they are given.
    """

    encoder: Callable[..., Encoder]
    is_named: bool = False
    ending: bytes = b""
    silence: bytes = b": \n\n"
    headers: Mapping[str, str] = MappingProxyType({})
    goes_on_after_gap: bool = False
    resumes_ended: bool = True
    nothing_to_resume: int = 204
    made: Mapping[str, Callable[[], str | int]] = MappingProxyType({})


def _silence(kind: str) -> bytes:
    """Return an event that says nothing: some clients count only those with data as a sign of life."""
    return f'event: {kind}\ndata: {{"type":"{kind}"}}\n\n'.encode()


def _now() -> int:
    return int(time())


def _new_id() -> str:
    return str(uuid4())


PROTOCOLS: Final[Mapping[UiProtocol, ProtocolRow]] = {
    "segments": ProtocolRow(Segments, goes_on_after_gap=True),
    "tool_call_updates": ProtocolRow(ToolCallUpdates, goes_on_after_gap=True),
    "ag-ui": ProtocolRow(AgUi, nothing_to_resume=404, made={"thread_id": _new_id, "run_id": _new_id}),
    "ai-sdk": ProtocolRow(
        AiSdk, ending=b"[DONE]", headers={"x-vercel-ai-ui-message-stream": "v1"}, resumes_ended=False
    ),
    "openai-chat": ProtocolRow(ChatChunks, ending=b"[DONE]", made={"created": _now}),
    "openai-responses": ProtocolRow(
        ResponseEvents, is_named=True, silence=_silence("keepalive"), made={"created": _now}
    ),
    "anthropic-messages": ProtocolRow(AnthropicFrames, is_named=True, silence=_silence("ping")),
}


def protocol_row(protocol: UiProtocol) -> ProtocolRow:
    """Return the row of a protocol; `UsageError` for one that does not exist."""
    if not isinstance(cast("object", protocol), str) or (row := PROTOCOLS.get(protocol)) is None:
        message = f"protocol= must be {' or '.join(map(repr, PROTOCOLS))}, got {protocol!r}"
        raise UsageError(message)
    return row


def settled(protocol: UiProtocol, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with which the same events have the same frames whenever they are written.

    >>> settled("openai-chat", {"model": "m", "created": 1_800_000_000})
    {'created': 1800000000, 'model': 'm'}
    """
    return {name: make() for name, make in protocol_row(protocol).made.items()} | {**options}


def encoder_of(protocol: UiProtocol, options: Mapping[str, Any]) -> Encoder:
    """Return the encoder of a protocol; `UsageError` for options that it does not have."""
    row = protocol_row(protocol)
    known = signature(row.encoder).parameters
    if wrong := [each for each in options if each not in known]:
        of_it = ", ".join(f"{each}=" for each in known) or "none"
        message = f"{wrong[0]}= is not an option of protocol={protocol!r}; its options are: {of_it}"
        raise UsageError(message)
    for name, value in options.items():
        _check_option(name, value)
    return row.encoder(**options)


def _check_option(name: str, value: Any) -> None:
    """Raise a `UsageError` for a value of another type than the option's."""
    if (wanted := _OPTION_TYPES.get(name)) is None:
        return  # of an encoder that is not ours
    if wanted is bool:
        is_right, words = isinstance(value, bool), "True or False"
    elif wanted == int | None:
        is_right, words = value is None or type(value) is int, "a number of seconds, or None"
    elif wanted == str | None:
        is_id = name != "model"
        words = "a str that is not empty, or None" if is_id else "a str or None"
        is_right = value is None or (isinstance(value, str) and (value != "" or not is_id))
    else:
        choices = get_args(wanted)
        *others, last = map(repr, choices)
        is_right, words = value in choices, f"{', '.join(others)} or {last}"
    if not is_right:
        message = f"{name}= must be {words}, got {value!r}"
        raise UsageError(message)


Select: TypeAlias = Callable[[Any], bool]
DescribeError: TypeAlias = Callable[[Exception], Mapping[str, Any]]

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

    What was begun is ended, even if the events break off, and a last object ends the stream, as its protocol has it.

    - `error`: the exception of `describe_error`, or of writing its result as JSON, if any; the last object then has
      only the class of the stream's error.
    """

    __slots__ = ("_describe_error", "_encoder", "_is_named", "_lanes", "_new_lane", "_select", "error")

    def __init__(
        self,
        protocol: UiProtocol = "segments",
        *,
        select: Select | None = None,
        describe_error: DescribeError = describe_error,
        **options: Unpack[ProtocolOptions],
    ) -> None:
        self._encoder = encoder_of(protocol, options)
        for name, function in (("select", select), ("describe_error", describe_error)):
            if not (callable(function) or (function is None and name == "select")):
                message = f"{name}= must be a function, got {function!r}"
                raise UsageError(message)
        self._is_named = protocol_row(protocol).is_named
        self._select = select
        self._new_lane: Callable[[SegmentContent], FrameLane | None] | None = getattr(self._encoder, "lane", None)
        self._lanes: dict[tuple[str | None, str], FrameLane | None] = {}
        """The lanes of segments, from their second text on: any event that is written but texts ends them all."""
        self._describe_error = describe_error
        self.error: Exception | None = None

    def feed(self, event: Any) -> Iterable[bytes]:
        """Return the frames of an event; those before one that cannot be written are yielded before it raises."""
        if type(event) is SegmentContent and (lane := self._lanes.get((event.turn_id, event.segment_id))) is not None:
            return lane(event) if self._select is None or self._select(event) else ()
        return self._frames(event)

    def _frames(self, event: Any) -> Iterator[bytes]:
        if isinstance(event, LiveEvent) or (self._select is not None and not self._select(event)):
            return
        if type(event) is not SegmentContent:
            self._lanes.clear()
        for frame in self._encoder.feed(event):
            if frame is event and self._is_named and isinstance(frame, dict):
                _check_name(cast("dict[str, Any]", frame).get("type"))
            yield _json_form(frame)
        if type(event) is SegmentContent and self._new_lane is not None:
            key = (event.turn_id, event.segment_id)
            self._lanes[key] = self._new_lane(event) if key in self._lanes else None

    def close(self, how: How) -> list[bytes]:
        return [*map(_json_form, self._encoder.close(how, self._described(how)))]

    def _described(self, how: How) -> Mapping[str, Any]:
        """Return what the reader is told of the exception that ended the stream, if one did."""
        if not isinstance(how, Failed):
            return {}
        try:
            described = dict(self._describe_error(how.error))
            msgspec.json.encode(described)
        except Exception as error:  # noqa: BLE001 - kept for who sends the frames, to be raised after them
            error.__context__ = error.__context__ or how.error
            self.error = error
            return {"class": type(how.error).__name__}
        return described


def _check_name(name: Any) -> None:
    """Raise an error for a type that cannot be the name of a server-sent event."""
    if not (isinstance(name, str) and name.isprintable()):
        message = f'a dictionary of your own needs a "type" that is a str in one line for this protocol, got {name!r}'
        raise UsageError(message)


def _json_form(event: Any) -> bytes:
    if isinstance(event, _EVENTS):
        return to_json(cast("Event", for_browsers(event)))
    if isinstance(event, dict):
        try:
            return msgspec.json.encode(event)
        except UnicodeEncodeError:  # half of a surrogate pair: a model may escape it, and so does this
            plain = json.loads(json.dumps(msgspec.to_builtins(event)), parse_constant=lambda _: None)
            return json.dumps(plain, separators=(",", ":")).encode()
    message = f"cannot write a {type(event).__name__} as JSON, only events and dicts; filter it out with select="
    raise UsageError(message)


class FrameSource(Protocol):
    """The frames for one reader: `wait` until there is one, `take` it, `cancel` the stream, or leave by `aclose`.

    - `has_end`: whether the last frame is the last object of the protocol; not so where the events were just closed.
    - `is_ready`: whether `take` gives a frame without waiting.
    """

    @property
    def has_end(self) -> bool: ...
    @property
    def is_ready(self) -> bool: ...

    async def wait(self, timeout: float | None = None) -> bool: ...  # noqa: ASYNC109 - no error here
    def take(self) -> bytes | None: ...
    async def cancel(self, reason: str) -> None: ...
    async def aclose(self) -> None: ...


def checked_heartbeat(heartbeat: float | None) -> float | None:
    """Return the seconds between heartbeats; `UsageError` for a number that is not above 0."""
    if heartbeat is not None and not (type(heartbeat) in (int, float) and heartbeat > 0):
        message = f"heartbeat= must be a number of seconds above 0 or None, got {heartbeat!r}"
        raise UsageError(message)
    return heartbeat


_LOGGER = logging.getLogger("penstock")
AHEAD = 16
"""The most frames queued for a slow reader; while the queue is full, nothing is read from the provider."""


class FramePump:
    """Reads events and queues their frames; see `EventPump`."""

    def __init__(self, events: AsyncIterable[Any], encoder: UiFrames) -> None:
        self._encoder = encoder
        self._error: Exception | None = None
        self.has_end = False
        self._pump = EventPump(events, encoder.feed, self._last_frames, AHEAD)

    @property
    def is_ready(self) -> bool:
        return bool(self._pump.items)

    async def wait(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - what timed out is no error here
        """Wait until a frame is there; return False after `timeout` seconds without one."""
        while not (self._pump.items or self._pump.is_over):
            if not await self._pump.changed(timeout):
                return False
        return True

    def take(self) -> bytes | None:
        """Return the next frame, None after the last; raise the exception if the reader was sent only its class."""
        if self._pump.items:
            frame: bytes = self._pump.take()
            return frame
        if self._pump.error is not None or self._error is not None:
            raise self._last_error()
        return None

    def _last_error(self) -> Exception:
        """Return the exception, and forget it: its traceback holds frames that hold this."""
        error = self._pump.error or self._error
        self._pump.error = self._error = None
        return cast("Exception", error)

    async def cancel(self, reason: str) -> None:
        """Cancel the stream: open segments end as interrupted, then the last object follows."""
        await self._pump.cancel(reason)

    async def aclose(self) -> None:
        """Stop reading, and wait until the events are closed."""
        await self._pump.aclose()

    def _last_frames(self, how: How) -> Iterable[bytes]:
        if isinstance(how, Failed):
            self._note(how.error)
        if self._pump.is_left:
            return ()
        frames = self._encoder.close(how)
        self.has_end = True
        self._error = self._encoder.error or self._error
        return frames

    def _note(self, error: Exception) -> None:
        if isinstance(error, ProviderError):
            _LOGGER.warning("a stream on its way to a reader failed: %s", error)
        elif self._pump.is_left:
            log_unread(error)
        else:
            self._error = error


def checked(events: AsyncIterable[Any], name: str) -> AsyncIterable[Any]:
    """Return the events; `UsageError` for anything but an async stream."""
    if is_async_stream(events):
        return events
    given = type(events).__name__
    message = f"{name}(...) takes an async stream, such as pipeline.astream(...) or adrive(...); got {given}"
    raise UsageError(message)
