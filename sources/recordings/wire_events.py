"""`WireEvents`: cut the bytes of a body, as they come, into its events."""

from __future__ import annotations

import re

_BLANK_LINE = re.compile(rb"\n\n|\r\n\r\n|\r\r")
_LINE = re.compile(rb"\n")
_LONGEST_END = 4
_BEFORE = b" \t\r\n\xef\xbb\xbf"


class WireEvents:
    r"""Returns the events that a piece completes; joined, they are the body again, byte for byte.

    >>> events = WireEvents()
    >>> events.feed(b"data: 1\n"), events.feed(b"\ndata: 2"), events.close()
    ([], [b'data: 1\n\n'], [b'data: 2'])

    An event of server-sent events ends with its blank line; of rows of JSON and of an array with its line.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._end: re.Pattern[bytes] | None = None

    def feed(self, piece: bytes) -> list[bytes]:
        seen = max(0, len(self._held) - _LONGEST_END + 1)
        self._held += piece
        if self._end is None:
            begin = self._held.lstrip(_BEFORE)[:1]
            if not begin:
                return []
            self._end = _LINE if bytes(begin) in (b"{", b"[") else _BLANK_LINE
            seen = 0
        ends = [found.end() for found in self._end.finditer(self._held, seen)]
        events = [bytes(self._held[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        if ends:
            del self._held[: ends[-1]]
        return events

    def close(self) -> list[bytes]:
        """Return what no event's end followed."""
        held, self._held = bytes(self._held), bytearray()
        return [held] if held else []
