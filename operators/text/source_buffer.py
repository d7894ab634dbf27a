"""The buffer of one text: how far it has been read, and which part is in no event's `raw` yet."""

from __future__ import annotations

from ..calls.answer_segments import Segment
from ..engine.state import Stateful


class SourceBuffer(Stateful):
    """The text being read, and earlier text not emitted yet; every character goes into the `raw` of exactly one event.

    - `buffer`: the text being read; `position`: of the next character in it; `offset`: of the buffer in the whole text.
    - `since`: the position in the buffer of the first character that is in no event's `raw`; `loose`: pieces of such
      text from before the buffer.
    - `before`: such text that goes into the next event's `raw`, whatever the current block turns out to be.
    - `wait`: text at the end that is held until the next text decides what it is.
    - `events`: the list to which events are appended.
    """

    STATE = ("before", "offset", "wait")
    PIECES = ("loose",)
    __slots__ = (*STATE, *PIECES, "buffer", "events", "position", "since")

    def __init__(self) -> None:
        self.buffer = ""
        self.position = 0
        self.offset = 0
        self.since = 0
        self.loose: list[str] = []
        self.before = ""
        self.wait = ""
        self.events: list[Segment] = []

    @property
    def here(self) -> int:
        """The offset of the next character in the whole text."""
        return self.offset + self.position

    @property
    def rest(self) -> str:
        """The text that has not been read."""
        return self.buffer[self.position :]

    def open(self, text: str, events: list[Segment]) -> None:
        """Begin to read a text, with the held text before it."""
        self.buffer = self.wait + text
        self.wait = ""
        self.position = self.since = 0
        self.events = events

    def put_away(self) -> None:
        """Keep the part of the buffer that is in no event's `raw`, and empty the buffer."""
        end = len(self.buffer) - len(self.wait)
        if self.since < end:
            self.loose.append(self.buffer[self.since : end])
        self.offset += end
        self.buffer = ""
        self.position = self.since = 0

    def take(self, upto: int) -> str:
        """Return the text up to a position in the buffer, as the next event's `raw`."""
        raw = self._taken(upto)
        if self.before:
            raw = self.before + raw
            self.before = ""
        return raw

    def wait_from(self, position: int) -> None:
        """Hold the buffer from a position on until the next text arrives."""
        self.position = position
        self.wait = self.buffer[position:]

    def unread(self, length: int) -> None:
        """Go back by some characters, which are in no event's `raw`."""
        index = self.position - length
        if index < self.since:
            raw = self._taken(self.position)
            self.offset += self.position - len(raw)
            self.buffer = raw + self.buffer[self.position :]
            self.since = 0
            index = len(raw) - length
        self.position = index

    def _taken(self, upto: int) -> str:
        if upto < self.since:
            # It ends in what came before this buffer.
            loose = "".join(self.loose)
            length = len(loose) - (self.since - upto)
            self.loose[:] = [loose[length:]]
            return loose[:length]
        raw = self.buffer[self.since : upto]
        self.since = upto
        if self.loose:
            raw = "".join(self.loose) + raw
            self.loose.clear()
        return raw
