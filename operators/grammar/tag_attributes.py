"""The attributes of a tag, in any order, cut anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..engine.state import Stateful
from ..machines.entities import decode_entities
from ..machines.marker_search import BLANK_RUN, end_of_run
from .dialect import Attrs

_NAME = re.compile(r"[\w:.-]*+")
_BARE = re.compile(r"[^\s\"'<>/=]*+")
ATTRIBUTE_START = re.compile(r"[^\W\d]")
_END = re.compile(r"[ \t\r\n]*+(?![^\W\d])(?=.)", re.DOTALL)
_WHOLE = re.compile(r'[ \t\r\n]*+([^\W\d][\w:.-]*+)="([^"&]*+)"')
"""An attribute as most are written, which is read at once."""
_VALUES = {'"': re.compile(r'[^"]*+'), "'": re.compile(r"[^']*+")}


class AttrsSlot(Stateful):
    """Read `a="1" b='2' c=3` up to the first character that does not belong to it.

    >>> slot = AttrsSlot()
    >>> slot.feed(' path="a', 0), slot.feed(' b" x=1>', 0), slot.said, slot.ended
    (8, 7, {'path': 'a b', 'x': '1'}, True)

    - `said`: the complete attributes. `doubled`: the name of one that came twice.
    - `ended`: a character arrived that is not part of an attribute.
    - `is_wrong`: always False, because anything but an attribute ends the attributes.
    """

    STATE = ("_quote", "_state", "doubled", "ended", "said")
    PIECES = ("_name", "_value")
    __slots__ = (*STATE, *PIECES, "is_wrong")

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}
        self.doubled = ""
        self.ended = False
        self.is_wrong = False
        self._state = "between"
        self._name: list[str] = []
        self._value: list[str] = []
        self._quote = ""

    def feed(self, text: str, position: int) -> int:
        """Read a text from `position` on; return where the attributes end."""
        while position < len(text) and not self.ended:
            is_between = self._state == "between"
            if is_between and (found := _WHOLE.match(text, position)):
                if found[1] in self.said:
                    self.doubled = found[1]
                self.said[found[1]] = found[2]
                position = found.end()
            elif is_between and (found := _END.match(text, position)):
                self.ended = True
                position = found.end()
            else:
                position = self._step(text, position)
        return position

    @property
    def is_between(self) -> bool:
        """Whether no attribute is open."""
        return self._state == "between"

    def ahead(self, names: Iterable[str], words: Mapping[str, Iterable[str]]) -> list[str]:
        """Return some texts that may come next.

        `names`: the attributes that the tag is known to have; `words`: by attribute, what its value is known to be.
        """
        name = "".join(self._name)
        match self._state:
            case "name":
                return [f'{each[len(name) :]}="' for each in names if each[: len(name)] == name]
            case "after_name":
                return ["="]
            case "before_value":
                return ['"']
            case "value":
                begun = "".join(self._value)
                length = len(begun)
                whole = [each[length:] for each in words.get(name, ()) if each[:length] == begun]
                return [*[f"{each}{self._quote}" for each in whole], self._quote or " "]
            case _:
                return [f' {each}="' for each in names if each not in self.said]

    def _step(self, text: str, position: int) -> int:
        state = self._state
        if state in ("between", "after_name", "before_value"):
            position = end_of_run(BLANK_RUN, text, position)
            if position == len(text):
                return position
        char = text[position]
        if state == "between":
            self._state = "name"
        elif state == "name":
            end = end_of_run(_NAME, text, position)
            self._name.append(text[position:end])
            self._state = "name" if end == len(text) else "after_name"
            return end
        elif state == "after_name":
            if char != "=":
                self._close()
                return position
            self._state = "before_value"
            return position + 1
        elif state == "before_value":
            self._quote = char if char in _VALUES else ""
            self._state = "value"
            return position + len(self._quote)
        else:
            end = end_of_run(_VALUES[self._quote] if self._quote else _BARE, text, position)
            self._value.append(text[position:end])
            if end < len(text):
                self._close()
                end += len(self._quote)
            return end
        return position

    def _close(self) -> None:
        name = "".join(self._name)
        if name in self.said:
            self.doubled = name
        self.said[name] = decode_entities("".join(self._value))
        self._name.clear()
        self._value.clear()
        self._state = "between"


def matching(attrs: Attrs, said: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a tag's attributes under the names that are meant; None if they do not match the slot.

    >>> matching(Attrs(fixed=(("type", ("run",)), ("old", ()))), {"type": "RUN"})
    {'type': 'RUN'}
    """
    if attrs.also:
        said = renamed(said, attrs.also)
    for name, allowed in attrs.fixed:
        if (str(said[name]).casefold() not in allowed) if name in said else bool(allowed):
            return None
    return said if _needed(attrs) <= said.keys() else None


@lru_cache(maxsize=256)
def _needed(attrs: Attrs) -> frozenset[str]:
    return attrs.needed


def renamed(said: Mapping[str, Any], also: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return attributes under the names that are meant; if both names are used, the value under the meant one counts.

    >>> renamed({"timeoutSeconds": 1}, (("timeoutSeconds", "timeout"),))
    {'timeout': 1}
    """
    meant = dict(also)
    others = {meant[name]: value for name, value in said.items() if name in meant}
    return others | {name: value for name, value in said.items() if name not in meant}
