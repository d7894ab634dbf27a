"""The calls inside a raw value, which are content."""

from __future__ import annotations

from collections.abc import Callable

from ...engine.state import Stateful
from ...grammar.dialect_positions import At
from ...grammar.opener_forms import LONGEST_OPENER, Opener
from ...grammar.value_ends import ValueEnds


class InnerCalls(Stateful):
    """How many calls are open in a value."""

    depth: int = 0
    """How many are open."""
    has_markers: bool = False
    """Whether a closer was content."""
    begun: str = ""
    """Content that may be the beginning of an opener's first marker."""
    _opener: str = ""
    """The beginning of what may be the opener of a call."""
    _is_read: bool = False
    """Whether it has all of an opener, so that no more text belongs to it."""
    _count: int = 0
    """The closers in a row."""
    _is_ended: bool = False
    """Whether these closers have ended the call."""
    _is_bare: bool = False
    """Whether they directly follow the opener of the call, which has no arguments."""
    _reached: At = ()

    def __init__(self, ends: ValueEnds, knows: Callable[[str], bool] | None) -> None:
        self._ends = ends
        self._knows = knows
        """Returns whether a name is that of a tool; None if no tools were given."""

    @property
    def is_plain(self) -> bool:
        """Whether a text without a marker changes nothing."""
        return not (self.begun or self._count or (self._opener and not self._is_read))

    def go_on(self, text: str, position: int) -> int:
        """Return how much of a text continues the marker that has begun; 0 if the text does not continue it."""
        search, begun = self._ends.openers, self.begun
        joined = begun + text[position : position + LONGEST_OPENER]
        self.begun = ""
        found = search.pattern.search(joined)
        if found is None or found.start() >= len(begun):
            self.text(begun)
            return 0
        self.text(joined[: found.start()])
        marker = search.literal(found, final=False)
        if not marker:
            self.begun = joined[found.start() :]
            return len(joined) - len(begun)
        self.settle(marker)
        self.marker(marker)
        self.text(joined[found.end() : len(begun)])
        return max(0, found.end() - len(begun))

    def text(self, text: str) -> None:
        """Note content without a marker."""
        if not text:
            return
        if self._opener and not self._is_read:
            before, self._opener = len(self._opener), self._opener + text[: LONGEST_OPENER + 1]
            if len(self._opener) > LONGEST_OPENER or len(self._opener).bit_length() > before.bit_length():
                self._check_opener()
        if self._count and text.strip():
            self._count = 0

    def _check_opener(self) -> None:
        """Drop what can no longer be the opener of a call."""
        opener = self._opener
        if len(opener) <= LONGEST_OPENER and any(each.is_cut(opener) for each in self._ends.calls):
            return
        self._is_read = any(each.has_value and each.whole.match(opener) for each in self._ends.calls)
        if not self._is_read:
            self._opener = ""

    def settle(self, marker: str) -> None:
        """Count a call whose opener ends before a marker."""
        if not self._opener or marker in self._ends.not_openers:
            return
        for each in self._ends.calls:
            found = each.whole.match(self._opener + marker)
            is_whole = found is not None and (each.has_value or found.end() > len(self._opener))
            if found is not None and is_whole and self._is_name(each, found[found.lastindex or 0]):
                self.depth += 1
                self._opener = ""
                self._count = 0
                self._is_bare = marker in self._ends.closers
                return

    def _is_name(self, opener: Opener, text: str) -> bool:
        """Return whether an opener is that of a call."""
        name, knows = opener.said(text).get("name"), self._knows
        return opener.is_marked or (name is not None and knows is not None and knows(name))

    def continues(self, marker: str) -> bool:
        """Return whether a marker is another closer of the call that has just been closed."""
        return self._count > 0 and marker in self._ends.after(self._reached)

    def marker(self, marker: str) -> None:
        """Note a marker that is content."""
        ends = self._ends
        is_closer, is_next = marker in ends.closers, self.continues(marker)
        self.has_markers = self.has_markers or is_closer
        if is_closer and (self.depth or is_next):
            self._count = self._count + 1 if is_next else 1
            self._is_ended = self._is_ended and is_next
            self._reached = ends.after(self._reached)[marker] if is_next else ends.closers[marker]
            if self.depth and not self._is_ended:
                is_bare = (self._is_bare or ends.is_named) and not ends.after(self._reached)
                self._is_ended = is_bare or ends.ends_call(self._reached, self._count)
                self.depth -= self._is_ended
            self._opener = ""
            return
        self._count = 0
        self._is_bare = self._is_read = False
        if any(marker == each.start for each in ends.calls):
            self._opener = marker
        elif self._opener and any(each.cut.match(self._opener + marker) for each in ends.calls):
            self._opener += marker
        else:
            self._opener = ""
