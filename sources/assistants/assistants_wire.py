"""The server-sent events of OpenAI's Assistants API, whose names tell what the data is."""

from __future__ import annotations

import json

from ..wire.sse import ServerSentEvent, SseDecoder, is_done


class AssistantsDecoder(SseDecoder):
    r"""Decode server-sent events to what the SDK makes of them.

        b'event: thread.message.delta\ndata: {"id": "m"}\n\n'
        [ServerSentEvent('thread.message.delta', '{"event": "thread.message.delta", "data": {"id": "m"}}')]

    The end, `[DONE]`, stays as it is.
    """

    __slots__ = ()

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that this piece completes."""
        return [_with_name(*event) for event in super().feed(piece)]

    def close(self) -> list[ServerSentEvent]:
        """Return the event that the end completes."""
        return [_with_name(*event) for event in super().close()]

    def whole(self, _: bytes, /) -> None:
        """Return nothing: the data of each event is changed."""


def _with_name(event: str, data: str) -> ServerSentEvent:
    if not event or is_done(data):
        return ServerSentEvent(event, data)
    return ServerSentEvent(event, f'{{"event": {json.dumps(event)}, "data": {data}}}')
