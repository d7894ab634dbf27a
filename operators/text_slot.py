"""A text of the model's own inside a call: what of it is certain, and what its edges and its characters allow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from .dialect import Text
from .entities import Entities

BLANKS = " \t\r\n"

_EDGE_ENDS = {"": "", "newline": "\r\n", "blanks": BLANKS}
# At the end of a piece: what may turn out to be trimmed.
_HELD = {
    "": re.compile(r"\Z"),
    "newline": re.compile(r"\r?\n?\Z"),
    "blanks": re.compile(r"[ \t\r\n]*+\Z"),
}
_BLANK_RUN = re.compile(r"[ \t\r\n]*+")


class TextSlot:
    r"""The text between two markers, without what is trimmed at its edges.

    >>> slot = TextSlot(Text("value", trim="newline"))
    >>> [slot.feed(piece) for piece in ("\n", "a\n", "\nb\n")], slot.end()
    (['', 'a', '\n\nb'], '')

    - `text`: all that was given, where somebody wants it whole (`keep`).
    - `wrong`: where in the last piece a character came that cannot stand in it; -1 while none did.
    - `gave`: how much of the source the text stands for that was given last.
    """

    __slots__ = (
        "_begun",
        "_chars",
        "_entities",
        "_held",
        "_kept",
        "_over",
        "gave",
        "item",
        "keep",
        "straight",
        "wrong",
    )

    def __init__(self, item: Text, *, keep: bool = False) -> None:
        self.item = item
        self.keep = keep
        self.wrong = -1
        self.gave = 0
        self._entities = Entities() if item.entities else None
        self._kept: list[str] = []
        self._held = ""
        self._begun = False
        self._over = False
        """Whether blanks came after characters, so that only blanks may follow."""
        self._chars = _characters(item.chars) if item.chars else None
        self.straight = item.trim == "" and not item.entities and not item.chars
        """Whether nothing is ever changed or held."""

    @property
    def text(self) -> str:
        return "".join(self._kept)

    @property
    def is_quiet(self) -> bool:
        """Whether a piece of it is never wrong and kept nowhere."""
        return not self.item.chars and not self.keep

    @property
    def held_length(self) -> int:
        """How much of the source waits here, at its end."""
        return len(self._held) + (self._entities.withheld_length if self._entities is not None else 0)

    def passes(self, piece: str) -> bool:
        """Tell whether a piece, with nothing after it that may end the text, is certain as it is."""
        if self.straight:
            return True
        item = self.item
        if item.entities and ("&" in piece or self.held_length):
            return False
        return (self._begun or not item.trim) and not self._held and piece[-1] not in _EDGE_ENDS[item.trim]

    def feed(self, piece: str) -> str:
        """Give what of the text is certain with this piece."""
        if self.straight:
            if self.keep:
                self._kept.append(piece)
            self.gave = len(piece)
            return piece
        if self._chars is not None:
            return self._feed_characters(piece, self._chars)
        text = self._held + piece
        self._held = ""
        if not self._begun:
            text = self._without_edge(text)
            if not text:
                self.gave = 0
                return ""
        item = self.item
        held = _HELD[item.trim].search(text)
        begin = held.start() if held is not None and item.trim else len(text)
        if begin < len(text):
            self._held = text[begin:]
            text = text[:begin]
        return self._decoded(text, ends=bool(self._held))

    def _decoded(self, text: str, *, ends: bool) -> str:
        """Give a text with its entities decoded; `ends`: whether something else comes behind it."""
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

    def verbatim(self, piece: str) -> str:
        """Take a piece that is text as it stands; give it with what came before it and is certain now."""
        before = self.held_length if self._begun else 0
        held = self._decoded(self._held if self._begun else "", ends=True)
        self._held = ""
        self._begun = True
        self.gave = before + len(piece)
        if self.keep:
            self._kept.append(piece)
        return held + piece

    def end(self) -> str:
        """Give what the end of the text settles."""
        text, self._held = self._held, ""
        trim = self.item.trim
        if trim == "blanks":
            text = text.rstrip(BLANKS)
        elif trim == "newline":
            text = text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
        if not self._begun:
            text = "" if trim == "newline" and text == "\r" else text
        return self._decoded(text, ends=True)

    def _without_edge(self, text: str) -> str:
        trim = self.item.trim
        if trim == "blanks":
            text = text.lstrip(BLANKS)
        elif trim == "newline":
            if text == "\r":
                self._held = text
                return ""
            text = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
            self._begun = True
            return text
        self._begun = bool(text)
        return text

    def _feed_characters(self, piece: str, chars: re.Pattern[str]) -> str:
        position = 0
        if not self._begun or self._over:
            run = _BLANK_RUN.match(piece)
            position = run.end() if run else 0
        if position == len(piece):
            return ""
        if self._over:
            self.wrong = position
            return ""
        found = chars.match(piece, position)
        end = found.end() if found else position
        text = piece[position:end]
        self._begun = self._begun or bool(text)
        if end < len(piece):
            self._over = True
            if rest := piece[end:].lstrip(BLANKS):
                self.wrong = len(piece) - len(rest)
        if self.keep:
            self._kept.append(text)
        return text

    def dump(self) -> Any:
        """Give the state as plain data."""
        entities = None if self._entities is None else self._entities.dump()
        return [self.keep, "".join(self._kept), self._held, self._begun, self._over, entities]

    def load(self, state: Sequence[Any]) -> None:
        """Go on from a dumped state."""
        self.keep, kept, self._held, self._begun, self._over, entities = state
        if self._entities is not None:
            self._entities.load(entities)
        self._kept = [kept] if kept else []


@lru_cache(maxsize=64)
def _characters(chars: str) -> re.Pattern[str]:
    return re.compile(f"[{chars}]*+")
