"""The wire forms of Bedrock's answer: AWS's binary event stream, and the same events as server-sent ones."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from ...events.errors import UsageError, how_to_install
from ...operators.engine.state import Stateful
from ..wire.sse import ServerSentEvent, SseDecoder, is_done
from .bedrock_fields import FRAMING

_BEFORE = b" \t\r\n\xef\xbb\xbf"
_BINARY = b"\0"
"""The first byte of a frame: the highest one of its length."""


class BedrockDecoder(Stateful):
    r"""Decode AWS's event stream, or server-sent events that are named as its events, as recorders and proxies write.

        b'\0\0\0...'                                                [ServerSentEvent('', '{"messageStart": {...}}')]
        b'event: messageStop\ndata: {"stopReason": "end_turn"}\n\n' [ServerSentEvent('', '{"messageStop": {...}}')]

    Each becomes an object of one key, as boto3 has it. Frames are decoded by botocore; `UsageError` without it.
    """

    STATE = __slots__ = ("_decoder",)

    def __init__(self) -> None:
        self._decoder: _Frames | _NamedEvents | None = None

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that this piece completes."""
        if self._decoder is None:
            if not piece.startswith(_BINARY):
                piece = piece.lstrip(_BEFORE)
            if not piece:
                return []
            self._decoder = _Frames() if piece.startswith(_BINARY) else _NamedEvents()
        return self._decoder.feed(piece)

    def close(self) -> list[ServerSentEvent]:
        """Return the event that the end completes; a frame that it cuts off does not count."""
        return self._decoder.close() if self._decoder else []

    def new_part(self, _name: str, state: Any, /) -> _Frames | _NamedEvents:
        return _Frames() if "_rest" in state else _NamedEvents()


class _NamedEvents(SseDecoder):
    __slots__ = ()

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        return [event if event.event == "error" else _named(*event) for event in super().feed(piece)]

    def close(self) -> list[ServerSentEvent]:
        return [event if event.event == "error" else _named(*event) for event in super().close()]


class _Frames(Stateful):
    STATE = ("_is_broken",)
    PIECES = ("_rest",)
    __slots__ = (*STATE, *PIECES, "_buffer", "_errors")

    def __init__(self) -> None:
        try:
            found: Any = import_module("botocore.eventstream")
        except ImportError:
            message = f"Bedrock's binary event stream needs botocore; {how_to_install('bedrock')}"
            raise UsageError(message) from None
        self._buffer: Any = found.EventStreamBuffer()
        self._errors: tuple[type[Exception], ...] = (found.ParserError, KeyError, ValueError)
        self._rest: list[bytes] = []
        self._is_broken = False

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        if self._is_broken:
            return []
        self._rest.append(piece)
        self._buffer.add_data(piece)
        events: list[ServerSentEvent] = []
        read = 0
        try:
            for frame in self._buffer:
                read += frame.prelude.total_length
                events.append(_event(frame.headers, frame.payload))
        except self._errors as error:
            self._is_broken = True
            said = {"message": f"the event stream is broken: {error}", "type": type(error).__name__}
            events.append(_named(FRAMING, json.dumps(said)))
        if read:
            self._rest = [b"".join(self._rest)[read:]]
        return events

    def close(self) -> list[ServerSentEvent]:
        return []

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._buffer = type(self._buffer)()
        for piece in self._rest:
            self._buffer.add_data(piece)


def _event(headers: dict[str, Any], payload: bytes) -> ServerSentEvent:
    if headers.get(":message-type") == "error":
        said = {"message": headers.get(":error-message"), "code": headers.get(":error-code")}
        return _named("error", json.dumps(said))
    kind = headers.get(":exception-type") or headers.get(":event-type")
    return _named(str(kind), payload.decode("utf-8", "replace") or "{}")


def _named(event: str, data: str) -> ServerSentEvent:
    if not event or is_done(data):
        return ServerSentEvent("", data)
    return ServerSentEvent("", f"{{{json.dumps(event)}: {data}}}")
