"""`holdback`: hold text back only while it may be the beginning of a marker."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from ..events.errors import UsageError
from .engine.public_operator import public_operator
from .engine.stage import How, Operator, lift
from .engine.withheld import Withheld
from .machines.marker_search import MAY_BE_MARKER, Node, marker_search


@public_operator
def holdback(*markers: str) -> Operator[str, str]:
    """Pass text on as soon as it cannot belong to a marker; emit each marker whole, as an item of its own.

        source              --a<--to--ol>b--------|
        holdback("<tool>")  --a-------(<tool>,b)--|

    >>> from penstock.operators import drive
    >>> list(drive(["1 <<to", "ol", "> 2 <t"], holdback("<tool>")))
    ['1 <', '<tool>', ' 2 ', '<t']

    The items joined are the input. The leftmost marker wins, and of several that begin there the longest. If a longer
    one fails, the shorter one is emitted and the rest is searched again. An item without a possible marker passes as
    the same object; no item is empty. At the end of the input, however it ends, held text is emitted, with whole
    markers as items. At most the longest marker less one character is held back.

    Raises `UsageError` without markers, and for an empty marker or one that is not a str.
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
        """The node that the withheld text leads to in the trie of the markers."""

    def feed(self, item: str, /) -> list[str]:
        if self._withheld:
            return self._go_on(item)
        found = self._search(item)
        if found is None:
            return [item] if item else []
        return self._cut(item, 0, found)

    def close(self, _how: How, /) -> list[str]:
        return self._markers.settle(self._take())

    def withheld(self) -> Sequence[Withheld]:
        if not self._withheld:
            return ()
        return (Withheld(self._withheld, MAY_BE_MARKER, self._markers.continuing(self._withheld)),)

    def dump(self) -> str:
        return self._withheld

    def load(self, state: str, /) -> None:
        if state not in self._markers.unfinished:
            message = f"the state holds back {state!r}, which no marker starts with; use the markers it was dumped with"
            raise UsageError(message)
        self._withheld = state
        self._node = self._markers.unfinished[state]

    def _go_on(self, item: str) -> list[str]:
        """Continue the marker that the withheld text may begin; return the items that are now certain."""
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
        """Split the text from `position` on at its markers; `found` is the first match."""
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
