"""The two wire forms of the first version of Cohere's chat."""

from __future__ import annotations

from typing import Any

from ...operators.engine.state import Stateful
from ..wire.ndjson import NdjsonDecoder
from ..wire.sse import ServerSentEvent, SseDecoder

_BEFORE = b" \t\r\n\xef\xbb\xbf"


class CohereV1Decoder(Stateful):
    r"""Decode JSON values, one per line, or the server-sent events of a request that accepts them.

        b'{"event_type": "stream-start"}\n'           [ServerSentEvent('', '{"event_type": "stream-start"}')]
        b'data: {"event_type": "stream-start"}\n\n'   [ServerSentEvent('', '{"event_type": "stream-start"}')]

    The first byte that says something tells which it is.
    """

    STATE = __slots__ = ("_decoder",)

    def __init__(self) -> None:
        self._decoder: NdjsonDecoder | SseDecoder | None = None

    @property
    def is_rows(self) -> bool:
        """Whether the values come one per line."""
        return isinstance(self._decoder, NdjsonDecoder)

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that this piece completes."""
        if self._decoder is None:
            piece = piece.lstrip(_BEFORE)
            if not piece:
                return []
            self._decoder = NdjsonDecoder() if piece[:1] == b"{" else SseDecoder()
        return self._decoder.feed(piece)

    def close(self) -> list[ServerSentEvent]:
        """Return the last line or event, which the end of the stream completes."""
        return self._decoder.close() if self._decoder else []

    def new_part(self, _name: str, state: Any, /) -> NdjsonDecoder | SseDecoder:
        return SseDecoder() if "_data" in state else NdjsonDecoder()
