"""`OpenCards`: the cards of segments that have not ended."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from ..events.errors import without_credentials
from ..events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentStart
from ..events.showing.card import Card, MimeBundle
from ..events.showing.excerpt import Excerpt, counted, ending
from .collected.collected import Segment
from .segment_card import segment_card

_UNINDENTED = re.compile(r"(?<=\n)\S")
LINES_OPEN, CHARACTERS_OPEN = 16, 4_000
"""The most lines and characters shown of an open segment."""


class Shown(Protocol):
    """The output that shows the card, to be updated later."""

    def update(self, bundle: MimeBundle, /) -> None: ...


class OpenCard:
    """An open segment, and the output that shows it."""

    __slots__ = ("_line_ends", "_pieces", "output", "segment")

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.output: Shown | None = None
        self._pieces: list[str] = []
        self._line_ends = 0

    def take(self, event: AnySegmentEvent) -> None:
        if isinstance(event, SegmentContent):
            self._pieces.append(event.delta)
            self._line_ends += event.delta.count("\n")
            return
        self.segment.metadata.update(event.metadata)
        if isinstance(event, SegmentEnd):
            self.segment.status = event.status or "complete"
            self.segment.reason = event.reason
            self.segment.content = "".join(self._pieces)

    def card(self) -> Card:
        """Return the current card: with the last lines while open, then with the first ones."""
        if self.segment.status is not None:
            return segment_card(self.segment)
        return segment_card(self.segment, self._last_lines(), "".join(self._pieces[:4]))

    def _last_lines(self) -> Excerpt:
        # What came before is not joined: that would be done again at each redraw.
        tail: list[str] = []
        length = 0
        for piece in reversed(self._pieces):
            tail.append(piece)
            length += len(piece)
            if length > CHARACTERS_OPEN:
                break
        text = "".join(reversed(tail))
        excerpt = ending(text, LINES_OPEN, CHARACTERS_OPEN)
        above = self._line_ends - text.endswith("\n") - excerpt.text.count("\n")
        lead = text[: len(text) - text.endswith("\n") - len(excerpt.text)]
        if len(tail) < len(self._pieces):
            lead = _from_a_definition(lead)
        return Excerpt(
            excerpt.text, before=f"… {counted(above, 'line')} above" if above > 0 else excerpt.before, lead=lead
        )


def _from_a_definition(code: str) -> str:
    r"""Return the code from its first line that is not indented, which is probably not inside of a string.

    >>> _from_a_definition("half a line\n    return\n\ndef f():\n    pass\n")
    'def f():\n    pass\n'
    """
    start = next((found.start() for found in _UNINDENTED.finditer(code)), len(code))
    return code[start:]


class OpenCards:
    """The segments that have not ended, by turn and id."""

    def __init__(self) -> None:
        self._cards: dict[tuple[str | None, str], OpenCard] = {}

    def take(self, event: AnySegmentEvent) -> OpenCard | None:
        """Return the card that an event changes; None if its segment never started."""
        identity = (event.turn_id, event.segment_id)
        if isinstance(event, SegmentStart):
            self._cards[identity] = OpenCard(
                Segment(event.segment_id, event.segment_type or "", turn_id=event.turn_id),
            )
        card = self._cards.get(identity)
        if card is not None:
            card.take(event)
            if isinstance(event, SegmentEnd):
                del self._cards[identity]
        return card

    def all(self) -> Iterable[OpenCard]:
        return self._cards.values()


def error_card(error: Exception) -> Card:
    """Return the card of the error that ended a stream."""
    return Card("the stream broke", type(error).__name__, "bad", body=without_credentials(str(error)), prose=True)
