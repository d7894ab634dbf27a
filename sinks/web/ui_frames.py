"""`UiFrames`: the frames for a remote reader; `FramePump`: read a stream as frames in a task of its own.

Each frame is one JSON object in one line. A reader of a `FrameSource` may wait, send heartbeats or leave.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias, cast, get_args

import msgspec
from typing_extensions import Unpack

from ...events.errors import ProviderError, UsageError, error_fields
from ...events.json_form import Event, for_browsers, to_json
from ...events.segment_event import SegmentContent
from ...operators.engine.stage import Failed, How
from ..running.event_pump import EventPump, log_unread
from .final_events import LIVE
from .protocols import ProtocolOptions, Segments, UiProtocol, encoder_of, protocol_row

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

    __slots__ = ("_describe_error", "_encoder", "_is_named", "_passes_content", "_select", "error")

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
        self._passes_content = select is None and isinstance(self._encoder, Segments)
        """Whether what streams goes out as it is: most of a stream's events, which then take the shortest way."""
        self._describe_error = describe_error
        self.error: Exception | None = None

    def feed(self, event: Any) -> Iterable[bytes]:
        """Return the frames of an event; those before one that cannot be written are yielded before it raises."""
        if self._passes_content and type(event) is SegmentContent:
            return (to_json(event),)
        return self._frames(event)

    def _frames(self, event: Any) -> Iterator[bytes]:
        if isinstance(event, LIVE) or (self._select is not None and not self._select(event)):
            return
        for frame in self._encoder.feed(event):
            if frame is event and self._is_named and isinstance(frame, dict):
                _check_name(cast("dict[str, Any]", frame).get("type"))
            yield _json_form(frame)

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
    """

    @property
    def has_end(self) -> bool: ...

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
        error = self._pump.error or self._error
        if error is not None:
            raise error
        return None

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
    if isinstance(events, AsyncIterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
        return events
    given = type(events).__name__
    message = f"{name}(...) takes an async stream, such as pipeline.astream(...) or adrive(...); got {given}"
    raise UsageError(message)
