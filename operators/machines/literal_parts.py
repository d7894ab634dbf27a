"""The parts of literals: brackets of which it is not known yet what they open, and the inside of strings.

A form is one way to write a string: what closes it, and what a backslash does in it. Each compiles to one regular
expression that takes all the certain text of a chunk at once: it stops before the closing quote, before what the next
chunk decides (an escape, or a long quote, that is cut), and before an escape that is wrong.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from ...events.segment_event import Fragment, Path
from ..engine.state import Stateful
from .value_machine import Parsed


class LiteralGroups(Stateful):
    """Holds the content of brackets of which it is not known yet what they open, and all that comes behind it.

    >>> groups = LiteralGroups()
    >>> groups.held.append(Fragment(("a",), "OPEN", "(", 3))
    >>> groups.open()
    >>> groups.held += [Fragment(("a", 0), "SCALAR", 1, 4), Fragment(("a", 0), "DONE", None, 5)]
    >>> groups.drop()
    >>> [(item.path, item.kind) for item in groups.certain()]
    [(('a',), 'SCALAR'), (('a',), 'DONE')]
    """

    STATE = __slots__ = ("held", "undecided")

    def __init__(self) -> None:
        self.held: list[Parsed] = []
        self.undecided: list[int] = []
        """The indexes in `held` of the brackets that are undecided."""

    def open(self) -> None:
        """Leave open what the last bracket opens."""
        self.undecided.append(len(self.held) - 1)

    def decide(self, bracket: str) -> None:
        """Let the innermost undecided bracket be this one."""
        place = self.undecided.pop()
        opening = self.held[place]
        self.held[place] = Fragment(opening.path, "OPEN", bracket, opening.at)

    def drop(self) -> None:
        """Close the innermost undecided bracket; its content is a plain value, at the path of the bracket."""
        place = self.undecided.pop()
        path = self.held.pop(place).path
        depth = len(path)
        moved: dict[Path, Path] = {(*path, 0): path}
        for index in range(place, len(self.held)):
            item = self.held[index]
            if item.path not in moved:
                moved[item.path] = (*path, *item.path[depth + 1 :])
            if isinstance(item, Fragment):
                self.held[index] = Fragment(moved[item.path], item.kind, item.value, item.at)

    def certain(self) -> list[Parsed]:
        """Return what comes before the first undecided bracket, and hold it no longer."""
        if not self.undecided:
            certain, self.held = self.held, []
            return certain
        first = self.undecided[0]
        if not first:
            return []
        certain, self.held = self.held[:first], self.held[first:]
        self.undecided = [place - first for place in self.undecided]
        return certain

    def clear(self) -> None:
        """Forget the undecided brackets and all behind them."""
        if self.undecided:
            del self.held[self.undecided[0] :]
            self.undecided.clear()


Reads: TypeAlias = Literal["escapes", "guards", "plain"]
"""How a backslash is read: `escapes` as in Python, `guards` only the next character (as in `r""`), `plain` as text."""

_HEX: Final = "[0-9A-Fa-f]"
_HIGH: Final = rf"[dD][89abAB]{_HEX}{{2}}"
_LOW: Final = rf"[dD][c-fC-F]{_HEX}{{2}}"
_CUT_LOW: Final = rf"(?:\\(?:u(?:[dD](?:[c-fC-F]{_HEX}?)?)?)?)?\Z"
_SHORT: Final = r"[^xuUN0-7\r]|\r(?:\n|(?!\Z))|[0-7]{3}|[0-7]{1,2}(?![0-7]|\Z)"
_LONG: Final = (
    rf"x{_HEX}{{2}}|u(?!{_HIGH}){_HEX}{{4}}|u{_HIGH}(?:\\u{_LOW}|(?!{_CUT_LOW}))|U00(?:0{_HEX}{{5}}|10{_HEX}{{4}})"
)
_GUARDS: Final[dict[Reads, str]] = {"escapes": rf"\\(?:{_SHORT}|{_LONG})", "guards": r"\\[\s\S]", "plain": ""}

# The longest name of a character has fewer than a hundred characters.
_NAME: Final = "[A-Za-z0-9 -]{0,100}"
_match_named: Final = re.compile(rf"\\N\{{({_NAME})\}}").match
_match_cut: Final = re.compile(
    rf"\\(?:\r|[0-7]{{1,2}}|x{_HEX}?|u{_HEX}{{0,3}}|u{_HIGH}{_CUT_LOW}|N(?:\{{{_NAME})?"
    rf"|U(?:0(?:0(?:0{_HEX}{{0,4}}|1(?:0{_HEX}{{0,3}})?)?)?)?)?\Z",
).match
_match_right: Final = re.compile(
    rf"\\(?:x{_HEX}*|u{_HEX}*|N(?:\{{{_NAME})?|U(?:0(?:0(?:0{_HEX}*|1(?:0{_HEX}*)?)?)?)?)",
).match
_sub_escapes: Final = re.compile(
    rf"\\(?:u{_HIGH}\\u{_LOW}|[0-7]{{1,3}}|x{_HEX}{{2}}|u{_HEX}{{4}}|U{_HEX}{{8}}|\r\n|[\s\S])",
).sub
_match_joined_lines: Final = re.compile(r"(?:\\(?:\r\n|\r|\n))*+").match
_replace_surrogates: Final = re.compile("[\ud800-\udfff]").sub

_SHORT_ESCAPES: Final = {
    **{f"\\{letter}": said for letter, said in zip("\\'\"abfnrtv", "\\'\"\a\b\f\n\r\t\v", strict=True)},
    **dict.fromkeys(("\\\n", "\\\r", "\\\r\n"), ""),
}
_EXPECTED: Final = {
    "x": "two hex digits",
    "u": "four hex digits",
    "U": "eight hex digits, at most 0010ffff",
    "N": "the name of a character in braces",
}


class StringForm(NamedTuple):
    """The form of a string."""

    quote: str
    """The quote that closes the string."""
    reads: Reads
    pattern: re.Pattern[str]
    """Matches all certain text; its group is a backslash at the end of the chunk that guards the next character."""

    def decode(self, raw: str) -> str:
        """Return the decoded value of certain text."""
        text = _sub_escapes(_escaped, raw) if self.reads == "escapes" and "\\" in raw else raw
        return text if text.isascii() else _replace_surrogates("\ufffd", text)

    def skipped(self, raw: str) -> int:
        """Return the length of the prefix of certain text that decodes to nothing."""
        match = _match_joined_lines(raw) if self.reads == "escapes" and raw[:2] in ("\\\n", "\\\r") else None
        return match.end() if match else 0


@lru_cache(maxsize=64)
def string_form(quote: str, reads: Reads) -> StringForm:
    r"""Compile the form of a string.

    >>> form = string_form("'", "escapes")
    >>> form.decode(form.pattern.match(r"it\'s \u12")[0])
    "it's "
    """
    first, rest = re.escape(quote[0]), quote[1:]
    backslash = "" if reads == "plain" else r"\\"
    others = f"[^{first}{backslash}]*+"
    guarded = [_GUARDS[reads]] if backslash else []
    if rest:
        cuts = "|".join(re.escape(rest[:length]) + r"\Z" for length in range(len(rest)))
        guarded.append(f"{first}(?!{re.escape(rest)}|{cuts})")
    body = f"(?:(?:{'|'.join(guarded)}){others})*+" if guarded else ""
    return StringForm(quote, reads, re.compile(others + body + (r"(\\\Z)?" if reads == "guards" else "()")))


def named_character(text: str, position: int) -> tuple[str, int] | None:
    r"""Return the character of a `\N{…}` at `position` and where it ends, or None for an unknown name."""
    match = _match_named(text, position)
    if match is None:
        return None
    try:
        character = unicodedata.lookup(match[1])
    except KeyError:
        return None
    return (character, match.end()) if len(character) == 1 else None  # it knows names of sequences, too


def is_cut_escape(text: str, position: int) -> bool:
    """Return whether what follows `position`, to the end of the text, may become an escape."""
    return _match_cut(text, position) is not None


def wrong_in_escape(text: str, position: int) -> tuple[int, str]:
    """Return the place of the first wrong character of the bad escape at `position`, and what is right there."""
    match = _match_right(text, position)
    return (match.end() if match else position + 1), _EXPECTED[text[position + 1]]


def _escaped(match: re.Match[str]) -> str:
    raw = match[0]
    short = _SHORT_ESCAPES.get(raw)
    if short is not None:
        return short
    if len(raw) == 12:
        high, low = int(raw[2:6], 16), int(raw[8:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    if raw[1] in "01234567":
        return chr(int(raw[1:], 8))
    digits = raw[2:]
    return chr(int(digits, 16)) if digits else raw  # the backslash of an unknown escape stays
