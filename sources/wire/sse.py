"""Server-sent events from bytes cut anywhere; each byte is read once."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from ...operators.engine.state import Stateful

_BOM = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """One event: its name, empty if it has none, and its data."""

    event: str
    data: str


# Makes a named tuple without a call of Python's.
_made: Callable[[type[ServerSentEvent], tuple[str, str]], ServerSentEvent]
_made = tuple.__new__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class SseDecoder(Stateful):
    r"""Decode the WHATWG event-stream format, pushed in pieces.

        b'data: {"a', b'":1}\n', b'\n'     [], [], [ServerSentEvent('', '{"a":1}')]

    Lines end by LF, CRLF or CR; lines of one event's data are joined by LF; U+2028 is text. What is not UTF-8 becomes
    U+FFFD. An event counts once its blank line has arrived; one that the end cuts off is dropped, as the standard
    demands and the SDKs do. Events without data are skipped. `id` and `retry` are for reconnecting and are left out.
    """

    STATE: ClassVar[tuple[str, ...]] = ("_begun", "_data", "_event", "_skip_lf")
    PIECES = ("_line",)
    SPECIAL: ClassVar[frozenset[str]] = frozenset()
    """Names of events that a subclass replaces."""
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
        last = piece[-1]
        is_whole = last in (0x0A, 0x0D)
        self._skip_lf = last == 0x0D
        if self._line:
            self._line.append(lines[0])
            if len(lines) == 1 and not is_whole:
                return []
            lines[0] = b"".join(self._line)
            self._line = []
        if not is_whole:
            self._line.append(lines.pop())
        events: list[ServerSentEvent] = []
        self._take(lines, events)
        return events

    def whole(self, piece: bytes, /) -> str | None:
        """Return the data of a piece that is exactly one event in the usual form, else None with nothing done.

        It returns None for every event that `feed` would change or leave out.
        """
        if self._line or self._data or self._event or self._skip_lf:
            return None
        begin, end, special = 0, len(piece) - 2, self.SPECIAL
        if piece.startswith(b"event: "):
            begin = piece.find(10) + 1
        if not piece.startswith(b"data: ", begin):
            return None
        if special and (piece[7 : begin - 1].decode("utf-8", "replace") if begin else "") in special:
            return None
        if 13 in piece:
            end -= 2
            if piece.find(13) != end or piece.find(10) != end + 1 or piece[end:] != b"\r\n\r\n":
                return None
        elif piece.find(10, begin) != end or piece[-1] != 10:
            return None
        self._begun = True
        return piece[begin + 6 : end].decode("utf-8", "replace")

    def close(self) -> list[ServerSentEvent]:
        """Return nothing: an event that the end cuts off does not count."""
        return []

    def _special(self, event: ServerSentEvent) -> list[ServerSentEvent]:
        """Return what replaces an event whose name is special."""
        return [event]

    def _take(self, lines: list[bytes], events: list[ServerSentEvent]) -> None:
        if not self._begun and lines:
            self._begun = True
            lines[0] = lines[0].removeprefix(_BOM)
        name, data = self._event, self._data
        for line in lines:
            if line.startswith(b"data: "):
                data.append(line[6:])
            elif not line:
                if data:
                    text = (data[0] if len(data) == 1 else b"\n".join(data)).decode("utf-8", "replace")
                    events.append(_made(ServerSentEvent, (name, text)))
                    data.clear()
                    if name in self.SPECIAL:
                        events[-1:] = self._special(events[-1])
                name = ""
            elif line.startswith(b"event: "):
                name = line[7:].decode("utf-8", "replace")
            else:
                field, _, value = line.partition(b":")
                value = value[1:] if value[:1] == b" " else value
                if field == b"data":
                    data.append(value)
                elif field == b"event":
                    name = value.decode("utf-8", "replace")
        self._event = name
