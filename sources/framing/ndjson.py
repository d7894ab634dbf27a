"""JSON values, one per line, one after another or in an array, from bytes cut anywhere; each byte is read once."""

from __future__ import annotations

import re
from typing import Any

from ...operators.engine.state import Stateful
from .sse import ServerSentEvent, unframed_errors

_BRACKETS = re.compile(rb'["{}\[\]]')
_STRING_MARKS = re.compile(rb'["\\]')
_BLANKS = re.compile(rb"[\s,\xef\xbb\xbf]+")  # a byte order mark is the only use of these three outside strings
_SCALAR_END = re.compile(rb'[\s,{}\[\]"]')


class JsonArrayDecoder(Stateful):
    r"""Split a JSON array into its elements while it arrives, or a sequence of JSON values into the values.

        b'[{"a', b'":1},\r\n', b'{}]'     [], [ServerSentEvent('', '{"a":1}')], [ServerSentEvent('', '{}')]

    Gemini answers so without `alt=sse`, and with a bare object when it refuses a request. Values are separated by
    blanks and commas; text that is not JSON becomes a value that `json.loads` refuses. What is not UTF-8 becomes
    U+FFFD. The events have no name.
    """

    STATE = ("_depth", "_in_array", "_in_scalar", "_in_string", "_is_escaped")
    PIECES = ("_parts",)
    __slots__ = (*STATE, *PIECES, "held")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.held = 0
        """How many bytes are held of a value that has not come to its end."""
        self._depth = 0
        self._in_array = self._in_string = self._is_escaped = self._in_scalar = False

    @property
    def is_inside(self) -> bool:
        """Whether a value has begun and is not complete yet."""
        return bool(self._parts)

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the values that this piece completes."""
        events: list[ServerSentEvent] = []
        at = 0
        while at < len(piece):
            if self._in_scalar:
                at = self._scalar(piece, at, events)
            elif self._in_string or self._depth:
                at = self._inside(piece, at, events)
            else:
                at = self._outside(piece, at)
        return events

    def close(self) -> list[ServerSentEvent]:
        """Return the value that is open at the end; only a number or a word can then be complete."""
        events: list[ServerSentEvent] = []
        if self._parts:
            self._whole(events)
        return events

    def load(self, state: Any, /) -> None:
        """Go on from a dumped state."""
        super().load(state)
        self.held = sum(map(len, self._parts))

    def _outside(self, piece: bytes, at: int) -> int:
        if blanks := _BLANKS.match(piece, at):
            return blanks.end()
        byte = piece[at : at + 1]
        if byte == b"[" and not self._in_array:
            self._in_array = True
            return at + 1
        if byte == b"]" and self._in_array:
            self._in_array = False
            return at + 1
        if byte in (b"{", b"["):
            self._depth = 1
        elif byte == b'"':
            self._in_string = True
        else:
            self._in_scalar = True
        self._parts.append(byte)
        self.held = 1
        return at + 1

    def _inside(self, piece: bytes, at: int, events: list[ServerSentEvent]) -> int:
        start = at
        if self._is_escaped:
            self._is_escaped = False
            at += 1
        while found := (_STRING_MARKS if self._in_string else _BRACKETS).search(piece, at):
            at = found.end()
            match found[0]:
                case b"\\":
                    at += 1
                    if at > len(piece):
                        self._is_escaped = True
                case b'"':
                    self._in_string = not self._in_string
                case b"{" | b"[":
                    self._depth += 1
                case _:
                    self._depth -= 1
            if not self._depth and not self._in_string:
                self._parts.append(piece[start:at])
                self._whole(events)
                return at
        self._parts.append(piece[start:])
        self.held += len(piece) - start
        return len(piece)

    def _scalar(self, piece: bytes, at: int, events: list[ServerSentEvent]) -> int:
        found = _SCALAR_END.search(piece, at)
        end = found.start() if found else len(piece)
        self._parts.append(piece[at:end])
        self.held += end - at
        if found:
            self._whole(events)
        return end

    def _whole(self, events: list[ServerSentEvent]) -> None:
        events.append(ServerSentEvent("", b"".join(self._parts).decode("utf-8", "replace")))
        self._parts = []
        self._depth = self.held = 0
        self._in_string = self._is_escaped = self._in_scalar = False


_BOM = b"\xef\xbb\xbf"
_KEPT_OF_PAGE = 256 * 1024
"""Bytes of a page that are kept: more than an error shows, whatever its characters are."""


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
    __slots__ = (*STATE, *PIECES, "held")

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._is_page = False
        self.held = 0
        """How many bytes are held of a line, or a page, that has not come to its end."""

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the lines that this piece completes."""
        if self._is_page and self.held > _KEPT_OF_PAGE:
            return []
        first, *rest = piece.split(b"\n")
        self._line.append(first)
        self.held += len(first)
        events: list[ServerSentEvent] = []
        for begin in rest:
            events += self._end_of_line()
            self._line.append(begin)
            self.held += len(begin)
        return events

    def close(self) -> list[ServerSentEvent]:
        """Return the last line, which the end of the stream completes, or the error of a page."""
        events = self._end_of_line()
        page = b"".join(self._line).decode("utf-8", "replace")
        self._line, self._is_page, self.held = [], False, 0
        return [*events, *(ServerSentEvent("error", error) for error in unframed_errors(page.lstrip("\ufeff \t")))]

    def load(self, state: Any, /) -> None:
        """Go on from a dumped state."""
        super().load(state)
        self.held = sum(map(len, self._line))

    def _end_of_line(self) -> list[ServerSentEvent]:
        if not self._is_page:
            line = b"".join(self._line).removeprefix(_BOM).strip(b" \t\r")
            if not line.startswith(b"<"):
                self._line, self.held = [], 0
                return [ServerSentEvent("", line.decode("utf-8", "replace"))] if line else []
            self._is_page = True
        self._line.append(b"\n")
        self.held += 1
        return []
