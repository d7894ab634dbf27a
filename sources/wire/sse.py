"""Server-sent events from bytes cut anywhere; each byte is read once."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from ...operators.engine.state import Stateful

_BOM = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """One event: its name, empty if it has none, and its data."""

    event: str
    data: str


class SseDecoder(Stateful):
    r"""Decode the WHATWG event-stream format, pushed in pieces.

        b'data: {"a', b'":1}\n', b'\n'     [], [], [ServerSentEvent('', '{"a":1}')]

    Lines end by LF, CRLF or CR; lines of one event's data are joined by LF; U+2028 is text. What is not UTF-8 becomes
    U+FFFD. An event counts once its blank line has arrived; one that the end cuts off is dropped, as the standard
    demands and the SDKs do. Events without data are skipped. `id` and `retry` are for reconnecting and are left out.
    """

    STATE: ClassVar[tuple[str, ...]] = ("_begun", "_data", "_event", "_skip_lf")
    PIECES = ("_line",)
    __slots__ = (*STATE, *PIECES)

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._event = ""
        self._skip_lf = False
        self._begun = False

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that this piece completes."""
        if self._skip_lf and piece:
            # The CR at the end of the piece before has ended its line already.
            self._skip_lf = False
            if piece[0] == 0x0A:
                piece = piece[1:]
        if not piece:
            return []
        lines = piece.splitlines()  # of bytes: at LF, CRLF and CR only
        is_whole = piece[-1] in b"\r\n"
        self._skip_lf = piece[-1] == 0x0D
        if self._line:
            self._line.append(lines[0])
            if len(lines) == 1 and not is_whole:
                return []
            lines[0] = b"".join(self._line)
            self._line = []
        if not is_whole:
            self._line.append(lines.pop())
        events: list[ServerSentEvent] = []
        for line in lines:
            self._take(line, events)
        return events

    def close(self) -> list[ServerSentEvent]:
        """Return nothing: an event that the end cuts off does not count."""
        return []

    def _take(self, line: bytes, events: list[ServerSentEvent]) -> None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                events.append(ServerSentEvent(self._event, b"\n".join(self._data).decode("utf-8", "replace")))
                self._data = []
            self._event = ""
            return
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value[1:] if value[:1] == b" " else value)
        elif field == b"event":
            self._event = (value[1:] if value[:1] == b" " else value).decode("utf-8", "replace")
