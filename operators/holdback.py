"""Earliest emission against markers: what may be the beginning of a marker waits, nothing else does."""

from __future__ import annotations

import re
from functools import partial

from ..events.errors import UsageError
from .engine.public_operator import public_operator
from .engine.stage import How, Operator, lift
from .machines.marker_search import Node, marker_search


@public_operator
def holdback(*markers: str) -> Operator[str, str]:
    """Let text through as soon as it is certain to belong to no marker; a marker comes whole, as an item of its own.

        source               --a<--to--ol>b--|
        holdback("<tool>")   --a-------<tool>,b--|

    >>> from penstock.operators import drive
    >>> list(drive(["1 <<to", "ol", "> 2 <t"], holdback("<tool>")))
    ['1 <', '<tool>', ' 2 ', '<t']

    The items joined are the input. The leftmost marker counts, and of several that begin there the longest; where a
    longer one fails, the shorter one comes and the rest is looked at anew. An item with no beginning of a marker in it
    passes as the same object; no item is empty. At the end of the input, however it ends, what waited comes out: the
    whole markers in it, and text. At most the longest marker less one character waits.

    Raises `UsageError` for no marker, an empty one, or one that is not text.
    """
    marker_search(markers)  # raises now, not at the subscription
    return lift(partial(_Holdback, markers))


class _Holdback:
    __slots__ = ("_markers", "_node", "_search", "_withheld")

    def __init__(self, markers: tuple[str, ...]) -> None:
        self._markers = marker_search(markers)
        self._search = self._markers.pattern.search
        self._withheld = ""
        self._node: Node = {}
        """The place of what is withheld in the trie of the markers."""

    def feed(self, item: str, /) -> list[str]:
        if self._withheld:
            return self._go_on(item)
        found = self._search(item)
        if found is None:
            return [item] if item else []
        return self._cut(item, 0, found)

    def close(self, _how: How, /) -> list[str]:
        return self._markers.settle(self._take())

    def dump(self) -> str:
        return self._withheld

    def load(self, state: str, /) -> None:
        if state not in self._markers.unfinished:
            message = f"this state withholds {state!r}, which begins none of the markers here; use the same markers"
            raise UsageError(message)
        self._withheld = state
        self._node = self._markers.unfinished[state]

    def _go_on(self, item: str) -> list[str]:
        """Go on with the marker that what is withheld may be the beginning of."""
        node = self._node
        for length, letter in enumerate(item, 1):
            following = node.get(letter)
            if following is None:
                text = self._take() + item
                return self._cut(text, 0, self._search(text))
            if not following:
                marker = self._take() + item[:length]
                return [marker, *self._cut(item, length, self._search(item, length))]
            node = following
        self._withheld += item
        self._node = node
        return []

    def _cut(self, text: str, position: int, found: re.Match[str] | None) -> list[str]:
        """Cut the text from `position` on, where `found` is what the search from there gave."""
        items: list[str] = []
        while found is not None:
            start = found.start()
            if start > position:
                items.append(text[position:start])
            if self._markers.is_unfinished(found):
                self._withheld = found[0]
                self._node = self._markers.unfinished[found[0]]
                return items
            items.append(found[0])
            position = found.end()
            found = self._search(text, position)
        if position < len(text):
            items.append(text[position:])
        return items

    def _take(self) -> str:
        withheld, self._withheld = self._withheld, ""
        return withheld
