"""Events of a Response that come again, because a stream was resumed before the place where it broke off."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Protocol

from ...operators.engine.state import Stateful
from ..fields.sdk_fields import Fields, fields_of


class Items(Protocol):
    """The items of a Response that have come: found by an item's ids, or by one id."""

    def known(self, fields: Fields, /) -> object | None: ...
    def with_id(self, item_id: str, /) -> object | None: ...


class ReplayedEvents(Stateful):
    """Tells the events that come again, by their `sequence_number`.

    >>> from penstock.sources.openai.output_items import OutputItems
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
