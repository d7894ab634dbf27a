"""The openers of tags: the forms in which models write one, and its attributes, in any order and cut anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ..engine.state import Stateful
from ..machines.entities import decode_entities
from ..machines.marker_search import BLANK_RUN, end_of_run
from .dialect import Alt, Attrs, Back, CallArgs, Item, Json, Many, Maybe, Text
from .grammar_items import leaves_of, rows_of

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


@lru_cache(maxsize=2048)
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


LONGEST_OPENER: Final = 1024
"""The most characters of an opener, with its key or name."""
_BLANKS: Final = r"[ \t\r\n]*"
_USUAL_BLANKS: Final = r"(?:\r?\n)?"
_ATTRIBUTE: Final = r"""(?:[ \t\r\n]+[\w.:-]+(?:[ \t\r\n]*=[ \t\r\n]*(?:"[^"]*"|'[^']*'|[^\s"'<>/=]+))?)"""
_CUT_ATTRIBUTE: Final = (
    r"""(?:[ \t\r\n]+(?:[\w.:-]+(?:[ \t\r\n]*(?:=[ \t\r\n]*(?:"[^"]*|'[^']*|[^\s"'<>/=]*)?)?)?)?)?"""
)
_OPEN_ATTRIBUTE: Final = re.compile(r'([\w.:-]+)="[^"]*\Z')
_OBJECT_DEPTH: Final = 8


class Opener(NamedTuple):
    """How the opener of an argument, or of a call, is written, up to the key or name and what ends it."""

    whole: re.Pattern[str]
    """Matches a whole opener; its groups are texts with the key or name."""
    cut: re.Pattern[str]
    """Matches an opener that the text's end cuts."""
    usual: re.Pattern[str]
    """Matches a whole opener that is written in the first of its ways, with no blanks but line ends in it."""
    start: str
    """The marker with which it begins."""
    attrs: Attrs | None
    """The slot of the key or name, if it is an attribute."""
    is_tight: bool
    """Whether it has so many markers that it counts wherever it stands."""
    has_value: bool
    """Of a call: whether its only value directly follows."""
    is_marked: bool
    """Whether a marker of it is more than one character."""
    has_no_key: bool
    """Whether neither a key nor a name is in it."""

    def match(self, text: str) -> str | None:
        """Return the text of the slot of a whole opener, or None; JSON attributes may be longer than a text is read."""
        if found := self.whole.match(text):
            return found[found.lastindex or 0]
        is_long = len(text) >= LONGEST_OPENER and self.attrs is not None and self.attrs.form == "json"
        return "" if is_long and self.is_cut(text) else None

    def is_usual(self, text: str) -> bool:
        """Return whether a text begins with the opener as models usually write it, with no slip."""
        found = self.usual.match(text)
        return found is not None and found[found.lastindex or 0] == self.match(text)  # and not a longer one

    def said(self, text: str) -> dict[str, str]:
        """Return the key and the name that the text of its slot says."""
        if self.attrs is None or (self.attrs.form == "tag" and not text[:1].isspace()):
            return {"key": text, "name": text}
        if self.attrs.form == "json":
            return {}
        said = _said_by(text)
        if self.attrs.also:
            said = renamed(said, self.attrs.also)
        return {role: said[name] for name, role in self.attrs.roles if name in said}

    @lru_cache(maxsize=4096)  # noqa: B019 - grammars live as long as the program
    def rests(self, begun: str, keys: tuple[str, ...], markers: tuple[str, ...]) -> list[str]:
        """Return how the beginning of an opener may go on: with one of the keys, or one of the grammar's markers.

        >>> (opener,) = openers_of(("<key>", Text("key", "a-z"), "</key>"), {})
        >>> [opener.rests(begun, ("city",), ("<key>", "</key>")) for begun in ("<key>", "<key>ci", "<key>city<")]
        [['city'], ['ty', '</key>'], ['/key>']]
        """
        is_quoted = self.attrs is not None and begun.count('"') % 2 == 1
        if self.attrs is not None:
            open_one = _OPEN_ATTRIBUTE.search(begun)
            keys = keys if open_one is not None and (open_one[1], "key") in self.attrs.roles else ()
        names = () if self.attrs is None or is_quoted else (f' {name}="' for name, _ in self.attrs.roles)
        found: list[str] = []
        edges = ('"',) if is_quoted else (*markers, '"')
        for token, is_key in (*((key, True) for key in keys), *((each, False) for each in (*names, *edges))):
            length = min(len(token), len(begun))
            while length and begun[-length:] != token[:length]:
                length -= 1
            rest = token[length:]
            if not rest or (is_key and not begun[: len(begun) - length].endswith(edges)):
                continue
            if self.whole.match(begun + rest) or self.is_cut(begun + rest):
                found.append(rest)
        return found

    def is_cut(self, text: str) -> bool:
        """Return whether a text is the beginning of an opener."""
        return self.cut.match(text) is not None


def openers_of(
    items: Sequence[Item],
    aliases: Mapping[str, Sequence[str]],
    *,
    ignore_case: bool = False,
    has_value: bool = False,
    is_usual: bool = True,
) -> Iterator[Opener]:
    """Yield the openers that are written as some items; none if they begin with a slot or have a body.

    `aliases`: the other spellings of each marker.
    """
    leaves = list(leaves_of(items))
    starts = _first_literals(items)
    if not starts or any(isinstance(leaf, Json | CallArgs | Back) for leaf in leaves):
        return
    forms = _Forms(aliases)
    flags = re.IGNORECASE if ignore_case else 0
    whole = re.compile(forms.whole(items) + (r"(?!\Z)" if isinstance(items[-1], Text) else ""), flags)
    usual = re.compile(_Forms({}, only_first=True).whole(items) if is_usual else "(?!)", flags)
    cut = re.compile(forms.cut(items), flags)
    attrs = next((leaf for leaf in leaves if isinstance(leaf, Attrs)), None)
    is_marked = len(starts[0]) > 1
    has_no_key = not any(isinstance(leaf, Text | Attrs) for leaf in leaves)
    is_tight = _fewest_markers(items) >= 3
    for start in starts:
        for text in (start, *aliases.get(start, ())):
            yield Opener(whole, cut, usual, text, attrs, is_tight, has_value, is_marked, has_no_key)


class _Forms:
    """Regular expressions for items: whole, and cut by the text's end."""

    def __init__(self, aliases: Mapping[str, Sequence[str]], *, only_first: bool = False) -> None:
        self.aliases = aliases
        self.only_first = only_first
        """Whether only the first of several ways to write an item counts."""
        self.blanks = _USUAL_BLANKS if only_first else _BLANKS

    def whole(self, items: Sequence[Item]) -> str:
        return self.blanks.join(map(self._whole, items))

    def cut(self, items: Sequence[Item]) -> str:
        if not items:
            return "(?!)"
        first, *rest = items
        return rf"(?:{self._cut(first)}\Z|{self._whole(first)}{_BLANKS}(?:\Z|{self.cut(rest)}))"

    def _whole(self, item: Item) -> str:
        if isinstance(item, str):
            return f"(?:{'|'.join(map(re.escape, (item, *self.aliases.get(item, ()))))})"
        if isinstance(item, Text):
            return f"([{item.chars}]++)" if item.chars else r"([^\n]+?)"
        if isinstance(item, Attrs):
            return f"({_ATTRIBUTE}+)" if item.form == "tag" else _object(_OBJECT_DEPTH)
        rows = rows_of(item)
        either = f"(?:{'|'.join(map(self.whole, rows[:1] if self.only_first else rows))})"
        if isinstance(item, Maybe | Many):
            return f"(?:{either}{self.blanks}){'?' if isinstance(item, Maybe) else '*'}"
        return either

    def _cut(self, item: Item) -> str:
        if isinstance(item, str):
            return f"(?:{'|'.join(map(_prefix, (item, *self.aliases.get(item, ()))))})"
        if isinstance(item, Text):
            return f"[{item.chars}]*" if item.chars else r"[^\n]*"
        if isinstance(item, Attrs):
            return f"{_ATTRIBUTE}*{_CUT_ATTRIBUTE}" if item.form == "tag" else f"(?:{_cut_object(_OBJECT_DEPTH)})?"
        either = f"(?:{'|'.join(map(self.cut, rows_of(item)))})"
        return rf"(?:{self.whole(item.items)}{_BLANKS})*{either}" if isinstance(item, Many) else either


def _object(depth: int) -> str:
    """Return the regular expression for a JSON object in which objects are nested up to a depth."""
    return rf"\{{{_members(depth)}\}}"


def _cut_object(depth: int) -> str:
    """Return the regular expression for the beginning of such an object."""
    inner = rf"|{_cut_object(depth - 1)}" if depth else ""
    return rf"""\{{{_members(depth)}(?:"(?:[^"\\]|\\.)*+\\?{inner})?"""


def _members(depth: int) -> str:
    inner = f"|{_object(depth - 1)}" if depth else ""
    return rf"""(?:[^{{}}"]|"(?:[^"\\]|\\.)*+"{inner})*+"""


def _said_by(text: str) -> dict[str, str]:
    """Return the attributes of a tag."""
    slot = AttrsSlot()
    slot.feed(f"{text}>", 0)
    return slot.said


def _prefix(text: str) -> str:
    """Return the regular expression for the beginnings of a text, the whole excluded."""
    pattern = ""
    for letter in reversed(text[:-1]):
        pattern = f"(?:{re.escape(letter)}{pattern})?"
    return pattern


def _fewest_markers(items: Sequence[Item]) -> int:
    """Return how many markers there are at least."""
    return sum(
        min(map(_fewest_markers, rows_of(item)), default=0) if isinstance(item, Alt | tuple) else isinstance(item, str)
        for item in items
    )


def _first_literals(items: Sequence[Item]) -> list[str]:
    """Return the markers with which items begin; none if they begin with something else."""
    found: list[str] = []
    for item in items:
        if isinstance(item, str):
            return [*found, item]
        if isinstance(item, Maybe | Many):
            found += _first_literals(item.items)
        elif isinstance(item, Alt | tuple):
            return [*found, *(text for row in rows_of(item) for text in _first_literals(row))]
        else:
            return []
    return found
