"""The three wire forms of Gemini's answer, recognised by their first byte."""

from __future__ import annotations

from typing import Any

from ...operators.engine.state import Stateful
from ..wire.json_array import JsonArrayDecoder
from ..wire.sse import UNFRAMED, ServerSentEvent, SseDecoder

_BEFORE = b" \t\r\n\xef\xbb\xbf"
_FIELDS = frozenset((b"data", b"event", b"id", b"retry", b""))


class GeminiDecoder(Stateful):
    r"""Decode server-sent events, or the JSON array that comes without `alt=sse`, or the bare object of an error.

        b'data: {"a":1}\r\n\r\n'     [ServerSentEvent('', '{"a":1}')]
        b'[{"a":1},\n{"b":2}]'       [ServerSentEvent('', '{"a":1}'), ServerSentEvent('', '{"b":2}')]

    Among server-sent events, lines that belong to no field and begin as JSON are collected into their value: an error
    in the middle of a stream may be written so. `close()` returns an event whose blank line never came. Google's SDK
    does both as well.
    """

    STATE = __slots__ = ("_decoder",)

    def __init__(self) -> None:
        self._decoder: JsonArrayDecoder | _SseWithJson | None = None

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that this piece completes."""
        if self._decoder is None:
            piece = piece.lstrip(_BEFORE)
            if not piece:
                return []
            self._decoder = JsonArrayDecoder() if piece[:1] in (b"[", b"{") else _SseWithJson()
        return self._decoder.feed(piece)

    def whole(self, piece: bytes, /) -> str | None:
        """Return the data of a piece that is one whole server-sent event; None, with nothing done, for others."""
        decoder = self._decoder
        return decoder.whole(piece) if type(decoder) is _SseWithJson and not decoder.is_inside else None

    def close(self) -> list[ServerSentEvent]:
        """Return the last event, even if it is incomplete."""
        return self._decoder.close() if self._decoder else []

    def new_part(self, _name: str, state: Any, /) -> JsonArrayDecoder | _SseWithJson:
        return _SseWithJson() if "_json" in state else JsonArrayDecoder()


class _SseWithJson(SseDecoder):
    STATE = (*SseDecoder.STATE, "_json")
    __slots__ = ("_json",)

    def __init__(self) -> None:
        super().__init__()
        self._json = JsonArrayDecoder()

    @property
    def is_inside(self) -> bool:
        """Whether a JSON value between the events has begun and is not complete yet."""
        return self._json.is_inside

    def close(self) -> list[ServerSentEvent]:
        events = self.feed(b"\n\n")
        return events + super().close() + self._json.close()

    def _take(self, lines: list[bytes], events: list[ServerSentEvent]) -> None:
        start = 0
        for number, line in enumerate(lines):
            if self._json.is_inside or (line[:1] in (b"{", b"[") and line.partition(b":")[0] not in _FIELDS):
                super()._take(lines[start:number], events)
                if self._event == UNFRAMED:  # the page of a proxy, in which anything may stand
                    super()._take(lines[number:], events)
                    return
                events += self._json.feed(line + b"\n")
                start = number + 1
        super()._take(lines[start:] if start else lines, events)
