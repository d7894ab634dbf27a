"""`StreamRun`: one stream, whose frames are kept for readers that come, leave and come back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Mapping
from typing import Any

from ...events.errors import UsageError
from ..to_json_lines import line_chunks
from ..to_sse import sse_chunks
from ..to_websocket import converse
from ..web.frame_source import checked_heartbeat
from ..web.protocols import UiProtocol, protocol_row
from .gap_frames import gap_frames
from .kept_stream import KeptStream
from .run_reader import RunReader


class StreamRun:
    """One stream of a `StreamRuns`, which readers may join, leave and resume; `StreamRuns.start` makes it.

        events    --1-2-3-4-5-6|
        sse()     --1-2-3           the connection breaks
        sse(3)             -4-5-6|

    Frames are numbered from 1. Server-sent events carry the number as their `id`. Readers of lines and of a WebSocket
    count: the first frame after number n is n + 1. A reader that comes back passes the number of the last frame that it
    got; it gets what it missed, then what arrives, each frame once. If frames that it missed are no longer kept, an
    object `{"type": "STREAM_GAP", "after": 3, "next": 9}` comes first, which has no number, and then frame 9. Clients
    of other protocols than ours get the error that ends a stream in their protocol, and nothing behind it.

    - `id`: the one given to `StreamRuns.start`, or the random one. `protocol`: that of its frames.
    """

    def __init__(
        self,
        run_id: Hashable,
        protocol: UiProtocol,
        options: Mapping[str, Any],
        stream: KeptStream,
    ) -> None:
        self.id = run_id
        self.protocol: UiProtocol = protocol
        self._options = options
        self._stream = stream

    @property
    def has_ended(self) -> bool:
        """Whether the last frame is there."""
        return self._stream.has_ended

    @property
    def last_event_id(self) -> int:
        """The number of the newest frame, 0 if there is none yet."""
        return self._stream.frames.last

    def sse(
        self, last_event_id: int | str | None = None, *, heartbeat: float | None = 15.0
    ) -> AsyncGenerator[bytes, None]:
        """Return the bytes of server-sent events with ids, as `to_sse` does.

        - `last_event_id`: the number of the last event that the reader has, such as the header `Last-Event-ID`; by
          default it has none. `UsageError` if it is not a number.
        - `heartbeat`: as in `to_sse`.
        """
        reader = self._reader(last_event_id)
        row = protocol_row(self.protocol)
        return sse_chunks(lambda: reader, row, checked_heartbeat(heartbeat), lambda: reader.number)

    def json_lines(
        self, last_event_id: int | str | None = None, *, heartbeat: float | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Return the bytes of lines of JSON, as `to_json_lines` does."""
        reader = self._reader(last_event_id)
        return line_chunks(lambda: reader, checked_heartbeat(heartbeat))

    async def websocket(
        self,
        send: Callable[[str], Awaitable[Any]],
        receive: Callable[[], Awaitable[Any]] | None = None,
        last_event_id: int | str | None = None,
    ) -> None:
        """Send the frames over a WebSocket, as `to_websocket` does; a reader that cancels ends the run for all."""
        await converse(self._reader(last_event_id), send, receive)

    async def cancel(self, reason: str = "cancelled") -> None:
        """Cancel the stream: open segments end as interrupted, then the last object follows, for all readers."""
        await self._stream.cancel(reason)

    async def aclose(self) -> None:
        """Close the events at once, and forget the run; readers get what is kept, and no last object."""
        await self._stream.aclose()

    def abandon(self) -> None:
        """Cancel the stream when the last reader has left, because no other one can come."""
        self._stream.abandon()

    def _reader(self, last_event_id: int | str | None) -> RunReader:
        return RunReader(self._stream, event_number(last_event_id), self._tell_gap)

    def _tell_gap(self, after: int) -> tuple[list[bytes], bool]:
        return gap_frames(self.protocol, self._options, after=after, oldest=self._stream.frames.first)


def event_number(last_event_id: int | str | None) -> int:
    """Return the number of an event, 0 for none; `UsageError` for what is not one.

    >>> event_number("12"), event_number(""), event_number(None)
    (12, 0, 0)
    """
    text = "" if last_event_id is None else str(last_event_id)
    if not (text.isascii() and (text.isdecimal() or not text) and len(text) <= 15):
        message = f"last_event_id= must be the number of an event, got {text[:40]!r}"
        raise UsageError(message)
    return int(text or 0)
