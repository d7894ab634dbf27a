"""Server-sent events from bytes cut anywhere, each byte read once; and what stands between them without being one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any, ClassVar, NamedTuple, cast

from ...operators.engine.state import EMPTY, Stateful
from ..base.endings import reported_error
from ..base.sdk_fields import Fields, entries_of

_SHOWN = 200
_LOOKED_AT = 64 * 1024
_UNSEEN = re.compile(r"(?is)<(script|style|svg)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)|<[^>]*(?:>|\Z)")


def error_data(data: str) -> str:
    """Return the data of an event that is named an error as JSON that says so, whatever it is.

    >>> error_data("out of memory"), error_data('{"error": "busy"}')
    ('{"error": "out of memory"}', '{"error": "busy"}')
    """
    value = _json_or_text(data)
    if isinstance(value, dict) and reported_error(cast("Fields", value)) is not None:
        return data
    return json.dumps({"error": value or True})


def unframed_errors(text: str) -> list[str]:
    """Return, as JSON, the errors in a page, or in JSON outside of any event; other JSON tells none.

    >>> unframed_errors('[{"error": {"message": "busy"}}]'), unframed_errors('{"id": 1}')
    (['{"error": {"message": "busy"}}'], [])
    >>> unframed_errors("<html><title>502 Bad Gateway</title></html>")
    ['{"error": {"message": "a page in place of a stream: 502 Bad Gateway", "type": "html"}}']
    """
    if text.startswith("<"):
        return [_error(f"a page in place of a stream: {page_text(text)}", "html")]
    if not text.startswith(("{", "[")):
        return []
    value = _json_or_text(text)
    if isinstance(value, str):  # one that was cut is an error, too
        return [_error(f"an error that is cut or no JSON: {_shown(text)}", "invalid_json")] if '"error"' in text else []
    told = (cast("Fields", each) for each in entries_of(value) if isinstance(each, dict))
    return [json.dumps(each) for each in told if reported_error(each) is not None]


def page_text(page: str) -> str:
    """Return what a page says, as far as an error shows it.

    >>> page_text("<html><style>p {}</style><title>502</title><p>Bad&nbsp;<b>Gateway</b></html>")
    '502 Bad Gateway'
    """
    return _shown(" ".join(unescape(_UNSEEN.sub(" ", page[:_LOOKED_AT])).split()))


def _error(message: str, kind: str) -> str:
    return json.dumps({"error": {"message": message, "type": kind}})


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _json_or_text(data: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data


_BOM = b"\xef\xbb\xbf"
UNFRAMED = "\n"
"""What stands for the name while lines outside of any event are kept; no event has this name."""
_BEGINNINGS = (b"{", b"[", b"<")
_FIELD = re.compile(rb"(?:data|event|error|id|retry|):")
_PAGE_END = b"</html>"
_UNNAMED = len(b"event: \n")
_OF_A_LINE = 64
"""Bytes that a line of data costs in memory besides its text."""
_NOISE = re.compile(r"(?i):.*|\[?(?:ping|keep-?alive|heart-?beat)\]?", re.DOTALL)
_DONE = re.compile(r'(?i)"?\[done\]"?\s*')


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
    U+FFFD. An event counts once its blank line has arrived; at the end also without it, if its data is whole. Events
    without data are skipped, and so are those named `ping`. `id` and `retry` are for reconnecting and are left out.

    An error is given in whatever form it comes: as an event of that name, as the line `error: ...` of llama.cpp, as
    JSON between the events or in their place, as the page of a proxy. Other lines that are no field are left out.
    """

    STATE: ClassVar[tuple[str, ...]] = ("_begun", "_data", "_event", "_is_named", "_skip_lf")
    PIECES = ("_line",)
    SPECIAL: ClassVar[frozenset[str]] = frozenset(("error", "keep-alive", "keepalive", "heartbeat", "ping"))
    """Names of events that are replaced or left out."""
    __slots__ = (*STATE, *PIECES, "_counted", "_held_data", "_held_line")

    def __init__(self) -> None:
        self._line: list[bytes] = EMPTY
        self._data: list[bytes] = []
        self._counted = self._held_data = self._held_line = 0
        self._event = ""
        self._skip_lf = False
        self._begun = False
        self._is_named = False
        """Whether an event had a name that is not special."""

    @property
    def held(self) -> int:
        """How many bytes are held of an event that has not come to its end."""
        return self._held_data + self._held_line

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
                self._held_line += len(piece)
                return []
            lines[0] = b"".join(self._line)
            self._line = EMPTY
        self._held_line = 0
        if not is_whole:
            self._line = [lines.pop()]
            self._held_line = len(self._line[0])
        events: list[ServerSentEvent] = []
        self._take(lines, events)
        if self._data:
            self._count()
        return events

    def whole(self, piece: bytes, /) -> str | None:
        """Return the data of a piece that is exactly one event in the usual form, else None with nothing done.

        It returns None for every event that `feed` would change or leave out.
        """
        if self._line or self._data or self._event or self._skip_lf:
            return None
        begin, end = 0, len(piece) - 2
        if piece.startswith(b"event: "):
            begin = piece.find(10) + 1
            if piece[7 : begin - 1].decode("utf-8", "replace") in self.SPECIAL:
                return None
        elif self._is_named and "" in self.SPECIAL:
            return None
        if not piece.startswith(b"data: ", begin):
            return None
        if 13 in piece:
            end -= 2
            if piece.find(13) != end or piece.find(10) != end + 1 or piece[end:] != b"\r\n\r\n":
                return None
        elif piece.find(10, begin) != end or piece[-1] != 10:
            return None
        self._begun = True
        if begin > _UNNAMED:
            self._is_named = True
        return piece[begin + 6 : end].decode("utf-8", "replace")

    def close(self) -> list[ServerSentEvent]:
        """Return the event that the end completes: its blank line is missing, and its data is whole."""
        events: list[ServerSentEvent] = []
        if self._line:
            line, self._line = b"".join(self._line), EMPTY
            self._take([line], events)
        if self._event == UNFRAMED:
            self._end_unframed(events)
        elif self._data and (self._event == "error" or _is_whole(b"\n".join(self._data))):
            self._take([b""], events)
        return events

    def load(self, state: Any, /) -> None:
        """Go on from a dumped state."""
        super().load(state)
        self._counted = self._held_data = 0
        self._held_line = sum(map(len, self._line))
        self._count()

    def _count(self) -> None:
        """Count the lines of data that are new."""
        new = self._data[self._counted :]
        self._held_data += sum(map(len, new)) + _OF_A_LINE * len(new)
        self._counted = len(self._data)

    def _special(self, event: ServerSentEvent) -> list[ServerSentEvent]:
        """Return what replaces an event whose name is special."""
        return [ServerSentEvent("error", error_data(event.data))] if event.event == "error" else []

    def _take(self, lines: list[bytes], events: list[ServerSentEvent]) -> None:
        if not self._begun and lines:
            self._begun = True
            lines[0] = lines[0].removeprefix(_BOM)
        if self._event == UNFRAMED:
            lines = self._unframed(lines, events)
        name, data = self._event, self._data
        rest = iter(lines)
        for line in rest:
            if line.startswith(b"data: "):
                data.append(line[6:])
            elif not line:
                if data:
                    text = (data[0] if len(data) == 1 else b"\n".join(data)).decode("utf-8", "replace")
                    events.append(_made(ServerSentEvent, (name, text)))
                    data.clear()
                    if self._counted:
                        self._counted = self._held_data = 0
                    if name in self.SPECIAL:
                        events[-1:] = self._special(events[-1])
                    elif name:
                        self._is_named = True
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
                elif field == b"error":
                    events.append(ServerSentEvent("error", error_data(value.decode("utf-8", "replace"))))
                elif line.startswith(_BEGINNINGS) and (not data or _is_whole(b"\n".join(data))):
                    self._event = name
                    self._begin_unframed([line, *rest], events)
                    return
        self._event = name

    def _begin_unframed(self, lines: list[bytes], events: list[ServerSentEvent]) -> None:
        """Take lines of which the first begins JSON or a page; it ends an event as its blank line does."""
        if self._data:
            self._take([b""], events)
        self._event = UNFRAMED
        self._take(lines, events)

    def _unframed(self, lines: list[bytes], events: list[ServerSentEvent]) -> list[bytes]:
        """Take lines outside of any event, and return those from the next event on."""
        for number, line in enumerate(lines):
            is_page = (self._data[0] if self._data else line).startswith(b"<")
            if _FIELD.match(line) or not (line or is_page):
                self._end_unframed(events)
                return lines[number:]
            self._data.append(line)
            if is_page and _PAGE_END in line.lower():
                self._end_unframed(events)
                return lines[number + 1 :]
        return []

    def _end_unframed(self, events: list[ServerSentEvent]) -> None:
        text = b"\n".join(self._data).decode("utf-8", "replace")
        self._event = ""
        self._data.clear()
        self._counted = self._held_data = 0
        events += [ServerSentEvent("error", data) for data in unframed_errors(text)]


def is_done(data: str) -> bool:
    """Return whether the data of an event is the sign for the end of a chat.

    >>> is_done("[DONE]"), is_done("[done]"), is_done("done")
    (True, True, False)
    """
    return data.startswith("[DONE]") or _DONE.fullmatch(data) is not None


def is_noise(data: str) -> bool:
    """Return whether the data of an event is a keep-alive: nothing, `ping`, or a comment behind `data:`.

    >>> is_noise("ping"), is_noise(": OPENROUTER PROCESSING"), is_noise("busy")
    (True, True, False)
    """
    return not data or data.isspace() or _NOISE.fullmatch(data.strip()) is not None


def _is_whole(data: bytes) -> bool:
    """Return whether data is an object, a list, or the sign for the end."""
    text = data.decode("utf-8", "replace")
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return is_done(text)
