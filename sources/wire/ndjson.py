"""JSON values, one per line, from bytes cut anywhere; each byte is read once."""

from __future__ import annotations

from ...operators.engine.state import Stateful
from .sse import ServerSentEvent
from .unframed import unframed_errors

_BOM = b"\xef\xbb\xbf"


class NdjsonDecoder(Stateful):
    r"""Split newline-delimited JSON, pushed in pieces, as Ollama streams it.

        b'{"a', b'":1}\n', b'{}'     [], [ServerSentEvent('', '{"a":1}')], []     close: [ServerSentEvent('', '{}')]

    Lines end by LF or CRLF and by nothing else, so U+2028 is text; empty ones are left out. The last line counts even
    without a line end. What is not UTF-8 becomes U+FFFD. The events have no name. From a line of HTML on, all is the
    page of a proxy, which is an error.
    """

    STATE = ("_is_page",)
    PIECES = ("_line",)
    is_rows = True
    __slots__ = (*STATE, *PIECES)

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._is_page = False

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the lines that this piece completes."""
        first, *rest = piece.split(b"\n")
        self._line.append(first)
        events: list[ServerSentEvent] = []
        for begin in rest:
            events += self._end_of_line()
            self._line.append(begin)
        return events

    def close(self) -> list[ServerSentEvent]:
        """Return the last line, which the end of the stream completes, or the error of a page."""
        events = self._end_of_line()
        page = b"".join(self._line).decode("utf-8", "replace")
        self._line, self._is_page = [], False
        return [*events, *(ServerSentEvent("error", error) for error in unframed_errors(page.lstrip("\ufeff \t")))]

    def _end_of_line(self) -> list[ServerSentEvent]:
        if not self._is_page:
            line = b"".join(self._line).removeprefix(_BOM).strip(b" \t\r")
            if not line.startswith(b"<"):
                self._line = []
                return [ServerSentEvent("", line.decode("utf-8", "replace"))] if line else []
            self._is_page = True
        self._line.append(b"\n")
        return []
