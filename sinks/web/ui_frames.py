"""`UiFrames`: the frames for a remote reader, each one JSON object in one line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast, get_args

import msgspec
from typing_extensions import Unpack

from ...events.errors import ProviderError, UsageError, error_fields
from ...events.json_form import Event, to_json
from ...events.segment_event import SegmentContent
from ...operators.engine.stage import Failed, How
from ..parts.for_browsers import for_browsers
from .final_events import LIVE
from .protocols import ProtocolOptions, UiProtocol, encoder_of, protocol_row
from .segment_frames import Segments

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
