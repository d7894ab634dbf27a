"""`strip_markers`: remove optional sentinels around a content while it streams."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Literal, TypeAlias

from ..events.errors import UsageError
from .engine.public_operator import public_operator
from .engine.stage import How, Operator, lift
from .engine.state import Stateful
from .engine.withheld import Withheld, tail_of
from .machines.marker_search import marker_pattern

BLANKS = " \t\r\n"

Phase: TypeAlias = Literal["before", "newline", "inside", "unmarked"]
"""Where the stream is: before the start marker; right after it; in the content; or without a start marker, so that all
text passes."""


@public_operator
def strip_markers(start: str, end: str) -> Operator[str, str]:
    r"""Remove the markers before and after a content, if they are there; one stream is one content.

        source                        --<S>--a--b</S>--|
        strip_markers("<S>", "</S>")  -------a--b------|

    >>> from penstock.operators import drive
    >>> list(drive([" __ST", "ART__\n", "a = 1\n__END", "__\n"], strip_markers("__START__", "__END__")))
    ['a = 1\n']

    Blanks (space, tab, carriage return, newline) before the start marker are removed with it, and so is exactly one
    newline right after it. The end marker and the blanks after it are removed only if the input ends there, however it
    ends; otherwise they are content. The newline before the end marker stays. A text that does not begin with the start
    marker passes unchanged, end marker included. What is held: blanks and the beginning of the start marker at the
    beginning; then a possible end marker and the blanks after it. No item is empty.

    Raises `UsageError` for an empty marker, a start marker that begins with a blank and an end marker that ends with
    one, because blanks there are always removed.
    """
    marker_pattern((start, end))  # raises for an invalid marker
    if start[0] in BLANKS:
        message = f"the start marker {start!r} begins with whitespace, which is always stripped; remove the whitespace"
        raise UsageError(message)
    if end[-1] in BLANKS:
        message = f"the end marker {end!r} ends with whitespace, which is always stripped; remove the whitespace"
        raise UsageError(message)
    return lift(partial(_StripMarkers, start, end))


class _StripMarkers(Stateful):
    # Cost: what is withheld is read again only when it turns out to be content, apart from the beginning of a marker,
    # which is shorter than the marker. Blanks, of which there may be any number, are kept as the pieces they came in.

    STATE = ("_begun", "_phase")
    PIECES = ("_withheld",)
    __slots__ = (*STATE, *PIECES, "_end", "_search", "_start")

    def __init__(self, start: str, end: str) -> None:
        self._start = start
        self._end = end
        self._search = re.compile(rf"(?:{marker_pattern((end,)).pattern})[{BLANKS}]*\Z").search
        self._phase: Phase = "before"
        self._withheld: list[str] = []
        self._begun = ""
        """The prefix of the start marker that is part of the withheld text."""

    def feed(self, item: str, /) -> list[str]:
        if not item:
            return []
        match self._phase:
            case "unmarked":
                return [item]
            case "before":
                return self._look_for_start(item)
            case "newline":
                self._phase = "inside"
                return self._look_for_end(item.removeprefix("\n"))
            case "inside":
                return self._look_for_end(item)

    def close(self, _how: How, /) -> list[str]:
        text = self._take("")
        ended = self._phase == "inside" and text.startswith(self._end)
        return [text] if text and not ended else []

    def withheld(self) -> Sequence[Withheld]:
        if not self._withheld:
            return ()
        text = tail_of(self._withheld)
        if self._phase == "before":
            reason = "it may be the start marker" if self._begun else "blanks before the start marker are removed"
            return (Withheld(text, reason, (text + self._start[len(self._begun) :],)),)
        reason = "the end marker is removed if nothing but blanks follows"
        return (Withheld(text, reason, (text + self._end[len(self._begun) :],)),)

    def _look_for_start(self, item: str) -> list[str]:
        begun = (self._begun + item).lstrip(BLANKS)
        if begun.startswith(self._start):
            self._take("")
            self._phase = "newline"
            return self.feed(begun.removeprefix(self._start))
        if self._start.startswith(begun):
            self._withheld.append(item)
            self._begun = begun
            return []
        self._phase = "unmarked"
        return [self._take(item)]

    def _look_for_end(self, item: str) -> list[str]:
        if self._begun == self._end and not item.strip(BLANKS):
            self._withheld.append(item)
            return []
        text = self._take(item)
        found = self._search(text)
        if found is None:
            return [text] if text else []
        self._withheld.append(found[0])
        self._begun = found[0][: len(self._end)]
        return [text[: found.start()]] if found.start() else []

    def _take(self, item: str) -> str:
        """Return the held text followed by an item."""
        text = "".join([*self._withheld, item]) if self._withheld else item
        self._withheld.clear()
        self._begun = ""
        return text
