"""What servers send again: a text so far or whole, messages that grow, the events of a resumed stream."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, Protocol
from zlib import crc32

from msgspec import Struct

from ...events.chunk_response import ChunkResponse
from ...operators.engine.state import Stateful
from .sdk_fields import Fields, entries_of, fields_of, without_halves


class Items(Protocol):
    """The items of a Response that have come: found by an item's ids, or by one id."""

    def known(self, fields: Fields, /) -> object | None: ...
    def with_id(self, item_id: str, /) -> object | None: ...


class ReplayedEvents(Stateful):
    """Tells the events that come again, by their `sequence_number`.

    >>> from penstock.sources.openai_responses.items import OutputItems
    >>> seen, items = ReplayedEvents(), OutputItems()
    >>> kinds = ("response.created", "response.in_progress", "response.in_progress")
    >>> events = [{"type": kind, "sequence_number": number} for number, kind in zip((0, 1, 1), kinds)]
    >>> [seen.has(event, items) for event in events]
    [False, False, True]

    Servers count the events of a Response, but some give all of them one number, and some begin anew. So an event
    comes again only if the numbers have grown with every event before, an event of the same type had this number, and
    its item is known. From the first number on that says otherwise, numbers do not count.
    """

    STATE = ("_counts", "_first", "_grown", "_kinds", "greatest", "kind")

    def __init__(self) -> None:
        self.greatest = -1
        """The greatest number so far; -1 where numbers do not count."""
        self.kind = ""
        """The type of the event that had it."""
        self._counts = True
        self._grown = 0
        """How many numbers have been greater than the one before, at most 2."""
        self._first: list[int] = []
        self._kinds: list[str] = []
        """The types of the events, and the number of the first one of each run of events of one type."""

    def has(self, event: Fields, items: Items) -> bool:
        """Return whether an event comes again, and note it otherwise."""
        number: Any = event.get("sequence_number")
        kind = event.get("type")
        if number.__class__ is not int or not self._counts or not isinstance(kind, str):
            return False
        if number > self.greatest:
            self.note(number, kind)
            return False
        if self._grown > 1 and self._is_known(number, kind, event, items):
            return True
        self._counts, self.greatest, self.kind, self._first, self._kinds = False, -1, "", [], []
        return False

    def note(self, number: int, kind: str) -> None:
        """Note an event whose number is the greatest so far."""
        if not self._counts:
            return
        self.greatest = number
        self._grown = min(self._grown + 1, 2)
        if kind != self.kind:
            self.kind = kind
            self._first.append(number)
            self._kinds.append(kind)

    def _is_known(self, number: int, kind: str, event: Fields, items: Items) -> bool:
        place = bisect_right(self._first, number) - 1
        if place < 0 or self._kinds[place] != kind:
            return False
        item, item_id = fields_of(event.get("item")), event.get("item_id")
        if item is not None:
            return items.known(item) is not None
        return item_id is None or (isinstance(item_id, str) and items.with_id(item_id) is not None)


MOST_PIECES = 64
"""Pieces after which they are replaced by their length and their checksum."""


class TextSoFar(Struct, gc=False):
    """A text by its length and a checksum, so that its memory does not grow; the last few pieces are kept.

    >>> text = TextSoFar()
    >>> text.add("Hel"), text.add("lo"), text.begins("Hello there"), text.begins("Hallo there"), text.begins("Hell")
    (None, None, True, False, False)
    """

    length: int = 0
    checksum: int = 0
    pieces: list[str] = []  # msgspec gives each instance its own

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        if len(self.pieces) > MOST_PIECES:
            self.put_away()

    def put_away(self) -> None:
        """Replace the pieces by their length and their checksum."""
        text = "".join(self.pieces)
        self.length += len(text)
        self.checksum = checksum_of(text, self.checksum)
        self.pieces = []

    def begins(self, text: str, at: int = 0) -> bool:
        """Return whether another text has all of this one from a position on."""
        self.put_away()
        same = text[at : at + self.length]
        return len(same) == self.length and checksum_of(same) == self.checksum


def checksum_of(text: str, before: int = 0) -> int:
    """Return the checksum of a text that goes on with another one, whose checksum is `before`."""
    return crc32(text.encode("utf-8", "surrogatepass"), before)


_TEXTS = frozenset({"content", "reasoning", "reasoning_content", "refusal", "thinking"})
_EACH = frozenset({"role", "function_call", "tool_call_id"})
_GROWS = ""
"""The key under which is said that a text has come again, with more of it."""


def new_of_message(message: Fields, said: dict[str, Any]) -> Fields:
    """Return the delta that a message stands for; `said`: what keeps, as plain data, what came before it.

    >>> said = {}
    >>> [new_of_message({"content": text}, said)["content"] for text in ("Hel", "Hello", "Hello")]
    ['Hel', 'lo', '']

    A text that begins as all of the text so far is the text so far; from then on, one that does not is left out. Before
    that, it is the next piece, because some servers have their deltas under the name of the message. Calls without an
    index are known by their place; arguments that grow are the business of the call. Of all else the first counts.
    """
    delta: Fields = {}
    for key, value in message.items():
        if key in _TEXTS and isinstance(value, str):
            delta[key] = _new_text(key, value, said)
        elif key == "tool_calls":
            calls = enumerate(map(fields_of, entries_of(value)))
            delta[key] = [
                {**call, "index": place} if call.get("index") is None else call for place, call in calls if call
            ]
        elif key in _EACH or (value is not None and key not in said):
            delta[key] = value
            said.setdefault(key, True)
    return delta


def _new_text(key: str, text: str, said: dict[str, Any]) -> str:
    length, checksum = said.get(key, (0, 0))
    if length and checksum_of(text[:length]) == checksum and len(text) >= length:
        said[_GROWS] = True
        said[key] = [len(text), checksum_of(text)]
        return text[length:]
    if length and _GROWS in said:
        return ""
    said[key] = [length + len(text), checksum_of(text, checksum)]
    return text


class ShownText(TextSoFar, gc=False):
    """What was shown of a text; none of it is half of a character.

    >>> shown = ShownText()
    >>> shown.add("Hel"), shown.add("lo")
    (None, None)
    >>> rest_of([shown], "Hello there"), rest_of([shown], "Hello"), rest_of([shown], "Hallo there")
    (' there', '', None)
    """

    ended_as: str = ""
    """The key under which the whole text came."""

    @property
    def is_empty(self) -> bool:
        return not (self.length or self.pieces)


def add_shown(shown: dict[str, ShownText], chunks: Iterable[ChunkResponse]) -> None:
    """Add the texts of chunks to what was shown, by their streams."""
    for chunk in chunks:
        for stream, text in shown.items():
            if said := getattr(chunk, stream):
                text.add(said)


def rest_of(shown: Iterable[ShownText], whole: str) -> str | None:
    """Return what the whole text has behind what was shown of it, one part after another; None if it differs."""
    whole = without_halves(whole)
    at = 0
    for part in shown:
        if not part.begins(whole, at):
            return None
        at += part.length
    return whole[at:]
