"""JSON values, one per line, from bytes cut anywhere; each byte is read once."""

from __future__ import annotations

from ...operators.engine.state import Stateful
from .sse import ServerSentEvent

_BOM = b"\xef\xbb\xbf"


class NdjsonDecoder(Stateful):
    r"""Split newline-delimited JSON, pushed in pieces, as Ollama streams it.

        b'{"a', b'":1}\n', b'{}'     [], [ServerSentEvent('', '{"a":1}')], []     close: [ServerSentEvent('', '{}')]

    Lines end by LF or CRLF and by nothing else, so U+2028 is text; empty ones are left out. The last line counts even
    without a line end. What is not UTF-8 becomes U+FFFD. The events have no name.
    """

    PIECES = ("_line",)
    __slots__ = (*PIECES,)

    def __init__(self) -> None:
        self._line: list[bytes] = []

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the lines that this piece completes."""
        first, *rest = piece.split(b"\n")
        self._line.append(first)
        events: list[ServerSentEvent] = []
        for begin in rest:
            events += self.close()
            self._line.append(begin)
        return events

    def close(self) -> list[ServerSentEvent]:
        """Return the last line, which the end of the stream completes."""
        line = b"".join(self._line).removeprefix(_BOM).strip(b" \t\r")
        self._line = []
        return [ServerSentEvent("", line.decode("utf-8", "replace"))] if line else []
