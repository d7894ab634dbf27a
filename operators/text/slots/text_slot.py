"""A text inside a call that the model fills in: trimming, allowed characters, entities, and what is certain of it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from ...engine.state import Stateful
from ...grammar.dialect import Text
from ...machines.entities import Entities

BLANKS = " \t\r\n"

_EDGES = {"": "", "newline": "\r\n", "blanks": BLANKS}
_BLANK_RUN = re.compile(r"[ \t\r\n]*+")


class TextSlot(Stateful):
    r"""The text between two markers, without what is trimmed at its edges.

    >>> slot = TextSlot(Text("value", trim="newline"))
    >>> [slot.feed(piece) for piece in ("\n", "a\n", "\nb\n")], slot.end()
    (['', 'a', '\n\nb'], '')
    """

    keep: bool
    """Whether the text is kept, in `text`."""
    _entities: Entities | None
    _held_length: int = 0
    _begun: bool = False
    _is_empty: bool = True
    """Whether nothing has arrived, no blank either."""
    _is_paired: bool = False
    """Whether a newline was at the beginning, so that one at the end is trimmed too."""
    _over: bool = False
    """Whether the allowed characters have ended, so that only blanks may follow."""
    PIECES = ("_held", "_kept")

    def __init__(self, item: Text, *, keep: bool = False) -> None:
        self.item = item
        self.keep = keep
        self.wrong = -1
        """The position, in the last piece, of the first character that is not allowed; -1 while all are allowed."""
        self.gave = 0
        """The length of the source of the text that was returned last."""
        self.held_length = 0
        """The length of the source that is held here."""
        self.is_open = False
        """Whether the text has begun, and nothing is held but what may be trimmed at its end."""
        self.is_clear = not item.trim
        """Whether a piece is certain unchanged, unless it ends with a character in `edge` or contains an entity."""
        self.edge = _EDGES[item.trim]
        self.straight = not (item.trim or item.entities or item.chars)
        """Whether text passes unchanged and nothing is ever held."""
        self._entities = Entities() if item.entities else None
        self._kept: list[str] = []
        self._held: list[str] = []
        """Pieces of text that are held because they may have to be trimmed."""
        self._chars = _characters(item.chars) if item.chars else None

    @property
    def text(self) -> str:
        """All text returned so far, if it is kept."""
        return "".join(self._kept)

    @property
    def is_quiet(self) -> bool:
        """Whether all characters are allowed and the text is not kept."""
        return not self.item.chars and not self.keep

    def feed(self, piece: str) -> str:
        """Return the text that this piece makes certain."""
        if self.straight:
            if self.keep:
                self._kept.append(piece)
            self.gave = len(piece)
            return piece
        if self._chars is not None:
            return self._feed_characters(piece, self._chars)
        text = piece
        if not self._begun:
            text = self._without_edge(self.take_held() + piece)
            if not text:
                return self._settled("")
        trim = self.item.trim
        if trim == "blanks":
            inner = text.rstrip(BLANKS)
        elif trim == "newline" and self._is_paired:
            text = self.take_held() + text
            inner = text[: len(text) - _newline_at_end(text)]
        else:
            inner = text
        rest = text[len(inner) :]
        if inner and self._held:
            inner = self.take_held() + inner
        if rest:
            self.hold(rest)
        return self._settled(self._decoded(inner, ends=bool(rest)))

    def reach(self, text: str, position: int) -> int:
        """Return the position up to which a text may belong to the slot, by its characters."""
        if self._chars is None:
            return len(text)
        if not self._begun or self._over:
            position = end_of_run(_BLANK_RUN, text, position)
        if not self._over:
            position = end_of_run(_BLANK_RUN, text, end_of_run(self._chars, text, position))
        return position

    def hold(self, piece: str) -> None:
        """Hold text that may be trimmed."""
        self._held.append(piece)
        self._held_length += len(piece)
        self.held_length += len(piece)
        self.is_clear = False

    def take_held(self) -> str:
        """Return the text held for trimming, and hold it no longer."""
        if not self._held:
            return ""
        held = "".join(self._held)
        self._held.clear()
        self.held_length -= self._held_length
        self._held_length = 0
        return held

    def _settled(self, text: str) -> str:
        """Update the attributes about held text, and return `text`, which is emitted."""
        self.held_length = held = self._held_length + (self._entities.withheld_length if self._entities else 0)
        self.is_open = self._begun and held == self._held_length
        self.is_clear = not held and (self._begun or not self.item.trim)
        if not text:
            self.gave = 0
        return text

    def _decoded(self, text: str, *, ends: bool) -> str:
        """Return a text with its entities decoded; `ends`: whether the text ends here, so that no entity can go on."""
        self.gave = len(text)
        entities = self._entities
        if entities is not None:
            self.gave += entities.withheld_length
            text = entities.feed(text)
            if ends:
                text += entities.close()
            self.gave -= entities.withheld_length
        if self.keep and text:
            self._kept.append(text)
        return text

    def before(self, following: str) -> str:
        """Return a held prefix of an entity if it cannot become one when this text follows, which may end the slot."""
        if self._entities is None or not self._entities.withheld_length:
            return ""
        text = self._entities.close_before(following)
        if text and self.keep:
            self._kept.append(text)
        gave = len(text)
        self._settled(text)
        self.gave = gave
        return text

    def verbatim(self, piece: str) -> str:
        """Return the held text, which is now certain, followed by a piece that is taken literally."""
        before = self.held_length if self._begun else 0
        held = self.take_held()
        held = self._decoded(held if self._begun else "", ends=True)
        self._begun = True
        self._settled("")
        self.gave = before + len(piece)
        if self.keep:
            self._kept.append(piece)
        return held + piece

    def end(self) -> str:
        """Return the rest of the text at its end."""
        if self._chars is not None and self.item.trim == "blanks":
            self._kept = [self.text.rstrip(BLANKS)]  # blanks may be among its characters
        if not (self._held or self._entities):
            return ""
        text = self.take_held()
        trim = self.item.trim
        if trim == "blanks":
            text = text.rstrip(BLANKS)
        elif trim == "newline":
            text = text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
        if not self._begun:
            text = "" if trim == "newline" and text == "\r" else text
        return self._settled(self._decoded(text, ends=True))

    def _without_edge(self, text: str) -> str:
        trim = self.item.trim
        if trim == "blanks":
            text = text.lstrip(BLANKS)
        elif trim == "newline":
            if text == "\r":
                self.hold(text)
                return ""
            inner = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
            self._begun = True
            self._is_paired = inner != text
            self.edge = _EDGES["newline"] if self._is_paired else ""
            return inner
        self._begun = bool(text)
        return text

    def _feed_characters(self, piece: str, chars: re.Pattern[str]) -> str:
        position = 0
        is_first, self._is_empty = self._is_empty, False
        if is_first and self.item.at_once and piece[0] in " \t":
            self.wrong = 0
            return ""
        if not self._begun or self._over:
            position = end_of_run(_BLANK_RUN, piece, 0)
        if position == len(piece):
            return ""
        if self._over:
            self.wrong = position
            return ""
        end = end_of_run(chars, piece, position)
        text = piece[position:end]
        self._begun = self._begun or bool(text)
        if end < len(piece):
            self._over = True
            if rest := piece[end:].lstrip(BLANKS):
                self.wrong = len(piece) - len(rest)
        if self.keep:
            self._kept.append(text)
        return text

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        if self._begun and self.item.trim == "newline" and not self._is_paired:
            self.edge = ""
        self._settled("")


def _newline_at_end(text: str) -> int:
    """Return the length of a newline at the end; a lone carriage return counts, because a line feed may follow."""
    return 2 if text.endswith("\r\n") else int(text.endswith(("\r", "\n")))


def end_of_run(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return where the characters end that a pattern matches from a position on."""
    found = pattern.match(text, position)
    return position if found is None else found.end()


@lru_cache(maxsize=64)
def _characters(chars: str) -> re.Pattern[str]:
    return re.compile(f"[{chars}]*+")
